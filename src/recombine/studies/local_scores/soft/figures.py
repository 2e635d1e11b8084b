"""The figure of networks that are asked to be local."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import CHANCE, EXTRAS, LEAST, RECALL
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, INK, empty_figure, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.local_scores.dose.figures import values_of
from recombine.studies.local_scores.length.claims import BEYOND, Measure, beyond, longest
from recombine.studies.local_scores.length.figures import count_line
from recombine.studies.local_scores.locality.claims import GRADIENT
from recombine.studies.local_scores.soft.claims import LOCAL, locality, soft_arm, weights

SHADES = ("#0b2545", "#1f5a94", "#4d9bd1", "#9ccbe6")  # from the largest weight down
PLAIN, BUILT = "#D55E00", "#009E73"  # no penalty; local by construction


def penalties(table: pl.DataFrame) -> Figure:
    """Recall over the number of labels; then what the weight does to locality, recall, K_max and extras."""
    swept = weights(table)
    if not swept:
        return empty_figure("no penalty was measured")
    colors = _colors(swept)
    with house_style():
        figure = Figure(figsize=(19, 5.4), layout="constrained")
        panels = figure.subplots(1, 5, width_ratios=(1.5, 1, 1, 1, 1))
        _recall(panels[0], table, colors)
        measures: list[tuple[str, list[tuple[str, str, Measure]]]] = [
            ("conditional locality", [("removed", "-", locality()), ("gradient", "--", locality(GRADIENT))]),
            (f"recall, more than {BEYOND} labels", [("", "-", beyond), ("", ":", _chance)]),
            ("K_max", [("", "-", longest)]),
            ("extras", [("", "-", lambda t, arm: beyond(t, arm, EXTRAS))]),
        ]
        for axes, (title, lines) in zip(panels[1:], measures, strict=True):
            _over_weight(axes, table, swept, lines, colors)
            axes.set_title(title)
            axes.set_xlabel("weight of the penalty")
        accuracy_axis(panels[2], "")
        put_caption(
            figure,
            "Exp 2 with a penalty on what a label changes further than its reach from it. Left: share of labels that "
            f"an object meets; dotted: {LEAST:g}, the rule of K_max; shaded: numbers of objects trained on. Right: "
            "over the weight; dots: seeds, line: their mean; green: Exp 2L, local by construction. Conditional "
            "locality on a scale from chance 0 to 1, by taking a label out (solid) and by the gradient to it (dashed, "
            "hollow). Dotted below recall: that of images asked for each other's labels. "
            f"Extras: objects that meet no label, with more than {BEYOND} labels.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _colors(swept: Sequence[float]) -> dict[str, str]:
    positive = [weight for weight in reversed(swept) if weight > 0]
    shades = {soft_arm(weight): SHADES[min(i, len(SHADES) - 1)] for i, weight in enumerate(positive)}
    return {soft_arm(0): PLAIN, **dict(reversed(shades.items())), LOCAL: BUILT}


def _chance(table: pl.DataFrame, arm: str) -> dict[int, float]:
    return beyond(table, arm, CHANCE)


def _recall(axes: Axes, table: pl.DataFrame, colors: Mapping[str, str]) -> None:
    axes.set_title("labels that are met")
    for arm, color in colors.items():
        count_line(axes, table, arm, RECALL, color, f"Exp {LOCAL.split()[0]}" if arm == LOCAL else arm)
    axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
    axes.axvspan(0.5, BEYOND + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlabel("labels at once")
    axes.legend(loc="best", fontsize=11)
    accuracy_axis(axes, "recall")


def _over_weight(
    axes: Axes, table: pl.DataFrame, swept: Sequence[float], lines: Sequence[tuple[str, str, Measure]],
    colors: Mapping[str, str],
) -> None:  # fmt: skip
    """Weights at even distances, 0 among them; what is local by construction as a level."""
    shown = False
    for _, style, measure in lines:
        found = {place: values_of(table, soft_arm(weight), measure) for place, weight in enumerate(swept)}
        found = {place: values for place, values in found.items() if values}
        if not found:
            continue
        shown = True
        axes.plot(list(found), [np.mean(v) for v in found.values()], color=INK, linewidth=1.6, linestyle=style)
        for place, values in found.items():
            color = colors[soft_arm(swept[place])]
            if style != ":":
                face = color if style == "-" else "none"
                axes.plot(
                    [place] * len(values), values, "o", color=color, markersize=6, alpha=0.6, markerfacecolor=face
                )
        built = values_of(table, LOCAL, measure)
        if built:
            axes.axhline(float(np.mean(built)), color=BUILT, linewidth=1.8, linestyle=style, zorder=1)
    if not shown:
        return empty_panel(axes, "not measured")
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(swept)), [f"{weight:g}" for weight in swept])
    return None
