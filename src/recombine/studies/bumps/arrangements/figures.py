"""Figures of five arrangements of labels, and of what four hypotheses predict of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.bumps.place_evaluation import EACH
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.bars import draw_bar
from recombine.lab.report.kit.ordered import put_legend
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_panel, put_caption, seeds_text
from recombine.lab.rules import mean
from recombine.lab.table import Table, select
from recombine.runs.bump_hypotheses import GRAPH, HYPOTHESES, LINES, NEAR, OVERLAP
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.arrangements.claims import (
    ARMS,
    BLOCKS,
    GRID,
    JOINED,
    PIECES,
    RANDOM,
    accuracy,
    errors_of,
    predicted,
    random_arms,
)
from recombine.studies.bumps.arrangements.experiment import splits
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

NAMES = {RANDOM: "at random", PIECES: "scattered pieces", JOINED: "scattered, joined", BLOCKS: "in blocks",
         GRID: "on a grid"}  # fmt: skip
HYPOTHESIS_NAMES = {OVERLAP: "overlap", NEAR: "near", LINES: "row and column trained", GRAPH: "row and column joined"}
STYLES: dict[str, dict[str, Any]] = {
    hypothesis: {"color": color, "marker": marker, "markeredgecolor": "white", "linestyle": "none"}
    for hypothesis, color, marker in (
        (OVERLAP, "#D55E00", "v"), (NEAR, "#E69F00", "s"), (LINES, "#56B4E9", "D"), (GRAPH, "#0072B2", "o"),
    )
}  # fmt: skip
GREY, DOT = "#8C8C8C", "#0072B2"


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """What is right beside what four hypotheses predict, and where bumps are right in each arrangement."""
    return {
        "figure": Drawing(
            figure(table),
            "What is right of the places not trained on, and what four hypotheses predict, for five arrangements of "
            "as many labels and for random sets.",
        ),
        "places": Drawing(
            places(table, config.world, splits(config.world.pixels)), "Where bumps are right, place by place."
        ),
    }


def figure(table: Table) -> Figure:
    """What is right beside what is predicted: five arrangements, and random sets."""
    others = random_arms(table)
    with new_figure(17, 8.2, 1, 2, share_y=False, width_ratios=(1.35, 1)) as (drawn, [[arranged, at_random]]):
        _draw_arms(arranged, table)
        _draw_sets(at_random, table, others)
        marks = {name: STYLES[each] | {"markersize": 12} for each, name in HYPOTHESIS_NAMES.items()}
        put_legend(drawn, marks, title="predicted, if what counts is")
        put_caption(
            drawn,
            "(a) What is right of all places not trained on, grey, dots are seeds, line: 95% interval; and what each "
            "hypothesis predicts; the nearest-label baseline has 0. (b) The random sets of `percolation` and "
            f"`efficiency` ({len(others)} here), each the mean over seeds; on the line if a hypothesis is right; in "
            "brackets how far it is off on the mean. Fine estimate, end of training, "
            f"{seeds_text(table['seed'].n_unique())}.",
        )
    return drawn


def places(table: Table, world: BumpsWorld, sets: Mapping[str, LabelSplit]) -> Figure:
    """A map of every arrangement: the share of samples that are right at each place."""
    with new_figure(16, 11.4, 2, 3, share_y=False) as (drawn, grid):
        panels = grid.flatten()
        for letter, axes, arm in zip("abcde", panels, ARMS, strict=False):
            found = accuracy(table, arm)
            axes.set_title(f"{letter}   {NAMES[arm].capitalize()}" + (f": {mean(found):.2f}" if found else ""))
            _draw_places(axes, table, arm, world, sets[arm])
        panels[-1].set_axis_off()
        put_caption(
            drawn,
            "Share of samples that are right, white to black, at each place; dots: labels trained on. Titles: the mean "
            "over places not trained on. The random set is that of seed 0, the others are the mean over seeds.",
        )
    return drawn


def _draw_places(axes: Axes, table: Table, arm: str, world: BumpsWorld, split: LabelSplit) -> None:
    rows = select(table, f"{EACH}.fine", arm=arm, **({"seed": 0} if arm == RANDOM else {}))
    if not rows.height:
        return empty_panel(axes, "not measured")
    picture = np.full((world.pixels, world.pixels), np.nan)
    for x, y, value in rows.select("x", "y", "value").group_by("x", "y").mean().iter_rows():
        picture[round(y) - 1, round(x) - 1] = value
    edge = world.pixels + 0.5
    axes.imshow(picture, cmap="Greys", vmin=0, vmax=1.25, extent=(0.5, edge, edge, 0.5))
    trained = (split.labels(world, 0) - world.margin).numpy()
    axes.plot(*trained.T, "o", color=DOT, markersize=120 / world.pixels, markeredgecolor="white")
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    return None


def _draw_arms(axes: Axes, table: Table) -> None:
    errors = {each: mean(off) for each in HYPOTHESES if (off := errors_of(table, each, ARMS))}
    spread = f": off by {min(errors.values()):.2f} to {max(errors.values()):.2f}" if errors else ""
    axes.set_title(f"a   Five arrangements{spread}")
    found = {arm: list(accuracy(table, arm).values()) for arm in ARMS}
    if not any(found.values()):
        return empty_panel(axes, "not measured: any arrangement")
    for place, (arm, values) in enumerate(found.items()):
        if values:
            draw_bar(axes, float(place), values, 0.5, GREY)
        for number, hypothesis in enumerate(HYPOTHESES):
            if expected := predicted(table, hypothesis, arm):
                at = place + 0.17 * (number - 1.5)
                axes.plot(at, mean(expected), **STYLES[hypothesis], markersize=13, zorder=5, clip_on=False)
    axes.set_xticks(range(len(ARMS)), [name.replace(" ", "\n", 1) for name in NAMES.values()])
    axes.grid(False, axis="x")
    return accuracy_axis(axes)


def _draw_sets(axes: Axes, table: Table, others: list[str]) -> None:
    axes.set_title("b   Random sets")
    drawn = False
    for hypothesis in HYPOTHESES:
        points = [
            (mean(expected), mean(found))
            for arm in others
            if (expected := predicted(table, hypothesis, arm)) and (found := accuracy(table, arm))
        ]
        if points:
            errors, drawn = errors_of(table, hypothesis, others), True
            off = f" ({mean(errors):.2f})" if errors else ""
            name = f"{HYPOTHESIS_NAMES[hypothesis]}{off}"
            axes.plot(*np.array(points).T, **STYLES[hypothesis], markersize=9, alpha=0.85, label=name)
    if not drawn:
        return empty_panel(axes, "random sets are those of full")
    axes.plot([0, 1], [0, 1], color="#666666", linewidth=1.2, zorder=1)
    axes.set(xlim=(-0.03, 1.03), xlabel="predicted share right")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=13, handletextpad=0.2)
    return accuracy_axis(axes, "found")
