"""Figures of the blank experiment: what a probe's curve is made of, and what probes say of nothing."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.report.kit.axes import accuracy_axis, images_axis, one_legend
from recombine.lab.report.kit.curves import mean_and_band
from recombine.lab.report.kit.style import (
    FAINT,
    SERIES_COLORS,
    empty_figure,
    empty_panel,
    house_style,
    put_caption,
    seeds_text,
)
from recombine.lab.table import Curve, curves
from recombine.studies.concept_graphs._shared.graph import Concepts
from recombine.studies.concept_graphs.blank.claims import FARTHEST

PARTS = (
    ("reader.product", "right by the reader too", "#009E73"),
    ("probe.product.other", "another object", "#E69F00"),
    ("probe.product.several", "several objects", "#CC79A7"),
    ("probe.product.none", "no object", "#4D4D4D"),
)
CANVASES = {"blank": "empty canvas", "noise": "noise", "mean": "mean image"}


def made_of(table: pl.DataFrame) -> Figure:
    """For each arm, the probes' product accuracy of the farthest class as stacked bands of what the reader finds."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    if not arms:
        return empty_figure("not measured: no arm has a run")
    with house_style():
        figure = Figure(figsize=(5.4 * len(arms), 6.2), layout="constrained")
        panels = figure.subplots(1, len(arms), sharey=True, squeeze=False)[0]
        for axes, arm in zip(panels, arms, strict=True):
            axes.set_title(arm)
            _stack(axes, table, arm)
        one_legend(figure, panels[0])
        put_caption(
            figure,
            f"Samples of {FARTHEST}. The line is the product accuracy by the paper's linear probes; the bands below it "
            "say what the reader finds in the images that make it up. What lies above the line although the reader "
            "calls it right is not shown.",
            f"Mean of {seeds_text(table['seed'].n_unique())}.",
        )
    return figure


def _stack(axes: Axes, table: pl.DataFrame, arm: str) -> None:
    seen, probe = _mean(table, arm, "probe.product")
    false = [_mean(table, arm, instrument)[1] for instrument, _, _ in PARTS[1:]]
    if not len(seen) or any(len(part) != len(seen) for part in false):
        return empty_panel(axes, "not measured: probe.product and what the reader finds in it")
    right = np.clip(probe - np.sum(false, axis=0), 0, None)
    bottom = np.zeros_like(probe)
    for values, (_, label, color) in zip([right, *false], PARTS, strict=True):
        axes.fill_between(seen, bottom, bottom + values, color=color, alpha=0.75, linewidth=0, label=label)
        bottom = bottom + values
    axes.plot(seen, probe, color="black", linewidth=2.2, label="linear probes")
    images_axis(axes, float(seen.min()), float(seen.max()))
    accuracy_axis(axes, "share of samples")
    return None


def answers_to_nothing(table: pl.DataFrame, concepts: Concepts) -> Figure:
    """The probability that the probes give the second value of each concept where there is no object."""
    if table.filter(pl.col("instrument").str.starts_with("calibration.probe.")).is_empty():
        return empty_figure("not measured: calibration.probe")
    with house_style():
        figure = Figure(figsize=(11, 5), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(concepts)
        for place, (concept, values) in enumerate(concepts.items()):
            name = f"calibration.probe.{concept}={values[1]}"
            for position, canvas in enumerate(CANVASES):
                rows = table.filter((pl.col("instrument") == name) & (pl.col("node") == canvas))
                chances = rows.unique(["seed", "value"])["value"].to_numpy()
                at = position + (place - (len(concepts) - 1) / 2) * width
                if len(chances):
                    label = f"{concept} = {values[1]}" if position == 0 else None
                    axes.bar(at, chances.mean(), 0.92 * width, color=SERIES_COLORS[place], label=label, alpha=0.85)
                    axes.plot(np.full(len(chances), at), chances, "o", color="black", markersize=3)
        axes.axhline(0.5, color=FAINT, linestyle=":")
        axes.set_xticks(range(len(CANVASES)), list(CANVASES.values()))
        accuracy_axis(axes, "probability by the probe")
        axes.set_title("What linear probes answer to nothing")
        one_legend(figure, axes)
        put_caption(figure, f"Bars: mean of {seeds_text(table['seed'].n_unique())}; dots: seeds.")
    return figure


def _mean(table: pl.DataFrame, arm: str, instrument: str) -> Curve:
    found = list(curves(table, instrument, arm, FARTHEST).values())
    seen, (mean, _, _) = mean_and_band(found, "min-max")
    return seen, mean
