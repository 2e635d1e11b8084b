"""The figure of composition (Liang et al. 2024, Fig. 4)."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption
from recombine.lab.table import group_curves
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.bar_figure import bar, memoriser_mark, trained_arms
from recombine.studies.bumps.crossing.compose.claims import accuracy, null_of
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = {
    SEEN: ("seen", "#d9d9d9"), VERTICAL: ("vertical\narm", "#9ecae1"), HORIZONTAL: ("horizontal\narm", "#fdd0a2"),
    INTERSECTION: ("inter-\nsection", "#e6550d"),
}  # fmt: skip
COORDINATES = {"x": "#3182bd", "y": "#e6a03c", "both": "#404040"}
NEVER_SEEN = (VERTICAL, HORIZONTAL, INTERSECTION)
WIDTH = 0.26


def by_region(table: pl.DataFrame, config: BumpsRun) -> Figure:
    """The regions, a panel for each training set; below, the crossings never seen over training."""
    arms = trained_arms(table)
    columns = len(arms) + 1
    with house_style():
        figure = Figure(figsize=(4.5 * columns, 10.2), layout="constrained")
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        first, *panels = above.subplots(1, columns, squeeze=False)[0]
        _map(first, config)
        for axes, arm in zip(panels, arms, strict=True):
            _bars(axes, table, arm)
        titles = {"darkest": "never seen, by the darkest pixel", "fine": "never seen, by the fine estimate"}
        for axes, (how, title) in zip(below.subplots(1, 2, sharey=True), titles.items(), strict=True):
            axes.set_title(title)
            draw_series(axes, {arm: group_curves(table, f"{how}.both", arm, NEVER_SEEN) for arm in arms})
        handles: list[Artist] = [Patch(color=color, label=name) for name, color in COORDINATES.items()]
        handles.append(memoriser_mark())
        above.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
        put_caption(
            figure,
            "Top: share of labels whose sample is right in x, in y and in both, by the darkest pixel; dots are seeds, "
            "black lines the memoriser of that training set. `seen` are places where crossings were seen, in 1D and "
            "1D+rim by no model. Bottom: both right, mean over the three held-out regions.",
            band_caption(table.filter(pl.col("arm").is_in(arms))["seed"].n_unique()),
        )
    return figure


def _bars(axes: Axes, table: pl.DataFrame, arm: str) -> None:
    axes.set_title(f"trained on {arm}")
    for place, region in enumerate(REGIONS):
        for offset, (what, color) in zip((-WIDTH, 0, WIDTH), COORDINATES.items(), strict=True):
            at = place + offset
            values = _values(table, arm, region, what)
            if not values:
                continue
            bar(axes, at, WIDTH, color, values, next(iter(_values(table, null_of(arm), region, what)), None))
    axes.set_xticks(range(len(REGIONS)), [name for name, _ in REGIONS.values()])
    accuracy_axis(axes)


def _values(table: pl.DataFrame, arm: str, region: str, what: str) -> list[float]:
    try:
        return [each[0] for each in accuracy(table, arm, [(region, what)]).values()]
    except NotMeasured:
        return []


def _map(axes: Axes, config: BumpsRun) -> None:
    """Which region each tested label lies in."""
    labels = config.evaluation.places(config.world)
    names: Sequence[str] = config.split.region(config.world, labels)
    side = round(len(names) ** 0.5)
    if side * side != len(names):
        return empty_panel(axes, "labels on no square grid")
    order = list(REGIONS)
    picture = np.array([order.index(name) if name in order else 0 for name in names]).reshape(side, side).T
    low, high = 0.5, config.world.pixels + 0.5
    axes.imshow(
        picture, cmap=ListedColormap([color for _, color in REGIONS.values()]), vmin=-0.5, vmax=3.5,
        extent=(low, high, high, low),
    )  # fmt: skip
    for name in dict.fromkeys(names):
        x, y = (labels - config.world.margin)[[i for i, other in enumerate(names) if other == name]].T
        at = (float(x.min()), float(y.min())) if name == SEEN else (float(x.median()), float(y.min()))
        side = "left" if name in (SEEN, HORIZONTAL) else "center"
        if name == HORIZONTAL:
            at = (float(x.min()), float(y.median()))
        axes.text(*at, REGIONS[name][0], ha=side, va="top", fontsize=11)
    axes.set(title="regions of the label space", xlabel="x", ylabel="y")
    axes.grid(False)
    return None
