"""The figure of hidden capabilities (Park et al. 2024)."""

import polars as pl
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import empty_figure, house_style, put_caption
from recombine.lab.table import Curve
from recombine.studies.concept_space.hidden.claims import TARGET, WAYS, capability

PANELS = (("naive", "over", "over-random", "over-shuffled"), ("naive", "steer", "steer-random"))


def capability_over_training(table: pl.DataFrame) -> Figure:
    """A row for each arm: over-prompting and steering, each beside plain prompts and its controls."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    if not arms:
        return empty_figure("not measured: no arm has a run")
    with house_style():
        figure = Figure(figsize=(13, 5.4 * len(arms) + 0.6), layout="constrained")
        panels = figure.subplots(len(arms), len(PANELS), sharey=True, squeeze=False)
        for row, arm in zip(panels, arms, strict=True):
            for axes, ways, title in zip(row, PANELS, ("over-prompting", "steering"), strict=True):
                axes.set_title(f"colours {arm[1:]} apart: {title}")
                draw_series(axes, {WAYS[way]: _curves(table, arm, way) for way in ways})
        put_caption(
            figure,
            f"Product accuracy of {TARGET} by the reader; the best of several tries is chosen on one half of the "
            "samples and scored on the other.",
            band_caption(table["seed"].n_unique()),
        )
    return figure


def _curves(table: pl.DataFrame, arm: str, way: str) -> list[Curve]:
    try:
        return list(capability(table, arm, way).values())
    except NotMeasured:
        return []
