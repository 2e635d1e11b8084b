"""Curves of figures: thin lines for seeds, a thick line for their mean, a band for its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from recombine.lab.report.kit.axes import accuracy_axis, images_axis
from recombine.lab.report.kit.style import SERIES_COLORS, SERIES_DASHES, empty_panel
from recombine.lab.statistics import mean_intervals
from recombine.lab.table import Curve

Band = Literal["min-max", "interval"]


def mean_and_band(curves: Sequence[Curve], band: Band) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Mean, lower and upper edge over seeds, where every seed was measured.  # [moments], [3, moments]

    A seed that is still running shortens the mean rather than making it jump.
    """
    if not curves:
        return np.zeros(0, dtype=np.int64), np.zeros((3, 0))
    seen = curves[0][0]
    for other, _ in curves[1:]:
        seen = np.intersect1d(seen, other)
    values = np.stack([value[np.searchsorted(at, seen)] for at, value in curves])  # [seeds, moments]
    mean = values.mean(axis=0)
    if band == "min-max":
        return seen, np.stack([mean, values.min(axis=0), values.max(axis=0)])
    edges = mean_intervals(values) if len(values) > 1 else (mean, mean)
    return seen, np.stack([mean, *edges])


def draw_mean(
    axes: Axes,
    curves: Sequence[Curve],
    color: str,
    label: str | None = None,
    band: Band = "interval",
    dashes: Any = "-",
    width: float = 3.0,
    thin: bool = True,
    opacity: float = 0.16,
) -> None:
    """Thin lines for the seeds, a thick line for their mean, a band as `band_caption` states it."""
    seen, (mean, low, high) = mean_and_band(curves, band)
    if len(curves) > 1:
        axes.fill_between(seen, low, high, color=color, alpha=opacity, linewidth=0, zorder=2)
        if thin:
            for at, value in curves:
                axes.plot(at, value, color=color, linewidth=0.8, alpha=0.35, zorder=2.5)
    axes.plot(seen, mean, color=color, linewidth=width, linestyle=dashes, label=label, zorder=3)


def draw_series(
    axes: Axes,
    series: Mapping[str, Sequence[Curve]],
    chance: float | None = None,
    colors: Sequence[str] = SERIES_COLORS,
    place: Literal["best", "lower right"] | None = "best",
) -> None:
    """Several named sets of curves over images seen, each with its colour and dashes; what was not measured is said.

    The legend is at `place`, or left to the caller.
    """
    present = {name: curves for name, curves in series.items() if curves}
    if not present:
        return empty_panel(axes, f"not measured: {', '.join(series)}")
    for position, (name, curves) in enumerate(series.items()):
        if curves:
            color, dashes = colors[position % len(colors)], SERIES_DASHES[position % len(SERIES_DASHES)]
            draw_mean(axes, curves, color, name, dashes=dashes)
        else:
            axes.plot([], [], alpha=0, label=f"(not measured: {name})")
    images_axis(axes, *span(present.values()))
    accuracy_axis(axes, chance=chance)
    if place is not None:
        axes.legend(loc=place, handlelength=3.2)
    return None


def span(groups: Iterable[Sequence[Curve]]) -> tuple[float, float] | tuple[None, None]:
    """The first and the last moment after 0 at which anything was measured."""
    at = [float(moment) for curves in groups for seen, _ in curves for moment in seen if moment > 0]
    return (min(at), max(at)) if at else (None, None)


def band_caption(n: int, band: Band = "interval") -> str:
    """What lines and bands mean, over n seeds."""
    if n < 2:
        return f"n = {n} seed: one curve, no band."
    what = "95% interval of the mean" if band == "interval" else "smallest to largest seed"
    return f"Thin lines: seeds. Thick line: their mean. Band: {what}. n = {n} seeds."


def draw_sweep(
    axes: Axes, at: Sequence[float], values: NDArray[np.float64], color: str, name: str, marker: str
) -> None:  # values [seeds, len(at)]
    """Points for seeds, a line for their mean, a band for its 95% interval."""
    if not values.size:
        return
    if len(values) > 1:
        axes.fill_between(at, *mean_intervals(values), color=color, alpha=0.16, linewidth=0, zorder=2)
        for row in values:
            axes.plot(at, row, marker, color=color, markersize=4, alpha=0.45, markeredgewidth=0, zorder=2.5)
    axes.plot(
        at, values.mean(axis=0), color=color, linewidth=3, marker=marker, markersize=9, markeredgecolor="white",
        zorder=3, label=name,
    )  # fmt: skip
