"""The figure of length generalization (Bradley 2026, Fig 1 and its table)."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.instruments.scenes.counting import (
    CHANCE,
    CHANCE_APART,
    EXTRAS,
    LEAST,
    OBJECTS,
    RECALL,
    RECALL_APART,
    RECALL_CLOSE,
    STRICT,
    k_max,
)
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption, seeds_text
from recombine.studies.local_scores.length.claims import (
    BEYOND,
    CHANNEL,
    FIXED,
    HEADLINE,
    LINEAR,
    MULTIPLIED,
    PAPER,
    arm_of,
    longest,
    off_the_paper,
    recall_by_count,
)

PAPERS = {"1": "#0072b2", "2": "#d55e00", "3": "#b8860b", "2L": "#009e73", "3L": "#56b4e9"}  # its experiments
CONTROLS = {f"2L {LINEAR}": "#e69f00", "2L far": "#882255", "2L whole": "#7f7f7f"}
COLORS = PAPERS | CONTROLS
OTHERWISE = {
    f"1 {CHANNEL}": "#0072b2", f"2 {CHANNEL}": "#d55e00", f"2L {CHANNEL}": "#009e73", f"2L {MULTIPLIED}": "#cc79a7",
    f"3 {FIXED}": "#b8860b",
}  # fmt: skip
GREY = "#808080"
RULES: dict[str, tuple[str, float]] = {  # by which K_max is read: the one fixed beforehand, and three tried afterwards
    f"recall of {LEAST:g}": (RECALL, LEAST), "recall of 0.75": (RECALL, 0.75),
    "every label in one image of ten": (STRICT, 0.1), "as many objects as labels": (OBJECTS, 1.0),
}  # fmt: skip
MARKERS = ("o", "v", "s", "D")
CHANCES = {RECALL: CHANCE, RECALL_APART: CHANCE_APART}


def recall_over_count(table: pl.DataFrame) -> Figure:
    """A panel for each training set, and one of K_max."""
    sets = _sets(table)
    with house_style():
        figure = Figure(figsize=(max(13.0, 4.6 * (len(sets) + 1)), 4.8), layout="constrained")
        *panels, last = figure.subplots(1, len(sets) + 1, squeeze=False)[0]
        for axes, objects in zip(panels, sets, strict=True):
            axes.set_title(f"trained on {objects} object" + ("" if objects == "1" else "s"))
            _recall(axes, table, objects, PAPERS)
            axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
        _longest(last, table, sets)
        one_legend(figure, panels[sets.index(HEADLINE)] if HEADLINE in sets else panels[0])
        put_caption(
            figure,
            "Share of labels that an object meets (within 1.5 cells) over the number of labels; thin: single seeds, "
            f"thick: mean. Dotted: {LEAST:g}, the rule of K_max. Grey: what the finder meets of rendered scenes. "
            "Dash-dotted: recall when each image is asked for another's labels. Shaded: numbers of objects trained on. "
            "Right: K_max of each seed; crosses: the paper. On single objects Exps 1 and 2 are the same runs.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def readings(table: pl.DataFrame) -> Figure:
    """Labels by how close the next one is, also of experiments told otherwise, and K_max by other rules."""
    with house_style():
        figure = Figure(figsize=(17.5, 9.8), layout="constrained")
        panels = figure.subplots(2, 3)
        for axes, colors, instrument, title in (
            (panels[0, 0], PAPERS, RECALL_APART, "a   Labels that stand apart"),
            (panels[0, 1], PAPERS, RECALL_CLOSE, "b   Labels close to another"),
            (panels[1, 0], OTHERWISE, RECALL_APART, "d   Told otherwise: labels that stand apart"),
            (panels[1, 1], OTHERWISE, RECALL_CLOSE, "e   Told otherwise: close to another"),
            (panels[1, 2], OTHERWISE, RECALL, "f   Told otherwise: all labels"),
        ):
            axes.set_title(title, fontsize=13)
            _recall(axes, table, HEADLINE, colors, instrument)
        _over_rules(panels[0, 2], table)
        one_legend(figure, panels[0, 0])
        told = [line for line in panels[1, 2].lines if str(line.get_label()).startswith("Exp")]
        if told:
            panels[1, 1].legend(handles=told, loc="lower left", fontsize=11.5, title="in d, e, f")
        put_caption(
            figure,
            "Trained on 1 to 3 objects (shaded). Share of labels that an object meets; apart: no other label in the "
            "5 x 5 cells around. Told otherwise: labels as a channel of the image, in 2L of each patch, or their "
            "embedding multiplied; a list that starts at its first slot. Grey: the finder on rendered scenes. "
            "Dash-dotted: recall when images are asked for each other's labels (a, d, f). (c) K_max if another recall "
            "than "
            f"{LEAST:g} is asked for, mean over seeds. Thin: single seeds, thick: mean.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def controls(table: pl.DataFrame) -> Figure:
    """Networks of one kind that differ in what they see and in what they are told, and the plain Exp 2."""
    colors = {"2": PAPERS["2"], **CONTROLS}
    with house_style():
        figure = Figure(figsize=(16.5, 5.4), layout="constrained")
        panels = figure.subplots(1, 3)
        for axes, instrument, title in (
            (panels[0], RECALL, "a   All labels"),
            (panels[1], RECALL_APART, "b   Labels that stand apart"),
            (panels[2], RECALL_CLOSE, "c   Labels close to another"),
        ):
            axes.set_title(title, fontsize=13)
            _recall(axes, table, HEADLINE, colors, instrument)
        one_legend(figure, panels[0])
        put_caption(
            figure,
            "Exp 2 trained on 1 to 3 objects (shaded): told one of them. Linear: each cell from the 5 x 5 cells "
            "around it and their labels. Far: from these cells and all labels within 8. Whole: from the cells and "
            "labels within 8, as large as the image. 2: a U-Net of the image, trained half as long. All are told by "
            "one linear embedding that multiplies features. Apart: no other label in the 5 x 5 cells around. "
            "Dash-dotted: recall when images are asked for each other's labels (a, b). Thin: single seeds, thick: "
            "mean. Whole is read at a quarter of the layouts.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def counts(table: pl.DataFrame) -> Figure:
    """Over the number of labels: images that meet all, objects, and those nobody asked for; K_max by several rules."""
    shown = {
        STRICT: ("Every label is met", "share of images"),
        OBJECTS: ("Objects that are drawn", "objects of an image"),
        EXTRAS: ("Objects that no label asked for", "objects of an image"),
    }
    with house_style():
        figure = Figure(figsize=(19.5, 5.2), layout="constrained")
        *panels, last = figure.subplots(1, len(shown) + 1, width_ratios=(1, 1, 1, 1.35))
        for axes, (instrument, (title, unit)) in zip(panels, shown.items(), strict=True):
            axes.set(title=title, xlabel="labels at once", ylabel=unit)
            for name, color in PAPERS.items():
                count_line(axes, table, arm_of(name, HEADLINE), instrument, color, f"Exp {name}")
            if not axes.lines:
                empty_panel(axes, "not measured")
                continue
            _finder(axes, table, [arm_of(name, HEADLINE) for name in PAPERS], instrument)
            axes.axvspan(0.5, BEYOND + 0.5, color="#eeeeee", zorder=0)
            axes.set_xlim(0.5, 12.5)
            axes.set_xticks(range(2, 13, 2))
            axes.set_ylim(bottom=0)
        _by_rules(last, table)
        one_legend(figure, panels[0])
        off = "; ".join(f"{name} {off_the_paper(table, *rule):.1f}" for name, rule in RULES.items())
        put_caption(
            figure,
            "Left, trained on 1 to 3 objects (shaded). Exps 2 and 2L are told one object of each training image: "
            "what else they draw is no error. Thin: single seeds, thick: mean. Right: K_max by the rule fixed "
            f"beforehand, recall of {LEAST:g}, and by laxer ones that were tried afterwards, means over seeds. How "
            f"far each is from the paper on the mean: {off}; a constant 5, "
            f"{np.mean([abs(5 - k) for k in PAPER.values()]):.1f}.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _by_rules(axes: Axes, table: pl.DataFrame) -> None:
    """The entries of the paper's table, and K_max by each rule beside them."""
    axes.set_title("K_max by several rules")
    for place, ((name, objects), paper) in enumerate(PAPER.items()):
        axes.plot([place - 0.38, place + 0.38], [paper] * 2, color="#202020", linewidth=2.2, zorder=3)
        for marker, rule in zip(MARKERS, RULES.values(), strict=True):
            try:
                found = list(longest(table, arm_of(name, objects), *rule).values())
            except NotMeasured:
                continue
            axes.plot(place, np.mean(found), marker, color=PAPERS[name], markersize=8, alpha=0.85)
    axes.plot([], [], color="#202020", linewidth=2.2, label="paper")
    for marker, rule_name in zip(MARKERS, RULES, strict=True):
        axes.plot([], [], marker, color=GREY, markersize=8, label=rule_name)
    axes.set_xticks(range(len(PAPER)), [f"{name}\n{objects}" for name, objects in PAPER])
    axes.set_xlabel("experiment, objects of a training image")
    axes.set_ylim(-0.5, 12.5)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.27), ncols=2, fontsize=10.5, columnspacing=1.0)


def _finder(axes: Axes, table: pl.DataFrame, arms: Sequence[str], instrument: str) -> None:
    """The same of rendered scenes: what the finder reads of a perfect model."""
    if found := _values(table, arms, f"calibration.{instrument}"):
        level = np.nanmean(found[1], 0)
        axes.plot(found[0], level, "--", color=GREY, linewidth=1.4, label="finder on rendered scenes", zorder=1)


def _recall(axes: Axes, table: pl.DataFrame, objects: str, colors: Mapping[str, str], instrument: str = RECALL) -> None:
    """Recall over the number of labels of experiments with one training set, the finder's, and chance."""
    for name, color in colors.items():
        count_line(axes, table, arm_of(name, objects), instrument, color, f"Exp {name}")
        if found := _values(table, [arm_of(name, objects)], CHANCES.get(instrument, "")):
            axes.plot(found[0], np.nanmean(found[1], 0), color=color, linestyle="-.", linewidth=1.1, alpha=0.8)
    if not axes.lines:
        return empty_panel(axes, "not measured")
    _finder(axes, table, [arm_of(name, objects) for name in colors], instrument)
    if instrument in CHANCES:
        axes.plot([], [], "-.", color=GREY, linewidth=1.1, label="by chance")
    axes.axvspan(0.5, int(objects[-1]) + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlim(0.5, 12.5)
    axes.set_xlabel("labels at once")
    return accuracy_axis(axes, "recall")


def count_line(axes: Axes, table: pl.DataFrame, arm: str, instrument: str, color: str, label: str) -> None:
    """Seeds and their mean over the number of labels, if the arm was measured."""
    if found := _values(table, [arm], instrument):
        numbers, values = found
        axes.plot(numbers, values.T, color=color, linewidth=0.7, alpha=0.4)
        axes.plot(numbers, np.nanmean(values, 0), color=color, linewidth=2.4, marker="o", markersize=4, label=label)


def _sets(table: pl.DataFrame) -> list[str]:
    """The training sets that occur, smallest first."""
    return sorted({arm.rsplit(" ", 1)[1] for arm in table["arm"].unique().to_list()})


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
    axes.set_title("c   K_max by other rules", fontsize=13)
    asked = np.linspace(0.3, 0.98, 69)
    for name, color in PAPERS.items():
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
        found = {name: values for name in PAPERS if (values := _each_longest(table, name, objects))}
        for i, (name, values) in enumerate(found.items()):
            at, color = place + (i - (len(found) - 1) / 2) * 0.14, PAPERS[name]
            axes.plot([at] * len(values), values, "o", color=color, alpha=0.45, markersize=5)
            axes.plot([at - 0.05, at + 0.05], [np.mean(values)] * 2, color=color, linewidth=3)
            if (name, objects) in PAPER:
                axes.plot([at], [PAPER[name, objects]], "x", color="#202020", markersize=7)
    axes.set_xticks(range(len(sets)), sets)
    axes.set_xlabel("objects of a training image")
    axes.set_ylim(-0.5, 12.5)


def _each_longest(table: pl.DataFrame, name: str, objects: str) -> list[float]:
    """K_max of every seed of an experiment; none if it was not measured."""
    try:
        return list(longest(table, arm_of(name, objects)).values())
    except NotMeasured:
        return []
