"""The figure of networks that are penalised for non-local conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import LEAST, RECALL
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, INK, empty_figure, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.local_scores._shared.label_recall import (
    BEYOND,
    Measure,
    beyond,
    chance_beyond,
    longest,
    values_of,
)
from recombine.studies.local_scores._shared.recall_panels import count_line
from recombine.studies.local_scores._shared.sample_figure import marked_sheet
from recombine.studies.local_scores.locality.claims import GRADIENT
from recombine.studies.local_scores.soft.claims import LOCAL, locality, soft_arm, weights

SHADES = ("#0b2545", "#1f5a94", "#4d9bd1", "#9ccbe6")  # from the largest weight down
PLAIN, BUILT = "#D55E00", "#009E73"  # no penalty; local by construction
Lines = Sequence[tuple[str, Measure]]  # line style and what is drawn

sheets = marked_sheet(
    "Samples of networks with each weight of the penalty for 1, 3, 6 and 9 labels, which are marked.",
    lambda arm: "Exp 2L" if arm == LOCAL else arm,
)


def draw(table: pl.DataFrame, config: Any) -> dict[str, Drawing]:
    """Recall over the number of labels for every weight; locality, recall and K_max over the weight."""
    caption = (
        "Label recall over the number of labels; conditional locality, recall and K_max over the penalty's weight."
    )
    return {"figure": Drawing(penalties(table), caption)}


def penalties(table: pl.DataFrame) -> Figure:
    """Recall over the number of labels; then what the weight does to locality, recall and K_max."""
    swept = weights(table)
    if not swept:
        return empty_figure("no penalty was measured")
    colors = _colors(swept)
    with house_style():
        figure = Figure(figsize=(13, 9.6), layout="constrained")
        panels = figure.subplots(2, 2).ravel()
        _recall(panels[0], table, colors)
        shown: list[tuple[str, Lines]] = [
            ("conditional locality", [("-", locality()), ("--", locality(GRADIENT))]),
            (f"recall, more than {BEYOND} labels", [("-", beyond), (":", chance_beyond)]),
            ("K_max", [("-", longest)]),
        ]
        for axes, (title, lines) in zip(panels[1:], shown, strict=True):
            _over_weight(axes, table, swept, lines, colors)
            ends = [values_of(table, soft_arm(weight), lines[0][1]) for weight in (swept[0], swept[-1])]
            change = f": {np.mean(ends[0]):.2f} to {np.mean(ends[1]):.2f}" if all(ends) else ""
            axes.set_title(title + change)
            axes.set_xlabel("weight of the penalty")
        accuracy_axis(panels[2], "")
        put_caption(
            figure,
            "Exp 2 with a penalty on what a label changes further than its reach from it. First panel: label recall; "
            f"dotted: {LEAST:g}, the rule of K_max; shaded: numbers of objects trained on. Others: over the weight; "
            "dots: seeds, line: their mean; green: Exp 2L, local by construction. Conditional locality on a scale from "
            "chance 0 to 1, by taking a label out (solid) and by the gradient to it (dashed, hollow). Dotted below "
            "recall: recall against the labels of other layouts.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _colors(swept: Sequence[float]) -> dict[str, str]:
    positive = [weight for weight in reversed(swept) if weight > 0]
    shades = {soft_arm(weight): SHADES[min(i, len(SHADES) - 1)] for i, weight in enumerate(positive)}
    return {soft_arm(0): PLAIN, **dict(reversed(shades.items())), LOCAL: BUILT}


def _recall(axes: Axes, table: pl.DataFrame, colors: Mapping[str, str]) -> None:
    axes.set_title("label recall")
    for arm, color in colors.items():
        count_line(axes, table, arm, RECALL, color, "Exp 2L" if arm == LOCAL else arm)
    axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
    axes.axvspan(0.5, BEYOND + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlabel("labels")
    axes.legend(loc="best", fontsize=12)
    accuracy_axis(axes, "recall")


def _over_weight(
    axes: Axes, table: pl.DataFrame, swept: Sequence[float], lines: Lines, colors: Mapping[str, str]
) -> None:
    """Weights at even distances, 0 among them; what is local by construction as a level."""
    shown = False
    for style, measure in lines:
        found = {place: values_of(table, soft_arm(weight), measure) for place, weight in enumerate(swept)}
        found = {place: values for place, values in found.items() if values}
        if not found:
            continue
        shown = True
        axes.plot(list(found), [np.mean(v) for v in found.values()], color=INK, linewidth=1.6, linestyle=style)
        for place, values in found.items() if style != ":" else ():
            color = colors[soft_arm(swept[place])]
            face = color if style == "-" else "none"
            axes.plot([place] * len(values), values, "o", color=color, markersize=6, alpha=0.6, markerfacecolor=face)
        if built := values_of(table, LOCAL, measure):
            axes.axhline(float(np.mean(built)), color=BUILT, linewidth=1.8, linestyle=style, zorder=1)
    if not shown:
        return empty_panel(axes, "not measured")
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(swept)), [f"{weight:g}" for weight in swept])
    return None
