"""Paths in the plane of two concepts, and the loss along them: Yang et al. 2025, Figs 3, 13, 14 and 17."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import Curve, curves

PLACES = {
    ("A", "mu2=1.5 positive"): ("Flow, μ = (1, 1.5)", (1.0, 1.5), 0.05),
    ("A", "mu2=3 positive"): ("Flow, μ = (1, 3)", (1.0, 3.0), 0.05),
    ("run 29", ""): ("Run 29: 4 layers, d 2", (2.0, 4.0), 0.05**0.5),
    ("run 27 small", ""): ("Run 27, 0.3 of the start", (2.0, 4.0), 0.05**0.5),
}
"""Arm and node: title, signals, deviation of a cluster."""
BUMP, PREDICTED = "#0072B2", "#E69F00"
LOWEST = 0.01  # of the largest loss: what is drawn


def figure(table: pl.DataFrame) -> Figure:
    """A column a place: the path above, the loss below."""
    with house_style():
        drawing = Figure(figsize=(19, 10), layout="constrained")
        above, below = drawing.subplots(2, len(PLACES))
        for number, ((arm, node), (title, signals, deviation)) in enumerate(PLACES.items()):
            _draw_path(above[number], table, arm, node, signals, deviation)
            above[number].set_title(f"{'abcd'[number]}   {title}")
            _draw_loss(below[number], table, arm, node)
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
            "that swings by (blue) and the first that does not (grey).",
        )
    return drawing


def _one(table: pl.DataFrame, instrument: str, arm: str, node: str) -> Curve | None:
    return next(iter(curves(table, instrument, arm, node).values()), None)


def _draw_path(
    axes: Axes, table: pl.DataFrame, arm: str, node: str, signals: tuple[float, float], deviation: float
) -> None:
    for name, color, width in (("none", FAINT, 2.0), ("bump", BUMP, 3.0)):
        first, second = (_one(table, x, arm, f"{node} {name}".strip()) for x in ("x1", "x2"))
        if first is None or second is None:
            continue
        label = "swings by" if name == "bump" else "does not"
        axes.plot(first[1], second[1], color=color, linewidth=width, label=label, zorder=3)
        axes.plot(first[1][0], second[1][0], "o", color=color, markersize=6, zorder=4)
        _put_arrow(axes, first[1], second[1], color)
    if not axes.lines:
        return empty_panel(axes, f"not measured: paths of {arm}")
    centres = [(signals[0], 0.0), (0.0, signals[1])] + ([(0.0, 0.0)] if arm.startswith("run") else [])
    for centre in centres:
        axes.add_patch(Circle(centre, 2 * deviation, facecolor="#E8E8E8", edgecolor=FAINT, zorder=1))
    axes.plot(*signals, "*", color="#D55E00", markersize=18, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("first concept (weaker)")
    axes.set_ylabel("second concept (stronger)")
    return None


def _put_arrow(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], color: str) -> None:
    """The direction, half-way along the path."""
    length = np.hypot(np.diff(x), np.diff(y)).cumsum()
    middle = int(np.searchsorted(length, length[-1] / 2))
    if 0 < middle < len(x) - 1:
        ends = (x[middle - 1], y[middle - 1]), (x[middle + 1], y[middle + 1])
        axes.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2}, zorder=4)


def _draw_loss(axes: Axes, table: pl.DataFrame, arm: str, node: str) -> None:
    end = 0.0
    for name, color in (("none", FAINT), ("bump", BUMP)):
        own = f"{node} {name}".strip()
        loss, training = (_one(table, f"{what} loss", arm, own) for what in ("probe", "training"))
        if loss is None or training is None:
            continue
        top = loss[1].max()
        axes.plot(loss[0] / 1000, loss[1] / top, color=color, linewidth=2.8, zorder=3)
        end = max(end, 1.02 * float(loss[0][loss[1] > LOWEST * top][-1]) / 1000)
        if name == "bump":
            axes.plot(training[0] / 1000, training[1] / training[1].max(), color=INK, linestyle=(0, (1.2, 1.2)),
                      linewidth=1.8, label="its training loss", zorder=2)  # fmt: skip
            said = _one(table, "predicted loss", arm, own)
            if said is not None:
                axes.plot(said[0] / 1000, said[1] / top, color=PREDICTED, linestyle=(0, (5, 1.5)), linewidth=2.2,
                          label="its loss, predicted", zorder=4)  # fmt: skip
            for what, mark, shift in (("trough", "v", 1.2), ("peak", "^", 1 / 1.2)):
                spot = _one(table, what, arm, own)
                if spot is not None:
                    axes.plot(spot[0] / 1000, spot[1] / top * shift, mark, color="#D55E00", markersize=10, zorder=5)
    if not axes.lines:
        return empty_panel(axes, f"not measured: losses of {arm}")
    axes.set_xlim(0, end or None)
    axes.set_yscale("log")
    axes.set_ylim(LOWEST, 1.2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("epochs" if arm.startswith("run") else "time of gradient flow")
    axes.set_ylabel("loss over its largest")
    return None
