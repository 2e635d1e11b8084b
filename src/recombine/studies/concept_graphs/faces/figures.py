"""The figure of the faces experiment: Okawa et al. 2023, Fig 10."""

from typing import Any

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import DISTANCE_COLORS, put_caption
from recombine.lab.table import Curve, Table, distances, mean_curves
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.times import HEADLINE
from recombine.studies.concept_graphs.faces.claims import CLASSES

CAPTION = "Product accuracy of every class by distance (a), and accuracy of gender for female and male classes (b)."


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """Fig 10: product accuracy by distance (a); accuracy of gender for female and male classes (b)."""
    products = {f"distance {far}" if far else "trained": _curves(table, "classifier.product", distance=far)
                for far in sorted(set(distances(table, **HEADLINE).values()))}  # fmt: skip
    genders = {name: _curves(table, "classifier.accuracy", concept="gender", node=nodes)
               for name, nodes in CLASSES.items()}  # fmt: skip
    with new_figure(14, 6.6, 1, 2) as (figure, panels):
        left, right = panels.flat
        left.set_title("a   Product accuracy, by distance from training")
        draw_series(left, products or {"classifier.product": []}, colors=DISTANCE_COLORS)
        right.set_title("b   Accuracy of gender")
        draw_series(right, genders, chance=0.5)
        said = "By the classifier, mean over the classes of each group."
        put_caption(figure, said, band_caption(table["seed"].n_unique()))
    return {"figure": Drawing(figure, CAPTION)}


def _curves(table: Table, instrument: str, **where: Any) -> list[Curve]:
    return list(mean_curves(table, instrument, "node", **HEADLINE, **where).values())
