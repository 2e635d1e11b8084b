"""The figures of training without the points near the probe: Yang et al. 2025, Figs 15 and 16."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.table import Table, select
from recombine.studies.identity_mapping._shared.starts import per_start, single, values
from recombine.studies.identity_mapping.order.figures import path
from recombine.studies.identity_mapping.truncation.claims import SHIFT, share_inside

PAPER = {"label": "sigma = 0.05, as labelled", "released": "variance 0.05, as released"}
BEYOND = {
    "wide": "variance 0.5",
    "weak": "variance 0.5, $\\mu$ = (0.5, 1)",
    "round": "variance 1, $\\mu$ = (2, 2)",
    "wide relu": "variance 0.5, ReLU",
}
WHOLE, CUT, INSIDE = SERIES_COLORS[4], SERIES_COLORS[1], "#D55E00"


def draw(table: Table, config: object) -> dict[str, Drawing]:
    """Figs 15 and 16 with the shift of every start; the same where truncation takes more away."""
    return {
        "figure": Drawing(_paper(table), "Paths of the answer to the probe with and without the points near it."),
        "paths": Drawing(_beyond(table), "The same paths where a few percent of the points lie near the probe."),
    }


def _paper(table: Table) -> Figure:
    """Both settings of the paper; below, the shift of every start in all settings."""
    with house_style():
        drawing = Figure(figsize=(15, 13), layout="constrained")
        grid = drawing.add_gridspec(2, 2, height_ratios=(1.25, 1))
        for column, (arm, name) in enumerate(PAPER.items()):
            _draw_paths(drawing.add_subplot(grid[0, column]), table, arm, name)
        _draw_shifts(drawing.add_subplot(grid[1, :]), table, PAPER | BEYOND)
        n = {arm: len(per_start(table, "shift", arm=arm)) for arm in PAPER | BEYOND}
        put_caption(
            drawing,
            f"{PATHS} Below: a dot a start, bar: median; left of each pair the points inside drawn again, right all "
            f"points drawn anew. n = {max(n.values())} starts (ReLU: {n['wide relu']}), seed 0.",
        )
    return drawing


def _beyond(table: Table) -> Figure:
    with house_style():
        drawing = Figure(figsize=(14, 13), layout="constrained")
        for axes, (arm, name) in zip(drawing.subplots(2, 2).ravel(), BEYOND.items(), strict=True):
            _draw_paths(axes, table, arm, name)
        put_caption(drawing, PATHS)
    return drawing


PATHS = (
    "Median path of f(probe) over starts with all points (blue) and without those inside the circle (orange, dashed); "
    "dots: 100 training points a cluster, those inside in orange; star: probe; mu = (1, 2) if not said."
)


def _draw_paths(axes: Axes, table: Table, arm: str, name: str) -> None:
    whole, cut = (path(table, "answer.median", arm=arm, points=points) for points in ("whole", "cut"))
    axes.set_title(name)
    if whole is None or cut is None:
        return empty_panel(axes, f"not measured: paths in {arm}")
    for near, color in ((False, FAINT), (True, INSIDE)):
        x, y = (select(table, "x", arm=arm, inside=near, concept=k).sort("point")["value"] for k in (1, 2))
        axes.plot(x, y, ".", color=color, markersize=5, alpha=1 if near else 0.55, zorder=2)
    probe = single(table, "probe", arm=arm, concept=1), single(table, "probe", arm=arm, concept=2)
    axes.plot(*whole, color=WHOLE, linewidth=4, label="all points", zorder=3)
    axes.plot(*cut, color=CUT, linewidth=2.4, linestyle=(0, (3, 1.5)), label="none inside", zorder=4)
    axes.plot(*probe, "*", color="white", markersize=19, markeredgecolor=INK, zorder=5)
    axes.add_patch(Circle(probe, min(probe) / 2, fill=False, edgecolor=INK, linewidth=1.5, linestyle="--", zorder=4))
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="coordinate 1", ylabel="coordinate 2")
    axes.set_title(f"{name}: {share_inside(table, arm):.2%} inside")
    axes.legend(loc="lower right", frameon=True, framealpha=0.85, edgecolor="none")
    return None


def _draw_shifts(axes: Axes, table: Table, arms: Mapping[str, str]) -> None:
    random = np.random.default_rng(0)
    for position, arm in enumerate(arms):
        for side, (instrument, color) in enumerate((("shift", CUT), ("redrawn", FAINT))):
            shifts = per_start(table, instrument, arm=arm)
            if not len(shifts):
                continue
            x = position + (side - 0.5) * 0.4
            label = ("points inside drawn again", "all points drawn anew")[side] if position == 0 else None
            axes.plot(
                x + random.uniform(-0.13, 0.13, len(shifts)), 100 * shifts, ".", color=color, alpha=0.45, markersize=5
            )
            axes.plot([x - 0.16, x + 0.16], [100 * np.median(shifts)] * 2, color=color, linewidth=4, label=label)
    if not axes.lines:
        return empty_panel(axes, "not measured: shift, redrawn")
    released = values(table, "shift", arm="released")
    axes.set_title(f"Paths move by {100 * np.median(released):.1f}% as released (median)" if len(released) else "")
    axes.axhline(100 * SHIFT, color=INK, linewidth=1.2, linestyle="--", label=f"{SHIFT:.0%}")
    axes.set_xticks(range(len(arms)), [name.replace(", ", ",\n", 1) for name in arms.values()], fontsize=13)
    axes.set_ylabel("largest distance,\n% of |probe|")
    axes.grid(visible=False, axis="x")
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.58))
    return None
