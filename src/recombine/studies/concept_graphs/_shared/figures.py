"""Figures of emergence on a concept graph, from a table: Okawa et al. 2023, Figs 5 and 6, the graph, and two judges."""

from __future__ import annotations

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
from recombine.lab.table import Curve, curves, distances, mean_curves, select
from recombine.studies.concept_graphs._shared.graph import Concepts, add_colorbar, draw_graph
from recombine.studies.concept_graphs._shared.times import EMERGED

MOMENTS = 4  # of the graph over time
ROOM = 56  # letters that a title may add


def emergence(table: pl.DataFrame, arm: str, concepts: Concepts) -> Figure:
    """Figs 5b, 6b, 6a and the concept graph: which classes emerge, what holds the farthest back, how suddenly."""
    rows = select(table, arm=arm, sampler=None)
    far, name = _farthest(rows)
    with house_style():
        figure = Figure(figsize=(15, 12.5), layout="constrained")
        top_left, top_right, bottom_left, bottom_right = figure.subplots(2, 2).flat
        _draw_classes(top_left, rows)
        parts = {concept: far_curves(rows, far, "reader.accuracy", concept=concept) for concept in concepts}
        _draw_farthest(top_right, f"b   {name}", parts)
        measures = {label: far_curves(rows, far, f"reader.{m}") for m, label in
                    (("additive", "additive: mean over concepts"), ("product", "product: all right"))}  # fmt: skip
        _draw_farthest(bottom_left, f"c   {name}", measures)
        bottom_right.set_title("d   Accuracy at the end, and when it came")
        measured = _by_class(rows)
        if measured:
            final = {node: float(np.mean([v[-1] for _, v in found])) for node, found in measured.items()}
            times = {node: [_time(curve) for curve in found] for node, found in measured.items()}
            draw_graph(bottom_right, final, distances(rows), concepts, times)
            add_colorbar(figure, bottom_right)
        else:
            empty_panel(bottom_right, "not measured: reader.product")
        put_caption(
            figure,
            f"Arm {arm}, by the reader. {band_caption(rows['seed'].n_unique())} Digits: {', '.join(concepts)}.",
            "Disc: mean product accuracy in percent at the last evaluation; below it, the median over seeds of the "
            f"images seen when it first stays at or above {EMERGED:g} for three evaluations or to the end.",
            "Ringed black: trained. Titles: medians over seeds (a), means at the end (b, c).",
        )
    return figure


def cube(table: pl.DataFrame, arm: str, concepts: Concepts) -> Figure:
    """How accuracy fills the concept graph: the same graph at moments spaced evenly in log images seen."""
    rows = select(table, arm=arm, sampler=None)
    measured = _by_class(rows)
    chosen = _moments([seen for found in measured.values() for seen, _ in found])
    with house_style():
        figure = Figure(figsize=(12 if len(concepts) < 4 else 18, 11), layout="constrained")
        panels = figure.subplots(2, 2, squeeze=False)
        for axes in panels.flat[len(chosen) :]:
            axes.set_axis_off()
        if not chosen:
            empty_panel(panels[0, 0], "not measured: reader.product")
        for axes, moment in zip(panels.flat, chosen, strict=False):
            accuracy = {node: float(np.mean([value[np.searchsorted(seen, moment)] for seen, value in found]))
                        for node, found in measured.items()}  # fmt: skip
            held_out = [value for node, value in accuracy.items() if distances(rows)[node]]
            unseen = f": {100 * np.mean(held_out):.0f}% on unseen classes" if held_out else ""
            axes.set_title(f"{count_text(moment)} images{unseen}")
            draw_graph(axes, accuracy, distances(rows), concepts)
        if chosen:
            add_colorbar(figure, panels)
        put_caption(
            figure,
            f"Arm {arm}. Disc: product accuracy in percent by the reader, mean of n = {rows['seed'].n_unique()} seeds. "
            f"Ringed black: trained. Digits: {', '.join(concepts)}.",
        )
    return figure


def two_judges(table: pl.DataFrame, concepts: Concepts) -> Figure:
    """The farthest class by the paper's linear probes and by the reader, which can answer "no object"; arm by arm."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    series = {"probe.product": "probes (linear, as in the paper)", "reader.product": "reader",
              "reader.none": "no object (by the reader)"}  # fmt: skip
    with house_style():
        figure = Figure(figsize=(max(11, 7.5 * len(arms)), 6.8), layout="constrained")
        panels = figure.subplots(1, max(1, len(arms)), sharey=True, squeeze=False)[0]
        for axes, arm in zip(panels, arms or [""], strict=True):
            rows = select(table, arm=arm, sampler=None)
            far, name = _farthest(rows)
            found = {label: far_curves(rows, far, instrument) for instrument, label in series.items()}
            _draw_farthest(axes, arm, found)
        put_caption(
            figure,
            f"Samples of {name}: product accuracy and share of images. {band_caption(table['seed'].n_unique())}",
            "An image without exactly one object is wrong for the reader; linear probes must name a class even for a "
            f"blank canvas. Digits: {', '.join(concepts)}.",
        )
    return figure


def far_curves(rows: pl.DataFrame, nodes: Sequence[str], instrument: str, **where: str) -> list[Curve]:
    """One curve for each seed: the mean over these classes."""
    return list(mean_curves(rows, instrument, "node", node=list(nodes), **where).values())


def _draw_classes(axes: Axes, rows: pl.DataFrame) -> None:
    measured, far = _by_class(rows), distances(rows)
    if not measured:
        axes.set_title("a   Every class")
        return empty_panel(axes, "not measured: reader.product")
    ends: dict[str, tuple[float, str]] = {}
    medians = {}
    for node, found in sorted(measured.items(), key=lambda item: (far[item[0]], item[0])):
        draw_mean(axes, found, distance_color(far[node]), width=2.6, opacity=0.10)
        _, (mean, _, _) = mean_and_band(found, "min-max")
        ends[node] = (float(np.nan_to_num(mean[-1])), distance_color(far[node]))
    for distance in sorted(set(far.values())):
        together = mean_curves(rows, "reader.product", "node", distance=distance).values()
        medians[distance] = float(np.median([_time(curve) for curve in together]))
    images_axis(axes, *_span(measured))
    accuracy_axis(axes, "product accuracy")
    end_labels(axes, ends)
    came = (f"d{d} {'never' if np.isinf(at) else f'at {count_text(at)}'}" for d, at in medians.items())
    axes.set_title(f"a   {', '.join(came)}")
    lines = [Line2D([], [], color=distance_color(d), linewidth=3, label="trained (d0)" if d == 0 else f"distance {d}")
             for d in medians]  # fmt: skip
    axes.legend(handles=lines, loc="upper left", frameon=True, facecolor="white", edgecolor="none", framealpha=0.85)
    return None


def _draw_farthest(axes: Axes, title: str, series: Mapping[str, list[Curve]]) -> None:
    """Curves of the farthest class; the title says where they end."""
    ends = [f"{label.split(':')[0].split(' (')[0]} {np.mean([value[-1] for _, value in found]):.2f}"
            for label, found in series.items() if found]  # fmt: skip
    said = ", ".join(ends)
    axes.set_title(f"{title}: {said}" if ends and len(said) <= ROOM else title)
    draw_series(axes, series)


def _by_class(rows: pl.DataFrame) -> dict[str, list[Curve]]:
    """The curves of product accuracy of each class, one a seed."""
    found: dict[str, list[Curve]] = {}
    for (_, node), curve in curves(rows, "reader.product", "node").items():
        found.setdefault(node, []).append(curve)
    return found


def _farthest(rows: pl.DataFrame) -> tuple[list[str], str]:
    """The classes farthest from training, and what to call them."""
    far = distances(rows)
    nodes = [node for node, distance in far.items() if distance == max(far.values())]
    if len(nodes) == 1:
        return nodes, nodes[0]
    return nodes, f"the {len(nodes)} farthest classes" if nodes else "the farthest class"


def _time(curve: Curve) -> float:
    time = emergence_time(*curve, EMERGED)
    return np.inf if time is None else time


def _moments(grids: Sequence[NDArray[np.int64]]) -> list[int]:
    """Up to so many moments that all grids share, spread evenly in log images seen, the last one among them."""
    if not grids:
        return []
    shared = grids[0]
    for grid in grids[1:]:
        shared = np.intersect1d(shared, grid)
    shared = shared[shared > 0]
    if len(shared) <= MOMENTS:
        return [int(seen) for seen in shared]
    wanted = np.geomspace(shared[0], shared[-1], MOMENTS)
    return sorted({int(shared[np.abs(np.log(shared / at)).argmin()]) for at in wanted})


def _span(measured: Mapping[str, Sequence[Curve]]) -> tuple[float, float]:
    positive = [at for found in measured.values() for seen, _ in found for at in seen if at > 0]
    return (float(min(positive)), float(max(positive))) if positive else (1.0, 10.0)
