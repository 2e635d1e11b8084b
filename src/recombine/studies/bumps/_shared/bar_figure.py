"""Accuracies as bars, each beside the nearest-label baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import empty_panel
from recombine.lab.rules import BySeed

ROOM = 0.8  # of all bars of a group


@dataclass(frozen=True)
class Bars:
    """One colour of bars: a value a seed for each group, empty where nothing was measured."""

    label: str
    color: str
    values: Sequence[BySeed]
    baselines: Sequence[BySeed]
    others: Sequence[BySeed] = ()  # a second estimate, drawn as a white line


def draw_bars(axes: Axes, groups: Sequence[str], series: Sequence[Bars]) -> None:
    """A group of bars for each name, all of them from 0 to 1."""
    if not any(values for bars in series for values in bars.values):
        return empty_panel(axes, "not measured")
    width = ROOM / len(series)
    for number, bars in enumerate(series):
        for group, values in enumerate(bars.values):
            if values:
                at = group + (number - (len(series) - 1) / 2) * width
                null = next(iter(bars.baselines[group].values()), None)
                bar(axes, at, width, bars.color, list(values.values()), null)
                if bars.others:
                    level = float(np.mean(list(bars.others[group].values())))
                    axes.plot([at - width / 3, at + width / 3], [level] * 2, color="white", linewidth=2.6)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.grid(False, axis="x")
    return accuracy_axis(axes)


def bar(axes: Axes, at: float, width: float, color: str, values: Sequence[float], null: float | None) -> None:
    """The mean over seeds, a dot for each, and a black line where the baseline is."""
    axes.bar(at, float(np.mean(values)), 0.92 * width, color=color, alpha=0.8)
    axes.plot(np.full(len(values), at), values, "o", color=color, markersize=5, markeredgecolor="white")
    if null is not None:
        axes.plot([at - width / 2, at + width / 2], [null, null], color="black", linewidth=2.6, zorder=4)


def bar_legend(figure: Figure, series: Sequence[Bars]) -> None:
    """The colours of the bars and the mark of the baseline, over all panels."""
    handles = [*(Patch(color=bars.color, alpha=0.8, label=bars.label) for bars in series), baseline_mark()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))


def baseline_mark() -> Line2D:
    """The line of the baseline, for a legend."""
    return Line2D([], [], color="black", linewidth=2.6, label="nearest label")
