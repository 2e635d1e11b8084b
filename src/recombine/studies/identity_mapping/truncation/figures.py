"""The figure of training without the points near the probe: Yang et al. 2025, Figs 15 and 16."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.identity_mapping.order.claims import per_start, told
from recombine.studies.identity_mapping.order.figures import path
from recombine.studies.identity_mapping.truncation.claims import SHIFT, share_inside

ARMS = {
    "label": "sigma = 0.05, as labelled",
    "released": "variance 0.05, as released",
    "wide": "variance 0.5",
    "weak": "variance 0.5, $\\mu$ = (0.5, 1)",
    "round": "variance 1, $\\mu$ = (2, 2)",
    "wide relu": "variance 0.5, ReLU",
}
WHOLE, CUT, INSIDE = SERIES_COLORS[4], SERIES_COLORS[1], "#D55E00"


def figure(table: pl.DataFrame) -> Figure:
    """A panel for each setting: points, the radius, both paths. Below, the shift of every start."""
    with house_style():
        drawing = Figure(figsize=(18, 15.5), layout="constrained")
        grid = drawing.add_gridspec(3, 3, height_ratios=(1, 1, 0.72))
        for position, (arm, name) in enumerate(ARMS.items()):
            axes = drawing.add_subplot(grid[position // 3, position % 3])
            axes.set_title(f"{'abcdef'[position]}   {name}")
            _draw_paths(axes, table, arm)
        _draw_shifts(drawing.add_subplot(grid[2, :]), table)
        n = {arm: len(per_start(table, arm, "shift")) for arm in ARMS}
        put_caption(
            drawing,
            "a-f: median path of f(probe) over starts with all points (blue) and without those inside the circle "
            "(orange, dashed); dots: 100 training points a cluster, those inside in orange; star: probe; mu = (1, 2) "
            "if not said. g: a dot a start, bar: median; left of each pair the points inside drawn again, right all "
            "points drawn anew. "
            f"n = {max(n.values())} starts (f: {n['wide relu']}).",
        )
    return drawing


def _draw_paths(axes: Axes, table: pl.DataFrame, arm: str) -> None:
    whole, cut = path(table, arm, "whole"), path(table, arm, "cut")
    if whole is None or cut is None:
        return empty_panel(axes, f"not measured: paths in {arm}")
    for side, color in (("outside", FAINT), ("inside", INSIDE)):
        x, y = (
            [v[0] for (_, node), (_, v) in curves(table, f"x.{k}", arm).items() if node.startswith(side)]
            for k in (1, 2)
        )
        axes.plot(x, y, ".", color=color, markersize=5, alpha=0.55 if side == "outside" else 1, zorder=2)
    probe = _probe(table, arm)
    axes.plot(*whole, color=WHOLE, linewidth=4, label="all points", zorder=3)
    axes.plot(*cut, color=CUT, linewidth=2.4, linestyle=(0, (3, 1.5)), label="none inside", zorder=4)
    axes.plot(*probe, "*", color="white", markersize=19, markeredgecolor=INK, zorder=5)
    axes.add_patch(Circle(probe, min(probe) / 2, fill=False, edgecolor=INK, linewidth=1.5, linestyle="--", zorder=4))
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="coordinate 1", ylabel="coordinate 2")
    axes.text(0.02, 0.98, f"{share_inside(table, arm):.2%} of points inside", transform=axes.transAxes,
              va="top", fontsize=12, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8})  # fmt: skip
    axes.legend(loc="lower right", frameon=True, framealpha=0.85, edgecolor="none")
    return None


def _probe(table: pl.DataFrame, arm: str) -> tuple[float, float]:
    return told(table, arm, "all", "probe.1"), told(table, arm, "all", "probe.2")


def _draw_shifts(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("g   How far the path of a start moves")
    random = np.random.default_rng(0)
    drawn = False
    for position, arm in enumerate(ARMS):
        for side, (instrument, color) in enumerate((("shift", CUT), ("redrawn", FAINT))):
            shifts = per_start(table, arm, instrument)
            if not len(shifts):
                continue
            drawn = True
            x = position + (side - 0.5) * 0.4
            label = ("points inside drawn again", "all points drawn anew")[side] if position == 0 else None
            axes.plot(
                x + random.uniform(-0.13, 0.13, len(shifts)), 100 * shifts, ".", color=color, alpha=0.45, markersize=5
            )
            axes.plot([x - 0.16, x + 0.16], [100 * np.median(shifts)] * 2, color=color, linewidth=4, label=label)
    if not drawn:
        return empty_panel(axes, "not measured: shift, redrawn")
    axes.axhline(100 * SHIFT, color=INK, linewidth=1.2, linestyle="--", label="5%")
    axes.set_xticks(range(len(ARMS)), list(ARMS.values()))
    axes.set_ylabel("largest distance,\n% of |probe|")
    axes.grid(visible=False, axis="x")
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.58))
    return None
