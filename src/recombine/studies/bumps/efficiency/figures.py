"""The figure of how many images a model of bumps needs (Liang et al. 2024, Fig 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import matplotlib
import numpy as np
import polars as pl
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from recombine.lab.report.kit.axes import accuracy_axis, count_text
from recombine.lab.report.kit.curves import draw_mean
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import Curve
from recombine.studies.bumps.efficiency.claims import (
    HELD,
    LEVEL,
    MARGIN,
    WITH,
    WITHOUT,
    Counted,
    Judged,
    Labels,
    cells,
    responses,
    sizes_needed,
    slope_text,
    stripes_alone,
)
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit, Square

NAMES = {WITH: "with stripes", WITHOUT: "bumps alone"}
LINES: tuple[tuple[str, Counted, Judged, str, str], ...] = (  # kind, what is counted, what is right, colour, name
    (WITHOUT, "2D", "place", "#D55E00", "bumps alone"),
    (WITH, "2D", "place", "#0072B2", "with stripes, bumps counted"),
    (WITH, "2D", "bump", "#0072B2", "and a bump is there"),
    (WITH, "all", "place", "#56B4E9", "with stripes, all counted"),
)
ASKED: tuple[Labels, ...] = ("all", "all", "held out", "held out")
TITLES: dict[Labels, str] = {"all": "All labels", "held out": "Held-out labels"}
DASHES = (0, (4, 1.5))
NONE = 2  # where models that saw no bump are drawn on the axis of images
SHOWN = (0.2, 20)  # the share and the size of the picture of labels


def figure(table: pl.DataFrame) -> Figure:
    """Overall accuracy with stripes and without, images needed over N; below, the same for labels held out."""
    found = cells(table)
    sizes = sorted({pixels for own in found.values() for pixels in own})
    colors = _colors(sizes)
    with house_style():
        drawn = Figure(figsize=(17.5, 12.4), layout="constrained")
        panels = drawn.subplots(2, 3)
        for axes, letter, kind, labels in zip(panels[:, :2].flat, "abde", 2 * (WITH, WITHOUT), ASKED, strict=True):
            _draw_responses(axes, table, kind, labels, colors)
            axes.set_title(f"{letter}   {TITLES[labels]}, {NAMES[kind]}")
        _draw_needed(panels[0, 2], table)
        panels[0, 2].set_title(f"c   Images needed for {LEVEL:.0%} of all labels")
        _draw_labels(panels[1, 2])
        panels[1, 2].set_title("f   What may be seen")
        handles = [Line2D([], [], color=color, linewidth=3.5, label=f"N = {n}") for n, color in colors.items()]
        handles.append(Line2D([], [], color="#666666", linewidth=2, linestyle=DASHES, label="and a bump is there"))
        handles.append(Line2D([], [], color="#666666", linewidth=1.8, linestyle=":", label="recall of the same set"))
        drawn.legend(handles=handles, loc="outside upper center", ncols=len(handles), handlelength=2.2)
        put_caption(
            drawn,
            "(a, b, d, e) Share of labels whose sample is right in x and y, by the darkest pixel, at the end of "
            "training, over the number of different bumps that were seen; dashed: those that are so and show a bump, "
            "not stripes that cross; black dashes: 60%. All labels: 0.8 times those outside of the held-out square "
            "plus 0.2 times those inside. Squares: stripes and no bump, by place (full) and as a bump (open). (c) "
            "Where a and b pass 60%, a dot a seed, line: median; slopes of the logarithms, the mean over seeds with "
            "its 95% interval; grey: N and N^2. Recall: the nearest label, worked out exactly.",
            f"Thin lines: seeds. Thick: their mean. Band: its 95% interval. {seeds_text(_seeds(table))}.",
        )
    return drawn


def _draw_responses(axes: Axes, table: pl.DataFrame, kind: str, labels: Labels, colors: dict[int, str]) -> None:
    found, null = responses(table, kind, labels), responses(table, kind, labels, recall=True)
    as_bump = responses(table, kind, labels, judged="bump")
    if not found:
        return empty_panel(axes, f"not measured: {NAMES[kind]}")
    for pixels, by_seed in found.items():
        draw_mean(axes, _curves(by_seed), colors[pixels])
        mean = _mean(by_seed)
        axes.plot(list(mean), list(mean.values()), "o", color=colors[pixels], markersize=5.5, zorder=4)
        if pixels in as_bump:
            line = _mean(as_bump[pixels])
            axes.plot(list(line), list(line.values()), color=colors[pixels], linewidth=2, zorder=2.5, linestyle=DASHES)
        if pixels in null:
            line = _mean(null[pixels])
            axes.plot(list(line), list(line.values()), ":", color=colors[pixels], linewidth=2, zorder=2)
    if kind == WITH:
        _draw_alone(axes, table, labels, colors)
    axes.axhline(LEVEL, color=INK, linewidth=1.2, linestyle="--", zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: "none" if value == NONE else count_text(value)))
    axes.set_xticks([NONE, 10, 100, 1000] if kind == WITH else [10, 100, 1000])
    if kind == WITH:
        axes.set_xlim(left=0.7 * NONE)
    axes.set_xlabel("images of bumps")
    return accuracy_axis(axes)


def _draw_alone(axes: Axes, table: pl.DataFrame, labels: Labels, colors: dict[int, str]) -> None:
    """Models that saw stripes and no bump, at the left: full by place, open if only bumps count."""
    for judged in ("place", "bump"):
        for pixels, by_seed in stripes_alone(table, labels, judged).items():
            if by_seed and pixels in colors:
                face = colors[pixels] if judged == "place" else "white"
                axes.plot(
                    NONE, float(np.mean(list(by_seed.values()))), "s", color=colors[pixels], markerfacecolor=face,
                    markersize=9, markeredgewidth=2, zorder=4,
                )  # fmt: skip


def _draw_needed(axes: Axes, table: pl.DataFrame) -> None:
    drawn, sizes = [], set()
    for kind, counted, judged, color, name in LINES:
        found, dashes = sizes_needed(table, kind, counted=counted, judged=judged), DASHES if judged == "bump" else "-"
        points = _readable(found)
        for pixels, numbers in points.items():
            mark = {"markerfacecolor": "none"} if judged == "bump" else {"markeredgewidth": 0}
            axes.plot([pixels] * len(numbers), numbers, "o", color=color, markersize=6, alpha=0.5, **mark)
        if points:
            medians = [float(np.median(numbers)) for numbers in points.values()]
            label = f"{name}: {slope_text(found)}"
            axes.plot(list(points), medians, color=color, linewidth=2.6, linestyle=dashes, label=label)
            sizes |= set(points)
            drawn += medians
    null = sizes_needed(table, WITHOUT, recall=True)
    if line := _readable(null):
        medians = [float(np.median(numbers)) for numbers in line.values()]
        axes.plot(list(line), medians, ":", color="#666666", linewidth=2.2, label=f"recall, bumps: {slope_text(null)}")
    if not drawn:
        return empty_panel(axes, f"{LEVEL:.0%} is passed at no size")
    span = np.array([min(sizes), max(sizes)], dtype=float)
    for power in (1, 2):
        guide = 0.75 * min(drawn) * (span / span[0]) ** power
        axes.plot(span, guide, color=FAINT, linewidth=1.1, zorder=1)
        axes.text(span[1] * 1.015, guide[1], "N" if power == 1 else "N²", color="#777777", fontsize=11, va="center")
    axes.set(xscale="log", yscale="log", xlabel="N, side of the canvas", ylabel="images")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sorted(sizes), [str(size) for size in sorted(sizes)])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.set_ylim(top=axes.get_ylim()[1] * 5)  # room for the names
    axes.legend(loc="upper left", fontsize=10.5, handlelength=2.2)
    return None


def _draw_labels(axes: Axes) -> None:
    """The label space of one set: bumps seen, not seen and held out, lone stripes."""
    share, pixels = SHOWN
    world = BumpsWorld(pixels=pixels, pattern="bump+stripes", margin=MARGIN)
    split = LabelSplit(step=1.0, parts=("2D", "1D"), held_out=Square.of_share(HELD, pixels), share=share)
    side = round(world.extent)
    picture = torch.zeros(side, side, dtype=torch.int64)
    for value, labels in (
        (1, world.centres()),
        (2, world.centres()[[name != "seen" for name in split.region(world, world.centres())]]),
        (3, split.labels(world, 0)),
    ):
        at = labels.long() - 1
        picture[at[:, 1], at[:, 0]] = value
        if value == 3:
            lone = at[world.dimension(labels) == 1]
            picture[lone[:, 1], lone[:, 0]] = 4
    shades = ("#FFFFFF", "#EDEDED", "#F3C9A8", INK, "#9EC9E5")
    low, high = 0.5 - MARGIN, pixels + MARGIN + 0.5
    axes.imshow(picture.numpy(), cmap=ListedColormap(shades), vmin=-0.5, vmax=4.5, extent=(low, high, high, low))
    names = {INK: f"bump, seen ({share:.0%})", "#EDEDED": "bump, not seen", "#F3C9A8": "bump, held out",
             "#9EC9E5": "stripe, seen"}  # fmt: skip
    handles = [Patch(facecolor=color, edgecolor=FAINT, label=name) for color, name in names.items()]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=11)
    axes.set(xlabel="x", ylabel="y")
    axes.grid(False)


def _readable(found: Mapping[int, Mapping[int, float]]) -> dict[int, list[float]]:
    """{pixels: the numbers of the seeds that have one}"""
    numbers: dict[int, list[float]] = {}
    for own in found.values():
        for pixels, number in own.items():
            if 0 < number < math.inf:
                numbers.setdefault(pixels, []).append(number)
    return dict(sorted(numbers.items()))


def _curves(by_seed: Mapping[int, Mapping[int, float]]) -> list[Curve]:
    return [(np.array(list(own)), np.array(list(own.values()))) for own in by_seed.values()]


def _mean(by_seed: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """{images: mean over the seeds}"""
    numbers = sorted(set().union(*by_seed.values()))
    return {n: float(np.mean([own[n] for own in by_seed.values() if n in own])) for n in numbers}


def _colors(sizes: list[int]) -> dict[int, str]:
    """Bright to dark with the size."""
    shades = matplotlib.colormaps["viridis_r"](np.linspace(0.12, 0.95, max(len(sizes), 2)))
    return {size: to_hex(shade) for size, shade in zip(sizes, shades, strict=False)}


def _seeds(table: pl.DataFrame) -> int:
    return table["seed"].n_unique()
