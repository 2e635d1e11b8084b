"""The figures of composition (Liang et al. 2024, Fig. 4)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.bars import accuracy_bars
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_panel, put_caption, seeds_text
from recombine.lab.rules import BySeed, average, mean
from recombine.lab.table import Curve, Table, at_end, mean_curves, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.crossing.compose.claims import NEVER_SEEN, right
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = {
    SEEN: ("seen", "#d9d9d9"), VERTICAL: ("vertical\narm", "#9ecae1"), HORIZONTAL: ("horizontal\narm", "#fdd0a2"),
    INTERSECTION: ("where\nthey cross", "#e6550d"),
}  # fmt: skip
COORDINATES = {"x": "#3182bd", "y": "#e6a03c", "both": "#404040"}
HELD = (VERTICAL, HORIZONTAL, INTERSECTION)


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Accuracy by region for each training set, and how it came."""
    return {
        "figure": Drawing(
            by_region(table),
            "Where stripes are right, by region and coordinate, for each training set; black: the nearest-label "
            "baseline of that set.",
        ),
        "training": Drawing(
            over_training(table, config), "The regions, and stripes in places that were never seen, over training."
        ),
    }


def by_region(table: Table) -> Figure:
    """A panel for each training set: x, y and both by region, beside the baseline."""
    trained = trained_sets(table)
    rows, columns = max(1, (len(trained) + 1) // 2), min(2, max(1, len(trained)))
    with new_figure(14, 5.2 * rows + 1.2, rows, columns, share_y=False) as (figure, panels):
        for axes in panels.flat[len(trained) :]:
            axes.set_visible(False)
        for axes, data in zip(panels.flat, trained, strict=False):
            accuracy_bars(
                axes, {name: _found(table, data, region) for region, (name, _) in REGIONS.items()}, COORDINATES
            )
            never = mean(right(average, NEVER_SEEN, data)(table))
            axes.set_title(f"Trained on {data}: {never:.0%} right where never seen")
        one_legend(figure, panels[0, 0])
        put_caption(
            figure,
            "Share of labels whose sample is right in x, in y and in both, by the darkest pixel, at the end of "
            f"training; dots: seeds, {seeds_text(_seeds(table))}; black: the nearest-label baseline of the training "
            "set. `seen` are places where crossings were seen, in 1D and 1D+rim by no model. Titles: both right, mean "
            "over the three other regions.",
        )
    return figure


def over_training(table: Table, config: BumpsRun) -> Figure:
    """The regions; crossings never seen over training, by either estimate."""
    trained = trained_sets(table)
    with new_figure(17, 6.4, 1, 3, share_y=False) as (figure, [[first, *panels]]):
        _map(first, config)
        names = {"darkest": "darkest pixel", "fine": "fine estimate"}
        for axes, (how, name) in zip(panels, names.items(), strict=True):
            curves = {data: _never_seen(table, data, how) for data in trained}
            draw_series(axes, {data: list(each.values()) for data, each in curves.items()})
            axes.set_title(f"Where never seen, by the {name}")
        words = "Both coordinates right, mean over the three held-out regions."
        put_caption(figure, words, band_caption(_seeds(table)))
    return figure


def trained_sets(table: Table) -> list[str]:
    """The training sets that models were trained on, in the order of the table."""
    return list(dict.fromkeys(select(table, model=TRAINED)["data"].to_list()))


def _never_seen(table: Table, data: str, how: str) -> dict[int, Curve]:
    return mean_curves(table, f"{how}.both", "region", data=data, model=TRAINED, region=HELD)


def _found(table: Table, data: str, region: str) -> dict[str, tuple[BySeed, BySeed]]:
    def ends(what: str, model: str) -> BySeed:
        return at_end(table, f"darkest.{what}", data=data, model=model, region=region)

    return {what: (ends(what, TRAINED), ends(what, NEAREST)) for what in COORDINATES}


def _seeds(table: Table) -> int:
    return select(table, model=TRAINED)["seed"].n_unique()


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
        if name == HORIZONTAL:
            at = (float(x.min()), float(y.median()))
        text = REGIONS[name][0].replace("horizontal\n", "horizontal ")
        axes.text(*at, text, ha="left" if name in (SEEN, HORIZONTAL) else "center", va="top", fontsize=13)
    axes.set(title="Regions of labels", xlabel="x", ylabel="y")
    axes.grid(False)
    return None
