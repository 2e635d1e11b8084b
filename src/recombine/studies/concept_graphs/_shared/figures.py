"""Figures of the concept-graphs study, as pure functions from a table: Okawa et al. 2023, Figs 5 and 6, and the cube.

Nodes are digits in the order of `concepts` (shape, colour, size inside this house; the paper's figures print shape,
size, colour). `display` names the order to print; every label shows digits and words in that same order.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from recombine.instruments.shapes.curves import emergence_time
from recombine.lab.report.kit.axes import accuracy_axis, count_text, end_labels, images_axis
from recombine.lab.report.kit.curves import band_caption, draw_mean, draw_series, mean_and_band
from recombine.lab.report.kit.style import distance_color, empty_panel, house_style, put_caption
from recombine.lab.table import Curve, curves, distances, group_curves
from recombine.studies.concept_graphs._shared.graph import Concepts, add_colorbar, draw_graph, node_label, order_caption

THRESHOLD = 0.8
"""Product accuracy at which a class counts as emerged, held for three evaluations or to the end of the curve."""


def emergence(table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None = None) -> Figure:
    """Figs 5b, 6b, 6a and the concept graph: which classes emerge, what holds the farthest back, how suddenly."""
    with house_style():
        figure = Figure(figsize=(15, 11.5), layout="constrained")
        top_left, top_right, bottom_left, bottom_right = figure.subplots(2, 2).flat
        _draw_classes(top_left, table, arm, concepts, display)
        _draw_concepts(top_right, table, arm, concepts, display)
        _draw_measures(bottom_left, table, arm, concepts, display)
        bottom_right.set_title("d   Where and when accuracy arrives")
        final, times = _final(table, arm), _times(table, arm)
        if final:
            draw_graph(bottom_right, final, distances(table, arm), concepts, display, times)
            add_colorbar(figure, bottom_right)
        else:
            empty_panel(bottom_right, "not measured: reader.product")
        seeds = _seeds(table, arm)
        put_caption(
            figure,
            f"Arm: {arm}.",
            band_caption(seeds),
            order_caption(concepts, display),
            "Disc: mean accuracy in percent at the last evaluation; below it, the median over seeds of the images seen "
            f"when it first stays at or above {THRESHOLD:g} for three evaluations or to the end.",
            "Ringed black: trained.",
        )
    return figure


def cube(
    table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None = None, moments: int = 6
) -> Figure:
    """How accuracy fills the concept graph: the same graph at moments spaced evenly in log images seen."""
    with house_style():
        measured = curves(table, "reader.product", arm)
        chosen = _moments([seen for seen, _ in measured.values()], moments)
        columns = min(3 if len(concepts) < 4 else 2, len(chosen)) or 1
        rows = -(-len(chosen) // columns) or 1
        width = 5.2 if len(concepts) < 4 else 9.0
        figure = Figure(figsize=(width * columns, 4.6 * rows + 0.6), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        if not chosen:
            empty_panel(panels[0, 0], "not measured: reader.product")
        for axes in panels.flat[len(chosen) :]:
            axes.set_axis_off()
        for axes, moment in zip(panels.flat, chosen, strict=False):
            axes.set_title(f"{count_text(moment)} images")
            accuracy = _at(measured, moment)
            draw_graph(axes, accuracy, distances(table, arm), concepts, display, None, small=True)
        if chosen:
            add_colorbar(figure, panels)
        put_caption(
            figure,
            f"Arm: {arm}. Disc: product accuracy in percent, mean of n = {_seeds(table, arm)} seeds.",
            "Ringed black: trained.",
            order_caption(concepts, display),
        )
    return figure


def probe_against_reader(
    table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None = None
) -> Figure:
    """The farthest class by the paper's linear probes and by the reader, which can say "no object"."""
    series = (
        ("probe.product", "linear probes (as the paper)"),
        ("reader.product", "reader"),
        ("reader.none", "share without an object"),
    )
    with house_style():
        figure = Figure(figsize=(10, 6.4), layout="constrained")
        axes = figure.subplots()
        axes.set_title(f"Two judges of {_farthest_label(table, arm, concepts, display)}")
        _draw_series(axes, table, arm, series)
        put_caption(
            figure,
            f"Arm: {arm}.",
            band_caption(_seeds(table, arm)),
            order_caption(concepts, display),
            "An image without exactly one object is wrong for the reader;",
            "linear probes must name a class even for a blank canvas.",
        )
    return figure


def _draw_classes(axes: Axes, table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None) -> None:
    axes.set_title("a   Every class, by distance from training")
    measured = curves(table, "reader.product", arm)
    if not measured:
        return empty_panel(axes, "not measured: reader.product")
    far = distances(table, arm)
    ends: dict[str, tuple[float, str]] = {}
    for node in sorted({node for _, node in measured}, key=lambda node: (far.get(node, 0), node)):
        color = distance_color(far.get(node))
        over_seeds = [curve for (_, name), curve in measured.items() if name == node]
        draw_mean(axes, over_seeds, color, width=2.6, opacity=0.10)
        seen, (mean, _, _) = mean_and_band(over_seeds, "min-max")
        if len(seen):
            ends[node_label(node, concepts, display)] = (float(np.nan_to_num(mean[-1])), color)
    images_axis(axes, *_span(measured))
    accuracy_axis(axes, "product accuracy", chance=_chance(concepts))
    end_labels(axes, ends)
    lines = [
        Line2D([], [], color=distance_color(d), linewidth=3, label="trained (d0)" if d == 0 else f"distance {d}")
        for d in sorted(set(far.values()))
    ]
    axes.legend(handles=lines, loc="upper left", frameon=True, facecolor="white", edgecolor="none", framealpha=0.85)
    return None


def _draw_concepts(
    axes: Axes, table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None
) -> None:
    axes.set_title(f"b   Concepts of {_farthest_label(table, arm, concepts, display)}")
    _draw_series(axes, table, arm, [(f"reader.{name}", name) for name in concepts], chance=0.5)


def _draw_measures(
    axes: Axes, table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None
) -> None:
    axes.set_title(f"c   Two measures of {_farthest_label(table, arm, concepts, display)}")
    series = (
        ("reader.additive", "additive: mean over concepts"),
        ("reader.product", "product: all concepts right"),
    )
    _draw_series(axes, table, arm, series)


def _draw_series(
    axes: Axes, table: pl.DataFrame, arm: str, series: Sequence[tuple[str, str]], chance: float | None = None
) -> None:
    """The farthest class as several instruments see it."""
    draw_series(axes, {label: _farthest_curves(table, arm, instrument) for instrument, label in series}, chance)


def _final(table: pl.DataFrame, arm: str) -> dict[str, float]:
    """Mean over seeds of each node's last product accuracy."""
    last: dict[str, list[float]] = {}
    for (_, node), (_, value) in curves(table, "reader.product", arm).items():
        last.setdefault(node, []).append(float(value[-1]))
    return {node: float(np.mean(values)) for node, values in last.items()}


def _times(table: pl.DataFrame, arm: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for (_, node), curve in curves(table, "reader.product", arm).items():
        time = emergence_time(*curve, THRESHOLD)
        times.setdefault(node, []).append(np.inf if time is None else time)
    return times


def _at(measured: Mapping[tuple[int, str], Curve], moment: int) -> dict[str, float]:
    """Mean over seeds at one moment that every curve has."""
    values: dict[str, list[float]] = {}
    for (_, node), (seen, value) in measured.items():
        values.setdefault(node, []).append(float(value[np.searchsorted(seen, moment)]))
    return {node: float(np.mean(each)) for node, each in values.items()}


def _moments(grids: Sequence[NDArray[np.int64]], count: int) -> list[int]:
    """Up to `count` moments that all grids share, spread evenly in log images seen, the last one among them."""
    if not grids:
        return []
    shared = grids[0]
    for grid in grids[1:]:
        shared = np.intersect1d(shared, grid)
    shared = shared[shared > 0]
    if len(shared) <= count:
        return [int(seen) for seen in shared]
    wanted = np.geomspace(shared[0], shared[-1], count)
    return sorted({int(shared[np.abs(np.log(shared / at)).argmin()]) for at in wanted})


def _farthest(table: pl.DataFrame, arm: str) -> list[str]:
    far = distances(table, arm)
    return [node for node, distance in far.items() if distance == max(far.values())]


def _farthest_label(table: pl.DataFrame, arm: str, concepts: Concepts, display: Sequence[str] | None) -> str:
    nodes = _farthest(table, arm)
    if not nodes:
        return "the farthest class"
    return node_label(nodes[0], concepts, display) if len(nodes) == 1 else f"the {len(nodes)} farthest classes"


def _farthest_curves(table: pl.DataFrame, arm: str, instrument: str) -> list[Curve]:
    """One curve for each seed: the farthest class, or the mean of several that are equally far."""
    return group_curves(table, instrument, arm, _farthest(table, arm))


def _span(measured: Mapping[tuple[int, str], Curve]) -> tuple[float, float]:
    positive = np.array([at for seen, _ in measured.values() for at in seen if at > 0])
    return (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 10.0)


def _chance(concepts: Concepts) -> float:
    return float(np.prod([1 / len(names) for names in concepts.values()]))


def _seeds(table: pl.DataFrame, arm: str) -> int:
    return table.filter(pl.col("arm") == arm)["seed"].n_unique()
