"""What the figures of identity-mapping share: quantile bands over starts, shares with exact intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from recombine.lab.report.kit.style import INK
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import Curve, Table, curves
from recombine.runs.identity.rows import QUANTILES

ARMS = {"A": "A", "A2": "A² (scripts)"}
"""Arms of flows, as figures name them."""


def one_curve(table: Table, instrument: str, over: str = "time", **where: Any) -> Curve | None:
    """The only curve of an instrument, or the first."""
    return next(iter(curves(table, instrument, over=over, **where).values()), None)


def draw_quantiles(
    axes: Axes, table: Table, instrument: str, color: str, label: str, floor: float | None = None,
    dashes: Any = "-", **where: Any,
) -> bool:  # fmt: skip
    """The median over starts and the band from 5 to 95%; whether there was any."""
    found = [one_curve(table, instrument, quantile=q, **where) for q in QUANTILES]
    low, median, high = found
    if low is None or median is None or high is None:
        return False
    edges = [low[1], median[1], high[1]] if floor is None else [edge[1].clip(floor) for edge in (low, median, high)]
    axes.fill_between(low[0], edges[0], edges[2], color=color, alpha=0.16, linewidth=0, zorder=2)
    axes.plot(median[0], edges[1], color=color, linewidth=2.8, linestyle=dashes, label=label, zorder=3)
    return True


def whiskers(shares: Sequence[tuple[int, int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each share (how many, of how many), and how far its exact interval reaches down and up.  # [m], [2, m]"""
    found = np.array([k / n for k, n in shares])
    ends = np.array([proportion_interval(k, n) for k, n in shares])
    return found, np.stack([found - ends[:, 0], ends[:, 1] - found]).clip(min=0)


def share_bars(axes: Axes, places: Sequence[float], shares: Sequence[tuple[int, int]], color: str, label: str) -> None:
    """A bar for each share with its exact interval and its percentage above."""
    found, reach = whiskers(shares)
    axes.bar(places, found, 0.38, yerr=reach, capsize=4, color=color, label=label, error_kw={"ecolor": INK}, zorder=2)
    for place, share, up in zip(places, found, reach[1], strict=True):
        text = f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"
        axes.annotate(text, (place, share + up), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=12)


def share_line(
    axes: Axes, series: Mapping[float, tuple[int, int]], color: str, label: str, hollow: bool = False,
    width: float = 2.6,
) -> None:  # fmt: skip
    """Shares along an axis with their exact intervals; a hollow line is dashed and has open marks."""
    found, bars = whiskers(list(series.values()))
    axes.errorbar(list(series), found, bars, color=color, marker="o", markersize=8, capsize=4, linewidth=width,
                  elinewidth=2, label=label, linestyle=(0, (5, 1.5)) if hollow else "-",
                  markerfacecolor="white" if hollow else color)  # fmt: skip
