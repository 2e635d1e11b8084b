"""The figure of the signal experiment: the concepts of the farthest class over training, a panel for each arm."""

import polars as pl
from matplotlib.figure import Figure

from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import empty_figure, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.concept_graphs._shared.graph import Concepts
from recombine.studies.concept_graphs.signal.claims import FARTHEST


def concepts_by_arm(table: pl.DataFrame, concepts: Concepts, signals: dict[str, dict[str, float]]) -> Figure:
    """Accuracy of each concept of 111; the title says which arm, the legend how strong each concept's signal is."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    if not arms:
        return empty_figure("not measured: no arm has a run")
    columns = min(3, len(arms))
    rows = -(-len(arms) // columns)
    with house_style():
        figure = Figure(figsize=(5.6 * columns, 4.9 * rows + 0.6), layout="constrained")
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes in panels.flat[len(arms) :]:
            axes.set_axis_off()
        for axes, arm in zip(panels.flat, arms, strict=False):
            axes.set_title(arm)
            series = {}
            for concept in concepts:
                strength = signals.get(arm, {}).get(concept)
                label = concept if strength is None else f"{concept} ({strength:.3f})"
                series[label] = list(curves(table, f"reader.{concept}", arm, FARTHEST).values())
            draw_series(axes, series, place="lower right")
        seeds = table["seed"].n_unique()
        put_caption(
            figure,
            f"Accuracy of the concepts of {FARTHEST} by the reader. In brackets: the concept's pixel signal, the mean "
            "squared difference between classes that differ in it alone.",
            band_caption(seeds),
        )
    return figure
