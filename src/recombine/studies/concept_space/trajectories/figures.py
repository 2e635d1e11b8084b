"""The figure of paths in concept space (Park et al. 2024)."""

import numpy as np
from matplotlib.axes import Axes

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_space.speed.claims import HELD_OUT
from recombine.studies.concept_space.trajectories.claims import bend, path

CLASSES = {"00": ("large red", "#D55E00"), "01": ("small red", "#E69F00"), "10": ("large blue", "#0072B2"),
           HELD_OUT: ("small blue, held out", "#000000")}  # fmt: skip


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """A panel for each arm: the unit square with P(blue) across and P(small) up, and the way of every class in it."""
    arms = list(dict.fromkeys(table["arm"])) or [""]
    caption = "Where samples of each class lie in concept space while the model is trained, by strength of colour."
    with new_figure(5.4 * len(arms), 7.2, 1, len(arms)) as (figure, panels):
        for axes, arm in zip(panels.flat, arms, strict=True):
            bends = [bend(way) for way in path(table, arm, HELD_OUT).values()]
            axes.set_title(f"{arm} colour" + (f": bend {np.mean(bends):+.2f}" if bends else ""))
            _draw(axes, table, arm)
        panels[0, 0].set_ylabel("P(small)")
        one_legend(figure, panels[0, 0])
        put_caption(
            figure,
            "Mean probabilities by the classifier over the samples of a class. Thin: seeds; thick: their mean, "
            f"{seeds_text(table['seed'].n_unique())}. Square: the first evaluation; dots: all, log-spaced. Bend: mean "
            "of P(small) - P(blue) before both are learned; above 0 by way of small red, below 0 by large blue.",
        )
    return {"figure": Drawing(figure, caption)}


def _draw(axes: Axes, table: Table, arm: str) -> None:
    axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
    for node, (name, color) in CLASSES.items():
        ways = list(path(table, arm, node).values())
        for way in ways:
            axes.plot(*way.T, color=color, linewidth=0.8, alpha=0.35)
        if ways:
            mean = np.mean([way[: min(map(len, ways))] for way in ways], axis=0)
            axes.plot(*mean.T, "o-", color=color, linewidth=2.6, markersize=4, label=name)
            axes.plot(*mean[0], "s", color=color, markersize=10)
    if not axes.lines:
        return empty_panel(axes, "not measured: classifier.answer")
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        axes.plot(*corner, "+", color=FAINT, markersize=14)
    axes.set_xlabel("P(blue)")
    return None
