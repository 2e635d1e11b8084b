"""Figures of the adversarial split: what is drawn instead, and what fine-tuning brings and takes (Fig 9)."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import SERIES_COLORS, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import at_end, distances, group_curves
from recombine.studies.concept_graphs._shared.graph import Concepts, node_label

BASE = "adversarial"
VALUE_COLORS = {"red": "#D55E00", "blue": "#0072B2"}


def what_is_drawn(table: pl.DataFrame, concepts: Concepts) -> Figure:
    """For every prompt and concept: the share of images that show each value, before fine-tuning."""
    far = distances(table, BASE)
    with house_style():
        figure = Figure(figsize=(15, 7.4), layout="constrained")
        panels = figure.subplots(1, len(concepts), sharey=True, squeeze=False)[0]
        for place, (axes, (concept, values)) in enumerate(zip(panels, concepts.items(), strict=True)):
            axes.set_title(f"{'abcdefgh'[place]}   {concept}")
            _draw_values(axes, table, concept, place, values, list(far))
        if far:
            labels = [f"{node_label(n, concepts, None)}{'' if far[n] else ' (trained)'}" for n in far]
            panels[0].set_yticks(range(len(far)), labels)
            panels[0].invert_yaxis()
        seeds = table.filter(pl.col("arm") == BASE)["seed"].n_unique()
        put_caption(
            figure,
            f"Mean of {seeds_text(seeds)} at the end of training. Rows: what was asked for; bars: what was found.",
            "The rest of a row holds no object, several, or one that is neither value. Outlined: what was asked for, "
            "which should fill the row.",
        )
    return figure


def tuning(table: pl.DataFrame, concepts: Concepts) -> Figure:
    """Accuracy while a model is fine-tuned on one class: alone above, mixed with the old data below."""
    arms = [arm for arm in dict.fromkeys(table["arm"].to_list()) if arm != BASE]
    columns = [arm for arm in arms if not arm.endswith("-mixed")]
    trained = [node for node, distance in distances(table, BASE).items() if distance == 0]
    with house_style():
        figure = Figure(figsize=(5.6 * max(1, len(columns)), 10.4), layout="constrained")
        panels = figure.subplots(2, max(1, len(columns)), sharey=True, squeeze=False)
        for column, node in enumerate(columns):
            for row, (arm, how) in enumerate(((node, "alone"), (f"{node}-mixed", "mixed with the old data"))):
                axes = panels[row, column]
                axes.set_title(f"{node_label(node, concepts, None)}, {how}", fontsize=12)
                rest = [n for n in distances(table, arm) if n not in trained and n != node]
                groups = {"trained first": trained, "fine-tuned on": [node], "never seen": rest}
                series = {name: group_curves(table, "reader.product", arm, nodes) for name, nodes in groups.items()}
                draw_series(axes, series, place=None)
                before = at_end(table, "reader.product", BASE, trained)
                if before:
                    level = float(np.mean(list(before.values())))
                    axes.axhline(level, color="black", linestyle=":", linewidth=1.6, label="trained first, before")
                if column:
                    axes.set_ylabel("")
        one_legend(figure, panels[0, 0])
        if not columns:
            empty_panel(panels[0, 0], "no arm was fine-tuned")
            empty_panel(panels[1, 0], "")
        seeds = table.filter(pl.col("arm") == BASE)["seed"].n_unique()
        put_caption(
            figure,
            "Product accuracy by the reader, mean over the classes of each group. Images seen since fine-tuning began.",
            band_caption(seeds),
        )
    return figure


def _draw_values(
    axes: Axes, table: pl.DataFrame, concept: str, place: int, values: tuple[str, ...], nodes: list[str]
) -> None:
    if not nodes:
        return empty_panel(axes, "not measured")
    left = np.zeros(len(nodes))
    for digit, value in enumerate(values):
        found = [at_end(table, f"reader.{concept}={value}", BASE, (node,)) for node in nodes]
        if not all(found):
            axes.set_yticks([])
            return empty_panel(axes, f"not measured: reader.{concept}={value}")
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
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=len(values))
    return None
