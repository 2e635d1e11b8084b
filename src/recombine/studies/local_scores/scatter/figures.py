"""The figure of length generalization against conditional locality (Bradley 2026, Fig 2 right)."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import INK, empty_figure, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import at_end
from recombine.studies.local_scores.length.figures import COLORS
from recombine.studies.local_scores.locality.claims import ALL, CHANCE, GRADIENT, REMOVED
from recombine.studies.local_scores.scatter.claims import (
    READINGS,
    Point,
    by_construction,
    points,
    rank_correlation,
    seed_interval,
)

MARKERS = {"1": "o", "1-3": "s", "1-5": "^"}
SIZES = (4.0, 10.0)  # of the first and the last checkpoint
WAYS = {REMOVED: "C, label removed", GRADIENT: "C, gradient to the label"}
ACROSS = {"recall": "recall of 6 to 12 labels, on a scale from chance 0 to 1"}
SPREAD = 0.3  # points with the same K_max are drawn side by side
LANE = 0.035  # and models with C = 1, one above another


def scatter(table: pl.DataFrame) -> Figure:
    """A row for each reading of C, a column for each reading of how far a model goes."""
    try:
        points(table)
    except NotMeasured as reason:
        return empty_figure(str(reason))
    with house_style():
        figure = Figure(figsize=(18, 11), layout="constrained")
        panels = figure.subplots(len(WAYS), len(READINGS), sharex="col", sharey=True)
        for row, (instrument, label) in zip(panels, WAYS.items(), strict=True):
            for axes, reading in zip(row, READINGS, strict=True):
                _panel(axes, table, instrument, reading)
            row[0].set_ylabel(label)
        for axes, reading in zip(panels[-1], READINGS, strict=True):
            axes.set_xlabel(ACROSS.get(reading, f"K_max less the number of {reading} trained on"))
        _legend(figure, points(table))
        put_caption(
            figure,
            f"Points: means over seeds ({seeds_text(table['seed'].n_unique())}) of a model at a checkpoint, the later "
            "the larger, joined in the order of training; small dots: seeds. Models stand slightly apart, those with "
            "C = 1 by construction one above another. Dotted: chance of C, and the number trained on. rho: Spearman's, "
            "over all seeds, models and checkpoints, with its 95% bootstrap interval over seeds.",
        )
    return figure


def _panel(axes: Axes, table: pl.DataFrame, instrument: str, reading: str) -> None:
    try:
        found = [point for point in points(table, instrument) if not math.isnan(point.gain(reading))]
    except NotMeasured as reason:
        return empty_panel(axes, str(reason))
    if not found:
        return empty_panel(axes, "chance was not measured")
    chance = [v for arm in {p.arm for p in found} for v in at_end(table, CHANCE[instrument], arm, [ALL]).values()]
    accuracy_axis(axes, "", float(np.mean(chance)) if chance else None)
    if reading == "recall":
        axes.set_xlim(-0.08, max(0.5, *(point.gain(reading) for point in found)) + 0.08)
    else:
        axes.axvline(0, color="#9A9A9A", linestyle=":", linewidth=1.5, zorder=1)
    arms = list(dict.fromkeys(point.arm for point in found))
    exact = [arm for arm in arms if by_construction(arm)]
    axes.set_ylim(top=1.04 + LANE * len(exact))
    if exact:
        axes.axhspan(1 - LANE / 2, 1.04 + LANE * len(exact), color="#F3F3F3", zorder=0)
        axes.text(0.01, 1 + LANE / 2, "C = 1", transform=axes.get_yaxis_transform(), color="#777777", fontsize=10.5)
    for number, arm in enumerate(arms):
        shift = 0.0 if reading == "recall" else SPREAD * (number / max(1, len(arms) - 1) - 0.5)
        lift = LANE * exact.index(arm) if arm in exact else 0.0
        _model(axes, [point for point in found if point.arm == arm], reading, shift, lift)
    interval = seed_interval(found, reading)
    ends = "" if interval is None else f"  [{interval[0]:.2f}, {interval[1]:.2f}]"
    axes.set_title(
        f"{'by' if reading == 'recall' else 'in'} {reading}: rho = {rank_correlation(found, reading):.2f}{ends}"
    )
    return None


def _model(axes: Axes, own: Sequence[Point], reading: str, shift: float, lift: float) -> None:
    """The path of one model through its checkpoints, moved by so much to the right and up."""
    color, marker = COLORS.get(own[0].experiment, INK), MARKERS.get(own[0].objects, "D")
    places = np.array([[point.gain(reading) + shift, point.c + lift] for point in own])
    seen = np.array([point.seen for point in own])
    axes.plot(*places.T, ".", color=color, markersize=3, alpha=0.35)
    moments = sorted(set(seen.tolist()))
    path = np.array([places[seen == moment].mean(0) for moment in moments])
    axes.plot(*path.T, color=color, linewidth=1.2, alpha=0.6, zorder=2.5)
    sizes = np.linspace(*SIZES, len(moments)) if len(moments) > 1 else [SIZES[1]]
    for place, size in zip(path, sizes, strict=True):
        axes.plot(*place, marker, color=color, markersize=size, markeredgecolor="white", markeredgewidth=0.8, zorder=3)


def _legend(figure: Figure, found: Sequence[Point]) -> None:
    """Colours are experiments, shapes training sets."""
    experiments, sets = {point.experiment for point in found}, {point.objects for point in found}
    handles = [
        Line2D([], [], color=color, marker="o", linewidth=1.5, markersize=8, label=f"Exp {name}")
        for name, color in COLORS.items() if name in experiments
    ]  # fmt: skip
    handles += [
        Line2D([], [], color="#777777", marker=marker, linestyle="none", markersize=8, label=f"trained on {name}")
        for name, marker in MARKERS.items() if name in sets
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=10)
