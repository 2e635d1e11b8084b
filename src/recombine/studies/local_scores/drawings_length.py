"""The figure of length generalization (Bradley 2026, Fig 1 and its table)."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.instruments.counting import CHANCE, CHANCE_APART, LEAST, RECALL, RECALL_APART, RECALL_CLOSE, k_max
from recombine.lab.claims import NotMeasured
from recombine.lab.figures import accuracy_axis, empty_panel, house_style, one_legend, put_caption, seeds_text
from recombine.studies.local_scores.claims_length import (
    CHANNEL,
    FIXED,
    HEADLINE,
    WHOLE,
    arm_of,
    longest,
    recall_by_count,
)

COLORS = {"1": "#0072b2", "2": "#d55e00", "3": "#b8860b", "2L": "#009e73", "3L": "#56b4e9", "2L whole": "#7f7f7f"}
OTHERWISE = {f"1 {CHANNEL}": "#0072b2", f"2 {CHANNEL}": "#d55e00", f"2L {CHANNEL}": "#009e73", f"3 {FIXED}": "#b8860b"}
GREY = "#808080"
CHANCES = {RECALL: CHANCE, RECALL_APART: CHANCE_APART}
PAPER = {  # K_max by training set
    ("1", "1-3"): 7, ("2", "1"): 1, ("2", "1-3"): 2, ("2", "1-5"): 3, ("2L", "1"): 5, ("2L", "1-3"): 9,
    ("2L", "1-5"): 10, ("3", "1-3"): 3, ("3L", "1-3"): 9,
}  # fmt: skip


def recall_over_count(table: pl.DataFrame) -> Figure:
    """A panel for each training set, and one of K_max."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    sets = list(dict.fromkeys(arm.rsplit(" ", 1)[1] for arm in arms))
    with house_style():
        figure = Figure(figsize=(max(13.0, 4.6 * (len(sets) + 1)), 4.8), layout="constrained")
        *panels, last = figure.subplots(1, len(sets) + 1, squeeze=False)[0]
        for axes, objects in zip(panels, sets, strict=True):
            axes.set_title(f"trained on {objects} object" + ("" if objects == "1" else "s"))
            _recall(axes, table, objects, COLORS)
            axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
        _longest(last, table, sets)
        one_legend(figure, panels[0])
        put_caption(
            figure,
            "Share of labels that an object meets (within 1.5 cells) over the number of labels; thin: single seeds, "
            f"thick: mean. Dotted: {LEAST:g}, the rule of K_max. Grey: what the finder meets of rendered scenes. "
            "Dash-dotted: recall when each image is asked for another's labels. Shaded: numbers of objects trained on. "
            "Right: K_max of each seed; crosses: the paper.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def readings(table: pl.DataFrame) -> Figure:
    """Labels by how close the next one is, experiments told otherwise, and K_max by other rules."""
    with house_style():
        figure = Figure(figsize=(13.5, 9.6), layout="constrained")
        (apart, close), (told, rules) = figure.subplots(2, 2)
        for axes, instrument, title in (
            (apart, RECALL_APART, "a   No other label in the 5 x 5 cells around"),
            (close, RECALL_CLOSE, "b   Another label there"),
        ):
            axes.set_title(title)
            _recall(axes, table, HEADLINE, COLORS, instrument)
        told.set_title("c   Told otherwise")
        _recall(told, table, HEADLINE, OTHERWISE)
        if told.lines:
            told.legend(loc="upper right")
        _over_rules(rules, table)
        one_legend(figure, rules)
        put_caption(
            figure,
            "Trained on 1 to 3 objects (shaded). (a, b) Share of labels that an object meets, by whether another label "
            "lies within two cells, rows or columns. (c) Recall with labels as a channel of the image, in 2L of each "
            "patch, and with a list that starts at its first slot. Grey: the finder on rendered scenes. "
            "Dash-dotted: recall when images are asked for each other's labels, but for b. (d) K_max if "
            f"another recall than {LEAST:g} is asked for, mean over seeds. a to c, thin: single seeds, thick: mean.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _recall(axes: Axes, table: pl.DataFrame, objects: str, colors: Mapping[str, str], instrument: str = RECALL) -> None:
    """Recall over the number of labels of experiments with one training set, the finder's, and chance."""
    for name, color in colors.items():
        if found := _values(table, [arm_of(name, objects)], instrument):
            counts, values = found
            axes.plot(counts, values.T, color=color, linewidth=0.7, alpha=0.4)
            mean = np.nanmean(values, 0)
            axes.plot(counts, mean, color=color, linewidth=2.4, marker="o", markersize=4, label=f"Exp {name}")
        if found := _values(table, [arm_of(name, objects)], CHANCES.get(instrument, "")):
            axes.plot(found[0], np.nanmean(found[1], 0), color=color, linestyle="-.", linewidth=1.1, alpha=0.8)
    if not axes.lines:
        return empty_panel(axes, "not measured")
    if found := _values(table, [arm_of(name, objects) for name in colors], f"calibration.{instrument}"):
        level = np.nanmean(found[1], 0)
        axes.plot(found[0], level, "--", color=GREY, linewidth=1.4, label="finder on rendered scenes", zorder=1)
    if instrument in CHANCES:
        axes.plot([], [], "-.", color=GREY, linewidth=1.1, label="by chance")
    axes.axvspan(0.5, int(objects[-1]) + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlim(0.5, 12.5)
    axes.set_xlabel("labels at once")
    return accuracy_axis(axes, "recall")


def _values(table: pl.DataFrame, arms: Sequence[str], instrument: str) -> tuple[list[int], NDArray[np.float64]] | None:
    """Numbers of labels, and the value of each seed of these arms at them.  # [runs, numbers], NaN where none is"""
    found: list[dict[int, float]] = []
    for arm in arms:
        try:
            found += recall_by_count(table, arm, instrument).values()
        except NotMeasured:
            continue
    counts = sorted(set().union(*found))
    return (counts, np.array([[curve.get(k, np.nan) for k in counts] for curve in found])) if counts else None


def _over_rules(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("d   K_max by other rules")
    asked = np.linspace(0.3, 0.98, 69)
    for name, color in COLORS.items():
        try:
            found = recall_by_count(table, arm_of(name, HEADLINE))
        except NotMeasured:
            continue
        means = [np.mean([k_max(curve, least).steady for curve in found.values()]) for least in asked]
        axes.plot(asked, means, color=color, linewidth=2.4, label=f"Exp {name}")
    if not axes.lines:
        return empty_panel(axes, "not measured")
    axes.axvline(LEAST, color="#404040", linestyle=":", linewidth=1)
    axes.set(xlabel="recall that is asked for", ylabel="K_max", ylim=(-0.5, 12.5), xlim=(asked[0], asked[-1]))
    return None


def _longest(axes: Axes, table: pl.DataFrame, sets: list[str]) -> None:
    axes.set_title("K_max")
    for place, objects in enumerate(sets):
        found = {name: values for name in COLORS if (values := _each_longest(table, name, objects))}
        for i, (name, values) in enumerate(found.items()):
            at, color = place + (i - (len(found) - 1) / 2) * 0.14, COLORS[name]
            axes.plot([at] * len(values), values, "o", color=color, alpha=0.45, markersize=5)
            axes.plot([at - 0.05, at + 0.05], [np.mean(values)] * 2, color=color, linewidth=3)
            if (name, objects) in PAPER:
                axes.plot([at], [PAPER[name, objects]], "x", color="#202020", markersize=7)
    axes.set_xticks(range(len(sets)), sets)
    axes.set_xlabel("objects of a training image")
    axes.set_ylim(-0.5, 12.5)


def _each_longest(table: pl.DataFrame, name: str, objects: str) -> list[float]:
    """K_max of every seed of an experiment; none if it was not measured."""
    if name == "2L whole" and not WHOLE.endswith(objects):
        return []
    try:
        return list(longest(table, WHOLE if name == "2L whole" else arm_of(name, objects)).values())
    except NotMeasured:
        return []
