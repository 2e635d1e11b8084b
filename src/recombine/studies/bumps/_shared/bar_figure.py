"""Accuracies as bars, each with a line where the nearest-label baseline is."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.style import INK
from recombine.lab.rules import BySeed


def accuracy_bars(
    axes: Axes, found: Mapping[str, Mapping[str, tuple[BySeed, BySeed]]], colors: Mapping[str, str]
) -> None:
    """{group: {series: what a model has, what its baseline has}}, from 0 to 1."""
    values = {group: {name: list(model.values()) for name, (model, _) in bars.items()} for group, bars in found.items()}
    levels = {
        group: {name: next(iter(null.values())) for name, (_, null) in bars.items() if null}
        for group, bars in found.items()
    }
    draw_bars(axes, values, colors, levels)
    axes.plot([], [], color=INK, linewidth=2, label="nearest label")
    accuracy_axis(axes)
