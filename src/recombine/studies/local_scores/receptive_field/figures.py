"""The figures of how local a score must be."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.denoisers.configs import LocalConfig
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.scene_sheets import marked_sheet
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption
from recombine.lab.table import Table
from recombine.runs.scenes import ScenesRun
from recombine.studies.local_scores._shared.label_recall import Measure, beyond, chance_beyond, longest, values_of
from recombine.studies.local_scores._shared.recall_panels import legend_above, swept
from recombine.studies.local_scores.receptive_field.claims import (
    ABOVE,
    ALIKE,
    BELOW,
    machine_beside,
    radii_arm,
    radii_of,
)
from recombine.studies.local_scores.receptive_field.experiment import BORDER

COLORS = {"network": "#0072B2", "training-free model": "#D55E00"}

sheets = marked_sheet(
    "Samples of networks with each pair of receptive fields for several numbers of labels, which are marked.",
    counts=(1, 3, 6, 12),
    words="Pixels, labels: radius of each receptive field in cells. Labels near above, below: within 2 cells above, or "
    f"below, sigma = {BORDER:g} only. Labels near, patches as far: within 2 at all levels, with the training patches "
    "of networks whose labels reach 8 cells.",
)


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Recall and K_max over both receptive fields, over either, and by noise."""
    local = isinstance(config, ScenesRun) and isinstance(config.network, LocalConfig)
    radius = config.network.radius if local else 2
    what = "over the receptive fields of a local network, and by noise level."
    return {
        "figure": Drawing(sweeps(table, radius, beyond), f"Label recall beyond training {what}"),
        "k-max": Drawing(sweeps(table, radius, longest), f"K_max {what}"),
    }


def sweeps(table: Table, radius: int, measure: Measure) -> Figure:
    """A measure over both receptive fields, either with the other at `radius`, and by noise."""
    pairs, side = sorted(set(radii_of(table).values())), 2 * radius + 1
    chosen = {
        "pixels and labels": {r: radii_arm(r, k) for r, k in pairs if r == k},
        f"labels; pixels {side} x {side} cells": {k: radii_arm(r, k) for r, k in pairs if r == radius},
        f"pixels; labels {side} x {side} cells": {r: radii_arm(r, k) for r, k in pairs if k == radius},
    }
    with house_style():
        figure = Figure(figsize=(13, 9.8), layout="constrained")
        *panels, last = figure.subplots(2, 2, sharey=True).ravel()
        for axes, (title, arms) in zip(panels, chosen.items(), strict=True):
            axes.set(title=title, xlabel="radius in cells")
            for name, beside in (("network", str), ("training-free model", machine_beside)):
                if curves := swept(table, {k: beside(arm) for k, arm in arms.items()}, measure):
                    draw_mean(axes, curves, COLORS[name], name)
            if not axes.lines:
                empty_panel(axes, "not measured")
                continue
            ends = [values_of(table, arms[k], measure) for k in (radius, max(arms)) if k in arms]
            if len(ends) == 2 and all(ends):
                axes.set_title(f"{title}: {np.mean(ends[0]):.2f} to {np.mean(ends[1]):.2f}")
            if measure is beyond and (chance := swept(table, arms, chance_beyond)):
                draw_mean(axes, chance, INK, "chance of the network", dashes=":", width=1.5, thin=False)
            axes.set_xticks(sorted(arms))
        _by_noise(last, table, radius, max((k for _, k in pairs), default=radius), measure)
        for axes in (panels[0], panels[2]):
            axes.set_ylabel("K_max")
            if measure is beyond:
                accuracy_axis(axes, "recall, more than 3 labels")
        legend_above(figure, [*panels, last])
        put_caption(
            figure,
            "Networks of patches trained on 1 to 3 discs of which one is labelled, and the training-free model with "
            f"the same receptive fields. Titles: means at radius {radius} and at the largest. A radius of {radius} "
            f"means {side} x {side} cells. By noise: pixels of {side} x {side} cells; labels of as many at the noise "
            "levels that are named, and from far off at all others; training patches are drawn alike. Chance: recall "
            "against the labels of other layouts.",
            band_caption(table["seed"].n_unique()),
        )
    return figure


def _by_noise(axes: Axes, table: Table, radius: int, far: int, measure: Measure) -> None:
    """Bars for the noise levels at which labels are near."""
    shown = {"all": (ALIKE, radii_arm(radius, radius)), "high": (ABOVE, ABOVE), "low": (BELOW, BELOW),
             "none": (radii_arm(radius, far),) * 2}  # fmt: skip
    bars = {
        level: {"network": values_of(table, network, measure),
                "training-free model": values_of(table, machine_beside(machine), measure)}
        for level, (network, machine) in shown.items()
    }  # fmt: skip
    if not any(bars[level]["network"] for level in ("all", "high", "low")):
        return empty_panel(axes, "not measured")
    axes.set(title="labels by noise level", xlabel="noise levels at which labels are near")
    return draw_bars(axes, bars, COLORS)
