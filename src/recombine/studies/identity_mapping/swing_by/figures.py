"""How often networks and flows swing by: rates over the gap, and counts beside those found before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption
from recombine.studies.identity_mapping._shared.figures import ARMS, share_bars, whiskers
from recombine.studies.identity_mapping._shared.starts import counted
from recombine.studies.identity_mapping.swing_by.claims import FLOWS_BEFORE, LEVELS, NETS_BEFORE, NONE, flows, nets
from recombine.studies.identity_mapping.swing_by.figure_paths import FLOWS, NETWORKS, draw_paths

if TYPE_CHECKING:
    import polars as pl

    from recombine.runs.identity.swing_by import SwingByConfig

KINDS = {
    "positive": ("#0072B2", "positive start"),
    "gaussian": ("#D55E00", "Gaussian start"),
    "wide": ("#009E73", "Gaussian, 64 wide"),
}
LEVEL_BARS = {"step": ("#0072B2", "at every step"), "epoch": ("#E69F00", "once an epoch")}
RUNS = {
    "run 29": "run 29\n4 layers\nd 2, μ 2, 4", "run 26": "run 26\n3 layers\nd 3, μ 1, 2",
    "run 27": "run 27\n3 layers\nd 3, μ 2, 4", "run 27 small": "run 27\n0.3 of\nthe start",
    "two layers": "two layers\nd 2\nμ 2, 4", "ReLU": "ReLU\n2 layers\nd 3, μ 2, 4",
    "one layer d 64": "one layer\nd 64\nμ 1, 2", "ReLU d 64": "ReLU\nd 64\nμ 1, 2",
    "run 28": "run 28\n4 layers\nd 64, μ 2, 4",
}  # fmt: skip


def draw(table: pl.DataFrame, config: SwingByConfig) -> dict[str, Drawing]:
    """Rates of flows and networks; the paths of Figs 3, 13 and 14."""
    caption = "The answer to the unseen combination in the plane of both concepts, and its loss, of single"
    return {
        "figure": Drawing(_rates(table, config), "How often the loss at the unseen combination rises again."),
        "paths": Drawing(draw_paths(table, FLOWS), f"{caption} flows."),
        "paths-networks": Drawing(draw_paths(table, NETWORKS), f"{caption} networks."),
    }


def _rates(table: pl.DataFrame, config: SwingByConfig) -> Figure:
    """Flows over the gap with A and A^2; networks."""
    with house_style():
        drawing = Figure(figsize=(15, 13), layout="constrained")
        grid = drawing.add_gridspec(2, 2)
        for column, (arm, name) in enumerate(ARMS.items()):
            _draw_gaps(drawing.add_subplot(grid[0, column]), table, arm, name, config.gaps)
        _draw_nets(drawing.add_subplot(grid[1, :]), table)
        put_caption(
            drawing,
            f"Bars and whiskers: exact 95% intervals (Clopper and Pearson). Flows: n = {config.starts} starts a point "
            f"({config.wide_starts} wide), seed 0; crosses: what the analytic prediction says of the positive ones; "
            "diamonds: found before on 100 starts. Networks: 500, 200 or fewer a run, 40 epochs of 15,000 points; dots "
            "are counts found before on 200. A bump is a rise after a fall by more than 0.1% (networks: 1%) of the "
            "largest loss.",
        )
    return drawing


def _draw_gaps(axes: Axes, table: pl.DataFrame, arm: str, name: str, gaps: tuple[float, ...]) -> None:
    for kind, (color, label) in KINDS.items():
        at = [gap for gap in gaps if _measured(table, arm=arm, gap=gap, start_law=kind)]
        if at:
            shares, reach = whiskers([flows(arm, gap, kind)(table) for gap in at])
            axes.errorbar(at, shares, reach, fmt="o-", color=color, linewidth=2.6, markersize=6, capsize=4, label=label,
                          zorder=3)  # fmt: skip
    if not axes.lines:
        return empty_panel(axes, f"not measured: bumps in arm {arm}")
    at = [gap for gap in gaps if _measured(table, arm=arm, gap=gap, start_law="positive")]
    expected = [counted("predicted", arm=arm, gap=gap, start_law="positive")(table) for gap in at]
    axes.plot(at, [k / n for k, n in expected], "x", color=INK, markersize=10, markeredgewidth=2, label="predicted",
              zorder=5)  # fmt: skip
    before = FLOWS_BEFORE if arm == "A" else {1.5: 89}
    axes.plot(list(before), [k / 100 for k in before.values()], "D", markerfacecolor="none", markeredgecolor=INK,
              markersize=11, label="found before", zorder=4)  # fmt: skip
    if 1.5 in at:
        k, n = flows(arm, 1.5)(table)
        axes.set_title(f"Flows, {name}: {k / n:.0%} at μ₂ = 1.5")
    axes.set(xlabel="μ₂, the stronger signal (μ₁ = 1)", ylabel="share of starts with a bump", ylim=(-0.03, 1.05))
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.62))
    return None


def _draw_nets(axes: Axes, table: pl.DataFrame) -> None:
    arms = [arm for arm in (*NETS_BEFORE, *NONE) if not table.filter(table["arm"] == arm).is_empty()]
    if not arms:
        return empty_panel(axes, "not measured: bumps of networks")
    found = {level: [nets(arm, level)(table) for arm in arms] for level in LEVELS}
    for shift, (level, (color, name)) in zip((-0.2, 0.2), LEVEL_BARS.items(), strict=True):
        places = np.arange(len(arms)) + shift
        share_bars(axes, places.tolist(), found[level], color, f"evaluated {name}")
        earlier = [(p, NETS_BEFORE[arm]) for p, arm in zip(places, arms, strict=True) if arm in NETS_BEFORE]
        counts = [both[LEVELS.index(level)] / 200 for _, both in earlier]
        axes.plot([p for p, _ in earlier], counts, "o", markerfacecolor="white", markeredgecolor=INK, markersize=7,
                  label=None if shift < 0 else "found before", zorder=4)  # fmt: skip
    shares = [k / n for k, n in found["step"]]
    axes.set_title(f"Released networks: from {min(shares):.0%} to {max(shares):.0%} at every step")
    axes.set_xticks(range(len(arms)), [RUNS[arm] for arm in arms], fontsize=13)
    axes.set(ylabel="share of nets with a bump", ylim=(0, 1.08))
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right")
    return None


def _measured(table: pl.DataFrame, **where: Any) -> bool:
    try:
        counted("bumps", **where)(table)
    except NotMeasured:
        return False
    return True
