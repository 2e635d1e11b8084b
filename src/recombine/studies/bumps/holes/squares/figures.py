"""The figure of squares that were held out (Liang et al. 2024, Fig. 12)."""

from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.curves import draw_sweep
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import INK, empty_panel, put_caption, seeds_text
from recombine.lab.report.kit.sweeps import mark_mean, shade_baseline, size_axis
from recombine.lab.sweeps import levels
from recombine.lab.table import Table, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.holes.squares.claims import (
    BUMP,
    CENTRE,
    CORNER,
    PLACES,
    STRIPES,
    expected,
    over_sides,
)

SERIES = {BUMP: ("bumps", "#0072B2", "o"), STRIPES: ("stripes", "#D55E00", "s")}
TITLES = {CENTRE: "Inside", CORNER: "Corner"}
HELD = "#F5C9A8"
THIN: dict[str, Any] = {"linewidth": 1.8, "linestyle": (0, (4, 2))}


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Held-out accuracy over the side of the square, for both patterns, inside and at the corner."""
    with new_figure(17, 7.2, 1, 4, share_y=False, width_ratios=(0.4, 1, 0.4, 1)) as (figure, [panels]):
        for column, place in enumerate(PLACES):
            sides = levels(table, "side", model=TRAINED, place=place)
            _draw_map(panels[2 * column], config.world.pixels, place, sides)
            _draw_place(panels[2 * column + 1], table, place, sides)
        one_legend(figure, panels[1])
        seeds = select(table, model=TRAINED)["seed"].n_unique()
        put_caption(
            figure,
            "Share of held-out pixels for which the bump, or the crossing, is right in x and y at the end of training; "
            f"points: seeds, lines: their mean, band: its 95% interval, {seeds_text(seeds)}. "
            "The nearest-label baseline is right in the outer ring of pixels, 1 - ((W - 2) / W)² inside and "
            "1 - ((W - 1) / W)² at the corner (shaded); crosses: its exact score for bumps, by the fine estimate.",
        )
    caption = (
        "Bumps and stripes that are right in a square that was held out, over its side, in the middle of the image "
        "and in its corner; beside the nearest-label baseline."
    )
    return {"figure": Drawing(figure, caption)}


def _draw_place(axes: Axes, table: Table, place: str, sides: list[float]) -> None:
    if not sides:
        return empty_panel(axes, f"not measured: squares, {place}")
    shade_baseline(axes, sides, partial(expected, place), label="nearest label, closed form")
    largest = []
    for pattern, (name, color, marker) in SERIES.items():
        found, values = over_sides(table, pattern, place, "fine")
        draw_sweep(axes, found, values, color, name, marker)
        if values.size:
            largest.append(f"{name} {values[:, -1].mean():.0%}")
        darkest = over_sides(table, pattern, place, "darkest")
        mark_mean(axes, darkest, color, zorder=2.6, label=f"{name}, darkest pixel", **THIN)
    axes.set_title(f"{TITLES[place]}, W = {sides[-1]:g}: {', '.join(largest)}")
    mark_mean(axes, over_sides(table, BUMP, place, "fine", model=NEAREST), INK, label="nearest label, exact")
    label = "accuracy where nothing was seen" if place == CENTRE else ""
    size_axis(axes, sides, "W, side of the square in pixels", label)
    room = 0.06 * max(sides[-1] - sides[0], 1)
    axes.set_xlim(sides[0] - room, sides[-1] + room)
    return None


def _draw_map(axes: Axes, pixels: int, place: str, sides: list[float]) -> None:
    """The image, and what is held out of it for each side."""
    axes.set_xlim(0, pixels)
    axes.set_ylim(pixels, 0)
    for side in reversed(sides):
        start = (pixels - side) / 2 if place == CENTRE else 0
        axes.add_patch(Rectangle((start, start), side, side, facecolor=HELD, edgecolor="white", linewidth=1.2))
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.set_title("held out", loc="center", fontweight="normal", fontsize=13)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
