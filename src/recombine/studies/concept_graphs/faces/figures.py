"""The figure of the faces experiment: Okawa et al. 2023, Fig 10."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import DISTANCE_COLORS, house_style, put_caption
from recombine.lab.table import distances, select
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.figures import far_curves
from recombine.studies.concept_graphs._shared.times import HEADLINE
from recombine.studies.concept_graphs.faces.claims import CLASSES


def draw(table: pl.DataFrame, config: RunConfig) -> dict[str, Drawing]:
    """Fig 10: product accuracy by distance (a); accuracy of gender for female and male classes (b)."""
    rows = select(table, **HEADLINE)
    far = distances(rows)
    with house_style():
        figure = Figure(figsize=(14, 6.6), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        left.set_title("a   Product accuracy, by distance from training")
        products = {
            "trained" if distance == 0 else f"distance {distance}": far_curves(
                rows, [node for node, each in far.items() if each == distance], "classifier.product"
            )
            for distance in sorted(set(far.values()))
        }
        draw_series(left, products or {"classifier.product": []}, colors=DISTANCE_COLORS)
        right.set_title("b   Accuracy of gender")
        genders = {
            name: far_curves(rows, nodes, "classifier.accuracy", concept="gender") for name, nodes in CLASSES.items()
        }
        draw_series(right, genders, chance=0.5)
        put_caption(
            figure,
            "By the classifier, mean over the classes of each group.",
            band_caption(table["seed"].n_unique()),
        )
    return {
        "figure": Drawing(
            figure,
            "Product accuracy of every class by distance (a), and accuracy of gender for female and male classes (b).",
        )
    }
