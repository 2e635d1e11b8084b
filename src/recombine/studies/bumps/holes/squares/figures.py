"""The figure of squares that were held out (Liang et al. 2024, Fig. 12)."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.sweep_figure import CROSS, cross_mark, sweep_line
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.holes.squares.claims import (
    BUMP,
    CENTRE,
    CORNER,
    PATTERNS,
    PLACES,
    STRIPES,
    over_sides,
    recalled,
    sides_of,
)

LOOKS = {BUMP: ("bumps", "#0072B2", "o"), STRIPES: ("stripes", "#D55E00", "s")}
TITLES = {CENTRE: "a   Inside: seen all around", CORNER: "b   At the corner: seen on two sides"}
HELD = "#F5C9A8"
THIN: dict[str, Any] = {"linewidth": 1.4, "linestyle": (0, (4, 2))}


def over_side(table: pl.DataFrame, config: BumpsRun) -> Figure:
    """Both patterns over the side of the square, inside and at the corner; and what is left without recall."""
    with house_style():
        figure = Figure(figsize=(20, 7.2), layout="constrained")
        grid = figure.add_gridspec(2, 4, width_ratios=(0.46, 1, 1, 1))
        for column, place in enumerate(PLACES):
            _draw_map(figure.add_subplot(grid[column, 0]), place, config.world.pixels, _sides(table, place))
            axes = figure.add_subplot(grid[:, column + 1])
            axes.set_title(TITLES[place])
            _draw_place(axes, table, place)
        axes = figure.add_subplot(grid[:, 3])
        axes.set_title("c   More than recall")
        _draw_excess(axes, table)
        _legend(figure)
        seeds = table.filter(~pl.col("arm").str.starts_with(null_of("")))["seed"].n_unique()
        put_caption(
            figure,
            "Share of held-out pixels for which the bump, or the crossing, is right in x and y at the end of training; "
            f"points: seeds, lines: their mean, band: its 95% interval, {seeds_text(seeds)}. Recall answers "
            "with the nearest label that was seen: right in the outer ring of pixels, 1 - ((W - 2) / W)² inside and "
            "1 - ((W - 1) / W)² at the corner (shaded); crosses: its exact score for bumps, by the fine estimate. "
            "(c) By the fine estimate.",
        )
    return figure


def _draw_place(axes: Axes, table: pl.DataFrame, place: str) -> None:
    sides = _sides(table, place)
    if not sides:
        return empty_panel(axes, f"not measured: squares, {place}")
    span = np.linspace(min(sides), max(sides), 200)
    null = [recalled(place, side) for side in span]
    axes.fill_between(span, 0, null, color="#EEEEEE", zorder=0.5)
    axes.plot(span, null, color=FAINT, linewidth=1.8, zorder=1)
    for pattern, (name, color, marker) in LOOKS.items():
        sweep_line(axes, *over_sides(table, pattern, place, "fine"), color, name, marker)
        found, values = over_sides(table, pattern, place, "darkest")
        if values.size:
            axes.plot(found, values.mean(axis=0), color=color, zorder=2.6, **THIN)
    found, values = over_sides(table, BUMP, place, "fine", null=True)
    if values.size:
        axes.plot(found, values.mean(axis=0), color=INK, **CROSS)
    _side_axis(axes, sides)
    accuracy_axis(axes, "accuracy where nothing was seen" if place == CENTRE else "")
    return None


def _legend(figure: Figure) -> None:
    marks = [
        Line2D([], [], color=color, linewidth=3, marker=marker, markersize=8, markeredgecolor="white", label=name)
        for name, color, marker in LOOKS.values()
    ]
    marks.append(Line2D([], [], color="#777777", label="by the darkest pixel", **THIN))
    marks.append(Line2D([], [], color=FAINT, linewidth=1.8, label="recall, closed form"))
    cross = cross_mark()
    cross.set_label("recall, exact")
    figure.legend(handles=[*marks, cross], loc="outside upper center", ncols=5, handlelength=2.8)


def _draw_excess(axes: Axes, table: pl.DataFrame) -> None:
    every = set()
    for pattern, (name, color, marker) in LOOKS.items():
        for place, dashes in zip(PLACES, ("-", (0, (5, 1.5))), strict=True):
            sides, values = over_sides(table, pattern, place, "fine")
            if not values.size:
                continue
            every.update(sides)
            excess = values - np.array([recalled(place, side) for side in sides])
            for row in excess:
                axes.plot(sides, row, marker, color=color, markersize=4, alpha=0.45, markeredgewidth=0)
            axes.plot(
                sides, excess.mean(axis=0), color=color, linewidth=3, linestyle=dashes, marker=marker, markersize=8,
                markeredgecolor="white", label=f"{name}, {'inside' if place == CENTRE else 'corner'}",
            )  # fmt: skip
    if not every:
        return empty_panel(axes, "not measured: any square")
    axes.axhline(0, color=INK, linewidth=1.2, zorder=1)
    _side_axis(axes, sorted(every))
    axes.set_ylabel("accuracy less recall")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.06), handlelength=3.2)
    return None


def _draw_map(axes: Axes, place: str, pixels: int, sides: list[int]) -> None:
    """The image, and what is held out of it for each side."""
    axes.set_xlim(0, pixels)
    axes.set_ylim(pixels, 0)
    for side in reversed(sides):
        start = (pixels - side) / 2 if place == CENTRE else 0
        axes.add_patch(Rectangle((start, start), side, side, facecolor=HELD, edgecolor="white", linewidth=1.2))
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.set_title("inside" if place == CENTRE else "corner", loc="center", fontweight="normal", fontsize=12)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _sides(table: pl.DataFrame, place: str) -> list[int]:
    return sorted({side for pattern in PATTERNS for side in sides_of(table, pattern, place)})


def _side_axis(axes: Axes, sides: list[int]) -> None:
    axes.set_xticks(sides, [str(side) for side in sides])
    axes.set_xlabel("W, side of the square in pixels")
    room = 0.06 * max(sides[-1] - sides[0], 1)
    axes.set_xlim(sides[0] - room, sides[-1] + room)
