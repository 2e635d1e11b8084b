"""The critical lambda of every width and threshold, as a table in colours."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption
from recombine.studies.bumps.percolation_theory.claims import CHOSEN, ON, critical_of_mean, neighbours_of

NEVER, AT_ONCE = "#EDEDED", "#DCD3E8"


def map_of_critical(table: pl.DataFrame, pixels: int) -> Figure:
    """Critical lambda of every width (across) and threshold (up)."""
    widths, levels = axes_of(table)
    with house_style():
        drawn = Figure(figsize=(14, 9.2), layout="constrained")
        axes = drawn.subplots()
        if not widths:
            empty_panel(axes, "not counted: components at any width and threshold")
            return drawn
        _draw_map(axes, table, widths, levels)
        axes.set_title(f"At the paper's threshold: {who_never(table, CHOSEN)}")
        put_caption(
            drawn,
            "In each cell the critical lambda, the share of all bumps from which on half of those taken hang together: "
            f"where the mean over orders of the {pixels} x {pixels} lattice ({orders_text(table)}) reaches one half, "
            "and its 95% bootstrap interval; z: the neighbours that a bump is linked to. Never: less than half hangs "
            "together even with every bump there. At once: half does at any lambda from three bumps on; up to: the "
            f"end of its interval. Frame: the paper's threshold, {CHOSEN:g}.",
        )
    return drawn


def axes_of(table: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Widths and thresholds of the lattice on pixels, ascending."""
    cells = neighbours_of(table)
    return sorted({width for width, _ in cells}), sorted({threshold for _, threshold in cells})


def orders_text(table: pl.DataFrame) -> str:
    """How many orders of the sites there are, in words."""
    n = table.filter(pl.col("arm") == ON)["seed"].n_unique()
    return f"n = {n} order" if n == 1 else f"n = {n} orders"


def who_never(table: pl.DataFrame, threshold: float) -> str:
    """Which widths percolate in no order at this threshold, in words."""
    never = [
        f"{width:g}"
        for (width, level) in sorted(neighbours_of(table))
        if level == threshold and critical_of_mean(table, (width, level))[0].outcome == "never"
    ]
    return f"$\\sigma$ = {', '.join(never)} never percolates" if never else "every width percolates"


def _draw_map(axes: Axes, table: pl.DataFrame, widths: list[float], levels: list[float]) -> None:
    values = np.full((len(levels), len(widths)), np.nan)
    words: dict[tuple[int, int], tuple[str, str]] = {}
    for (width, threshold), z in neighbours_of(table).items():
        place = levels.index(threshold), widths.index(width)
        found, (low, high), _ = critical_of_mean(table, (width, threshold))
        if found.outcome == "crosses":
            values[place] = found.value
            head, rest = _short(found.value), f"{_short(low)} to {_short(high)}\n"
        elif found.outcome == "below":
            head, rest = "at once", f"up to {_short(high)}\n"
        else:
            head, rest = "never", ""
        words[place] = head, f"{rest}z = {z}"
    scale = LogNorm(0.008, 0.6)
    axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", norm=scale)
    for (row, column), (head, rest) in words.items():
        value = values[row, column]
        if not np.isfinite(value):
            back = NEVER if head == "never" else AT_ONCE
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=back, edgecolor="none", zorder=1))
        ink = INK if not np.isfinite(value) or scale(value) > 0.62 else "white"
        axes.text(column, row + 0.17, head, ha="center", va="center", fontsize=15, fontweight="bold", color=ink)
        axes.text(column, row - 0.2, rest, ha="center", va="center", fontsize=11.5, color=ink)
    if CHOSEN in levels:
        corner = -0.485, levels.index(CHOSEN) - 0.485
        axes.add_patch(Rectangle(corner, len(widths) - 0.03, 0.97, fill=False, edgecolor=INK, linewidth=2.6, zorder=4))
    axes.set_xticks(range(len(widths)), [f"{width:g}" for width in widths])
    axes.set_yticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlabel("$\\sigma$, width of the bumps")
    axes.set_ylabel("threshold of the overlap")
    axes.grid(False)


def _short(value: float) -> str:
    return "never" if np.isinf(value) else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
