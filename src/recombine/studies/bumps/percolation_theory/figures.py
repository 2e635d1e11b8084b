"""The figures of percolation among bumps: overlap, largest components over lambda, and where half hangs together."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.ordered import put_legend, shades
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table, select
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

SHELLS: dict[str, Any] = {"color": INK, "marker": "D", "markerfacecolor": "none"}
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
FARTHEST = 4.0  # px
BETWEEN_DASHES = (0, (4, 1.6))
ROOM = 0.09  # between two names on curves, in lambda
LARGER = 0.05  # the threshold of Fig 14b


def draw(table: Table, config: PercolationConfig) -> dict[str, Drawing]:
    """Figs 6b, 6c and 14b with the collapse over neighbours; Fig 13."""
    return {
        "figure": Drawing(
            figure(table, config.pixels),
            "Overlap, largest component over lambda at two thresholds, and critical lambda over neighbours.",
        ),
        "thresholds": Drawing(thresholds(table, config.pixels), "The largest component at the other thresholds."),
    }


def figure(table: Table, pixels: int) -> Figure:
    """Figs 6b, 6c and 14b, and the critical lambda of all widths and thresholds over their neighbours."""
    widths, _ = _axes_of(table)
    with new_figure(15, 12.6, 2, 2, share_y=False) as (drawn, panels):
        _draw_overlap(panels[0, 0], widths, pixels)
        shown_at = ((panels[0, 1], CHOSEN, "b", "Fig 6c"), (panels[1, 0], LARGER, "c", "Fig 14b"))
        for axes, threshold, letter, shown in shown_at:
            _draw_largest(axes, table, threshold)
            axes.set_title(f"{letter}   {_first_half(table, 0.3, threshold)} ({shown})")
        _draw_collapse(panels[1, 1], table)
        put_legend(drawn, named_widths(shades(widths)), handlelength=1.4, columnspacing=1.2)
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


def thresholds(table: Table, pixels: int) -> Figure:
    """Fig 13: a panel for each threshold that `figure` does not show."""
    widths, levels = _axes_of(table)
    levels = [level for level in levels if level not in (CHOSEN, LARGER)]
    rows = max(1, -(-len(levels) // 2))
    with new_figure(15, 1.9 + 5.2 * rows, rows, 2, sharex=True) as (drawn, grid):
        panels = grid.flatten()
        if not levels:
            empty_panel(panels[0], "not counted: components at any threshold")
        for axes in panels[max(1, len(levels)) :]:
            axes.set_axis_off()
        for letter, axes, threshold in zip("abcdefgh", panels, levels, strict=False):
            _draw_largest(axes, table, threshold)
            axes.set_title(f"{letter}   Threshold {threshold:g}: {_who_never(table, threshold)}")
            axes.label_outer()
        put_legend(drawn, named_widths(shades(widths)), handlelength=1.4, columnspacing=1.2)
        put_caption(
            drawn,
            "Largest linked component as a share of the sites taken, the first lambda of a random order. Thin: one "
            f"order each, the same at every width and threshold; thick: their mean, {_seeds(table)}. "
            "Curves that coincide link the same neighbours. A set without any link still has a largest component of "
            f"one site: 1 / ({pixels**2} lambda), not 0.",
        )
    return drawn


def named_widths(colors: Mapping[float, str], width: float = 3.5) -> dict[str, dict[str, Any]]:
    """Marks of a legend, dark to bright with the width of the bumps."""
    return {f"$\\sigma$ = {sigma:g}": {"color": color, "linewidth": width} for sigma, color in colors.items()}


def _first_half(table: Table, width: float, threshold: float) -> str:
    if (width, threshold) not in neighbours_of(table):
        return f"Threshold {threshold:g}"
    found = critical_of_mean(table, (width, threshold))[0]
    where = {"crosses": f"from $\\lambda$ = {found.value:.2f} on", "never": "never", "below": "at once"}[found.outcome]
    return f"$\\sigma$ = {width:g} percolates {where}"


def _axes_of(table: Table) -> tuple[list[float], list[float]]:
    """Widths and thresholds of the lattice on pixels, ascending."""
    cells = neighbours_of(table)
    return sorted({width for width, _ in cells}), sorted({threshold for _, threshold in cells})


def _who_never(table: Table, threshold: float) -> str:
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
        for width, color in shades(widths).items():
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
    axes.set(yscale="log", ylim=(1e-3, 40), xlim=(0, FARTHEST), xlabel="distance along x, in pixels", ylabel="overlap")
    axes.set_title(f"a   Between pixels the overlap reaches {most:.0f} (Fig 6b)")
    styles = {"centred on a pixel": "-", "centred between pixels": BETWEEN_DASHES}
    marks = {name: {"color": INK, "linewidth": 2.4, "linestyle": style} for name, style in styles.items()}
    put_legend(axes, marks, loc="upper right", handlelength=3)
    return None


def _draw_largest(axes: Axes, table: Table, threshold: float) -> None:
    """Curves of every width at one threshold, each named where its mean reaches one half if there is room."""
    widths, levels = _axes_of(table)
    if threshold not in levels:
        return empty_panel(axes, f"not counted: components at threshold {threshold:g}")
    last = 1.0
    axes.axhline(0.5, color=FAINT, linestyle=":", linewidth=1.6, zorder=1)
    for width, color in shades(widths).items():
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


def _draw_collapse(axes: Axes, table: Table) -> None:
    colors = shades(_axes_of(table)[0])
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
    axes.plot(list(known), list(known.values()), linestyle="none", **SHELLS, markersize=13, zorder=4)
    axes.set(xscale="log", yscale="log", xlabel="z, neighbours a bump is linked to", ylabel="critical $\\lambda$")
    for ticks, at in ((axes.set_xticks, (4, 8, 12, 20, 36, 68, 136, 260)), (axes.set_yticks, SHARES)):
        ticks(at, [f"{value:g}" for value in at])
    axes.minorticks_off()
    axes.set_title(
        f"d   Within {max(gaps):.3f} of site percolation" if gaps else "d   Critical $\\lambda$ over neighbours"
    )
    marks = {
        "one width and threshold": {"color": "#555555", "marker": "o", "markersize": 8, "linewidth": 1.6},
        "infinite lattice, same z": {**SHELLS, "markersize": 11, "linestyle": "none"},
        f"disks in the plane, {DISKS:g} / z": {"color": FAINT, "linewidth": 1.8, "linestyle": "--"},
    }
    put_legend(axes, marks, loc="lower left", handlelength=3)
    return None


def _write(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """A name on a line, with an edge that keeps it readable."""
    halo = [Stroke(linewidth=4, foreground="white"), Normal()]
    axes.text(
        x, y, text, color=color, fontsize=13, fontweight="bold", ha="center", va="center", path_effects=halo, zorder=6
    )


def _seeds(table: Table) -> str:
    return seeds_text(select(table, arm=ON)["seed"].n_unique())
