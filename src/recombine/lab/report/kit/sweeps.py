"""Accuracy over a size that was swept, beside a baseline in closed form and its exact score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT
from recombine.lab.sweeps import Swept

CROSS: dict[str, Any] = {"marker": "x", "markersize": 10, "markeredgewidth": 2.4, "linestyle": "none", "zorder": 4}
"""How the exact score of a baseline is marked."""


def shade_baseline(axes: Axes, sizes: Sequence[float], expected: Callable[[float], float], **line: Any) -> None:
    """The closed form of the baseline over these sizes, shaded below."""
    span = np.linspace(min(sizes), max(sizes), 200)
    null = [expected(size) for size in span]
    axes.fill_between(span, 0, null, color="#EEEEEE", zorder=0.5)
    axes.plot(span, null, color=FAINT, linewidth=1.8, zorder=1, **line)


def mark_mean(axes: Axes, found: Swept, color: str, **marks: Any) -> None:
    """The mean over seeds at each size, as crosses or as asked for."""
    sizes, values = found
    if values.size:
        axes.plot(sizes, values.mean(axis=0), color=color, **(marks if "linestyle" in marks else CROSS | marks))


def size_axis(axes: Axes, sizes: Sequence[float], what: str, label: str = "accuracy") -> None:
    """Ticks at the sizes, and accuracy."""
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.set_xlabel(what)
    accuracy_axis(axes, label)
