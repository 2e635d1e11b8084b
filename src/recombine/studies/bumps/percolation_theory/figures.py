"""The figures of percolation among bumps: overlap, largest components over lambda, and where half hangs together."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
import polars as pl
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.runs.bump_percolation import PercolationConfig
from recombine.studies.bumps.percolation_theory.claims import (
    CHOSEN,
    DISKS,
    ON,
    SITE_PERCOLATION,
    critical_of_mean,
    curves_of,
    neighbours_of,
)
from recombine.theory.percolation.lattice import overlap

FARTHEST = 4.0  # px
BETWEEN_DASHES = (0, (4, 1.6))
ROOM = 0.09  # between two names on curves, in lambda
LARGER = 0.05  # the threshold of Fig 14b


def draw(table: pl.DataFrame, config: PercolationConfig) -> dict[str, Drawing]:
    """Figs 6b, 6c and 14b with the collapse over neighbours; Fig 13."""
    return {
        "figure": Drawing(
            figure(table, config.pixels),
            "Overlap, largest component over lambda at two thresholds, and critical lambda over neighbours.",
        ),
        "thresholds": Drawing(thresholds(table, config.pixels), "The largest component at the other thresholds."),
    }


def figure(table: pl.DataFrame, pixels: int) -> Figure:
    """Figs 6b, 6c and 14b, and the critical lambda of all widths and thresholds over their neighbours."""
    widths, _ = _axes_of(table)
    with house_style():
        drawn = Figure(figsize=(15, 12.6), layout="constrained")
        panels = drawn.subplots(2, 2)
        _draw_overlap(panels[0, 0], widths, pixels)
        for axes, threshold, letter, shown in (
            (panels[0, 1], CHOSEN, "b", "Fig 6c"),
            (panels[1, 0], LARGER, "c", "Fig 14b"),
        ):
            _draw_largest(axes, table, threshold)
            axes.set_title(f"{letter}   {_first_half(table, 0.3, threshold)} ({shown})")
        _draw_collapse(panels[1, 1], table)
        _legend(drawn, widths)
        put_caption(
            drawn,
            "(a) Overlap of two bumps; dashed: the centre of the first is between two pixels along x. Sites of the "
            f"lattice are on pixels. Dotted: thresholds of b ({CHOSEN:g}) and c ({LARGER:g}). (b, c) Largest linked "
            f"component as a share of the sites taken; thin: one order of the {pixels} x {pixels} sites each, thick: "
            f"their mean, band: its 95% interval, {_seeds(table)}. (d) Where the mean reaches one half, with its 95% "
            "bootstrap interval, for every width and threshold that crosses it; z: linked neighbours of a site far "
            "from the edges.",
        )
    return drawn


def thresholds(table: pl.DataFrame, pixels: int) -> Figure:
    """Fig 13: a panel for each threshold that `figure` does not show."""
    widths, levels = _axes_of(table)
    levels = [level for level in levels if level not in (CHOSEN, LARGER)]
    with house_style():
        drawn = Figure(figsize=(15, 1.9 + 5.2 * max(1, -(-len(levels) // 2))), layout="constrained")
        panels = drawn.subplots(max(1, -(-len(levels) // 2)), 2, sharex=True, sharey=True, squeeze=False).flatten()
        if not levels:
            empty_panel(panels[0], "not counted: components at any threshold")
        for axes in panels[max(1, len(levels)) :]:
            axes.set_axis_off()
        for letter, axes, threshold in zip("abcdefgh", panels, levels, strict=False):
            _draw_largest(axes, table, threshold)
            axes.set_title(f"{letter}   Threshold {threshold:g}: {_who_never(table, threshold)}")
            axes.label_outer()
        _legend(drawn, widths)
        put_caption(
            drawn,
            "Largest linked component as a share of the sites taken, the first lambda of a random order. Thin: one "
            f"order each, the same at every width and threshold; thick: their mean, {_seeds(table)}. "
            "Curves that coincide link the same neighbours. A set without any link still has a largest component of "
            f"one site: 1 / ({pixels**2} lambda), not 0.",
        )
    return drawn


def width_colors(widths: Sequence[float]) -> dict[float, str]:
    """Dark to bright with the width: it is an order, not a set of names."""
    shades = matplotlib.colormaps["plasma"](np.linspace(0.02, 0.88, max(len(widths), 2)))
    return {width: to_hex(shade) for width, shade in zip(widths, shades, strict=False)}


def _first_half(table: pl.DataFrame, width: float, threshold: float) -> str:
    if (width, threshold) not in neighbours_of(table):
        return f"Threshold {threshold:g}"
    found = critical_of_mean(table, (width, threshold))[0]
    where = {"crosses": f"from $\\lambda$ = {found.value:.2f} on", "never": "never", "below": "at once"}[found.outcome]
    return f"$\\sigma$ = {width:g} percolates {where}"


def _axes_of(table: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Widths and thresholds of the lattice on pixels, ascending."""
    cells = neighbours_of(table)
    return sorted({width for width, _ in cells}), sorted({threshold for _, threshold in cells})


def _who_never(table: pl.DataFrame, threshold: float) -> str:
    """Which widths percolate in no order at this threshold, in words."""
    never = [
        f"{width:g}"
        for (width, level) in sorted(neighbours_of(table))
        if level == threshold and critical_of_mean(table, (width, level))[0].outcome == "never"
    ]
    return f"$\\sigma$ = {', '.join(never)} never percolates" if never else "every width percolates"


def _draw_overlap(axes: Axes, widths: list[float], pixels: int) -> None:
    if not widths:
        return empty_panel(axes, "not computed: any width")
    offset = torch.linspace(0, FARTHEST, 401, dtype=torch.float64)
    most = 0.0
    for reference, dashes in ((pixels // 2, "-"), (pixels // 2 + 0.5, BETWEEN_DASHES)):
        place = torch.full((len(offset), 2), float(pixels // 2), dtype=torch.float64)
        place[:, 0] = reference
        moved = place + torch.stack([offset, torch.zeros_like(offset)], 1)
        for width, color in width_colors(widths).items():
            values = overlap(place, moved, width, pixels).numpy()
            axes.plot(offset.numpy(), values, color=color, linewidth=2.6 if dashes == "-" else 1.9, linestyle=dashes)
            most = max(most, float(values.max()))
            if values.max() > 1.2:
                top = int(values.argmax())
                _write(axes, float(offset[top]), 1.25 * values[top], f"{values[top]:.3g}", color)
    for threshold in (CHOSEN, LARGER):
        axes.axhline(threshold, color=FAINT, linestyle=":", linewidth=1.6, zorder=1)
        axes.text(0.03, 1.08 * threshold, f"{threshold:g}", color="#777777", fontsize=12, va="bottom")
    axes.axhline(1, color=INK, linewidth=1.0, zorder=1)
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 40)
    axes.set_xlim(0, FARTHEST)
    axes.set_xlabel("distance along x, in pixels")
    axes.set_ylabel("overlap")
    axes.set_title(f"a   Between pixels the overlap reaches {most:.0f} (Fig 6b)")
    styles = [Line2D([], [], color=INK, linewidth=2.4, linestyle=kind) for kind in ("-", BETWEEN_DASHES)]
    axes.legend(styles, ["centred on a pixel", "centred between pixels"], loc="upper right", handlelength=3)
    return None


def _draw_largest(axes: Axes, table: pl.DataFrame, threshold: float) -> None:
    """Curves of every width at one threshold, each named where its mean reaches one half if there is room."""
    widths, levels = _axes_of(table)
    if threshold not in levels:
        return empty_panel(axes, f"not counted: components at threshold {threshold:g}")
    last = 1.0
    axes.axhline(0.5, color=FAINT, linestyle=":", linewidth=1.6, zorder=1)
    for width, color in width_colors(widths).items():
        found = curves_of(table, (width, threshold))
        if not found:
            continue
        draw_mean(axes, found, color)
        at = critical_of_mean(table, (width, threshold))[0]
        if at.outcome == "crosses" and ROOM / 2 < at.value < last - ROOM:
            _write(axes, at.value, 0.5, f"{width:g}", color)
            last = at.value
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", ".2", ".4", ".6", ".8", "1"])
    axes.set_xlabel("$\\lambda$, share of the lattice taken")
    accuracy_axis(axes, "largest component / sites taken")
    return None


def _draw_collapse(axes: Axes, table: pl.DataFrame) -> None:
    colors = width_colors(_axes_of(table)[0])
    drawn, gaps = [], []
    for cell, z in neighbours_of(table).items():
        found, (low, high), _ = critical_of_mean(table, cell)
        if found.outcome == "crosses" and np.isfinite(high):
            bars = np.array([[found.value - low], [high - found.value]])
            axes.errorbar(
                [z], [found.value], bars, color=colors[cell[0]], marker="o", markersize=8, capsize=3, linewidth=1.6
            )
            drawn.append(z)
            if z in SITE_PERCOLATION:
                gaps.append(abs(found.value - SITE_PERCOLATION[z]))
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
    axes.set_title(
        f"d   Within {max(gaps):.3f} of site percolation" if gaps else "d   Critical $\\lambda$ over neighbours"
    )
    marks = [
        Line2D([], [], color="#555555", marker="o", markersize=8, linewidth=1.6),
        Line2D([], [], color=INK, marker="D", markerfacecolor="none", markersize=11, linestyle="none"),
        Line2D([], [], color=FAINT, linewidth=1.8, linestyle="--"),
    ]
    names = ["one width and threshold", "infinite lattice, same z", f"disks in the plane, {DISKS:g} / z"]
    axes.legend(marks, names, loc="lower left", handlelength=3)
    return None


def _legend(drawn: Figure, widths: list[float]) -> None:
    lines = [Line2D([], [], color=color, linewidth=3.5) for color in width_colors(widths).values()]
    if lines:
        names = [f"$\\sigma$ = {width:g}" for width in widths]
        drawn.legend(lines, names, loc="outside upper center", ncols=len(names), handlelength=1.4, columnspacing=1.2)


def _write(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """A name on a line, with an edge that keeps it readable."""
    halo = [Stroke(linewidth=4, foreground="white"), Normal()]
    axes.text(
        x, y, text, color=color, fontsize=13, fontweight="bold", ha="center", va="center", path_effects=halo, zorder=6
    )


def _seeds(table: pl.DataFrame) -> str:
    return seeds_text(table.filter(pl.col("arm") == ON)["seed"].n_unique())
