"""Panels of label recall over the number of labels, in the colours of the paper's experiments."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import CHANCE, CHANCE_ISOLATED, RECALL, RECALL_CLOSE, RECALL_ISOLATED
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.style import empty_panel
from recombine.lab.table import Curve, Table
from recombine.studies.local_scores._shared.label_recall import HEADLINE, Measure, arm_of, recall_by_count
from recombine.studies.local_scores.length.arms import TRAINED
from recombine.studies.local_scores.length.claims import CHANNEL, FIXED, LINEAR, MULTIPLIED

EXPERIMENTS = {"1": "#0072b2", "2": "#d55e00", "3": "#b8860b", "2L": "#009e73", "3L": "#56b4e9"}  # the paper's
CONTROLS = {f"2L {LINEAR}": "#e69f00", "2L far": "#882255", "2L whole": "#7f7f7f"}
COLORS = EXPERIMENTS | CONTROLS
IN_OTHER_WAYS = {  # variants of how labels enter the network
    f"1 {CHANNEL}": "#0072b2", f"2 {CHANNEL}": "#d55e00", f"2L {CHANNEL}": "#009e73", f"2L {MULTIPLIED}": "#cc79a7",
    f"3 {FIXED}": "#b8860b",
}  # fmt: skip
GREY = "#808080"
CHANCES = {RECALL: CHANCE, RECALL_ISOLATED: CHANCE_ISOLATED}
TITLES = {RECALL: "all labels", RECALL_ISOLATED: "isolated labels", RECALL_CLOSE: "labels close to another"}


def count_line(axes: Axes, table: Table, arm: str, instrument: str, color: str, label: str) -> None:
    """Seeds and their mean over the number of labels, if the arm was measured."""
    if found := over_count(table, [arm], instrument):
        draw_mean(axes, found, color, label, width=2.4)


def over_count(table: Table, arms: Sequence[str], instrument: str) -> list[Curve]:
    """Of each seed of these arms: numbers of labels, and the value at the end of training."""
    found: list[dict[int, float]] = []
    for arm in arms:
        try:
            found += recall_by_count(table, arm, instrument).values()
        except NotMeasured:
            continue
    return [(np.array(list(curve)), np.array(list(curve.values()))) for curve in found]


def swept(table: Table, arms: Mapping[int, str], measure: Measure) -> list[Curve]:
    """Of each seed: a measure over whatever arms differ in, {value: arm}, where it was measured."""
    found: dict[int, dict[int, float]] = {}
    for at, arm in arms.items():
        try:
            for seed, value in measure(table, arm).items():
                found.setdefault(seed, {})[at] = value
        except NotMeasured:
            continue
    return [(np.array(list(curve)), np.array(list(curve.values()))) for curve in found.values()]


def curve_panel(axes: Axes, table: Table, colors: Mapping[str, str], instrument: str, objects: str = HEADLINE) -> bool:
    """A curve of each experiment, and the same of rendered scenes; whether there is any."""
    for name, color in colors.items():
        count_line(axes, table, arm_of(name, objects), instrument, color, f"Exp {name}")
    if not axes.lines:
        return False
    arms = [arm_of(name, objects) for name in colors]
    if finder := mean_curve(over_count(table, arms, f"calibration.{instrument}")):
        axes.plot(*finder, "--", color=GREY, linewidth=1.4, label="finder on rendered scenes", zorder=1)
    axes.axvspan(0.5, TRAINED[objects][-1] + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlim(0.5, 12.5)
    axes.set_xticks(range(2, 13, 2))
    return True


def recall_panel(
    axes: Axes, table: Table, colors: Mapping[str, str], instrument: str = RECALL, objects: str = HEADLINE,
    name: str = "",
) -> None:  # fmt: skip
    """Recall over the number of labels of experiments with one training set, the finder's, and chance."""
    axes.set_title(name or TITLES[instrument])
    if not curve_panel(axes, table, colors, instrument, objects):
        return empty_panel(axes, "not measured")
    ends = {
        own: (c[0][-1], c[1][-1])
        for own in colors
        if (c := mean_curve(over_count(table, [arm_of(own, objects)], instrument)))
    }
    best = max(ends, key=lambda own: ends[own])
    axes.set_title(f"{name or TITLES[instrument]}\nbest at {ends[best][0]}: {best}, {ends[best][1]:.2f}")
    for own, color in colors.items() if instrument in CHANCES else ():
        if chance := mean_curve(over_count(table, [arm_of(own, objects)], CHANCES[instrument])):
            axes.plot(*chance, color=color, linestyle="-.", linewidth=1.1, alpha=0.8)
    axes.set_xlabel("labels")
    return accuracy_axis(axes, "label recall")


def mean_curve(found: Sequence[Curve]) -> Curve | None:
    """The mean over curves, at each number of labels over those that have it."""
    values: dict[int, list[float]] = {}
    for at, curve in found:
        for k, value in zip(at.tolist(), curve.tolist(), strict=True):
            values.setdefault(k, []).append(value)
    return (np.array(sorted(values)), np.array([np.mean(values[k]) for k in sorted(values)])) if values else None


def legend_above(figure: Figure, panels: Sequence[Axes], columns: int = 5) -> None:
    """One legend above all panels, of whatever any of them shows."""
    shown = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if shown:
        figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=columns, handlelength=2.4)
