"""Bars of figures: a bar for the mean over seeds, a whisker for its interval, a dot for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import INK, SERIES_COLORS
from recombine.lab.rules import BySeed
from recombine.lab.statistics import mean_interval

ROOM = 0.8  # of the distance between groups that their bars take


def draw_bars(
    axes: Axes,
    groups: Mapping[str, Mapping[str, Sequence[float]]],
    colors: Mapping[str, str] | None = None,
    baseline: Mapping[str, Mapping[str, float]] | None = None,
) -> None:
    """Grouped bars: {group: {series: one value a seed}}, with a line across a bar where `baseline` has a value for it.

    What was not measured leaves its place empty. Each series is labelled once, for a legend.
    """
    series = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    shades = dict(zip(series, SERIES_COLORS, strict=False)) | dict(colors or {})
    width = ROOM / max(len(series), 1)
    for position, name in enumerate(series):
        at = np.arange(len(groups)) + (position - (len(series) - 1) / 2) * width
        for place, (group, bars) in zip(at, groups.items(), strict=True):
            values = np.asarray(bars.get(name, ()), dtype=np.float64)
            if len(values):
                draw_bar(axes, float(place), values, width, shades[name])
            level = (baseline or {}).get(group, {}).get(name)
            if level is not None:
                axes.plot([place - width / 2, place + width / 2], [level, level], color=INK, linewidth=2, zorder=4)
        axes.bar([0], [0], color=shades[name], label=name)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.grid(False, axis="x")


def accuracy_bars(
    axes: Axes,
    found: Mapping[str, Mapping[str, tuple[BySeed, BySeed]]],
    colors: Mapping[str, str],
    baseline: str = "nearest label",
) -> None:
    """{group: {series: what a model has, what its baseline has}}, from 0 to 1."""
    values = {group: {name: list(model.values()) for name, (model, _) in bars.items()} for group, bars in found.items()}
    levels = {
        group: {name: next(iter(null.values())) for name, (_, null) in bars.items() if null}
        for group, bars in found.items()
    }
    draw_bars(axes, values, colors, levels)
    axes.plot([], [], color=INK, linewidth=2, label=baseline)
    accuracy_axis(axes)


def draw_bar(axes: Axes, place: float, values: Sequence[float] | np.ndarray, width: float, color: str) -> None:
    """One bar at `place`: the mean of these seeds, its interval, and the seeds themselves."""
    data = np.asarray(values, dtype=np.float64)
    mean, interval = float(data.mean()), mean_interval(data)
    axes.bar([place], [mean], width=0.92 * width, color=color, alpha=0.85, zorder=2)
    if interval is not None:
        axes.plot([place, place], interval, color=INK, linewidth=2, zorder=3)
    spots = place + np.linspace(-0.22, 0.22, len(data)) * width if len(data) > 1 else np.array([place])
    axes.plot(spots, data, "o", color="white", markeredgecolor=INK, markersize=4.5, linewidth=0, zorder=3.5)
