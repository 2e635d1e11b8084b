"""The figure of the descents: Yang et al. 2025, Figs 8 and 9, and how often they occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption
from recombine.lab.table import select
from recombine.runs.identity.descents import Way
from recombine.studies.identity_mapping._shared.figures import one_curve, share_bars
from recombine.studies.identity_mapping.descents.claims import BEFORE, LONG, often

if TYPE_CHECKING:
    from recombine.runs.identity.descents import DescentsConfig

WAYS: dict[Way, tuple[str, str]] = {
    "euler": ("#E69F00", "Euler on W, as released"),
    "flow": ("#0072B2", "exact flow on U"),
}
SHOWN = {"triple A": "Triple, A", "triple A2": "Triple, A²", "quadruple script A2": "Quadruple, A²"}
ARMS = {
    "triple A": "triple\nA", "triple A2": "triple\nA²", "triple script A": "triple\nscript, A",
    "triple script A2": "triple\nscript, A²", "quadruple A": "quadruple\nA", "quadruple A2": "quadruple\nA²",
    "quadruple script A": "quadruple\nscript, A", "quadruple script A2": "quadruple\nscript, A²",
}  # fmt: skip


def draw(table: pl.DataFrame, config: DescentsConfig) -> dict[str, Drawing]:
    """Above: the curves of single starts; below: shares of starts in every setting."""
    with house_style():
        drawing = Figure(figsize=(15, 12), layout="constrained")
        grid = drawing.add_gridspec(2, len(SHOWN))
        for column, (arm, name) in enumerate(SHOWN.items()):
            _draw_curve(drawing.add_subplot(grid[0, column]), table, arm, name)
        _draw_shares(drawing.add_subplot(grid[1, :]), table)
        put_caption(
            drawing,
            "Above: the first start of seed 0 whose exact flow falls as often as there are concepts (n = 1); triangles "
            f"down and up: troughs and peaks. Below: share of all n = {config.starts} starts, whiskers are exact 95% "
            "intervals (Clopper and Pearson); Euler runs that diverge are cut and count as none; dots: found before on "
            "200 Euler runs. Only rises above 0.1% of the largest loss count. Time as in the released scripts.",
        )
    caption = "The loss at the probe of single starts with every trough and peak, and how many starts have as many."
    return {"figure": Drawing(drawing, caption)}


def _draw_curve(axes: Axes, table: pl.DataFrame, arm: str, name: str) -> None:
    found = one_curve(table, "loss", arm=arm, way="flow")
    axes.set_title(name)
    if found is None:
        return empty_panel(axes, f"no start of {arm} falls so often")
    axes.plot(*found, color=WAYS["flow"][0], linewidth=2.8, zorder=3)
    for what, mark, shift in (("trough", "v", 1.12), ("peak", "^", 1 / 1.12)):
        if (spots := one_curve(table, what, arm=arm, way="flow")) is not None:
            axes.plot(spots[0], spots[1] * shift, mark, color="#D55E00", markersize=10, zorder=4)
            axes.set_title(f"{name}: {len(spots[0]) + 1} falls")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(xlim=(0, None), xlabel="time", ylabel="loss at the probe (log scale)")
    return None


def _draw_shares(axes: Axes, table: pl.DataFrame) -> None:
    followed = select(table, "followed").filter(pl.col("value") >= LONG)["arm"].to_list()
    present = [arm for arm in ARMS if arm in followed]
    if not present:
        return empty_panel(axes, "not measured: falls")
    for shift, (way, (color, label)) in zip((-0.2, 0.2), WAYS.items(), strict=True):
        places = [number + shift for number in range(len(present))]
        share_bars(axes, places, [often(arm, way)(table) for arm in present], color, label)
    known = [(number - 0.2, BEFORE[arm] / 200) for number, arm in enumerate(present) if arm in BEFORE]
    axes.plot([at for at, _ in known], [share for _, share in known], "o", markerfacecolor="white",
              markeredgecolor=INK, markersize=8, label="found before, Euler", zorder=4)  # fmt: skip
    most = max(k / n for k, n in (often(arm, "flow")(table) for arm in present))
    axes.set_title(f"Starts that fall once a concept: up to {most:.0%} of exact flows")
    axes.set_xticks(range(len(present)), [ARMS[arm] for arm in present])
    axes.set(ylabel="share of starts", ylim=(0, None))
    axes.margins(y=0.12)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right")
    return None
