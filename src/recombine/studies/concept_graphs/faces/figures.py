"""The figure of the faces experiment: Okawa et al. 2023, Fig 10."""

import polars as pl
from matplotlib.figure import Figure

from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import DISTANCE_COLORS, house_style, put_caption
from recombine.lab.table import distances, group_curves
from recombine.studies.concept_graphs._shared.claims import ARM
from recombine.studies.concept_graphs._shared.graph import Concepts


def figure(table: pl.DataFrame, concepts: Concepts) -> Figure:
    """Product accuracy by distance (a); accuracy of gender for female and male classes (b)."""
    far = distances(table, ARM)
    by_distance = {
        "trained" if distance == 0 else f"distance {distance}": [node for node, each in far.items() if each == distance]
        for distance in sorted(set(far.values()))
    }
    genders = {name: [node for node in far if node[0] == str(i)] for i, name in enumerate(concepts["gender"])}
    with house_style():
        drawing = Figure(figsize=(14, 6.4), layout="constrained")
        left, right = drawing.subplots(1, 2, sharey=True)
        left.set_title("a   Product accuracy, by distance from training")
        products = {name: group_curves(table, "classifier.product", ARM, nodes) for name, nodes in by_distance.items()}
        draw_series(left, products or {"classifier.product": []}, colors=DISTANCE_COLORS)
        right.set_title("b   Accuracy of gender")
        draw_series(
            right, {name: group_curves(table, "classifier.gender", ARM, nodes) for name, nodes in genders.items()}, 0.5
        )
        put_caption(
            drawing,
            "By the classifier, mean over the classes of each group.",
            band_caption(table["seed"].n_unique()),
        )
    return drawing
