"""The figures of length generalization (Bradley 2026, Fig 1 and its table)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import LEAST, OBJECTS, RECALL, RECALL_CLOSE, RECALL_ISOLATED, STRICT
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import band_caption
from recombine.lab.report.kit.scene_sheets import marked_sheet
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption
from recombine.lab.samples import Samples
from recombine.lab.table import Table
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of, longest, values_of
from recombine.studies.local_scores._shared.recall_panels import (
    COLORS,
    CONTROLS,
    EXPERIMENTS,
    GREY,
    IN_OTHER_WAYS,
    curve_panel,
    legend_above,
    recall_panel,
)
from recombine.studies.local_scores.length.arms import TRAINED
from recombine.studies.local_scores.length.claims import PAPER, off_the_paper

RULES: dict[str, tuple[str, float]] = {  # of K_max: the one fixed beforehand, and three tried afterwards
    f"recall of {LEAST:g} (the rule)": (RECALL, LEAST), "recall of 0.75": (RECALL, 0.75),
    "every label in one image of ten": (STRICT, 0.1), "as many objects as labels": (OBJECTS, 1.0),
}  # fmt: skip
MARKERS = ("o", "v", "s", "D")
LINES = (
    "Shaded: numbers of objects in a training image. Grey dashes: the object finder on rendered scenes. Dash-dotted: "
    "recall against the labels of other layouts."
)


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Recall over the number of labels for every experiment, K_max, isolated and close labels, and other rules."""
    figures = {
        "figure": Drawing(recall_over_count(table), "Label recall over the number of labels, for each training set."),
        "rules": Drawing(rules(table), "Images with an object at every label, and K_max by four rules."),
    }
    if RECALL_ISOLATED in table["instrument"].unique():
        figures |= {
            "isolated": Drawing(isolated(table), "Recall of isolated labels and of labels close to another."),
            "controls": Drawing(controls(table), "Label recall by the sizes of both receptive fields."),
            "variants": Drawing(variants(table), "Label recall when labels enter the network in other ways."),
        }
    return figures


def recall_over_count(table: Table) -> Figure:
    """A panel for each training set."""
    measured = set(table["arm"].unique())
    sets = [o for o in sorted(TRAINED) if any(arm_of(name, o) in measured for name in EXPERIMENTS)]
    with house_style():
        figure = Figure(figsize=(5.2 * max(2, len(sets)), 6), layout="constrained")
        panels = list(figure.subplots(1, len(sets), squeeze=False)[0])
        for axes, objects in zip(panels, sets, strict=True):
            name = f"trained on {objects} object" + ("" if objects == "1" else "s")
            recall_panel(axes, table, EXPERIMENTS, objects=objects, name=name)
            axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1)
        legend_above(figure, panels)
        put_caption(
            figure,
            f"Share of labels with an object within 1.5 cells. {LINES} Dotted: {LEAST:g}, the rule of K_max. On single "
            "objects Exps 1 and 2 are the same runs.",
            band_caption(table["seed"].n_unique()),
        )
    return figure


def isolated(table: Table) -> Figure:
    """Isolated and close labels of the paper's experiments."""
    caption = f"Trained on 1 to 3 objects. Isolated: no other label in the 5 x 5 cells around. {LINES}"
    return _panels(table, EXPERIMENTS, (RECALL_ISOLATED, RECALL_CLOSE), caption)


def controls(table: Table) -> Figure:
    """Networks of one kind that differ in their receptive fields, and the plain Exp 2."""
    return _panels(
        table, {"2": EXPERIMENTS["2"], **CONTROLS}, (RECALL, RECALL_ISOLATED, RECALL_CLOSE),
        "Exp 2 trained on 1 to 3 objects, one of them labelled. Linear: each cell depends on the 5 x 5 cells around it "
        "and their labels. Far: on these cells and all labels within 8. Whole: on cells and labels within 8, as large "
        "as the image. 2: a U-Net of the image, trained half as long. All have one linear embedding that multiplies "
        f"features. {LINES}",
    )  # fmt: skip


def variants(table: Table) -> Figure:
    """Labels as a channel, an embedding that multiplies, a list from its first slot on."""
    return _panels(
        table, IN_OTHER_WAYS, (RECALL, RECALL_ISOLATED, RECALL_CLOSE),
        "Trained on 1 to 3 objects. Channel: labels as a channel of the image, in 2L of each patch. Multiplied: the "
        f"embedding of a patch's labels multiplies features. Fixed: a list that starts at its first slot. {LINES}",
    )  # fmt: skip


def _panels(table: Table, colors: Mapping[str, str], instruments: Sequence[str], caption: str) -> Figure:
    with house_style():
        figure = Figure(figsize=(max(12, 4.9 * len(instruments)), 6), layout="constrained")
        panels = list(figure.subplots(1, len(instruments)))
        for axes, instrument in zip(panels, instruments, strict=True):
            recall_panel(axes, table, colors, instrument)
        legend_above(figure, panels)
        put_caption(figure, caption, band_caption(table["seed"].n_unique()))
    return figure


def rules(table: Table) -> Figure:
    """Images with an object at every label, and K_max by several rules."""
    with house_style():
        figure = Figure(figsize=(14, 7), layout="constrained")
        first, last = figure.subplots(1, 2, width_ratios=(1, 1.4))
        first.set(title="every label has an object", xlabel="labels", ylabel="share of images")
        if not curve_panel(first, table, EXPERIMENTS, STRICT):
            empty_panel(first, "not measured")
        _by_rules(last, table)
        legend_above(figure, [first])
        off = "; ".join(f"{name}, {off_the_paper(table, *rule):.1f}" for name, rule in RULES.items())
        constant = np.mean([abs(5 - k) for k in PAPER.values()])
        put_caption(
            figure,
            "Left: trained on 1 to 3 objects (shaded). Right: K_max by the rule fixed beforehand and by laxer ones "
            "that were tried afterwards, means over seeds; lines: the paper. Mean distance from the paper: "
            f"{off}; a constant 5, {constant:.1f}.",
            band_caption(table["seed"].n_unique()),
        )
    return figure


def _by_rules(axes: Axes, table: Table) -> None:
    """The entries of the paper's table, and K_max by each rule beside them."""
    first = values_of(table, arm_of("1", HEADLINE), longest)
    axes.set_title(
        f"K_max; Exp 1: {np.mean(first):.1f}, paper {PAPER['1', HEADLINE]}" if first else "K_max by four rules"
    )
    for place, ((name, objects), paper) in enumerate(PAPER.items()):
        axes.plot([place - 0.38, place + 0.38], [paper] * 2, color="#202020", linewidth=2.2, zorder=3)
        for marker, rule in zip(MARKERS, RULES.values(), strict=True):
            found = values_of(table, arm_of(name, objects), partial(longest, instrument=rule[0], least=rule[1]))
            if found:
                axes.plot(place, np.mean(found), marker, color=EXPERIMENTS[name], markersize=8, alpha=0.85)
    axes.plot([], [], color="#202020", linewidth=2.2, label="paper")
    for marker, rule_name in zip(MARKERS, RULES, strict=True):
        axes.plot([], [], marker, color=GREY, markersize=8, label=rule_name)
    axes.set_xticks(range(len(PAPER)), [f"{name}\n{objects}" for name, objects in PAPER])
    axes.set_xlabel("experiment, objects of a training image")
    axes.set_ylim(-0.5, 12.5)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=2, columnspacing=1.0)


OTHERS = "Exps 2 and 2L were trained on images with unlabelled objects: others may stand there."
FIRST, SECOND = ({arm_of(n, HEADLINE): f"Exp {n}" for n in names} for names in (COLORS, IN_OTHER_WAYS))
controls_sheet = marked_sheet(
    "Samples of experiments and controls for 1, 3, 6 and 9 labels, which are marked.", FIRST.get,
    words="Linear: 2L with the embedding of Exps 1 to 3, another U-Net, trained longer. Far: the same, labels within 8 "
    f"cells. Whole: the same, patches of 17 x 17 cells. {OTHERS}",
)  # fmt: skip
variants_sheet = marked_sheet(
    "Samples of models whose labels enter in other ways, for 1, 3, 6 and 9 labels, which are marked.", SECOND.get,
    words="Channel: labels as a channel of the image, or of each patch. Multiplied: the embedding of a patch's labels "
    f"multiplies features. Fixed: a list from its first slot on. {OTHERS}", sheet="samples-variants",
)  # fmt: skip


def sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
    """What experiments and controls draw; on a sheet of their own, the variants."""
    return {**controls_sheet(kept), **variants_sheet(kept)}
