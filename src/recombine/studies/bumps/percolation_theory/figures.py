"""The figures of percolation among bumps: overlap, largest components over lambda, and where half hangs together."""

from __future__ import annotations

import matplotlib
import numpy as np
import polars as pl
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.bumps.percolation_theory.claims import (
    CHOSEN,
    ON,
    SITE_PERCOLATION,
    cell,
    critical_of,
    named,
    neighbours_of,
)
from recombine.theory.percolation.lattice import overlap

DISKS = 4.512  # z lambda_c of overlapping disks in the plane, which the paper takes its bumps for
FARTHEST = 4.0  # px
BETWEEN_DASHES = (0, (4, 1.6))
ROOM = 0.07  # between two names on curves, in lambda
NEVER, AT_ONCE = "#EDEDED", "#DCD3E8"


def figure(table: pl.DataFrame, pixels: int) -> Figure:
    """Fig 6b, 6c and 14b, and the critical lambda of all cells over their neighbours."""
    widths, _ = _axes_of(table)
    with house_style():
        drawn = Figure(figsize=(15, 11.8), layout="constrained")
        panels = drawn.subplots(2, 2)
        _draw_overlap(panels[0, 0], widths, pixels)
        panels[0, 0].set_title("a   Overlap with a bump some way off (Fig 6b)")
        for axes, threshold, title in (
            (panels[0, 1], CHOSEN, "b   Largest component, threshold 0.005 (Fig 6c)"),
            (panels[1, 0], 0.05, "c   The same, threshold 0.05 (Fig 14b)"),
        ):
            _draw_largest(axes, table, threshold, pixels)
            axes.set_title(title)
        _draw_collapse(panels[1, 1], table)
        panels[1, 1].set_title("d   Width and threshold only set the neighbours")
        _legend(drawn, widths)
        put_caption(
            drawn,
            "(a) Dashed: the bump's centre is between two pixels along x, and it overlaps a bump half a pixel off more "
            "than itself. Sites of the lattice are on pixels. Dotted: thresholds of b and c. (b, c) Largest linked "
            "component as a share of the sites taken; thin: one order of the "
            f"{pixels} x {pixels} sites each, thick: their mean, band: its 95% interval, {_orders(table)}. "
            "(d) Where the mean reaches one half, with its 95% bootstrap interval, for every width and threshold that "
            "crosses it; z: linked neighbours of a site far from the edges.",
        )
    return drawn


def thresholds(table: pl.DataFrame, pixels: int) -> Figure:
    """Fig 13: a panel for each threshold."""
    widths, levels = _axes_of(table)
    with house_style():
        drawn = Figure(figsize=(16, 1.9 + 4.6 * max(1, -(-len(levels) // 3))), layout="constrained")
        panels = drawn.subplots(max(1, -(-len(levels) // 3)), 3, sharex=True, sharey=True, squeeze=False).flatten()
        if not levels:
            empty_panel(panels[0], "not counted: components at any threshold")
        for axes in panels[max(1, len(levels)) :]:
            axes.set_axis_off()
        for number, threshold in enumerate(levels):
            _draw_largest(panels[number], table, threshold, pixels)
            panels[number].set_title(f"{'abcdefghijkl'[number % 12]}   Threshold {threshold:g}")
            panels[number].label_outer()
        _legend(drawn, widths)
        put_caption(
            drawn,
            "Largest linked component as a share of the sites taken, the first lambda of a random order. Thin: one "
            f"order each, the same at every width and threshold; thick: their mean, {_orders(table)}. "
            "Curves that coincide link the same neighbours. A set without any link still has a largest component of "
            f"one site: 1 / ({pixels**2} lambda), not 0.",
        )
    return drawn


def map_of_critical(table: pl.DataFrame, pixels: int) -> Figure:
    """Critical lambda of every width (across) and threshold (up)."""
    widths, levels = _axes_of(table)
    with house_style():
        drawn = Figure(figsize=(13.5, 8.6), layout="constrained")
        axes = drawn.subplots()
        if not widths:
            empty_panel(axes, "not counted: components at any width and threshold")
            return drawn
        _draw_map(axes, table, widths, levels)
        axes.set_title("The share of all bumps from which on half of them hang together")
        put_caption(
            drawn,
            f"Where the mean over orders of the {pixels} x {pixels} lattice ({_orders(table)}) reaches one half; under "
            "it the 95% bootstrap interval, and z, the neighbours that a bump is linked to. Never: less than half "
            "hangs together even with every bump there. At once: half does at any lambda from three bumps on, so that "
            "no critical one can be read off; up to: the end of its interval. "
            f"Frame: the paper's threshold, {CHOSEN:g}.",
        )
    return drawn


def _draw_overlap(axes: Axes, widths: list[float], pixels: int) -> None:
    if not widths:
        return empty_panel(axes, "not computed: any width")
    apart = torch.linspace(0, FARTHEST, 401, dtype=torch.float64)
    for reference, dashes in ((pixels // 2, "-"), (pixels // 2 + 0.5, BETWEEN_DASHES)):
        place = torch.full((len(apart), 2), float(pixels // 2), dtype=torch.float64)
        place[:, 0] = reference
        moved = place + torch.stack([apart, torch.zeros_like(apart)], 1)
        for width, color in _colors(widths).items():
            values = overlap(place, moved, width, pixels).numpy()
            axes.plot(apart.numpy(), values, color=color, linewidth=2.6 if dashes == "-" else 1.9, linestyle=dashes)
            if values.max() > 1.2:
                top = int(values.argmax())
                _write(axes, float(apart[top]), 1.25 * values[top], f"{values[top]:.3g}", color)
    for threshold in (CHOSEN, 0.05):
        axes.axhline(threshold, color=FAINT, linestyle=":", linewidth=1.6, zorder=1)
        axes.text(0.03, 1.08 * threshold, f"{threshold:g}", color="#777777", fontsize=10, va="bottom")
    axes.axhline(1, color=INK, linewidth=1.0, zorder=1)
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 40)
    axes.set_xlim(0, FARTHEST)
    axes.set_xlabel("distance along x, in pixels")
    axes.set_ylabel("overlap")
    styles = [Line2D([], [], color=INK, linewidth=2.4, linestyle=kind) for kind in ("-", BETWEEN_DASHES)]
    axes.legend(styles, ["centred on a pixel", "centred between pixels"], loc="upper right", handlelength=3)
    return None


def _draw_largest(axes: Axes, table: pl.DataFrame, threshold: float, pixels: int) -> None:
    """Curves of every width at one threshold, each named where its mean reaches one half if there is room."""
    widths, levels = _axes_of(table)
    if threshold not in levels:
        return empty_panel(axes, f"not counted: components at threshold {threshold:g}")
    sites, last = pixels**2, 1.0
    axes.axhline(0.5, color=FAINT, linestyle=":", linewidth=1.6, zorder=1)
    for width, color in _colors(widths).items():
        found = list(curves(table, "largest", ON, named(width, threshold)).values())
        if not found:
            continue
        draw_mean(axes, found, color)
        at = critical_of(table, named(width, threshold))[0]
        if at.outcome == "crosses" and ROOM / 2 < at.value < last - ROOM:
            _write(axes, at.value * sites, 0.5, f"{width:g}", color)
            last = at.value
    axes.set_xlim(0, sites)
    axes.set_xticks([share * sites for share in (0, 0.2, 0.4, 0.6, 0.8, 1)], ["0", ".2", ".4", ".6", ".8", "1"])
    axes.set_xlabel("$\\lambda$, share of the lattice taken")
    accuracy_axis(axes, "largest component, share of the sites taken")
    return None


def _draw_collapse(axes: Axes, table: pl.DataFrame) -> None:
    widths, _ = _axes_of(table)
    colors = _colors(widths)
    drawn = []
    for node, z in neighbours_of(table).items():
        found, (low, high), _ = critical_of(table, node)
        if found.outcome == "crosses" and np.isfinite(high):
            bars = np.array([[found.value - low], [high - found.value]])
            color = colors[cell(node)[0]]
            axes.errorbar([z], [found.value], bars, color=color, marker="o", markersize=8, capsize=3, linewidth=1.6)
            drawn.append(z)
    if not drawn:
        return empty_panel(axes, "no width and threshold crosses one half")
    span = np.geomspace(min(drawn), 1.15 * max(drawn), 50)
    axes.plot(span, DISKS / span, color=FAINT, linewidth=1.8, linestyle="--", zorder=1)
    known = {z: share for z, share in SITE_PERCOLATION.items() if z <= max(drawn)}
    axes.plot(list(known), list(known.values()), "D", color=INK, markerfacecolor="none", markersize=13, zorder=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([4, 8, 12, 20, 36, 68, 136, 260], ["4", "8", "12", "20", "36", "68", "136", "260"])
    axes.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    axes.set_xlabel("z, neighbours a bump is linked to")
    axes.set_ylabel("critical $\\lambda$")
    marks = [
        Line2D([], [], color="#555555", marker="o", markersize=8, linewidth=1.6),
        Line2D([], [], color=INK, marker="D", markerfacecolor="none", markersize=11, linestyle="none"),
        Line2D([], [], color=FAINT, linewidth=1.8, linestyle="--"),
    ]
    names = ["one width and threshold", "infinite lattice, same neighbours", f"disks in the plane, {DISKS:g} / z"]
    axes.legend(marks, names, loc="upper right", handlelength=3)
    return None


def _draw_map(axes: Axes, table: pl.DataFrame, widths: list[float], levels: list[float]) -> None:
    zs = neighbours_of(table)
    values = np.full((len(levels), len(widths)), np.nan)
    words: dict[tuple[int, int], tuple[str, str]] = {}
    for row, threshold in enumerate(levels):
        for column, width in enumerate(widths):
            node = named(width, threshold)
            if node not in zs:
                continue
            found, (low, high), _ = critical_of(table, node)
            if found.outcome == "crosses":
                values[row, column] = found.value
                head, rest = _short(found.value), f"{_short(low)} to {_short(high)}\n"
            elif found.outcome == "below":
                head, rest = "at once", f"up to {_short(high)}\n"
            else:
                head, rest = "never", ""
            words[row, column] = head, f"{rest}z = {zs[node]}"
    scale = LogNorm(0.008, 0.6)
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", norm=scale)
    for (row, column), (head, rest) in words.items():
        value = values[row, column]
        if not np.isfinite(value):
            back = NEVER if head == "never" else AT_ONCE
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=back, edgecolor="none", zorder=1))
        ink = INK if not np.isfinite(value) or scale(value) > 0.62 else "white"
        axes.text(column, row + 0.14, head, ha="center", va="center", fontsize=13, fontweight="bold", color=ink)
        axes.text(column, row - 0.2, rest, ha="center", va="center", fontsize=9, color=ink)
    if CHOSEN in levels:
        corner = -0.485, levels.index(CHOSEN) - 0.485
        axes.add_patch(Rectangle(corner, len(widths) - 0.03, 0.97, fill=False, edgecolor=INK, linewidth=2.6, zorder=4))
    axes.set_xticks(range(len(widths)), [f"{width:g}" for width in widths])
    axes.set_yticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlabel("$\\sigma$, width of the bumps")
    axes.set_ylabel("threshold of the overlap")
    axes.grid(False)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.015, ticks=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    bar.ax.set_yticklabels(["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"])
    bar.set_label("critical $\\lambda$")
    bar.ax.minorticks_off()


def _axes_of(table: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Widths and thresholds of the lattice on pixels, ascending."""
    cells = [cell(node) for node in neighbours_of(table)]
    return sorted({width for width, _ in cells}), sorted({threshold for _, threshold in cells})


def _colors(widths: list[float]) -> dict[float, str]:
    """Dark to bright with the width: it is an order, not a set of names."""
    shades = matplotlib.colormaps["plasma"](np.linspace(0.02, 0.88, max(len(widths), 2)))
    return {width: to_hex(shade) for width, shade in zip(widths, shades, strict=False)}


def _legend(drawn: Figure, widths: list[float]) -> None:
    lines = [Line2D([], [], color=color, linewidth=3.5) for color in _colors(widths).values()]
    names = [f"$\\sigma$ = {width:g}" for width in widths]
    if lines:
        drawn.legend(lines, names, loc="outside upper center", ncols=len(names), handlelength=2)


def _orders(table: pl.DataFrame) -> str:
    """ "n = 20 orders" """
    n = table.filter(pl.col("arm") == ON)["seed"].n_unique()
    return f"n = {n} order" if n == 1 else f"n = {n} orders"


def _write(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """A name on a line, with an edge that keeps it readable."""
    halo = [Stroke(linewidth=4, foreground="white"), Normal()]
    axes.text(
        x, y, text, color=color, fontsize=11, fontweight="bold", ha="center", va="center", path_effects=halo, zorder=6
    )


def _short(value: float) -> str:
    return "never" if np.isinf(value) else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
