"""The figure of five arrangements of labels, and of what four accounts expect of them."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.instruments.bumps.place_evaluation import EACH
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption, seeds_text
from recombine.studies.bumps._shared.accounts import ACCOUNTS, GRAPH, LINES, NEAR, OVERLAP
from recombine.studies.bumps._shared.bar_figure import bar
from recombine.studies.bumps.arrangements.claims import (
    APART,
    ARMS,
    BLOCKS,
    GRID,
    JOINED,
    RANDOM,
    errors_of,
    sets_of,
    told,
    unseen,
)
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

NAMES = {RANDOM: "at random", APART: "scattered, in pieces", JOINED: "scattered, joined", BLOCKS: "in blocks",
         GRID: "on a grid"}  # fmt: skip
ACCOUNT_NAMES = {OVERLAP: "overlap", NEAR: "near", LINES: "row and column seen", GRAPH: "row and column joined"}
COLORS = {OVERLAP: "#D55E00", NEAR: "#E69F00", LINES: "#56B4E9", GRAPH: "#0072B2"}
MARKS = {OVERLAP: "v", NEAR: "s", LINES: "D", GRAPH: "o"}
GREY, DOT = "#8C8C8C", "#0072B2"


def figure(table: pl.DataFrame, world: BumpsWorld, splits: Mapping[str, LabelSplit]) -> Figure:
    """Maps of the five arrangements; what is right beside what is expected; the same of random sets."""
    others = sets_of(table)
    with house_style():
        drawn = Figure(figsize=(19, 10.6), layout="constrained")
        grid = drawn.add_gridspec(2, 10)
        for place, arm in enumerate(ARMS):
            axes = drawn.add_subplot(grid[0, 2 * place : 2 * place + 2])
            axes.set_title(f"{'abcde'[place]}   {NAMES[arm].capitalize()}")
            _draw_places(axes, table, arm, world, splits[arm])
        _draw_arms(drawn.add_subplot(grid[1, :6]), table)
        _draw_sets(drawn.add_subplot(grid[1, 6:]), table, others)
        handles = [
            Line2D([], [], color=COLORS[each], marker=MARKS[each], linestyle="", markersize=10, markeredgecolor="white",
                   label=ACCOUNT_NAMES[each])
            for each in ACCOUNTS
        ]  # fmt: skip
        drawn.legend(handles=handles, loc="outside upper center", ncols=4, title="Expected if it is")
        put_caption(
            drawn,
            "(a to e) Share of samples that are right, white to black, at each place; dots: labels that were seen. The "
            "random set is that of seed 0, the others are the mean over seeds. (f) What is right of all places never "
            "seen, grey, dots are seeds, and what each account expects; recall of the nearest label: 0. (g) The random "
            f"sets of `percolation` and `efficiency` ({len(others)} here), each the mean over seeds; on the line if an "
            "account is right; in brackets how far it is off on the mean. Fine estimate, end of training, "
            f"{seeds_text(table['seed'].n_unique())}.",
        )
    return drawn


def _draw_places(axes: Axes, table: pl.DataFrame, arm: str, world: BumpsWorld, split: LabelSplit) -> None:
    own = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == f"{EACH}.fine"))
    if arm == RANDOM:
        own = own.filter(pl.col("seed") == 0)
    if not own.height:
        return empty_panel(axes, "not measured")
    picture = np.full((world.pixels, world.pixels), np.nan)
    for node, value in own.group_by("node").agg(pl.col("value").mean()).iter_rows():
        x, y = (round(float(part)) - 1 for part in node.split(","))
        picture[y, x] = value
    edge = world.pixels + 0.5
    axes.imshow(picture, cmap="Greys", vmin=0, vmax=1.25, extent=(0.5, edge, edge, 0.5))
    seen = (split.labels(world, 0) - world.margin).numpy()
    axes.plot(*seen.T, "o", color=DOT, markersize=72 / world.pixels, markeredgecolor="white")
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    return None


def _draw_arms(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("f   What was never seen")
    found = {arm: list(unseen(table, arm).values()) for arm in ARMS}
    if not any(found.values()):
        return empty_panel(axes, "not measured: any arrangement")
    for place, (arm, values) in enumerate(found.items()):
        if values:
            bar(axes, place, 0.5, GREY, values, None)
        for number, account in enumerate(ACCOUNTS):
            expected = list(told(table, account, arm).values())
            if expected:
                axes.plot(
                    place + 0.17 * (number - 1.5), float(np.mean(expected)), MARKS[account], color=COLORS[account],
                    markersize=12, markeredgecolor="white", zorder=5, clip_on=False,
                )  # fmt: skip
    axes.set_xticks(range(len(ARMS)), [NAMES[arm].replace(", ", ",\n") for arm in ARMS])
    axes.grid(False, axis="x")
    accuracy_axis(axes)
    return None


def _draw_sets(axes: Axes, table: pl.DataFrame, others: list[str]) -> None:
    axes.set_title("g   Random sets")
    drawn = []
    for account in ACCOUNTS:
        points = [
            (float(np.mean(list(expected.values()))), float(np.mean(list(found.values()))))
            for name in others
            if (expected := told(table, account, name)) and (found := unseen(table, name))
        ]
        if points:
            errors = list(errors_of(table, account, others).values())
            off = f" ({np.mean(errors):.2f})" if errors else ""
            drawn.append(f"{ACCOUNT_NAMES[account]}{off}")
            axes.plot(*np.array(points).T, MARKS[account], color=COLORS[account], markersize=8, alpha=0.85,
                      markeredgecolor="white", label=drawn[-1])  # fmt: skip
    if not drawn:
        return empty_panel(axes, "random sets are those of full")
    axes.plot([0, 1], [0, 1], color="#666666", linewidth=1.2, zorder=1)
    axes.set(xlim=(-0.03, 1.03), xlabel="expected share of what was never seen")
    axes.legend(loc="lower right", fontsize=11)
    return accuracy_axis(axes, "found")
