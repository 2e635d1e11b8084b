"""The figure of where bumps are right if labels are scattered, clumped or on a grid."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from recombine.instruments.place_evaluation import EACH, LINES, NEAR
from recombine.lab.figures import INK, accuracy_axis, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.bumps.claims_rows import ARMS, BLOCKS, GRID, RANDOM, grouped, unseen
from recombine.studies.bumps.drawings_bars import bar
from recombine.theory.percolation import largest_components, link
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

NAMES = {RANDOM: "scattered", BLOCKS: "in blocks", GRID: "on a grid"}
COLORS = {RANDOM: "#4D4D4D", BLOCKS: "#0072B2", GRID: "#D55E00"}
THRESHOLD = 0.05
GROUPS = {NEAR: ("e", "By the nearest one seen", "pixels to the nearest label that was seen"),
          LINES: ("f", "By those seen in line", "seen in the same row or column, the fewer")}  # fmt: skip


def figure(table: pl.DataFrame, world: BumpsWorld, splits: Mapping[str, LabelSplit]) -> Figure:
    """Maps of the three arms; all that was never seen; that by nearness and by rows and columns."""
    with house_style():
        drawn = Figure(figsize=(17.5, 12), layout="constrained")
        panels = drawn.subplots(2, 3)
        for axes, letter, arm in zip(panels[0], "abc", ARMS, strict=True):
            axes.set_title(f"{letter}   {NAMES[arm].capitalize()}")
            _draw_places(axes, table, arm, world, splits[arm])
        _draw_bars(panels[1, 0], table, world, splits)
        for axes, name in zip(panels[1, 1:], (NEAR, LINES), strict=True):
            _draw_groups(axes, table, name)
        put_caption(
            drawn,
            "(a to c) Share of samples that are right, white to black, at each place; dots: labels that were seen. The "
            "scattered set is that of seed 0, the others are the mean over seeds. (d) What is right of all places "
            "never seen; dots are seeds; black: recall of the nearest label; below, the share of the set that hangs "
            f"together by an overlap of {THRESHOLD:g}. (e, f) The same places, by the distance to the nearest label "
            "that was seen and by how many were seen in the same row or the same column, whichever are fewer. Thin "
            f"lines: seeds. Fine estimate, end of training, {seeds_text(table['seed'].n_unique())}.",
        )
    return drawn


def hanging_together(world: BumpsWorld, split: LabelSplit, seed: int = 0) -> float:
    """The share of a training set's labels that is in its largest component."""
    place = (split.labels(world, seed) - world.margin).round().long() - 1
    seen = place[:, 0] * world.pixels + place[:, 1]
    others = [site for site in range(world.pixels**2) if site not in set(seen.tolist())]
    links = link(world.width, THRESHOLD, world.pixels)
    return float(largest_components(links, torch.tensor([*seen.tolist(), *others]))[len(seen) - 1] / len(seen))


def _draw_places(axes: Axes, table: pl.DataFrame, arm: str, world: BumpsWorld, split: LabelSplit) -> None:
    own = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == f"{EACH}.fine"))
    if arm == RANDOM:
        own = own.filter(pl.col("seed") == 0)
    if not own.height:
        return empty_panel(axes, f"not measured: {NAMES[arm]}")
    picture = np.full((world.pixels, world.pixels), np.nan)
    for node, value in own.group_by("node").agg(pl.col("value").mean()).iter_rows():
        x, y = (round(float(part)) - 1 for part in node.split(","))
        picture[y, x] = value
    edge = world.pixels + 0.5
    axes.imshow(picture, cmap="Greys", vmin=0, vmax=1.25, extent=(0.5, edge, edge, 0.5))
    seen = (split.labels(world, 0) - world.margin).numpy()
    axes.plot(*seen.T, "o", color=COLORS[BLOCKS], markersize=75 / world.pixels, markeredgecolor="white")
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    return None


def _draw_bars(axes: Axes, table: pl.DataFrame, world: BumpsWorld, splits: Mapping[str, LabelSplit]) -> None:
    axes.set_title("d   What was never seen")
    found = {arm: list(unseen(table, arm).values()) for arm in ARMS}
    if not any(found.values()):
        return empty_panel(axes, "not measured: any arm")
    for place, (arm, values) in enumerate(found.items()):
        if values:
            bar(axes, place, 0.7, COLORS[arm], values, 0.0)
    names = [f"{NAMES[arm]}\n{hanging_together(world, splits[arm]):.2f} together" for arm in ARMS]
    axes.set_xticks(range(len(ARMS)), names)
    axes.grid(False, axis="x")
    accuracy_axis(axes)
    return None


def _draw_groups(axes: Axes, table: pl.DataFrame, name: str) -> None:
    letter, title, across = GROUPS[name]
    axes.set_title(f"{letter}   {title}")
    drawn = False
    for arm in ARMS:
        by_seed = grouped(table, arm, name)
        for own in by_seed.values():
            axes.plot(list(own), list(own.values()), color=COLORS[arm], linewidth=0.8, alpha=0.4)
        groups = sorted(set().union(*by_seed.values())) if by_seed else []
        means = [float(np.mean([own[group] for own in by_seed.values() if group in own])) for group in groups]
        if groups:
            drawn = True
            axes.plot(groups, means, "o-", color=COLORS[arm], linewidth=3, markersize=8, markeredgecolor="white",
                      label=NAMES[arm])  # fmt: skip
    if not drawn:
        return empty_panel(axes, "not measured: any arm")
    axes.axhline(0, color=INK, linewidth=1.2, zorder=1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(across)
    axes.legend(loc="best")
    return accuracy_axis(axes)
