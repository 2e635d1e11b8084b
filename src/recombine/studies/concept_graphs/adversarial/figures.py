"""Figures of the adversarial split: what is drawn instead, and what fine-tuning brings and takes (Fig 9)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import SERIES_COLORS, empty_panel, put_caption, seeds_text
from recombine.lab.rules import mean
from recombine.lab.table import Table, at_end, distances, select
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.figures import far_curves
from recombine.studies.concept_graphs._shared.graph import Concepts, node_label
from recombine.studies.concept_graphs.adversarial.claims import SMALL_CIRCLES, TRAINED
from recombine.studies.concept_graphs.adversarial.experiment import BASE, CLASSES

VALUE_COLORS = {"red": "#D55E00", "blue": "#0072B2"}


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """What small prompts draw before fine-tuning; what fine-tuning forgets, alone and mixed with the old data."""
    concepts = config.world.concepts
    before = "What the reader finds for each prompt: the shape, colour and size of the object, before fine-tuning."
    alone = "Accuracy of every class while the model is fine-tuned on one class alone."
    mixed = "The same where the class is mixed with the old data."
    return {
        "figure": Drawing(what_is_drawn(table, concepts), before),
        "tuning": Drawing(tuning(table, concepts, mixed=False), alone),
        "tuning-mixed": Drawing(tuning(table, concepts, mixed=True), mixed),
    }


def what_is_drawn(table: Table, concepts: Concepts) -> Figure:
    """For every prompt and concept: the share of images that show each value, before fine-tuning."""
    rows = select(table, arm=BASE, sampler=None)
    far = distances(rows)
    with new_figure(15, 8, 1, len(concepts)) as (figure, panels):
        for place, (axes, (concept, values)) in enumerate(zip(panels.flat, concepts.items(), strict=True)):
            right = at_end(rows, "reader.accuracy", concept=concept, node=SMALL_CIRCLES)
            axes.set_title(f"{'abcdefgh'[place]}   {concept}" + (f": {mean(right):.2f} right" if right else ""))
            _draw_values(axes, rows, place, concept, values)
        if far:
            labels = [f"{node_label(node, concepts)}{'' if far[node] else ' *'}" for node in far]
            panels[0, 0].set_yticks(range(len(far)), labels)
            panels[0, 0].invert_yaxis()
        put_caption(
            figure,
            f"Mean of {seeds_text(rows['seed'].n_unique())} at the end of training. Rows: the class that was asked for "
            "(*: trained); bars: what the reader found.",
            "The rest of a row holds no object, several, or one that is neither value. Outlined: what was asked for, "
            "which should fill the row. Titles: of both small circles.",
        )
    return figure


def tuning(table: Table, concepts: Concepts, mixed: bool) -> Figure:
    """Accuracy while a model is fine-tuned on one class, alone or mixed with the old data: a panel for each class."""
    before = at_end(table, "reader.product", arm=BASE, node=TRAINED, sampler=None)
    with new_figure(5.4 * len(CLASSES), 6.6, 1, len(CLASSES)) as (figure, panels):
        for axes, new in zip(panels.flat, CLASSES, strict=True):
            rows = select(table, tuned_on=new, mixed=mixed, sampler=None)
            groups = {"trained first": TRAINED, "fine-tuned on": (new,),
                      "never seen": [n for n in distances(rows) if n not in (*TRAINED, new)]}  # fmt: skip
            series = {name: far_curves(rows, nodes, "reader.product") for name, nodes in groups.items()}
            kept = [value[-1] for _, value in series["trained first"]]
            axes.set_title(f"{node_label(new, concepts)}" + (f": old at {np.mean(kept):.2f}" if kept else ""))
            draw_series(axes, series, place=None)
            if before:
                axes.axhline(mean(before), color="black", linestyle=":", linewidth=1.6, label="trained first, before")
            if axes is not panels[0, 0]:
                axes.set_ylabel("")
        one_legend(figure, panels[0, 0])
        put_caption(
            figure,
            f"Fine-tuned on {'one class mixed with the old data' if mixed else 'one class alone'}. Product accuracy by "
            "the reader, mean over the classes of each group; images seen since fine-tuning began.",
            band_caption(table["seed"].n_unique()),
        )
    return figure


def _draw_values(axes: Axes, rows: Table, place: int, concept: str, values: tuple[str, ...]) -> None:
    nodes = list(distances(rows))
    left = np.zeros(len(nodes))
    for digit, value in enumerate(values):
        found = [at_end(rows, "reader.answer", concept=concept, answer=value, node=node) for node in nodes]
        if not nodes or not all(found):
            axes.set_yticks([])
            return empty_panel(axes, f"not measured: reader.answer {concept} {value}")
        share = np.array([float(np.mean(list(each.values()))) for each in found])
        color = VALUE_COLORS.get(value, SERIES_COLORS[digit])
        bars = axes.barh(range(len(nodes)), share, left=left, color=color, label=value, height=0.72)
        for bar, node in zip(bars, nodes, strict=True):
            if int(node[place]) == digit:
                bar.set(edgecolor="black", linewidth=2.2, zorder=4)
        left += share
    axes.set_xlim(0, 1.01)
    axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    axes.set_xlabel("share of images")
    axes.grid(False, axis="y")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=len(values))
    return None
