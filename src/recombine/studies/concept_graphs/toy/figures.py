"""The figure of the toy: Okawa et al. 2023, Fig 7."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import SERIES_COLORS, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import curves


def figure(table: pl.DataFrame, atoms: Sequence[int], levels: Sequence[float], chance: float) -> Figure:
    """P(n) over steps (a) and t*(n) over n (b); lines are the closed form, dots the simulation."""
    with house_style():
        drawing = Figure(figsize=(14, 6.2), layout="constrained")
        left, right = drawing.subplots(1, 2)
        _draw_probability(left, table, atoms)
        _draw_times(right, table, levels)
        seeds = table["seed"].n_unique()
        put_caption(
            drawing,
            f"Lines: closed form. Dots: simulated Bernoulli atoms, mean of {seeds_text(seeds)}; bars, where they can "
            f"be seen: smallest to largest seed. p = {chance:g}.",
        )
    return drawing


def _draw_probability(axes: Axes, table: pl.DataFrame, atoms: Sequence[int]) -> None:
    axes.set_title("a   Probability that all n atoms are learned")
    if not curves(table, "P.closed", "toy") or not curves(table, "P.simulated", "toy"):
        return empty_panel(axes, "not measured: P.closed, P.simulated")
    shades = colormaps["viridis"](np.linspace(0, 0.88, len(atoms)))
    for shade, n in zip(shades, atoms, strict=True):
        closed = list(curves(table, "P.closed", "toy", f"n={n}").values())
        drawn = list(curves(table, "P.simulated", "toy", f"n={n}").values())
        if closed and drawn:
            axes.plot(*closed[0], color=shade, linewidth=2.6, label=f"n = {n}")
            few = slice(None, None, 8)
            axes.plot(drawn[0][0][few], np.mean([v for _, v in drawn], axis=0)[few], "o", color=shade, markersize=5)
    axes.set_xlabel("steps")
    accuracy_axis(axes, "P")
    axes.legend(loc="lower right")
    return None


def _draw_times(axes: Axes, table: pl.DataFrame, levels: Sequence[float]) -> None:
    axes.set_title("b   Step at which it reaches P*")
    for color, level in zip(SERIES_COLORS, levels, strict=False):
        closed = {int(node[2:]): v[0] for (_, node), (_, v) in curves(table, f"time.closed@{level:g}", "toy").items()}
        drawn: dict[int, list[float]] = {}
        for (_, node), (_, value) in curves(table, f"time.simulated@{level:g}", "toy").items():
            drawn.setdefault(int(node[2:]), []).append(float(value[0]))
        n = sorted(k for k in closed if k in drawn)
        if not n:
            return empty_panel(axes, f"not measured: time.closed@{level:g}, time.simulated@{level:g}")
        axes.plot(n, [closed[k] for k in n], color=color, linewidth=2.6, label=f"P* = {level:g}")
        means = np.array([np.mean(drawn[k]) for k in n])
        spread = [means - [min(drawn[k]) for k in n], [max(drawn[k]) for k in n] - means]
        axes.errorbar(n, means, spread, fmt="o", color=color, markersize=6, capsize=3)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("n, atoms (log scale)")
    axes.set_ylabel("t*, steps")
    axes.legend(loc="upper left")
    return None
