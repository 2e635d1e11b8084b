"""Figures of learning from a share of a lattice of bumps (Liang et al. 2024, Figs 6d, 6e, 14a, 14c and 15)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, count_text
from recombine.lab.report.kit.curves import band_caption
from recombine.lab.report.kit.ordered import put_legend, shades
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, put_caption
from recombine.lab.rules import mean, median
from recombine.lab.table import Table
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.percolation.claims import (
    THEORY,
    THRESHOLDS,
    Cell,
    Lines,
    accuracies,
    early_accuracies,
    half_learnt,
    lines,
    untrained_labels,
)
from recombine.studies.bumps.percolation.figure_maps import draw_lines, losses_over_share, maps
from recombine.studies.bumps.percolation_theory.claims import critical_shares
from recombine.studies.bumps.percolation_theory.figures import named_widths
from recombine.worlds.holdouts import nested_order

MARKERS = dict(zip(THRESHOLDS, ("v", "^"), strict=True))
SIDE = 9.0  # px of a bump that are shown


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Fig 6e beside the nearest-label baseline and the critical lambdas; Figs 6d and 14a; Fig 15; Fig 14c."""
    return {
        "figure": Drawing(
            figure(table),
            "Accuracy over the share of the lattice that was trained on, for each width of the bumps, and where half "
            "of the same set hangs together.",
        ),
        "sets": Drawing(sets(table, config), "Bumps of each width, and nested training sets."),
        "maps": Drawing(maps(table), "What a block holds of every place, for each width and share."),
        "losses": Drawing(losses_over_share(table), "Losses, and the share of neighbours in the block's map."),
    }


def figure(table: Table) -> Figure:
    """Accuracy over lambda, that of labels not trained on, learnt against critical lambda, and early accuracy."""
    cells = accuracies(table)
    colors = shades(sorted({width for width, _ in cells}))
    with new_figure(15.5, 13.6, 2, 2, share_y=False) as (drawn, ((every, new), (place, early))):
        _draw_accuracy(every, lines(cells), colors)
        _draw_new(new, table, colors)
        _draw_place(place, table, colors)
        _draw_early(early, table, colors)
        marks = named_widths(colors) | {"nearest label": {"color": INK, "linewidth": 2, "linestyle": "--"}}
        for threshold, marker in MARKERS.items():
            mark = {"color": "#666666", "marker": marker, "markersize": 10, "linestyle": "none"}
            marks[f"percolates, threshold {threshold:g}"] = mark
        put_legend(drawn, marks, ncols=4, handlelength=1.9, columnspacing=1.4)
        put_caption(
            drawn,
            "(a) Share of all labels whose sample is right in x and y, by the darkest pixel, at the end of training. "
            "(b) The same of the labels that were not trained on; triangles: the critical lambda of the same sets "
            "(median), none where half never or always hangs together. (c) Where b passes one half, over the critical "
            "lambda; a mark a seed, on the line if theory is right, dotted: a factor of two. (d) As a, at the first "
            "evaluation.",
            band_caption(len(set().union(*cells.values()))),
        )
    return drawn


def sets(table: Table, config: BumpsRun) -> Figure:
    """Figs 6d and 14a: one bump of each width, and which labels the training sets of the first data seed have."""
    cells = accuracies(table)
    widths, lams = sorted({width for width, _ in cells}), sorted({lam for _, lam in cells if lam < 1})
    with new_figure(13, 6.6, 2, height_ratios=(1, 1.3), share_y=False) as (drawn, [[top], [bottom]]):
        side, colors = int(min(SIDE, config.world.pixels)), shades(widths)
        tiles = {f"$\\sigma$ = {width:g}": (_bump(config, width, side), color) for width, color in colors.items()}
        _draw_tiles(top, tiles, "a   One bump of each width (Fig 6d)")
        shown = lams[:: max(1, len(lams) // 4)][:4]
        tiles = {f"$\\lambda$ = {lam:g}": (_training_set(config, lam), FAINT) for lam in shown}
        _draw_tiles(bottom, tiles, "b   Each training set is a part of the next (Fig 14a)")
        put_caption(drawn, "(b) Black: labels that were trained on, data seed 0.")
    return drawn


def _draw_accuracy(axes: Axes, found: Lines, colors: dict[float, str]) -> None:
    if not found:
        return empty_panel(axes, "not measured: accuracy of any width")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=2, linestyle="--", zorder=2.8)
    draw_lines(axes, found, colors)
    axes.set_xlim(0, 1.01)
    axes.set_title("a   All labels (Fig 6e)")
    return accuracy_axis(axes)


def _draw_new(axes: Axes, table: Table, colors: dict[float, str]) -> None:
    found = untrained_labels(table)
    if not found:
        return empty_panel(axes, "not measured: accuracy on a part of the lattice")
    draw_lines(axes, found, colors)
    axes.axhline(0, color=INK, linewidth=2, linestyle="--", zorder=2.8)
    axes.axhline(0.5, color=FAINT, linewidth=1.5, linestyle=":", zorder=1)
    accuracy_axis(axes, "accuracy")
    first = {lam for line in found.values() for lam in line}
    for (width, threshold), at in _critical(table).items():
        height = 1.07 + 0.07 * THRESHOLDS.index(threshold)
        if width in colors:
            color = colors[width]
            axes.plot([at, at], [0.5, height], color=color, linewidth=1.3, linestyle=(0, (1, 1.5)), zorder=1.5)
            axes.plot(at, height, MARKERS[threshold], color=color, markersize=11, markeredgecolor="white", zorder=5)
            first.add(at)
    axes.set_ylim(-0.05, 1.19)
    axes.set_xscale("log")
    _lambda_ticks(axes.xaxis)
    axes.set_xlim(0.8 * min(first), 1)
    learnt = [own.value for by_seed in half_learnt(table).values() for own in by_seed.values() if own.value < 1]
    where = f": half right from {min(learnt):.2f} on" if learnt else ""
    axes.set_title(f"b   Other labels{where}")
    return None


def _draw_place(axes: Axes, table: Table, colors: dict[float, str]) -> None:
    theory, points = critical_shares(table, THEORY), []
    for width, own in half_learnt(table).items():
        for seed, found in own.items():
            for threshold, marker in MARKERS.items():
                expected = theory.get((width, threshold), {}).get(seed, 0.0)
                if found.outcome == "crosses" and 0 < expected <= 1:
                    axes.plot(expected, found.value, marker, color=colors[width], markersize=9, markeredgecolor="white")
                    points.append((expected, found.value))
    if not points:
        return empty_panel(axes, "no width has both lambdas within what was tried")
    ends = 0.7 * np.min(points), min(1.0, 1.4 * np.max(points))
    axes.plot(ends, ends, color=INK, linewidth=1.4, zorder=1)
    for factor in (0.5, 2):
        axes.plot(ends, [factor * end for end in ends], color=FAINT, linewidth=1.2, linestyle=":", zorder=1)
    axes.set(xscale="log", yscale="log")
    for which in (axes.xaxis, axes.yaxis):
        _lambda_ticks(which)
    axes.set(xlim=ends, ylim=ends)
    axes.set_xlabel("critical $\\lambda$ of percolation")
    axes.set_ylabel("$\\lambda$ at which half is learnt")
    ratios = [learnt / expected for expected, learnt in points]
    axes.set_title(f"c   Learnt / critical $\\lambda$: {min(ratios):.2g} to {max(ratios):.2g}")
    return None


def _draw_early(axes: Axes, table: Table, colors: dict[float, str]) -> None:
    first, found = early_accuracies(table)
    if not found:
        return empty_panel(axes, "not measured: accuracy at the first evaluation")
    draw_lines(axes, found, colors)
    axes.set_xlim(0, 1.01)
    accuracy_axis(axes)
    whole = [mean(line[1.0]) for line in found.values() if 1.0 in line]
    spread = f": {whole[0]:.2f} to {whole[-1]:.2f} at $\\lambda$ = 1" if whole else ""
    axes.set_title(f"d   After {count_text(first)} images{spread}")
    return None


def _draw_tiles(axes: Axes, tiles: dict[str, tuple[np.ndarray, str]], title: str) -> None:
    """Square pictures side by side, each framed and named."""
    axes.set_title(title)
    axes.set_axis_off()
    for number, (name, (image, color)) in enumerate(tiles.items()):
        left = 1.15 * number
        axes.imshow(image, cmap="gray", vmin=-1, vmax=1, extent=(left, left + 1, 0, 1))
        axes.plot([left, left + 1, left + 1, left, left], [0, 0, 1, 1, 0], color=color, linewidth=2.5)
        axes.text(left + 0.5, -0.05, name, ha="center", va="top", fontsize=15)
    axes.set_xlim(-0.05, 1.15 * max(len(tiles), 1))
    axes.set_ylim(-0.25, 1.05)


def _bump(config: BumpsRun, width: float, side: int) -> np.ndarray:
    """A bump in the middle of a small canvas.  # [side, side]"""
    import torch

    world = config.world.replace(width=width, pixels=side)
    middle = torch.full((1, 2), (side + 1) // 2 + 0.0, dtype=torch.float64)
    return np.asarray(world.render(middle)[0, 0])


def _training_set(config: BumpsRun, lam: float) -> np.ndarray:
    """-1 where the first data seed trains on a label, else 1.  # [pixels, pixels]"""
    side = config.world.pixels
    seen = np.ones(side * side)
    seen[nested_order(side * side, 0).numpy()[: round(lam * side * side)]] = -1
    return seen.reshape(side, side).T


def _critical(table: Table) -> dict[Cell, float]:
    """{(width, threshold): critical lambda, the median over the orders of the training sets}, where there is one."""
    found = {cell: median(own) for cell, own in critical_shares(table, THEORY).items()}
    return {cell: value for cell, value in found.items() if cell[1] in THRESHOLDS and 0 < value <= 1}


def _lambda_ticks(axis: Axis) -> None:
    axis.set_ticks([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
