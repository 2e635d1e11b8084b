"""The figure of the stages: Yang et al. 2025, Figs 5, 17 and 18."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.identity_mapping._shared.flow_claims import values

if TYPE_CHECKING:
    from recombine.studies.identity_mapping.stages.experiment import StagesConfig

Lines = dict[str, tuple[str, Any, str]]  # colour, dashes, label

ARMS = {"A": "A", "A2": "A², as in the scripts"}
LINES: Lines = {
    "w22": ("#0072B2", "-", "w22: stronger concept"),
    "w11": ("#D55E00", "-", "w11: weaker concept"),
    "w12": ("#009E73", "-", "w12: their minor"),
    "w23": ("#56B4E9", (0, (5, 1.5)), "w23: stronger and idle"),
    "w13": ("#E69F00", (0, (5, 1.5)), "w13: weaker and idle"),
    "w33": (FAINT, (0, (1.2, 1.2)), "w33: idle"),
}
TERMS: Lines = {
    "growth": ("#0072B2", "-", "growth 2G"),
    "suppression": ("#D55E00", "-", "suppression 2S"),
    "noise": (FAINT, "-", "noise 2N"),
    "motion": (INK, (0, (5, 1.5)), "w12', all of them"),
}
STAGES = {"first major": "1", "minor suppressed": "2", "second major": "3"}


def figure(table: pl.DataFrame, config: StagesConfig) -> Figure:
    """A row an arm: the entries of one start, those of all, and what moves the minor."""
    with house_style():
        drawing = Figure(figsize=(17, 10), layout="constrained")
        grid = drawing.subplots(2, 3, squeeze=False)
        starts = 0
        for number, (arm, name) in enumerate(ARMS.items()):
            starts = max(starts, len(values(table, arm, "error")))
            one, many, moving = grid[number]
            end = _end(table, arm)
            _draw(one, table, arm, LINES, "start 0", end, f"{'ad'[number]}   One start, {name}")
            _draw(many, table, arm, LINES, "all", end, f"{'be'[number]}   All starts, {name}")
            _draw(moving, table, arm, TERMS, "all", end, f"{'cf'[number]}   What moves w12, {name}")
            _mark_stages(many, table, arm)
            _mark_stages(moving, table, arm)
            one.set_ylabel("entry of W")
            moving.set_ylabel("part of w12'")
        if grid[0, 0].lines and grid[0, 2].lines:
            grid[0, 0].legend(loc="center right", fontsize=11)
            grid[0, 2].legend(loc="upper right", fontsize=11)
        mu = ", ".join(f"{signal:g}" for signal in config.signals)
        put_caption(
            drawing,
            f"mu = ({mu}), U uniform in (0, {config.scale:g}). Lines: median (a, d: start 0). Bands: 5 to 95% of n = "
            f"{starts} starts. Dotted, medians: 1 the stronger concept at {config.level:g}, 2 the minor below "
            f"{config.remnant:g} of its peak, 3 the weaker concept at {config.level:g}. Time of gradient flow.",
        )
    return drawing


def _draw(axes: Axes, table: pl.DataFrame, arm: str, lines: Lines, kind: str, end: float, title: str) -> None:
    axes.set_title(title)
    instrument = kind if kind == "start 0" else f"{kind}.median"
    if not any(curves(table, instrument, arm, node) for node in lines):
        return empty_panel(axes, f"not measured: {', '.join(lines)}")
    for node, (color, dashes, label) in lines.items():
        for times, heights in curves(table, instrument, arm, node).values():
            axes.plot(times / 1000, heights, color=color, linestyle=dashes, linewidth=2.6, label=label, zorder=3)
        if kind == "all":
            edges = [curves(table, f"all.{edge}", arm, node).values() for edge in ("low", "high")]
            for (times, low), (_, high) in zip(*edges, strict=True):
                axes.fill_between(times / 1000, low, high, color=color, alpha=0.16, linewidth=0, zorder=2)
    axes.set_xlim(0, end)
    axes.set_xlabel("time")
    return None


def _end(table: pl.DataFrame, arm: str) -> float:
    """A while after the last stage of most starts."""
    last = values(table, arm, "time.second major")
    return 1.25 * float(np.quantile(last, 0.95)) if len(last) else 1.0


def _mark_stages(axes: Axes, table: pl.DataFrame, arm: str) -> None:
    for name, digit in STAGES.items():
        times = values(table, arm, f"time.{name}")
        if len(times) and axes.axison:
            middle = float(np.median(times))
            axes.axvline(middle, color=INK, linestyle=":", linewidth=1.4, zorder=1)
            axes.annotate(digit, (middle, 1), xycoords=("data", "axes fraction"), xytext=(4, -12),
                          textcoords="offset points", fontsize=12, fontweight="bold")  # fmt: skip
