"""How often networks and flows swing by: rates over the gap, and counts beside those found before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.statistics import proportion_interval
from recombine.studies.identity_mapping._shared.flow_claims import count
from recombine.studies.identity_mapping.swing_by.claims import FLOWS_BEFORE, LEVELS, NETS_BEFORE, NONE, nets, rate

if TYPE_CHECKING:
    from recombine.studies.identity_mapping.swing_by.experiment import SwingByConfig

Numbers = NDArray[np.float64]

KINDS = {"positive": "#0072B2", "gaussian": "#D55E00", "wide": "#009E73"}
NAMES = {"positive": "positive start", "gaussian": "Gaussian start", "wide": "Gaussian, 64 wide"}
LEVEL_COLORS = {"step": "#0072B2", "epoch": "#E69F00"}


def figure(table: pl.DataFrame, config: SwingByConfig) -> Figure:
    """Flows over the gap with A (a) and A^2 (b); networks (c)."""
    with house_style():
        drawing = Figure(figsize=(16, 11), layout="constrained")
        grid = drawing.add_gridspec(2, 2, height_ratios=(1, 1))
        left, right, below = (drawing.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, slice(None))))
        _draw_gaps(left, table, "A", config.gaps, "a   Flows with A")
        _draw_gaps(right, table, "A2", config.gaps, "b   Flows with A², as in the scripts")
        _draw_nets(below, table)
        put_caption(
            drawing,
            f"Bars and whiskers: exact 95% intervals (Clopper and Pearson). a, b: n = {config.starts} starts a point "
            f"({config.wide_starts} wide); crosses: what the analytic prediction says of the positive ones; diamonds: "
            "found before on 100 starts. c: dots are counts found before on 200 nets; numbers: nets with a bump out of "
            "all. A bump is a rise after a fall by more than 0.1% (nets: 1%) of the largest loss.",
        )
    return drawing


def _draw_gaps(axes: Axes, table: pl.DataFrame, arm: str, gaps: tuple[float, ...], title: str) -> None:
    axes.set_title(title)
    drawn = False
    for kind, color in KINDS.items():
        points = []
        for gap in gaps:
            try:
                points.append((gap, *rate(table, arm, gap, kind)))
            except NotMeasured:
                continue
        if points:
            drawn = True
            at, shares, whiskers = _shares(points)
            axes.errorbar(at, shares, whiskers, fmt="o-", color=color, linewidth=2.6, markersize=6, capsize=4,
                          label=NAMES[kind], zorder=3)  # fmt: skip
    if not drawn:
        return empty_panel(axes, f"not measured: bumps in arm {arm}")
    said = [(gap, *_predicted(table, arm, gap)) for gap in gaps if _predicted(table, arm, gap)[1]]
    axes.plot([gap for gap, _, _ in said], [k / n for _, k, n in said], "x", color=INK, markersize=10,
              markeredgewidth=2, label="predicted", zorder=5)  # fmt: skip
    before = FLOWS_BEFORE if arm == "A" else {1.5: 89}
    axes.plot(list(before), [k / 100 for k in before.values()], "D", markerfacecolor="none", markeredgecolor=INK,
              markersize=11, label="found before", zorder=4)  # fmt: skip
    axes.set_xlabel("mu₂, the stronger signal (mu₁ = 1)")
    axes.set_ylabel("share of starts with a bump")
    axes.set_ylim(-0.03, 1.05)
    if arm == "A":
        axes.legend(loc="center right", bbox_to_anchor=(1, 0.62), fontsize=11)
    return None


def _draw_nets(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("c   Networks of the released code")
    arms = [arm for arm in (*NETS_BEFORE, *NONE) if _measured(table, arm)]
    if not arms:
        return empty_panel(axes, "not measured: bumps of networks")
    for shift, level in zip((-0.2, 0.2), LEVELS, strict=True):
        places = np.arange(len(arms)) + shift
        found = [nets(table, arm, level) for arm in arms]
        _, shares, whiskers = _shares([(place, k, n) for place, (k, n) in zip(places, found, strict=True)])
        name = "seen at every step" if level == "step" else "seen once an epoch"
        axes.bar(places, shares, 0.38, yerr=whiskers, capsize=4, color=LEVEL_COLORS[level], label=name,
                 error_kw={"ecolor": INK, "elinewidth": 1.2}, zorder=2)  # fmt: skip
        for place, (k, n), high in zip(places, found, whiskers[1] + shares, strict=True):
            axes.annotate(
                f"{k}/{n}", (place, high), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=10
            )
        earlier = [
            (p, NETS_BEFORE[a][LEVELS.index(level)]) for p, a in zip(places, arms, strict=True) if a in NETS_BEFORE
        ]
        axes.plot([p for p, _ in earlier], [k / 200 for _, k in earlier], "o", markerfacecolor="white",
                  markeredgecolor=INK, markersize=7, label=None if shift < 0 else "found before", zorder=4)  # fmt: skip
    axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.set_xticks(range(len(arms)), [_two_lines(arm) for arm in arms])
    axes.set_ylabel("share of nets with a bump")
    axes.set_ylim(0, 1.08)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right")
    return None


def _two_lines(arm: str) -> str:
    """What a run is, below its name."""
    what = {
        "run 29": "4 layers\nd 2, μ 2, 4", "run 26": "3 layers\nd 3, μ 1, 2", "run 27": "3 layers\nd 3, μ 2, 4",
        "run 27 small": "0.3 of\nthe start", "two layers": "d 2\nμ 2, 4", "ReLU": "2 layers\nd 3, μ 2, 4",
        "one layer d 64": "μ 1, 2", "ReLU d 64": "2 layers\nμ 1, 2", "run 28": "4 layers\nd 64, μ 2, 4",
    }  # fmt: skip
    return f"{arm}\n{what.get(arm, '')}"


def _shares(points: list[tuple[float, int, int]]) -> tuple[list[float], Numbers, Numbers]:
    """Where, the share there, and how far its interval reaches down and up.  # [m], [m], [2, m]"""
    shares = np.array([k / n for _, k, n in points])
    ends = np.array([proportion_interval(k, n) for _, k, n in points])
    return [at for at, _, _ in points], shares, np.stack([shares - ends[:, 0], ends[:, 1] - shares]).clip(min=0)


def _predicted(table: pl.DataFrame, arm: str, gap: float) -> tuple[int, int]:
    node = f"mu2={gap:g} positive"
    try:
        return count(table, arm, node, "predicted"), count(table, arm, node, "starts")
    except NotMeasured:
        return 0, 0


def _measured(table: pl.DataFrame, arm: str) -> bool:
    return not table.filter((pl.col("arm") == arm) & (pl.col("instrument") == "nets")).is_empty()
