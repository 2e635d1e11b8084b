"""Maps of places for every width and share (Liang et al. 2024, Fig 15), and losses over the share (Fig 14c)."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption, seeds_text
from recombine.studies.bumps._shared.map_figure import draw_map, places_of
from recombine.studies.bumps.percolation.claims import THEORY, Cell, losses, named, shares
from recombine.studies.bumps.percolation.figures import width_colors


def drawings(table: pl.DataFrame) -> dict[str, Drawing]:
    """Both figures, where they were measured."""
    return {
        "maps": Drawing(
            maps(table), "What a block holds of every place, for each width of the bumps and share that was seen."
        ),
        "losses": Drawing(
            over_lambda(table), "Losses and the share of neighbours in the block's map, over the share that was seen."
        ),
    }


def maps(table: pl.DataFrame) -> Figure:
    """A panel for each width and lambda, one seed."""
    cells = shares(table)
    widths, lams = sorted({width for width, _ in cells}, reverse=True), sorted({lam for _, lam in cells})
    with house_style():
        drawn = Figure(figsize=(2.3 * max(len(lams), 3) + 0.6, 2.4 * max(len(widths), 1) + 1.6), layout="constrained")
        if not cells:
            empty_panel(drawn.subplots(), "not measured: any map")
            return drawn
        seed = min(seed for own in cells.values() for seed in own)
        panels = drawn.subplots(len(widths), len(lams), squeeze=False)
        for row, width in enumerate(widths):
            for column, lam in enumerate(lams):
                axes = panels[row][column]
                draw_map(axes, places_of(table, named(width, lam), seed))
                share = cells.get((width, lam), {}).get(seed)
                if share is not None:
                    axes.set_xlabel(f"{share:.2f}", fontsize=12, labelpad=2)
                if row == 0:
                    axes.set_title(f"$\\lambda$ = {lam:g}", fontsize=14)
                if column == 0:
                    axes.set_ylabel(f"$\\sigma$ = {width:g}", fontsize=14)
        put_caption(
            drawn,
            "Activations of the first up block at the last step of the generation, for every second place in x and y: "
            "first two coordinates (principal ones, or UMAP's where a run says so), neighbours joined, coloured by x. "
            f"Below: share of neighbours, 1 for a flat sheet. Seed {seed} of each cell, each axis at its own "
            "scale, the outermost 3% of places beyond it.",
        )
    return drawn


def over_lambda(table: pl.DataFrame) -> Figure:
    """Loss of known and of new labels, and the share of neighbours."""
    colors = width_colors(sorted({cell[0] for cell in losses(table, KNOWN) | shares(table)}))
    with house_style():
        drawn = Figure(figsize=(18, 6.6), layout="constrained")
        panels = drawn.subplots(1, 3)
        for axes, labels, title in zip(
            panels,
            (KNOWN, NEW),
            ("a   Loss of labels that were seen", "b   Loss of labels that were not"),
            strict=False,
        ):
            axes.set_title(title)
            _draw_lines(axes, losses(table, labels), colors, "-")
            axes.set_ylabel("mean squared error of the noise")
        axes = panels[2]
        axes.set_title("c   How much of a sheet the map is")
        _draw_lines(axes, shares(table), colors, "-")
        _draw_lines(axes, shares(table, "untrained"), colors, ":")
        axes.set_ylabel("share of neighbours")
        axes.set_ylim(0, 1.03)
        handles = [Line2D([], [], color=c, linewidth=3, label=f"$\\sigma$ = {w:g}") for w, c in colors.items()]
        handles.append(Line2D([], [], color="#333333", linewidth=2, linestyle=":", label="untrained block"))
        drawn.legend(handles=handles, loc="outside upper center", ncols=len(handles))
        seeds = table.filter(pl.col("arm") != THEORY)["seed"].n_unique()
        put_caption(
            drawn,
            f"At the end of training; points: seeds, lines: their mean, {seeds_text(seeds)}. (a, b) Mean over labels "
            "and quantiles of the training noise. (c) Of as many nearest places in the block as a place has "
            "neighbours on the grid, those that are its neighbours; dotted: the same block before training.",
        )
    return drawn


def _draw_lines(axes: Axes, cells: dict[Cell, dict[int, float]], colors: dict[float, str], style: str) -> None:
    """A line for each width, and its seeds where the line is full."""
    axes.set_xlabel("$\\lambda$, share of the lattice that was seen")
    if not cells:
        return empty_panel(axes, "not measured")
    for width, color in colors.items():
        own = {lam: list(values.values()) for (other, lam), values in cells.items() if other == width}
        axes.plot(list(own), [float(np.mean(values)) for values in own.values()], style, color=color, linewidth=2.4)
        if style == "-":
            for lam, values in own.items():
                axes.plot([lam] * len(values), values, "o", color=color, markersize=4, alpha=0.6)
    return None
