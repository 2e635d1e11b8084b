"""The figure of learning from a share of a lattice of bumps (Liang et al. 2024, Figs 6d, 6e, 14a)."""

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import Curve
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.percolation.claims import THEORY, THRESHOLDS, Cell, accuracies, half_learnt, unseen
from recombine.studies.bumps.percolation_theory.claims import moments
from recombine.worlds.holdouts import nested_order

MARKERS = dict(zip(THRESHOLDS, ("v", "^"), strict=True))
SIDE = 9.0  # px of a bump that are shown


def figure(table: pl.DataFrame, config: BumpsRun) -> Figure:
    """Accuracy over lambda, what of it is more than recall, learnt against critical lambda, and the sets themselves."""
    cells = accuracies(table)
    colors = width_colors(sorted({width for width, _ in cells}))
    with house_style():
        drawn = Figure(figsize=(16.5, 12.6), layout="constrained")
        grid = drawn.add_gridspec(2, 6, height_ratios=(1.25, 1))
        above, beyond, place = (
            drawn.add_subplot(grid[0, :3]),
            drawn.add_subplot(grid[0, 3:]),
            drawn.add_subplot(grid[1, :2]),
        )
        _draw_accuracy(above, cells, colors)
        above.set_title("a   Accuracy over the share that was seen")
        _draw_unseen(beyond, unseen(table), colors, _critical(table))
        beyond.set_title("b   Beyond recall: labels never seen")
        _draw_place(place, table, colors)
        place.set_title("c   Learnt against percolating")
        right = grid[1, 2:].subgridspec(2, 1, height_ratios=(1, 1.35))
        _draw_bumps(drawn.add_subplot(right[0]), config, colors)
        _draw_sets(drawn.add_subplot(right[1]), config, sorted({lam for _, lam in cells}))
        handles = [
            Line2D([], [], color=color, linewidth=3.5, label=f"$\\sigma$ = {w:g}") for w, color in colors.items()
        ]
        handles += [
            Line2D([], [], color=INK, linewidth=2, linestyle="--", label="memoriser: $\\lambda$"),
            *(
                Line2D([], [], color="#666666", marker=marker, markersize=10, linestyle="none",
                       label=f"half hangs together, threshold {threshold:g}")
                for threshold, marker in MARKERS.items()
            ),
        ]  # fmt: skip
        drawn.legend(
            handles=handles, loc="outside upper center", ncols=len(handles), handlelength=1.9, columnspacing=1.4
        )
        put_caption(
            drawn,
            "(a) Share of all labels whose sample is right in x and y, by the darkest pixel, at the end of training. "
            "(b) The same of the labels that were never seen; triangles: the critical lambda of the same sets "
            "(median), none where half never or always hangs together. (c) Where b passes one half, over the critical "
            "lambda; a mark a seed, on the line if theory is right, dotted: a factor of two. (d) One bump of each "
            "width. (e) Labels of seed 0, each set a part of the next.",
            f"Thin lines: seeds. Thick: their mean. Band: its 95% interval. {seeds_text(_seeds(cells))}.",
        )
    return drawn


def _draw_accuracy(axes: Axes, cells: dict[Cell, dict[int, float]], colors: dict[float, str]) -> None:
    if not cells:
        return empty_panel(axes, "not measured: accuracy of any width")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=2, linestyle="--", zorder=2.8)
    for width, color in colors.items():
        draw_mean(axes, _curves(cells, width), color)
        _draw_points(axes, cells, width, color)
    axes.set_xlim(0, 1.01)
    axes.set_xlabel("$\\lambda$, share of the lattice that was seen")
    return accuracy_axis(axes)


def _draw_unseen(
    axes: Axes, part: dict[Cell, dict[int, float]], colors: dict[float, str], marks: dict[Cell, float]
) -> None:
    if not part:
        return empty_panel(axes, "not measured: accuracy on a part of the lattice")
    for width, color in colors.items():
        draw_mean(axes, _curves(part, width), color)
        _draw_points(axes, part, width, color)
    axes.axhline(0, color=INK, linewidth=2, linestyle="--", zorder=2.8)
    axes.axhline(0.5, color=FAINT, linewidth=1.5, linestyle=":", zorder=1)
    accuracy_axis(axes, "share of unseen labels that are right")
    for row, (threshold, marker) in enumerate(MARKERS.items()):
        height = 1.07 + 0.07 * row
        for width, color in colors.items():
            if (width, threshold) in marks:
                at = marks[width, threshold]
                axes.plot([at, at], [0.5, height], color=color, linewidth=1.3, linestyle=(0, (1, 1.5)), zorder=1.5)
                axes.plot(at, height, marker, color=color, markersize=11, markeredgecolor="white", zorder=5)
    axes.set_ylim(-0.05, 1.19)
    axes.set_xscale("log")
    _lambda_ticks(axes.xaxis)
    axes.set_xlim(0.8 * min([*marks.values(), *(lam for _, lam in part)]), 1)
    axes.set_xlabel("$\\lambda$, share of the lattice that was seen")
    return None


def _draw_place(axes: Axes, table: pl.DataFrame, colors: dict[float, str]) -> None:
    theory, points = moments(table, THEORY), []
    for width, own in half_learnt(table).items():
        for seed, found in own.items():
            for threshold, marker in MARKERS.items():
                expected = theory.get(seed, {}).get((width, threshold), 0.0)
                if found.outcome == "crosses" and 0 < expected <= 1:
                    axes.plot(expected, found.value, marker, color=colors[width], markersize=9, markeredgecolor="white")
                    points += [expected, found.value]
    if not points:
        return empty_panel(axes, "no width has both lambdas within what was tried")
    ends = 0.7 * min(points), min(1.0, 1.4 * max(points))
    axes.plot(ends, ends, color=INK, linewidth=1.4, zorder=1)
    for factor in (0.5, 2):
        axes.plot(ends, [factor * end for end in ends], color=FAINT, linewidth=1.2, linestyle=":", zorder=1)
    axes.set(xscale="log", yscale="log")
    for which in (axes.xaxis, axes.yaxis):
        _lambda_ticks(which)
    axes.set(xlim=ends, ylim=ends)
    axes.set_xlabel("critical $\\lambda$ of percolation")
    axes.set_ylabel("$\\lambda$ at which half is learnt")
    return None


def _draw_bumps(axes: Axes, config: BumpsRun, colors: dict[float, str]) -> None:
    """One bump of each width, in the middle of a pixel, side by side."""
    import torch

    axes.set_title("d   One bump of each width (Fig 6d)")
    axes.set_axis_off()
    side = min(SIDE, config.world.pixels)
    for number, (width, color) in enumerate(colors.items()):
        world = config.world.replace(width=width, pixels=int(side))
        image = world.render(torch.full((1, 2), (side + 1) // 2 + 0.0, dtype=torch.float64))[0, 0].numpy()
        left = number * (side + 2)
        axes.imshow(image, cmap="gray", vmin=-1, vmax=1, extent=(left, left + side, 0, side))
        axes.plot([left, left + side, left + side, left, left], [0, 0, side, side, 0], color=color, linewidth=2.5)
        axes.text(left + side / 2, -0.6, f"$\\sigma$ = {width:g}", ha="center", va="top", color=color, fontsize=12)
    axes.set_xlim(-0.5, len(colors) * (side + 2) - 1.5)
    axes.set_ylim(-2.6, side + 0.4)


def _draw_sets(axes: Axes, config: BumpsRun, lams: list[float]) -> None:
    """Which labels of the lattice the first data seed has, at some lambdas."""
    axes.set_title("e   Nested training sets (Fig 14a)")
    axes.set_axis_off()
    side, order = config.world.pixels, nested_order(config.world.pixels**2, 0).numpy()
    shown = [lam for lam in lams if lam < 1][:: max(1, len(lams) // 4)][:4]
    for number, lam in enumerate(shown):
        seen = np.zeros(side * side)
        seen[order[: round(lam * side * side)]] = 1
        left = number * 1.15 * side
        axes.imshow(seen.reshape(side, side).T, cmap="Greys", vmin=0, vmax=1.3, extent=(left, left + side, 0, side))
        axes.plot([left, left + side, left + side, left, left], [0, 0, side, side, 0], color=FAINT, linewidth=1)
        axes.text(left + side / 2, -0.04 * side, f"$\\lambda$ = {lam:g}", ha="center", va="top", fontsize=12)
    axes.set_xlim(-1, max(1, len(shown)) * 1.15 * side)
    axes.set_ylim(-0.2 * side, 1.03 * side)


def _critical(table: pl.DataFrame) -> dict[Cell, float]:
    """{(width, threshold): critical lambda, the median over the orders of the training sets}, where there is one."""
    orders = list(moments(table, THEORY).values())
    shared = set.intersection(*map(set, orders)) if orders else set()
    found = {cell: float(np.median([own[cell] for own in orders])) for cell in shared if cell[1] in THRESHOLDS}
    return {cell: value for cell, value in found.items() if 0 < value <= 1}


def _curves(cells: dict[Cell, dict[int, float]], width: float) -> list[Curve]:
    """One curve a seed, over lambda."""
    own = {lam: values for (other, lam), values in cells.items() if other == width}
    seeds = sorted(set().union(*own.values()))
    return [
        (
            np.array([lam for lam in own if seed in own[lam]]),
            np.array([own[lam][seed] for lam in own if seed in own[lam]]),
        )
        for seed in seeds
    ]


def _draw_points(axes: Axes, cells: dict[Cell, dict[int, float]], width: float, color: str) -> None:
    """The lambdas that were tried, at the mean over seeds."""
    points = {lam: float(np.mean(list(values.values()))) for (other, lam), values in cells.items() if other == width}
    axes.plot(list(points), list(points.values()), "o", color=color, markersize=6, zorder=4)


def _lambda_ticks(axis: Axis) -> None:
    axis.set_ticks([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def width_colors(widths: list[float]) -> dict[float, str]:
    """Dark to bright with the width, as in the figures of the theory."""
    shades = matplotlib.colormaps["plasma"](np.linspace(0.02, 0.88, max(len(widths), 2)))
    return {width: to_hex(shade) for width, shade in zip(widths, shades, strict=False)}


def _seeds(cells: dict[Cell, dict[int, float]]) -> int:
    return len(set().union(*cells.values())) if cells else 0
