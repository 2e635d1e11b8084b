"""The figures of how local a score must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.denoisers.configs import LocalConfig
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption, seeds_text
from recombine.runs.scenes import ScenesRun
from recombine.studies.local_scores._shared.label_recall import (
    LEARNT,
    Measure,
    beyond,
    chance_beyond,
    longest,
    values_of,
    with_one,
)
from recombine.studies.local_scores._shared.sample_figure import marked_sheet
from recombine.studies.local_scores.receptive_field.claims import (
    ABOVE,
    ALIKE,
    BELOW,
    machine_beside,
    radii_arm,
    radii_of,
)
from recombine.studies.local_scores.receptive_field.experiment import BORDER

COLORS = {"both": "#0072B2", "labels": "#D55E00", "pixels": "#009E73", "noise": "#CC79A7"}
DOTTED: Any = (0, (1.2, 1.2))

sheets = marked_sheet(
    "Samples of networks with each pair of receptive fields for several numbers of labels, which are marked.",
    counts=(1, 3, 6, 12),
    words="Pixels, labels: radius of each receptive field in cells. Labels near above, below: within 2 cells above, or "
    f"below, sigma = {BORDER:g} only. Labels near, patches as far: within 2 at all levels, with the training patches "
    "of networks whose labels reach 8 cells.",
)


def draw(table: pl.DataFrame, config: Any) -> dict[str, Drawing]:
    """Recall and K_max over both receptive fields, over either, and by noise."""
    local = isinstance(config, ScenesRun) and isinstance(config.network, LocalConfig)
    radius = config.network.radius if local else 2
    what = "over the receptive fields of a local network, and by noise level; the training-free model dotted."
    return {
        "figure": Drawing(sweeps(table, radius, beyond), f"Label recall beyond training {what}"),
        "k-max": Drawing(sweeps(table, radius, longest), f"K_max {what}"),
    }


def sweeps(table: pl.DataFrame, radius: int, measure: Measure) -> Figure:
    """A measure over both receptive fields, either with the other at `radius`, and by noise."""
    pairs, side = sorted(set(radii_of(table).values())), 2 * radius + 1
    swept = {
        "both": ("pixels and labels", {k: (r, k) for r, k in pairs if r == k}),
        "labels": (f"labels; pixels {side} x {side} cells", {k: (r, k) for r, k in pairs if r == radius}),
        "pixels": (f"pixels; labels {side} x {side} cells", {r: (r, k) for r, k in pairs if k == radius}),
    }
    with house_style():
        figure = Figure(figsize=(13, 9.8), layout="constrained")
        panels = figure.subplots(2, 2, sharey=True).ravel()
        for axes, (name, (title, chosen)) in zip(panels, swept.items(), strict=False):
            _sweep(axes, table, chosen, measure, COLORS[name])
            axes.set(title=title + _change(table, chosen, radius, measure), xlabel="radius in cells")
        _by_noise(panels[3], table, radius, max(swept["labels"][1], default=radius), measure)
        panels[3].set_title("labels by noise level")
        for axes in panels[::2]:
            axes.set_ylabel("K_max")
            if measure is beyond:
                accuracy_axis(axes, "recall, more than 3 labels")
            else:
                axes.set_ylim(-0.5, 12.7)
        _legend(figure)
        chance = "Dash-dotted: recall against the labels of other layouts. " if measure is beyond else ""
        put_caption(
            figure,
            "Networks of patches trained on 1 to 3 discs of which one is labelled. Dots: seeds; line or bar: their "
            f"mean; cross: recall of single labels below {LEARNT:g}. Dotted, hollow: the training-free model with the "
            f"same receptive fields. {chance}Titles: means at radius {radius} and at the largest. A radius of {radius} "
            f"means {side} x {side} cells. By noise: pixels of {side} x {side} cells; labels of as many at the noise "
            "levels that are named, and from far off at all others; training patches are drawn alike.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _change(table: pl.DataFrame, chosen: Mapping[int, tuple[int, int]], radius: int, measure: Measure) -> str:
    found = [values_of(table, radii_arm(*chosen[k]), measure) for k in (radius, max(chosen, default=0)) if k in chosen]
    return f": {np.mean(found[0]):.2f} to {np.mean(found[1]):.2f}" if len(found) == 2 and all(found) else ""


def _sweep(
    axes: Axes, table: pl.DataFrame, chosen: Mapping[int, tuple[int, int]], measure: Measure, color: str
) -> None:
    arms = {k: radii_arm(*pair) for k, pair in chosen.items()}
    network = {k: values for k, arm in arms.items() if (values := values_of(table, arm, measure))}
    machine = {k: values for k, arm in arms.items() if (values := values_of(table, machine_beside(arm), measure))}
    if not network and not machine:
        return empty_panel(axes, "not measured")
    axes.plot(list(network), [np.mean(v) for v in network.values()], color=color, linewidth=2.8, zorder=3)
    for k, values in network.items():
        axes.plot([k] * len(values), values, "o", color=color, alpha=0.35, markersize=5, markeredgewidth=0)
        if not np.mean(values_of(table, arms[k], with_one)) >= LEARNT:
            axes.plot([k], [np.mean(values)], "x", color=color, markersize=11, markeredgewidth=2.4, zorder=5)
    if measure is beyond:
        chance = [np.mean(values_of(table, arms[k], chance_beyond)) for k in network]
        axes.plot(list(network), chance, color=color, linestyle="-.", linewidth=1.1, alpha=0.8)
    axes.plot(
        list(machine), [np.mean(v) for v in machine.values()], color=color, linewidth=1.8, linestyle=DOTTED,
        marker="o", markerfacecolor="white", markersize=6, zorder=4,
    )  # fmt: skip
    axes.set_xticks(sorted({*network, *machine}))
    return None


def _by_noise(axes: Axes, table: pl.DataFrame, radius: int, whole: int, measure: Measure) -> None:
    """Bars for the noise levels at which labels are near."""
    near, far = radii_arm(radius, radius), radii_arm(radius, whole)
    shown = {"at all\nlevels": (ALIKE, near), "only at\nhigh": (ABOVE, ABOVE), "only at\nlow": (BELOW, BELOW),
             "at none": (far, far)}  # fmt: skip
    color = COLORS["noise"]
    if not any(values_of(table, arm, measure) for arm in (ALIKE, ABOVE, BELOW, machine_beside(ABOVE))):
        return empty_panel(axes, "not measured")
    for place, (network, machine) in enumerate(shown.values()):
        values, beside = values_of(table, network, measure), values_of(table, machine_beside(machine), measure)
        if values:
            axes.bar(place, np.mean(values), width=0.62, color=color, alpha=0.45)
            axes.plot([place] * len(values), values, "o", color=color, markersize=5, markeredgewidth=0)
            if measure is beyond and (chance := values_of(table, network, chance_beyond)):
                axes.plot([place - 0.31, place + 0.31], [np.mean(chance)] * 2, "-.", color=color, linewidth=1.1)
        if beside:
            level = float(np.mean(beside))
            axes.plot([place - 0.38, place + 0.38], [level] * 2, color=INK, linewidth=1.8, linestyle=DOTTED)
            axes.plot([place], [level], "o", color=INK, markerfacecolor="white", markersize=6)
    axes.set_xticks(range(len(shown)), list(shown))
    axes.set_xlabel("noise levels at which labels are near")
    axes.grid(visible=False, axis="x")
    return None


def _legend(figure: Figure) -> None:
    lines = [
        Line2D([], [], color=INK, linewidth=2.8, label="network"),
        Line2D([], [], color=INK, linewidth=1.8, linestyle=DOTTED, marker="o", markerfacecolor="white",
               label="training-free model"),
    ]  # fmt: skip
    figure.legend(handles=lines, loc="outside upper center", ncols=2, handlelength=3.2)
