"""The figures of machines that nobody trained."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import LEAST, OBJECTS, RECALL
from recombine.instruments.scenes.machine_evaluation import GLOBAL, LOCAL
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.local_scores.length.claims import HEADLINE, arm_of, recall_by_count
from recombine.studies.local_scores.machine.claims import TIED, machine_arm

Machine = tuple[str, str, int | None]

COLORS = {("1", "1-3"): "#0072B2", ("2", "1-3"): "#D55E00", ("2", "1"): "#009E73"}
DASHES = {2: "-", 4: (0, (5, 1.5, 1.2, 1.5)), None: (0, (3, 2))}
TRIED = {  # discs drawn with 1, 3, 6, 9 and 12 labels in a trial with 8 layouts of one training set
    ("1", "1-3", 2): (1.0, 3.0, 6.0, 9.0, 11.9),
    ("2", "1-3", 2): (1.5, 3.8, 6.1, 9.1, 12.0),
    ("2", "1", 2): (1.0, 3.0, 6.0, 9.0, 11.9),
    ("2", "1-3", 4): (1.4, 3.2, 4.6, 5.0, 4.6),
    ("2", "1-3", None): (1.6, 2.0, 1.9, 1.8, 1.8),
    ("1", "1-3", None): (1.1, 1.0, 1.8, 1.9, 2.1),
}
READINGS = {  # of a network: name, colour, line
    f"{LOCAL}.r2": ("local machine, same noise", "#009E73", "-"),
    f"{LOCAL}.r2.noise": ("local machine, other noise", "#009E73", (0, (1.2, 1.2))),
    f"{GLOBAL}.r2": ("global machine, same noise", "#CC79A7", "-"),
    f"{LOCAL}.r2.shuffled": ("local machine, other layouts", FAINT, (0, (1.2, 1.2))),
}


def machines(table: pl.DataFrame, asked: Sequence[Machine]) -> Figure:
    """Labels met, discs drawn, and where no training image agrees, over the number of labels."""
    with house_style():
        figure = Figure(figsize=(15.5, 5.6), layout="constrained")
        panels = figure.subplots(1, 3)
        names = {RECALL: "labels met", OBJECTS: "discs drawn", TIED: "no training image agrees"}
        for axes, (instrument, title) in zip(panels, names.items(), strict=True):
            axes.set_title(title)
            axes.set_xlabel("labels at once")
            for machine in asked:
                _line(axes, table, machine, instrument)
            axes.set_xticks((1, 3, 6, 9, 12))
        accuracy_axis(panels[0], "recall")
        panels[0].axhline(LEAST, color=INK, linestyle=":", linewidth=1)
        panels[1].plot([0, 12], [0, 12], color=FAINT, linewidth=1, zorder=0)
        for machine, values in TRIED.items():
            panels[1].plot((1, 3, 6, 9, 12), values, "x", color=COLORS[machine[:2]], markersize=6, alpha=0.7)
        panels[1].set(ylabel="discs", xlim=panels[0].get_xlim(), ylim=(-0.4, 13))
        accuracy_axis(panels[2], "share of cells")
        if panels[0].lines:
            one_legend_in_rows(figure, panels[0])
        put_caption(
            figure,
            "Machines made of images of discs. Line: mean; band: smallest to largest training set. Solid: each cell "
            "hears of 5 x 5 cells; dash-dotted: of 9 x 9; dashed: of everything. Dotted: recall of "
            f"{LEAST:g}. Grey: as many discs as labels (in Exp 2 discs without a label are right, too); crosses: a "
            "smaller trial with other code and other layouts. Right: cells in whose field no training label agrees, so "
            "that the nearest count.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def prediction(table: pl.DataFrame, networks: Sequence[str]) -> Figure:
    """For each network what machines explain of its samples; and recall beside recall."""
    with house_style():
        figure = Figure(figsize=(5.2 * (len(networks) + 1), 5.4), layout="constrained")
        *panels, last = figure.subplots(1, len(networks) + 1)
        for axes, network in zip(panels, networks, strict=True):
            axes.set_title(f"Exp {network}: pixels explained")
            asked = {k for name in READINGS for k in _reading(axes, table, network, name)}
            if not asked:
                empty_panel(axes, f"no machine was put beside Exp {network}")
                continue
            axes.axhline(0, color=INK, linewidth=0.8)
            axes.set(xlabel="labels at once", ylabel="r2, median over samples", ylim=(-1.05, 1.05))
            axes.set_xticks(sorted(asked))
        _recalls(last, table, networks)
        one_legend_in_rows(figure, panels[0], columns=4)
        put_caption(
            figure,
            "The network and the machine, made of images that the network saw, draw from the same noise. r2: 1 less "
            "the squared error over the variance of the network's pixels (below -1 is drawn at -1). Other noise: both "
            "are told the same labels, nothing else is shared. Right: recall of both at each number of labels.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def one_legend_in_rows(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend for all panels, in rows that fit."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=3.2)


def curves_by_seed(table: pl.DataFrame, arm: str, instrument: str) -> tuple[list[int], np.ndarray] | None:
    """Numbers of labels that all seeds have, and the values there; None if it was not measured.  # [K], [seeds, K]"""
    try:
        found = recall_by_count(table, arm, instrument)
    except NotMeasured:
        return None
    counts = sorted(set.intersection(*(set(curve) for curve in found.values())))
    return counts, np.array([[curve[count] for count in counts] for curve in found.values()])


def _line(axes: Axes, table: pl.DataFrame, machine: Machine, instrument: str) -> None:
    experiment, objects, radius = machine
    found = curves_by_seed(table, machine_arm(*machine), instrument)
    if found is None:
        return
    counts, values = found
    color, reach = COLORS[experiment, objects], "everything" if radius is None else f"k = {radius}"
    told = "single discs" if objects == "1" else f"Exp {experiment} labels"
    axes.fill_between(counts, values.min(0), values.max(0), color=color, alpha=0.12, linewidth=0)
    axes.plot(
        counts, values.mean(0), color=color, linestyle=DASHES[radius], linewidth=2.4, marker="o", markersize=4,
        label=f"{told}, {reach}",
    )  # fmt: skip


def _reading(axes: Axes, table: pl.DataFrame, network: str, name: str) -> list[int]:
    """Draw one reading of a network; the numbers of labels that there are."""
    found = curves_by_seed(table, arm_of(network, HEADLINE), f"machine.{name}")
    label, color, dashes = READINGS[name]
    if found is None:
        return []
    counts, values = found
    values = values.clip(min=-1)
    axes.fill_between(counts, values.min(0), values.max(0), color=color, alpha=0.14, linewidth=0)
    axes.plot(
        counts, values.mean(0), color=color, linestyle=dashes, linewidth=2.4, marker="o", markersize=4, label=label
    )
    return counts


def _recalls(axes: Axes, table: pl.DataFrame, networks: Sequence[str]) -> None:
    axes.set_title("recall beside recall")
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=0)
    for network, color in zip(networks, ("#009E73", "#D55E00"), strict=False):
        for name, marker in ((LOCAL, "o"), (GLOBAL, "s")):
            pair = [
                curves_by_seed(table, arm_of(network, HEADLINE), f"machine.{who}.recall") for who in (name, "network")
            ]
            if pair[0] is None or pair[1] is None:
                continue
            face = color if name == LOCAL else "none"
            axes.plot(
                pair[0][1].ravel(), pair[1][1].ravel(), marker, color=color, markerfacecolor=face, alpha=0.7,
                label=f"Exp {network}, {name} machine",
            )  # fmt: skip
    if len(axes.lines) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=10)
    axes.set_xlim(-0.03, 1.05)
    axes.set_xlabel("recall of the machine")
    accuracy_axis(axes, "recall of the network")
