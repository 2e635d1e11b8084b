"""Maps of places for every width and share (Liang et al. 2024, Fig 15), and losses over the share (Fig 14c)."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.bumps.label_losses import LOSS
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.maps import draw_map, places_of
from recombine.lab.report.kit.ordered import put_legend, shades
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_figure, empty_panel, put_caption
from recombine.lab.rules import mean
from recombine.lab.table import Table, select
from recombine.studies.bumps.percolation.claims import UNTRAINED, Lines, lines, losses, neighbour_shares
from recombine.studies.bumps.percolation_theory.figures import named_widths

Panel = tuple[str, str, dict[str, Lines]]
"""Title, y label, and {line style: lines}."""


def maps(table: Table) -> Figure:
    """A panel for each width and lambda, one seed."""
    cells = neighbour_shares(table)
    widths, lams = sorted({width for width, _ in cells}, reverse=True), sorted({lam for _, lam in cells})
    if not cells:
        return empty_figure("not measured: any map")
    seed, size = min(set().union(*cells.values())), (2.3 * max(len(lams), 3) + 0.6, 2.4 * len(widths) + 1.6)
    with new_figure(*size, len(widths), len(lams), share_y=False) as (drawn, panels):
        for row, width in enumerate(widths):
            for column, lam in enumerate(lams):
                axes = panels[row][column]
                draw_map(axes, places_of(table, width=width, share=lam, seed=seed))
                share = cells.get((width, lam), {}).get(seed)
                if share is not None:
                    axes.set_xlabel(f"{share:.2f}", fontsize=15, labelpad=2)
                if row == 0:
                    axes.set_title(f"$\\lambda$ = {lam:g}", fontsize=17)
                if column == 0:
                    axes.set_ylabel(f"$\\sigma$ = {width:g}", fontsize=17)
        put_caption(
            drawn,
            "Activations of the first up block at the last step of the generation, for every second place in x and y: "
            "first two coordinates (principal ones, or UMAP's where a run says so), neighbours joined, coloured by x. "
            f"Below: share of neighbours, 1 for a flat sheet. Seed {seed} of each cell, each axis at its own "
            "scale, the outermost 3% of places beyond it.",
        )
    return drawn


def losses_over_share(table: Table) -> Figure:
    """Loss of labels trained on and not, and the share of neighbours."""
    known, new, rigid = losses(table, KNOWN), losses(table, NEW), lines(neighbour_shares(table))
    fresh = lines(neighbour_shares(table, UNTRAINED))
    error = "mean squared error of the noise"
    panels: tuple[Panel, ...] = (
        (f"a   Trained labels: {_growth(known)}", error, {"-": known}),
        (f"b   Other labels: {_growth(new)}", error, {"-": new}),
        (f"c   Neighbours: {_growth(rigid)}", "share of neighbours", {"-": rigid, ":": fresh}),
    )
    colors = shades(sorted(known.keys() | rigid.keys()))
    with new_figure(19, 7, 1, 3, share_y=False) as (drawn, [row]):
        for axes, (title, label, series) in zip(row, panels, strict=True):
            axes.set_title(title)
            for style, found in series.items():
                draw_lines(axes, found, colors, style)
            axes.set_ylabel(label)
        axes.set_ylim(0, 1.03)
        untrained = {"color": "#333333", "linewidth": 2, "linestyle": ":"}
        put_legend(drawn, named_widths(colors, 3) | {"untrained block": untrained})
        put_caption(
            drawn,
            "At the end of training. Titles: from the smallest to the largest lambda, mean over widths. (a, b) Mean "
            "over labels and quantiles of the training noise. (c) Of as many nearest places in the block as a place "
            "has neighbours on the grid, those that are its neighbours; dotted: the same block before training.",
            band_caption(select(table, LOSS)["seed"].n_unique()),
        )
    return drawn


def _growth(found: Lines) -> str:
    """From which value at the smallest lambda to which at the largest, the mean over widths."""
    ends = [[mean(line[lam]) for lam in (min(line), max(line))] for line in found.values()]
    return "{:.2g} to {:.2g}".format(*np.mean(ends, axis=0)) if ends else "not measured"


def draw_lines(axes: Axes, found: Lines, colors: dict[float, str], dashes: Any = "-") -> None:
    """For each width a line over lambda, with its seeds, its interval and the lambdas that were tried."""
    axes.set_xlabel("$\\lambda$, share of the lattice trained on")
    if not found:
        return empty_panel(axes, "not measured")
    for width, line in found.items():
        seeds = sorted(set().union(*line.values()))
        own = [[(lam, values[seed]) for lam, values in line.items() if seed in values] for seed in seeds]
        curves = [(np.array([lam for lam, _ in each]), np.array([value for _, value in each])) for each in own]
        draw_mean(axes, curves, colors[width], dashes=dashes, thin=dashes == "-", opacity=0.16 if dashes == "-" else 0)
        if dashes == "-":
            axes.plot(list(line), [mean(values) for values in line.values()], "o", color=colors[width], zorder=4)
    return None
