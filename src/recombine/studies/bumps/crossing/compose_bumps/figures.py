"""The figure of bumps composed from stripes and few bumps (Liang et al. 2024, Fig 4g)."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption
from recombine.lab.table import at_end, group_curves
from recombine.studies.bumps._shared.bar_figure import bar, memoriser_mark, trained_arms
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.compose_bumps.claims import HELD, WITH, WITHOUT
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = {SEEN: "seen", VERTICAL: "vertical\narm", HORIZONTAL: "horizontal\narm", INTERSECTION: "inter-\nsection"}
COLORS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7")
KINDS = {WITH: "stripes + {}% of the bumps", WITHOUT: "{}% of the bumps alone"}
WIDTH = 0.8  # of all bars of a region


def figure(table: pl.DataFrame) -> Figure:
    """By region, and over training; both right."""
    arms = trained_arms(table)
    with house_style():
        drawn = Figure(figsize=(16, 7.4), layout="constrained")
        bars, over = drawn.subplots(1, 2, width_ratios=(1.35, 1))
        _draw_bars(bars, table, arms)
        bars.set_title("a   Bumps that are where they were asked for")
        curves = {_title(arm): group_curves(table, "darkest.both", arm, HELD) for arm in arms}
        draw_series(over, curves, colors=COLORS, place=None)
        _draw_nulls(over, table)
        over.set_title("b   Where no bump was seen, over training")
        handles = [Patch(color=color, label=_title(arm)) for arm, color in zip(arms, COLORS, strict=False)]
        drawn.legend(handles=[*handles, memoriser_mark()], loc="outside upper center", ncols=len(handles) + 1)
        put_caption(
            drawn,
            "(a) Share of labels whose sample is right in x and y, by the darkest pixel, at the end of training; dots "
            "are seeds. (b) Mean over the three held-out regions. Black: the memoriser of the same kind of set.",
            band_caption(table.filter(pl.col("arm").is_in(arms))["seed"].n_unique()),
        )
    return drawn


def _draw_bars(axes: Axes, table: pl.DataFrame, arms: list[str]) -> None:
    if not arms:
        return empty_panel(axes, "not measured: any training set")
    step = WIDTH / len(arms)
    for place, region in enumerate(REGIONS):
        for number, (arm, color) in enumerate(zip(arms, COLORS, strict=False)):
            at = place + (number - (len(arms) - 1) / 2) * step
            values = list(at_end(table, "darkest.both", arm, [region]).values())
            if not values:
                continue
            kind, _, _ = arm.partition("-")
            nulls = at_end(table, "darkest.both", null_of(kind), [region])
            bar(axes, at, step, color, values, next(iter(nulls.values()), None))
    axes.set_xticks(range(len(REGIONS)), list(REGIONS.values()))
    axes.axvspan(0.5, 3.5, color="#F4F4F4", zorder=0)
    axes.text(3.46, 1.02, "no bump was seen", ha="right", va="top", color="#777777", fontsize=12)
    axes.set_xlim(-0.5, 3.5)
    axes.grid(False, axis="x")
    return accuracy_axis(axes)


def _draw_nulls(axes: Axes, table: pl.DataFrame) -> None:
    """What the memorisers score where no bump was seen."""
    across = axes.get_yaxis_transform()
    for kind, dashes in ((WITH, "-"), (WITHOUT, ":")):
        for level in list(at_end(table, "darkest.both", null_of(kind), HELD).values())[:1]:
            axes.axhline(level, color="black", linewidth=1.6, linestyle=dashes, zorder=1.5)
            if kind == WITH:
                axes.text(0.01, level + 0.01, "memoriser with stripes", transform=across, fontsize=10.5, va="bottom")
            else:
                axes.text(0.01, level - 0.01, "memoriser of bumps", transform=across, fontsize=10.5, va="top")


def _title(arm: str) -> str:
    kind, _, percent = arm.partition("-")
    return KINDS.get(kind, "{}").format(percent)
