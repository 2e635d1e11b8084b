"""The figure of scenes conditioned on colours: recall and extras over their number, orthogonality, pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.scenes.colour_evaluation import BOTTLENECK, COSINE, DATA, LINEAR, PAIR, PIXELS
from recombine.instruments.scenes.counting import LEAST
from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import band_caption
from recombine.lab.report.kit.style import empty_figure, empty_panel, house_style, put_caption
from recombine.lab.rules import mean
from recombine.lab.table import Table, select
from recombine.studies.local_scores._shared.recall_panels import GREY, count_line, legend_above, mean_curve, over_count
from recombine.studies.local_scores.colours.claims import (
    ALL,
    ARMS,
    BAD,
    CHANCE,
    EXTRAS,
    GOOD,
    RECALL,
    SINGLE,
    TRAINED,
    Pair,
    by_pair,
    interference,
    ranks,
)

COLORS = dict(zip(ARMS, ("#0072B2", "#D55E00", "#009E73"), strict=True))
CALLED = dict(zip(ARMS, ("all of 1 to 3 labelled", "one of 1 to 3 labelled", "single objects"), strict=True))
WAYS = {PAIR: ("both in the label", "#0072B2", "o"), LINEAR: ("scores added", "#CC79A7", "s")}
Panel = Callable[[Axes, Table], None]


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Recall and extras over the number of colours; |cosine| by representation; recall of pairs over their cosine."""
    return {
        "figure": Drawing(
            _figure(table),
            "Top: share of the colours of a label that an image holds, and other colours, over their number. Dashed: "
            f"when labels are exchanged between images; grey: the reader on rendered scenes; dotted: {LEAST:g}, the "
            "rule of K_max; shaded: numbers of objects trained on (but for single objects). Bottom left: mean |cosine| "
            "over pairs of colours of d_i, colour i minus no colour, in rendered images (data), in the model's pixels "
            "and along its U-Net; dots: seeds. Bottom right: recall of each pair over its cosine in pixels, model "
            "trained on single objects, mean over seeds.",
        )
    }


def _figure(table: Table) -> Figure:
    if not any(arm in ARMS for arm in table["arm"].to_list()):
        return empty_figure("no model of colours was measured")
    with house_style():
        figure = Figure(figsize=(14, 11.6), layout="constrained")
        panels = figure.subplots(2, 2).flat
        for axes, panel in zip(panels, (_recall, _extras, _representations, _pairs), strict=True):
            try:
                panel(axes, table)
            except NotMeasured:
                axes.clear()
                empty_panel(axes, "not measured")
        legend_above(figure, [figure.axes[0]], columns=4)
        put_caption(figure, band_caption(table["seed"].n_unique()))
    return figure


def _recall(axes: Axes, table: Table) -> None:
    ends = _over_count(axes, table, RECALL)
    for arm, color in COLORS.items():
        if chance := mean_curve(over_count(table, [arm], CHANCE)):
            axes.plot(*chance, color=color, linewidth=1.4, linestyle="--")
    axes.axhline(LEAST, color="#404040", linestyle=":", linewidth=1.2)
    accuracy_axis(axes, "recall of colours")
    axes.set_title(f"All labelled: {100 * ends[0]:.0f}% to {100 * ends[1]:.0f}% of colours found")


def _extras(axes: Axes, table: Table) -> None:
    ends = _over_count(axes, table, EXTRAS)
    axes.set_ylabel("colours that are not in the label")
    axes.set_title(f"All labelled: {ends[0]:.2f} to {ends[1]:.2f} extra colours")


def _over_count(axes: Axes, table: Table, instrument: str) -> tuple[float, float]:
    """A curve for each arm; the values with the fewest and the most colours of the first one."""
    for arm, color in COLORS.items():
        count_line(axes, table, arm, instrument, color, CALLED[arm])
    numbered = table.drop_nulls("labels")  # other calibrations are of single colours
    if reader := mean_curve(over_count(numbered, ARMS, f"calibration.{instrument}")):
        axes.plot(*reader, color=GREY, linewidth=1.6, zorder=1, label="reader, rendered scenes")
    axes.axvspan(0.5, TRAINED + 0.5, color="#eeeeee", zorder=0)
    axes.set_xlabel("colours in the label")
    found = mean_curve(over_count(table, [ALL], instrument))
    if found is None:
        raise NotMeasured(instrument)
    return float(found[1][0]), float(found[1][-1])


def _representations(axes: Axes, table: Table) -> None:
    known = select(table, COSINE)["representation"].unique(maintain_order=True).to_list()
    if not known:
        raise NotMeasured(COSINE)
    order = [name for name in (DATA, PIXELS) if name in known]
    order += [name for name in known if name not in order]  # stages in the order of the network
    groups = {name: {CALLED[arm]: _values(interference(arm, name), table) for arm in ARMS} for name in order}
    draw_bars(axes, groups, {CALLED[arm]: color for arm, color in COLORS.items()})
    axes.set_xticks(range(len(order)), order, rotation=35, fontsize=13)
    accuracy_axis(axes, "mean |cosine|")
    pixels, features = (mean(interference(ALL, name)(table)) for name in (PIXELS, BOTTLENECK))
    axes.set_title(f"|cosine|: {pixels:.2f} in pixels, {features:.2f} in the bottleneck")


def _pairs(axes: Axes, table: Table) -> None:
    angles = _pair_means(table, COSINE, representation=PIXELS)
    for instrument, (label, color, marker) in WAYS.items():
        recall = _pair_means(table, instrument)
        pairs = sorted(recall.keys() & angles.keys())
        axes.plot([angles[p] for p in pairs], [recall[p] for p in pairs], marker, color=color, alpha=0.6, label=label,
                  markersize=9)  # fmt: skip
        for pair in {GOOD, BAD}.intersection(pairs):
            axes.annotate(" + ".join(pair), (angles[pair], recall[pair]), xytext=(6, -16), fontsize=13, color=color,
                          textcoords="offset points")  # fmt: skip
    correlation = mean(ranks(SINGLE, LINEAR, PIXELS)(table))
    axes.set_title(f"Pairs: rank correlation {correlation:+.2f}, scores added")
    axes.set_xlabel("cosine of the pair, in pixels")
    accuracy_axis(axes, "recall of the pair")
    axes.legend(loc="upper left")


def _pair_means(table: Table, instrument: str, **where: Any) -> dict[Pair, float]:
    """The mean over seeds of every pair, in the model trained on single objects."""
    found = by_pair(table, SINGLE, instrument, **where)
    pairs = {pair for own in found.values() for pair in own}
    return {pair: float(np.mean([own[pair] for own in found.values() if pair in own])) for pair in sorted(pairs)}


def _values(measure: Callable[[Table], Any], table: Table) -> list[float]:
    try:
        return list(measure(table).values())
    except NotMeasured:
        return []
