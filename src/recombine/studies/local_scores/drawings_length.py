"""The figure of length generalization (Bradley 2026, Fig 1 and its table)."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.counting import LEAST, RECALL
from recombine.lab.claims import NotMeasured
from recombine.lab.figures import accuracy_axis, house_style, one_legend, put_caption, seeds_text
from recombine.lab.table import curves
from recombine.studies.local_scores.claims_length import WHOLE, arm_of, longest, recall_by_count

COLORS = {"1": "#0072b2", "2": "#d55e00", "3": "#b8860b", "2L": "#009e73", "3L": "#56b4e9", "2L whole": "#7f7f7f"}
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
            _curves(axes, table, objects)
        _longest(last, table, sets)
        one_legend(figure, panels[0])
        put_caption(
            figure,
            "Share of labels that an object meets (within 1.5 cells) over the number of labels; thin: single seeds, "
            f"thick: mean. Dotted: {LEAST:g}, the rule of K_max. Grey: what the finder meets of rendered scenes, and "
            "recall when each image is asked for another's labels. Shaded: numbers of objects trained on. Right: K_max "
            "of each seed; crosses: the paper.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _curves(axes: Axes, table: pl.DataFrame, objects: str) -> None:
    axes.set_title(f"trained on {objects} object" + ("" if objects == "1" else "s"))
    for name, color in COLORS.items():
        try:
            found = recall_by_count(table, arm_of(name, objects))
        except NotMeasured:
            continue
        counts = sorted(set.intersection(*(set(curve) for curve in found.values())))
        values = np.array([[curve[count] for count in counts] for curve in found.values()])
        axes.plot(counts, values.T, color=color, linewidth=0.7, alpha=0.4)
        axes.plot(counts, values.mean(0), color=color, linewidth=2.4, marker="o", markersize=4, label=f"Exp {name}")
    for label, style, beside in _finder_and_chance(table, objects):
        axes.plot(*beside, color="#808080", linestyle=style, linewidth=1.4, label=label, zorder=1)
    axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
    axes.axvspan(0.5, int(objects[-1]) + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlabel("labels at once")
    accuracy_axis(axes, "recall")


def _finder_and_chance(table: pl.DataFrame, objects: str) -> Iterator[tuple[str, str, tuple[list[int], list[float]]]]:
    """Recall of the finder on rendered scenes, which no model can pass, and of labels of other images."""
    arms = [arm for arm in dict.fromkeys(table["arm"].to_list()) if arm.rsplit(" ", 1)[1] == objects]
    for label, style, instrument in (
        ("finder on rendered scenes", "--", f"calibration.{RECALL}"), ("by chance", "-.", "count.chance"),
    ):  # fmt: skip
        found: dict[int, list[float]] = {}
        for arm in arms:
            for (_, node), (_, values) in curves(table, instrument, arm).items():
                found.setdefault(int(node), []).append(float(values[-1]))
        counts = sorted(found)
        if counts:
            yield label, style, (counts, [float(np.nanmean(found[count])) for count in counts])


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
