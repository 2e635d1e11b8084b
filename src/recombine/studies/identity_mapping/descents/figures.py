"""The figure of the descents: Yang et al. 2025, Figs 8 and 9, and how often they are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import curves
from recombine.studies.identity_mapping.descents.claims import BEFORE, often

if TYPE_CHECKING:
    from recombine.studies.identity_mapping.descents.experiment import DescentsConfig

WAYS = {"euler": ("#E69F00", "Euler on W, as released"), "flow": ("#0072B2", "exact flow on U")}
SHOWN = {"triple A": "Triple, A", "triple A2": "Triple, A²", "quadruple script A2": "Quadruple, A²"}


def figure(table: pl.DataFrame, config: DescentsConfig) -> Figure:
    """Above: the curves of single starts; below: shares of starts in every setting."""
    with house_style():
        drawing = Figure(figsize=(17, 11.5), layout="constrained")
        grid = drawing.add_gridspec(2, len(SHOWN))
        for number, (arm, name) in enumerate(SHOWN.items()):
            axes = drawing.add_subplot(grid[0, number])
            axes.set_title(f"{'abc'[number]}   {name}")
            _draw_curve(axes, table, arm)
        _draw_shares(drawing.add_subplot(grid[1, :]), table)
        put_caption(
            drawing,
            "a to c: the first start whose exact flow falls as often as there are concepts (n = 1); triangles down and "
            f"up: troughs and peaks. d: share of all n = {config.starts} starts, whiskers are exact 95% intervals "
            "(Clopper and Pearson); Euler runs that diverge are cut and count as none; dots: found before on 200 Euler "
            "runs. Only rises above 0.1% of the largest loss count. Time as in the released scripts.",
        )
    return drawing


def _draw_curve(axes: Axes, table: pl.DataFrame, arm: str) -> None:
    found = curves(table, "loss", arm, "flow")
    if not found:
        return empty_panel(axes, f"no start of {arm} falls so often")
    for seed, node in list(found)[:1]:
        times, losses = found[seed, node]
        axes.plot(times / 1000, losses, color=WAYS["flow"][0], linewidth=2.8, zorder=3)
        for what, mark, shift in (("trough", "v", 1.12), ("peak", "^", 1 / 1.12)):
            for at, heights in curves(table, what, arm, node).values():
                axes.plot(at / 1000, heights * shift, mark, color="#D55E00", markersize=10, zorder=4)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(0, None)
    axes.set_xlabel("time")
    axes.set_ylabel("loss at the probe (log scale)")
    return None


def _draw_shares(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("d   Share of starts that fall once a concept")
    names = sorted({arm for arm in table["arm"].unique() if arm.rpartition(" ")[0] in _ORDER}, key=_place)
    drawn = False
    for shift, (way, (color, label)) in zip((-0.2, 0.2), WAYS.items(), strict=True):
        for number, arm in enumerate(names):
            try:
                k, n = often(table, arm, way)
            except NotMeasured:
                continue
            (low, high), share = proportion_interval(k, n), k / n
            axes.bar(number + shift, share, 0.38, yerr=np.array([[share - low], [high - share]]).clip(min=0), capsize=4,
                     color=color, label=label if number == 0 else None, error_kw={"ecolor": INK}, zorder=2)  # fmt: skip
            axes.annotate(f"{100 * share:.1f}%", (number + shift, high), xytext=(0, 4), textcoords="offset points",
                          ha="center", fontsize=11)  # fmt: skip
            drawn = True
    if not drawn:
        return empty_panel(axes, "not measured: falls")
    known = [(number, BEFORE[arm] / 200) for number, arm in enumerate(names) if arm in BEFORE]
    axes.plot([number - 0.2 for number, _ in known], [share for _, share in known], "o", markerfacecolor="white",
              markeredgecolor=INK, markersize=8, label="found before, Euler", zorder=4)  # fmt: skip
    axes.set_xticks(range(len(names)), [arm.replace("A2", "A²").replace("script", "(script)") for arm in names])
    axes.tick_params(axis="x", labelsize=11)
    axes.set_ylabel("share of starts")
    axes.set_ylim(0, None)
    axes.margins(y=0.12)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right")
    return None


_ORDER = ("triple", "triple script", "quadruple", "quadruple script")


def _place(arm: str) -> tuple[int, str]:
    return _ORDER.index(arm.rpartition(" ")[0]), arm
