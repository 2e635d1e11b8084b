"""Accuracy over the size of what was held out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from recombine.lab.report.kit.style import INK
from recombine.lab.statistics import mean_intervals

CROSS: dict[str, Any] = {"marker": "x", "markersize": 10, "markeredgewidth": 2.4, "linestyle": "none", "zorder": 4}
"""How the exact score of the nearest-label baseline is marked."""


def sweep_line(
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


def cross_mark(label: str) -> Line2D:
    """The mark of the baseline, for a legend."""
    return Line2D([], [], color=INK, label=label, **CROSS)
