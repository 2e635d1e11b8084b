"""The figure of scenes told by colour."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.colour_evaluation import DATA, LINEAR, PAIR, PIXELS
from recombine.instruments.scenes.counting import LEAST
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import empty_figure, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import curves
from recombine.studies.local_scores.colours.claims import (
    ARMS,
    BAD,
    CHANCE,
    EXTRAS,
    GOOD,
    RECALL,
    SINGLE,
    by_pair,
    cosine,
    interference,
)
from recombine.studies.local_scores.length.claims import recall_by_count

Value = TypeVar("Value")
COLORS = dict(zip(ARMS, ("#0072B2", "#D55E00", "#009E73"), strict=True))
CALLED = {"all 1-3": "told all of 1 to 3", "one 1-3": "told one of 1 to 3", "all 1": "single objects"}
WAYS = {PAIR: ("told both", "#0072B2", "o"), LINEAR: ("scores added", "#CC79A7", "s")}


def colours(table: pl.DataFrame) -> Figure:
    """Recall and extras over the number of colours; |cosine| by representation; recall of pairs over their cosine."""
    if not any(arm in ARMS for arm in table["arm"].to_list()):
        return empty_figure("no model of colours was measured")
    with house_style():
        figure = Figure(figsize=(19, 5.6), layout="constrained")
        panels = figure.subplots(1, 4, width_ratios=(1.1, 0.9, 1.2, 1.2))
        _over_count(panels[0], table, RECALL)
        accuracy_axis(panels[0], "recall")
        panels[0].axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
        panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.02), fontsize=11)
        _over_count(panels[1], table, EXTRAS)
        panels[1].set_ylabel("colours that nobody asked for")
        for axes, title in zip(panels, ("colours found", "extras", "orthogonal?", "pairs"), strict=True):
            axes.set_title(title)
        _representations(panels[2], table)
        _pairs(panels[3], table)
        put_caption(
            figure,
            "First two: share of the asked colours that an image holds, and extras; thin: single seeds, thick: mean; "
            "dashed: when asked for another image's colours; grey: the reader on rendered scenes; dotted: "
            f"{LEAST:g}, the rule of K_max; shaded: numbers of objects trained on, but for single objects. Third: mean "
            "|cosine| over pairs of colours of d_i, colour i less nothing, in rendered images, in the model's pixels "
            "and along its U-Net. Fourth: pairs of the model trained on single objects, mean over seeds.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _over_count(axes: Axes, table: pl.DataFrame, instrument: str) -> None:
    for arm, color in COLORS.items():
        curve = _means(table, arm, instrument)
        if not curve:
            continue
        for own in recall_by_count(table, arm, instrument).values():
            axes.plot(sorted(own), [own[k] for k in sorted(own)], color=color, linewidth=0.7, alpha=0.4)
        axes.plot(*curve, color=color, linewidth=2.4, marker="o", markersize=4, label=CALLED[arm])
        chance = _means(table, arm, CHANCE)
        if instrument == RECALL and chance:
            axes.plot(*chance, color=color, linewidth=1.2, linestyle="--")
    real: dict[int, list[float]] = {}
    for arm in ARMS:
        for (_, node), (_, values) in curves(table, f"calibration.{instrument}", arm).items():
            if node.isdigit():  # other nodes are single colours
                real.setdefault(int(node), []).append(float(values[0]))
    axes.plot(sorted(real), [np.mean(real[k]) for k in sorted(real)], color="#808080", linewidth=1.4, zorder=1)
    axes.axvspan(0.5, 3.5, color="#eeeeee", zorder=0)
    axes.set_xlabel("colours at once")


def _means(table: pl.DataFrame, arm: str, instrument: str) -> tuple[list[int], list[float]] | None:
    """Numbers of colours, and the mean over seeds."""
    found = _measured(recall_by_count, table, arm, instrument)
    if not found:
        return None
    counts = sorted(set.intersection(*(set(own) for own in found.values())))
    return counts, [float(np.mean([own[k] for own in found.values()])) for k in counts]


def _representations(axes: Axes, table: pl.DataFrame) -> None:
    known = [name.removeprefix("cosine.") for name in table["instrument"].unique(maintain_order=True).to_list()
             if name.startswith("cosine.")]  # fmt: skip
    if not known:
        return empty_panel(axes, "not measured")
    first = [name for name in (DATA, PIXELS) if name in known]
    order = [*first, *(name for name in known if name not in first)]  # stages in the order of the walk
    for number, (arm, color) in enumerate(COLORS.items()):
        for place, name in enumerate(order):
            values = _measured(interference, table, arm, name)
            if values:
                at = place + 0.18 * (number - 1)
                axes.plot([at] * len(values), list(values.values()), "o", color=color, alpha=0.4, markersize=4)
                axes.plot([at - 0.07, at + 0.07], [np.mean(list(values.values()))] * 2, color=color, linewidth=3)
    axes.set_xticks(range(len(order)), order, rotation=60, fontsize=10)
    accuracy_axis(axes, "mean |cosine|")
    return None


def _pairs(axes: Axes, table: pl.DataFrame) -> None:
    angles = _pair_means(table, cosine(PIXELS))
    shown = False
    for instrument, (label, color, marker) in WAYS.items():
        recall = _pair_means(table, instrument)
        pairs = sorted(recall.keys() & angles.keys())
        if not pairs:
            continue
        shown = True
        axes.plot([angles[p] for p in pairs], [recall[p] for p in pairs], marker, color=color, alpha=0.6, label=label)
        for pair in {GOOD, BAD}.intersection(pairs):
            axes.annotate(pair.replace("+", " + "), (angles[pair], recall[pair]), xytext=(4, -12),
                          textcoords="offset points", fontsize=10, color=color)  # fmt: skip
    if not shown:
        return empty_panel(axes, "not measured")
    axes.set_xlabel("cosine of the pair, in pixels")
    accuracy_axis(axes, "recall of the pair")
    axes.legend(loc="best", fontsize=11)
    return None


def _pair_means(table: pl.DataFrame, instrument: str) -> dict[str, float]:
    """The mean over seeds of every pair, in the model trained on single objects."""
    found = _measured(by_pair, table, SINGLE, instrument)
    pairs = {pair for own in found.values() for pair in own}
    return {pair: float(np.mean([own[pair] for own in found.values() if pair in own])) for pair in sorted(pairs)}


def _measured(measure: Callable[..., dict[int, Value]], *asked: object) -> dict[int, Value]:
    """What a measure says of each seed; nothing if it was not measured."""
    try:
        return measure(*asked)
    except NotMeasured:
        return {}
