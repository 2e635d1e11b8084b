"""The figure of how local a score must be."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.counting import CHANCE
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.local_scores.dose.claims import ABOVE, ALIKE, BELOW, fields_arm, fields_of, machine_beside
from recombine.studies.local_scores.length.claims import LEARNT, Measure, beyond, longest, with_one

COLORS = {"both fields": "#0072B2", "condition field": "#D55E00", "pixel field": "#009E73", "by noise": "#CC79A7"}


def doses(table: pl.DataFrame, radius: int) -> Figure:
    """Recall beyond training above, K_max below: over both fields, either with the other at `radius`, and by noise."""
    pairs = sorted({pair for arm in table["arm"].unique() if (pair := fields_of(arm)) is not None})
    sweeps = {
        "both fields": [pair for pair in pairs if pair[0] == pair[1]],
        "condition field": [pair for pair in pairs if pair[0] == radius],
        "pixel field": [pair for pair in pairs if pair[1] == radius],
    }
    side = 2 * radius + 1
    below = {"both fields": "", "condition field": f", pixels {side} x {side} cells",
             "pixel field": f", labels {side} x {side} cells"}  # fmt: skip
    measures: dict[str, Measure] = {"recall, more than 3 labels": beyond, "K_max": longest}
    with house_style():
        figure = Figure(figsize=(17, 8.4), layout="constrained")
        panels = figure.subplots(2, 4, squeeze=False, sharey="row", width_ratios=(1, 1, 1, 1.15))
        for row, (label, measure) in zip(panels, measures.items(), strict=True):
            for axes, (name, chosen) in zip(row, sweeps.items(), strict=False):
                moved = [pair[0] if name == "pixel field" else pair[1] for pair in chosen]
                _sweep(axes, table, dict(zip(moved, chosen, strict=True)), measure, COLORS[name])
                axes.set_xlabel(f"radius in cells{below[name]}")
            _by_noise(row[3], table, radius, max((k for _, k in sweeps["condition field"]), default=radius), measure)
            if measure is beyond:
                accuracy_axis(row[0], label)
            else:
                row[0].set_ylim(-0.5, 12.7)
                row[0].set_ylabel(label)
        for axes, name in zip(panels[0], COLORS, strict=True):
            axes.set_title(name)
        _legend(figure)
        put_caption(
            figure,
            "Networks of patches trained on 1 to 3 discs of which one is labelled. Dots: seeds; line or bar: their "
            f"mean; cross: it met less than {LEARNT:g} of single labels. Dotted, hollow: the machine with the same "
            "fields, which nobody trained. Dash-dotted: recall when images are asked for each other's labels. A radius "
            f"of {radius} means "
            f"{side} x {side} cells. By noise: pixels of {side} x {side} cells; labels of as many at the "
            "noise levels that are named, and from far off at all others; their patches are drawn alike in training.",
            seeds_text(table["seed"].n_unique()),
        )
    return figure


def _sweep(
    axes: Axes, table: pl.DataFrame, chosen: Mapping[int, tuple[int, int]], measure: Measure, color: str
) -> None:
    arms = {k: fields_arm(*pair) for k, pair in chosen.items()}
    network = {k: values for k, arm in arms.items() if (values := values_of(table, arm, measure))}
    machine = {k: values for k, arm in arms.items() if (values := values_of(table, machine_beside(arm), measure))}
    if not network and not machine:
        return empty_panel(axes, "not measured")
    for k, values in network.items():
        axes.plot([k] * len(values), values, "o", color=color, alpha=0.35, markersize=5, markeredgewidth=0)
    axes.plot(list(network), [np.mean(v) for v in network.values()], color=color, linewidth=2.8, zorder=3)
    for k, values in network.items():
        if not np.mean(values_of(table, arms[k], with_one)) >= LEARNT:
            axes.plot([k], [np.mean(values)], "x", color=color, markersize=11, markeredgewidth=2.4, zorder=5)
    if measure is beyond:
        chance = [np.mean(values_of(table, arms[k], _chance)) for k in network]
        axes.plot(list(network), chance, color=color, linestyle="-.", linewidth=1.1, alpha=0.8)
    axes.plot(
        list(machine), [np.mean(v) for v in machine.values()], color=color, linewidth=1.8, linestyle=(0, (1.2, 1.2)),
        marker="o", markerfacecolor="white", markersize=6, zorder=4,
    )  # fmt: skip
    axes.set_xticks(sorted({*network, *machine}))
    return None


def _by_noise(axes: Axes, table: pl.DataFrame, radius: int, whole: int, measure: Measure) -> None:
    """Bars for the noise levels at which labels are near."""
    near, far = fields_arm(radius, radius), fields_arm(radius, whole)
    shown = {"at all\nlevels": (ALIKE, near), "only at\nhigh": (ABOVE, ABOVE), "only at\nlow": (BELOW, BELOW),
             "at none": (far, far)}  # fmt: skip
    color = COLORS["by noise"]
    if not any(values_of(table, arm, measure) for arm in (ALIKE, ABOVE, BELOW, machine_beside(ABOVE))):
        return empty_panel(axes, "not measured")
    for place, (network, machine) in enumerate(shown.values()):
        values, beside = values_of(table, network, measure), values_of(table, machine_beside(machine), measure)
        if values:
            axes.bar(place, np.mean(values), width=0.62, color=color, alpha=0.45)
            axes.plot([place] * len(values), values, "o", color=color, markersize=5, markeredgewidth=0)
            if measure is beyond and (chance := values_of(table, network, _chance)):
                axes.plot([place - 0.31, place + 0.31], [np.mean(chance)] * 2, "-.", color=color, linewidth=1.1)
        if beside:
            level = float(np.mean(beside))
            axes.plot([place - 0.38, place + 0.38], [level] * 2, color=INK, linewidth=1.8, linestyle=(0, (1.2, 1.2)))
            axes.plot([place], [level], "o", color=INK, markerfacecolor="white", markersize=6)
    axes.set_xticks(range(len(shown)), list(shown), fontsize=11)
    axes.set_xlabel("noise levels at which labels are near")
    axes.grid(visible=False, axis="x")
    return None


def _chance(table: pl.DataFrame, arm: str) -> Mapping[int, float]:
    return beyond(table, arm, CHANCE)


def values_of(table: pl.DataFrame, arm: str, measure: Measure) -> list[float]:
    """A measure of an arm, one value a seed; none if it was not measured."""
    try:
        return list(measure(table, arm).values())
    except NotMeasured:
        return []


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=INK, linewidth=2.8, label="network"),
        Line2D([], [], color=INK, linewidth=1.8, linestyle=(0, (1.2, 1.2)), marker="o", markerfacecolor="white",
               label="machine that nobody trained"),
    ]  # fmt: skip
    figure.legend(handles=lines, loc="outside upper center", ncols=2, handlelength=3.2)
