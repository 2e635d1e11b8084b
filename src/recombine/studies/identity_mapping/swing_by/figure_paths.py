"""Paths in the plane of two concepts, and the loss along them: Yang et al. 2025, Figs 3, 13, 14 and 17."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import Table
from recombine.studies.identity_mapping._shared.figures import one_curve

BUMP, PREDICTED, MARK = "#0072B2", "#E69F00", "#D55E00"
LOWEST = 0.01  # of the largest loss: what is drawn


@dataclass(frozen=True)
class Place:
    """A setting whose paths are drawn."""

    title: str
    arm: str
    signals: tuple[float, float]
    deviation: float  # of a cluster
    gap: float | None = None  # of flows; networks have none, but a cluster at the origin


FLOWS = (
    Place("Flow, μ = (1, 1.5)", "A", (1.0, 1.5), 0.05, 1.5),
    Place("Flow, μ = (1, 3)", "A", (1.0, 3.0), 0.05, 3.0),
)
NETWORKS = (
    Place("Run 29: 4 layers, d 2", "run 29", (2.0, 4.0), 0.05**0.5),
    Place("Run 27, 0.3 of the start", "run 27 small", (2.0, 4.0), 0.05**0.5),
)


def draw_paths(table: Table, places: Sequence[Place]) -> Figure:
    """A column for each place: the path above, the loss below."""
    with house_style():
        drawing = Figure(figsize=(14, 12), layout="constrained")
        above, below = drawing.subplots(2, len(places))
        for path, loss, place in zip(above, below, places, strict=True):
            _draw_path(path, table, place)
            rise = _draw_loss(loss, table, place)
            path.set_title(place.title)
            loss.set_title("" if rise is None else f"The loss rises to {rise:.2g} times its trough")
        handles = {
            label: handle
            for axes in (*above, *below)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        if handles:
            drawing.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
        put_caption(
            drawing,
            "Above: the answer f(x) to the unseen combination (star) over training, in the plane of both concepts; "
            "circles: training clusters, radius two deviations, for the nets one at the origin too. Below: its loss as "
            "a share of the largest, log scale; down and up triangles: trough and peak. n = 1 start a line: the first "
            "of seed 0 that swings by (blue) and the first that does not (grey).",
        )
    return drawing


def _curve(table: Table, place: Place, instrument: str, swings: bool, **where: Any) -> Any:
    return one_curve(table, instrument, arm=place.arm, gap=place.gap, swings=swings, **where)


def _draw_path(axes: Axes, table: Table, place: Place) -> None:
    for swings, color, width in ((False, FAINT, 2.0), (True, BUMP, 3.0)):
        first, second = (_curve(table, place, "answer", swings, concept=k) for k in (1, 2))
        if first is None or second is None:
            continue
        x, y = first[1], second[1]
        axes.plot(x, y, color=color, linewidth=width, label="swings by" if swings else "does not", zorder=3)
        axes.plot(x[0], y[0], "o", color=color, markersize=6, zorder=4)
        _put_arrow(axes, x, y, color)
    if not axes.lines:
        return empty_panel(axes, f"not measured: paths of {place.arm}")
    one, two = place.signals
    for centre in [(one, 0.0), (0.0, two)] + ([(0.0, 0.0)] if place.gap is None else []):
        axes.add_patch(Circle(centre, 2 * place.deviation, facecolor="#E8E8E8", edgecolor=FAINT, zorder=1))
    axes.plot(one, two, "*", color=MARK, markersize=18, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="first concept (weaker)", ylabel="second concept (stronger)")
    return None


def _put_arrow(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], color: str) -> None:
    """The direction, half-way along the path."""
    length = np.hypot(np.diff(x), np.diff(y)).cumsum()
    middle = int(np.searchsorted(length, length[-1] / 2))
    if 0 < middle < len(x) - 1:
        ends = (x[middle - 1], y[middle - 1]), (x[middle + 1], y[middle + 1])
        axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2}, zorder=4)


def _draw_loss(axes: Axes, table: Table, place: Place) -> float | None:
    """The losses; the peak over the trough, where there is a bump."""
    end, turns = 0.0, {}
    for swings, color in ((False, FAINT), (True, BUMP)):
        loss, training = (_curve(table, place, f"{what} loss", swings) for what in ("probe", "training"))
        if loss is None or training is None:
            continue
        top = loss[1].max()
        axes.plot(loss[0], loss[1] / top, color=color, linewidth=2.8, zorder=3)
        end = max(end, 1.02 * float(loss[0][loss[1] > LOWEST * top][-1]))
        if not swings:
            continue
        axes.plot(training[0], training[1] / training[1].max(), color=INK, linestyle=(0, (1.2, 1.2)), linewidth=1.8,
                  label="its training loss", zorder=2)  # fmt: skip
        if (expected := _curve(table, place, "predicted loss", swings)) is not None:
            axes.plot(expected[0], expected[1] / top, color=PREDICTED, linestyle=(0, (5, 1.5)), linewidth=2.2,
                      label="its loss, predicted", zorder=4)  # fmt: skip
        for what, mark, shift in (("trough", "v", 1.2), ("peak", "^", 1 / 1.2)):
            if (spot := _curve(table, place, what, swings)) is not None:
                turns[what] = float(spot[1][0])
                axes.plot(spot[0], spot[1] / top * shift, mark, color=MARK, markersize=10, zorder=5)
    if not axes.lines:
        empty_panel(axes, f"not measured: losses of {place.arm}")
        return None
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set(xlim=(0, end or None), ylim=(LOWEST, 1.2), ylabel="loss over its largest (log scale)")
    axes.set_xlabel("epochs" if place.gap is None else "time of gradient flow")
    return turns["peak"] / turns["trough"] if len(turns) == 2 else None
