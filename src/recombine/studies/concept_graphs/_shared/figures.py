"""Figures of emergence on a concept graph, from a table: Okawa et al. 2023, Figs 5 and 6, the graph, and two judges."""

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from recombine.instruments.shapes.curves import time_until
from recombine.lab.report.kit.axes import accuracy_axis, count_text, end_labels, images_axis
from recombine.lab.report.kit.curves import band_caption, draw_mean, draw_series, mean_and_band, span
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import distance_color, empty_panel, put_caption
from recombine.lab.rules import median
from recombine.lab.table import Curve, Table, curves, distances, mean_curves, select
from recombine.studies.concept_graphs._shared.graph import Concepts, add_colorbar, draw_graph
from recombine.studies.concept_graphs._shared.times import EMERGED, reaches

MOMENTS = 4  # of the graph over time
ROOM = 56  # letters that a title may add


def emergence(table: Table, arm: str, concepts: Concepts) -> Figure:
    """Figs 5b, 6b, 6a and the concept graph: which classes emerge, what holds the farthest back, how suddenly."""
    rows = select(table, arm=arm, sampler=None)
    far, name = _farthest(rows)
    with new_figure(15, 12.5, 2, 2, share_y=False) as (figure, panels):
        classes, parts, kinds, graph = panels.flat
        _draw_classes(classes, rows)
        _draw_farthest(parts, f"b   {name}", {c: far_curves(rows, far, "reader.accuracy", concept=c) for c in concepts})
        measures = {"additive: mean over concepts": "reader.additive", "product: all right": "reader.product"}
        _draw_farthest(kinds, f"c   {name}", {label: far_curves(rows, far, m) for label, m in measures.items()})
        graph.set_title("d   Accuracy at the end, and when it came")
        measured = _by_class(rows)
        if measured:
            final = {node: float(np.mean([v[-1] for _, v in found])) for node, found in measured.items()}
            times = {node: [time_until(*curve, EMERGED) for curve in found] for node, found in measured.items()}
            draw_graph(graph, final, distances(rows), concepts, times)
            add_colorbar(figure, graph)
        else:
            empty_panel(graph, "not measured: reader.product")
        put_caption(
            figure,
            f"Arm {arm}, by the reader. {band_caption(rows['seed'].n_unique())} Digits: {', '.join(concepts)}.",
            "Disc: mean product accuracy in percent at the last evaluation; below it, the median over seeds of the "
            f"images seen when it first stays at or above {EMERGED:g} for three evaluations or to the end.",
            "Ringed black: trained. Titles: medians over seeds (a), means at the end (b, c).",
        )
    return figure


def cube(table: Table, arm: str, concepts: Concepts) -> Figure:
    """How accuracy fills the concept graph: the same graph at moments spaced evenly in log images seen."""
    rows = select(table, arm=arm, sampler=None)
    measured, far = _by_class(rows), distances(rows)
    chosen = _moments([seen for found in measured.values() for seen, _ in found])
    with new_figure(12 if len(concepts) < 4 else 18, 11, 2, 2, share_y=False) as (figure, panels):
        for axes in panels.flat[len(chosen) :]:
            axes.set_axis_off()
        if not chosen:
            empty_panel(panels[0, 0], "not measured: reader.product")
        for axes, moment in zip(panels.flat, chosen, strict=False):
            accuracy = {node: float(np.mean([value[np.searchsorted(seen, moment)] for seen, value in found]))
                        for node, found in measured.items()}  # fmt: skip
            held_out = [value for node, value in accuracy.items() if far[node]]
            unseen = f": {100 * np.mean(held_out):.0f}% on unseen classes" if held_out else ""
            axes.set_title(f"{count_text(moment)} images{unseen}")
            draw_graph(axes, accuracy, far, concepts)
        if chosen:
            add_colorbar(figure, panels)
        put_caption(
            figure,
            f"Arm {arm}. Disc: product accuracy in percent by the reader, mean of n = {rows['seed'].n_unique()} seeds. "
            f"Ringed black: trained. Digits: {', '.join(concepts)}.",
        )
    return figure


def two_judges(table: Table, concepts: Concepts) -> Figure:
    """The farthest class by the paper's linear probes and by the reader, which can answer "no object"; arm by arm."""
    arms = list(dict.fromkeys(table["arm"])) or [""]
    series = {"probes (linear, as in the paper)": "probe.product", "reader": "reader.product",
              "no object (by the reader)": "reader.none"}  # fmt: skip
    with new_figure(max(11, 7.5 * len(arms)), 6.8, 1, len(arms)) as (figure, panels):
        for axes, arm in zip(panels.flat, arms, strict=True):
            rows = select(table, arm=arm, sampler=None)
            far, name = _farthest(rows)
            _draw_farthest(axes, arm, {label: far_curves(rows, far, judge) for label, judge in series.items()})
        put_caption(
            figure,
            f"Samples of {name}: product accuracy and share of images. {band_caption(table['seed'].n_unique())}",
            "An image without exactly one object is wrong for the reader; linear probes must name a class even for a "
            f"blank canvas. Digits: {', '.join(concepts)}.",
        )
    return figure


def far_curves(rows: Table, nodes: Sequence[str], instrument: str, **where: str) -> list[Curve]:
    """One curve for each seed: the mean over these classes."""
    return list(mean_curves(rows, instrument, "node", node=list(nodes), **where).values())


def _draw_classes(axes: Axes, rows: Table) -> None:
    measured, far = _by_class(rows), distances(rows)
    if not measured:
        axes.set_title("a   Every class")
        return empty_panel(axes, "not measured: reader.product")
    ends = {}
    for node, found in sorted(measured.items(), key=lambda item: (far[item[0]], item[0])):
        draw_mean(axes, found, distance_color(far[node]), width=2.6, opacity=0.10)
        _, (mean, _, _) = mean_and_band(found, "min-max")
        ends[node] = (float(np.nan_to_num(mean[-1])), distance_color(far[node]))
    medians = {d: median(reaches(EMERGED, "reader.product", distance=d)(rows)) for d in sorted(set(far.values()))}
    images_axis(axes, *span(measured.values()))
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
    said = f": {', '.join(ends)}" if ends else ""
    axes.set_title(title + said if len(said) <= ROOM + 2 else title)
    draw_series(axes, series)


def _by_class(rows: Table) -> dict[str, list[Curve]]:
    """The curves of product accuracy of each class, one a seed."""
    found: dict[str, list[Curve]] = {}
    for (_, node), curve in curves(rows, "reader.product", "node").items():
        found.setdefault(node, []).append(curve)
    return found


def _farthest(rows: Table) -> tuple[list[str], str]:
    """The classes farthest from training, and what to call them."""
    far = distances(rows)
    nodes = [node for node, distance in far.items() if distance == max(far.values())]
    if len(nodes) == 1:
        return nodes, nodes[0]
    return nodes, f"the {len(nodes)} farthest classes" if nodes else "the farthest class"


def _moments(grids: Sequence[NDArray[np.int64]]) -> list[int]:
    """Up to so many moments that all grids share, spread evenly in log images seen, the last one among them."""
    shared = reduce(np.intersect1d, grids) if grids else np.zeros(0, dtype=np.int64)
    shared = shared[shared > 0]
    if len(shared) <= MOMENTS:
        return [int(seen) for seen in shared]
    wanted = np.geomspace(shared[0], shared[-1], MOMENTS)
    return sorted({int(shared[np.abs(np.log(shared / at)).argmin()]) for at in wanted})
