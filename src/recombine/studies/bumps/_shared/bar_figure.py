"""Pieces of figures that show accuracies as bars beside the memoriser."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recombine.studies.bumps.crossing.compose.claims import null_of


def trained_arms(table: pl.DataFrame) -> list[str]:
    """The arms that are no memoriser, in the order of the table."""
    return [arm for arm in dict.fromkeys(table["arm"].to_list()) if not arm.startswith(null_of(""))]


def bar(axes: Axes, at: float, width: float, color: str, values: Sequence[float], null: float | None) -> None:
    """The mean over seeds, a dot for each, and a black line where the memoriser is."""
    axes.bar(at, float(np.mean(values)), 0.92 * width, color=color, alpha=0.8)
    axes.plot(np.full(len(values), at), values, "o", color=color, markersize=5, markeredgecolor="white")
    if null is not None:
        axes.plot([at - width / 2, at + width / 2], [null, null], color="black", linewidth=2.4, zorder=4)


def memoriser_mark() -> Line2D:
    """The line of the memoriser, for a legend."""
    return Line2D([], [], color="black", linewidth=2.4, label="memoriser")
