"""The figures of training-free local-score models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import LEAST, OBJECTS, RECALL
from recombine.instruments.scenes.machine_evaluation import GLOBAL, LOCAL, TIED
from recombine.lab.experiment import Drawing, no_sheets
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.rules import mean
from recombine.lab.table import Table
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of, longest, values_of
from recombine.studies.local_scores._shared.recall_panels import legend_above, over_count
from recombine.studies.local_scores.machine.claims import explained, machine_arm
from recombine.studies.local_scores.machine.experiment import MACHINES, NETWORKS

Machine = tuple[str, str, int | None]

COLORS = {("1", "1-3"): "#0072B2", ("2", "1-3"): "#D55E00", ("2", "1"): "#009E73"}
DASHES: dict[int | None, Any] = {2: "-", 4: (0, (5, 1.5, 1.2, 1.5)), None: (0, (3, 2))}
COMPARED: dict[str, tuple[str, str, Any]] = {  # name, colour, line
    f"{LOCAL}.r2": ("local machine, same noise", "#009E73", "-"),
    f"{LOCAL}.r2.noise": ("local machine, other noise", "#009E73", (0, (1.2, 1.2))),
    f"{GLOBAL}.r2": ("global machine, same noise", "#CC79A7", "-"),
    f"{LOCAL}.r2.shuffled": ("local machine, other layouts", FAINT, (0, (1.2, 1.2))),
}
sheets = no_sheets


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Length generalization of machines, and how well they predict networks."""
    return {
        "figure": Drawing(
            machines(table, MACHINES), "Label recall and discs drawn over the number of labels, training-free models."
        ),
        "prediction": Drawing(
            prediction(table, NETWORKS),
            "How much of a trained network's sample a training-free model explains that draws from the same noise.",
        ),
    }


def machines(table: Table, asked: Sequence[Machine]) -> Figure:
    """Label recall, discs drawn, and where no training image agrees, over the number of labels."""
    with new_figure(14.5, 6.4, 1, 3, share_y=False) as (figure, [panels]):
        best = values_of(table, machine_arm("2", HEADLINE, 2), longest)
        names = {
            RECALL: "label recall" + (f": K_max {np.mean(best):.1f} with k = 2" if best else ""),
            OBJECTS: "discs drawn",
            TIED: "no training image agrees",
        }
        for axes, (instrument, title) in zip(panels, names.items(), strict=True):
            axes.set_title(title)
            axes.set_xlabel("labels")
            for machine in asked:
                _line(axes, table, machine, instrument)
            axes.set_xticks((1, 3, 6, 9, 12))
        accuracy_axis(panels[0], "recall")
        panels[0].axhline(LEAST, color=INK, linestyle=":", linewidth=1)
        panels[1].plot([0, 12], [0, 12], color=FAINT, linewidth=1, zorder=0)
        panels[1].set(ylabel="discs", xlim=panels[0].get_xlim(), ylim=(-0.4, 13))
        accuracy_axis(panels[2], "share of cells")
        legend_above(figure, panels, 4)
        put_caption(
            figure,
            "Training-free models made of images of discs. Line: mean; band: smallest to largest training set. k: "
            f"radius of both receptive fields in cells. Dotted: recall of {LEAST:g}. Grey: as many discs as labels (in "
            "Exp 2 discs without a label are right, too). Right: cells where no training image agrees with the labels "
            "nearby, so that the nearest ones count.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def prediction(table: Table, networks: Sequence[str]) -> Figure:
    """For each network what machines explain of its samples."""
    with house_style():
        figure = Figure(figsize=(14.5, 6.2), layout="constrained")
        panels = list(figure.subplots(1, len(networks)))
        for axes, network in zip(panels, networks, strict=True):
            found = values_of(table, network, lambda t, name: explained(name)(t))
            title = f": r2 = {mean(dict(enumerate(found))):.2f}" if found else ""
            axes.set_title(f"Exp {network}, local machine{title}")
            asked = {k for name in COMPARED for k in _compared(axes, table, network, name)}
            if not asked:
                empty_panel(axes, f"no machine was compared with Exp {network}")
                continue
            axes.axhline(0, color=INK, linewidth=0.8)
            axes.set(xlabel="labels", ylabel="r2, median over samples", ylim=(-1.05, 1.05))
            axes.set_xticks(sorted(asked))
        legend_above(figure, panels, 4)
        put_caption(
            figure,
            "Network and machine, made of images that the network was trained on, draw from the same noise. r2: 1 less "
            "the squared error over the variance of the network's pixels (below -1 is drawn at -1); titles: means over "
            "numbers of labels. Other noise: both have the same labels, nothing else is shared.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _line(axes: Axes, table: Table, machine: Machine, instrument: str) -> None:
    experiment, objects, radius = machine
    color, reach = COLORS[experiment, objects], "everything" if radius is None else f"k = {radius}"
    labels = "single discs" if objects == "1" else f"Exp {experiment} labels"
    if found := over_count(table, [machine_arm(*machine)], instrument):
        dashes = DASHES[radius]
        draw_mean(axes, found, color, f"{labels}, {reach}", "min-max", dashes, 2.4, thin=False, opacity=0.12)


def _compared(axes: Axes, table: Table, network: str, name: str) -> list[int]:
    """Draw one comparison with a network; the numbers of labels that there are."""
    label, color, dashes = COMPARED[name]
    found = over_count(table, [arm_of(network, HEADLINE)], f"machine.{name}")
    clipped = [(at, values.clip(min=-1)) for at, values in found]
    if clipped:
        draw_mean(axes, clipped, color, label, "min-max", dashes, 2.4, thin=False, opacity=0.14)
    return [k for at, _ in found[:1] for k in at.tolist()]
