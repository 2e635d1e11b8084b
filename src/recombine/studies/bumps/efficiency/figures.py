"""Figures of how many images a model of bumps needs (Liang et al. 2024, Fig 5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, count_text
from recombine.lab.report.kit.curves import band_caption, draw_mean, mean_and_band
from recombine.lab.report.kit.ordered import put_legend, shades
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, put_caption
from recombine.lab.rules import mean
from recombine.lab.sweeps import levels
from recombine.lab.table import Curve, Table
from recombine.runs.bump_sets import WITH, WITHOUT
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.efficiency.claims import (
    FEWEST_SIZES,
    LEVEL,
    Accuracy,
    Needed,
    images_needed,
    medians,
    readable,
    responses,
    slope_text,
    slopes,
    stripes_alone,
)

NAMES = {WITH: "with stripes", WITHOUT: "bumps alone"}
LINES = (  # what is counted, colour, name
    (Accuracy(WITHOUT), "#D55E00", "bumps alone"),
    (Accuracy(WITH), "#0072B2", "with stripes, bumps counted"),
    (Accuracy(WITH, judged="bump"), "#0072B2", "and a bump is there"),
    (Accuracy(WITH, counted="all"), "#56B4E9", "with stripes, all counted"),
)
DASHES = (0, (4, 1.5))
NONE = 2  # where models trained on no bump are drawn on the axis of images


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Overall accuracy with stripes and without, images needed over N, and accuracy of held-out labels."""
    with new_figure(15.5, 13.6, 2, 2, share_y=False) as (drawn, panels):
        _draw_responses(panels[0, 0], table, Accuracy(WITH), "a")
        _draw_responses(panels[0, 1], table, Accuracy(WITHOUT), "b")
        _draw_needed(panels[1, 0], table)
        _draw_responses(panels[1, 1], table, Accuracy(WITH, "held out"), "d")
        marks = {f"N = {n}": {"color": color, "linewidth": 3.5} for n, color in _colors(table).items()}
        marks["and a bump is there"] = {"color": "#666666", "linewidth": 2, "linestyle": DASHES}
        marks["nearest label"] = {"color": "#666666", "linewidth": 1.8, "linestyle": ":"}
        put_legend(drawn, marks, handlelength=2, columnspacing=1.4)
        put_caption(
            drawn,
            "(a, b) Share of labels whose sample is right in x and y, by the darkest pixel, at the end of training, "
            "over the number of different bumps trained on; dashed: those that also show a bump, not stripes that "
            "cross. All labels: 0.8 times those outside of the held-out square plus 0.2 times those inside. Squares: "
            "stripes and no bump, by place (full) and as a bump (open). (c) Where a and b pass 60%, a dot a seed, "
            "line: median; slopes of the logarithms, the mean over seeds with its 95% interval; grey: N and N². "
            "(d) As a, inside of the square alone.",
            band_caption(table["seed"].n_unique()),
        )
    caption = (
        "Accuracy over the number of images of bumps, with lone stripes and without, for each size of the canvas; "
        "images needed for 60% over the size. Dotted: the nearest-label baseline."
    )
    return {"figure": Drawing(drawn, caption)}


def _draw_responses(axes: Axes, table: Table, of: Accuracy, letter: str) -> None:
    found, baseline = responses(table, of), responses(table, of.nearest)
    as_bump = responses(table, Accuracy(of.kind, of.labels, "bump"))
    labels = "All labels" if of.labels == "all" else "Held-out labels"
    axes.set_title(f"{letter}   {labels}, {NAMES[of.kind]}")
    if not found:
        return empty_panel(axes, f"not measured: {NAMES[of.kind]}")
    colors = _colors(table)
    for pixels, by_seed in found.items():
        color = colors[pixels]
        draw_mean(axes, _curves(by_seed), color)
        axes.plot(*_mean(by_seed), "o", color=color, markersize=6, zorder=4)
        if pixels in as_bump:
            axes.plot(*_mean(as_bump[pixels]), color=color, linewidth=2, zorder=2.5, linestyle=DASHES)
        if pixels in baseline:
            axes.plot(*_mean(baseline[pixels]), ":", color=color, linewidth=2, zorder=2)
    for judged in ("place", "bump") if of.kind == WITH else ():
        for pixels, values in stripes_alone(table, Accuracy(WITH, of.labels, judged)).items():
            level, face = mean(values), colors[pixels] if judged == "place" else "white"
            axes.plot(
                NONE, level, "s", color=colors[pixels], markerfacecolor=face, markersize=10, markeredgewidth=2, zorder=4
            )
    axes.axhline(LEVEL, color=INK, linewidth=1.2, linestyle="--", zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: "none" if value == NONE else count_text(value)))
    axes.set_xticks([NONE, 10, 100, 1000] if of.kind == WITH else [10, 100, 1000])
    if of.kind == WITH:
        axes.set_xlim(left=0.7 * NONE)
    axes.set_xlabel("images of bumps")
    return accuracy_axis(axes)


def _draw_needed(axes: Axes, table: Table) -> None:
    drawn: dict[int, list[float]] = {}
    for of, color, name in LINES:
        found = images_needed(table, of)
        points = medians(readable(found))
        hollow = {"markerfacecolor": "none"} if of.judged == "bump" else {"markeredgewidth": 0}
        for own in readable(found).values():
            axes.plot(list(own), list(own.values()), "o", color=color, markersize=6, alpha=0.5, **hollow)
        if points:
            axes.plot(
                list(points), list(points.values()), color=color, linewidth=2.6,
                linestyle=DASHES if of.judged == "bump" else "-", label=f"{name}: {slope_text(found)}",
            )  # fmt: skip
            for pixels, number in points.items():
                drawn.setdefault(pixels, []).append(number)
    baseline = images_needed(table, Accuracy(WITHOUT).nearest)
    if line := medians(readable(baseline)):
        label = f"nearest label, bumps: {slope_text(baseline)}"
        axes.plot(list(line), list(line.values()), ":", color="#666666", linewidth=2.2, label=label)
    axes.set_title(f"c   Images for {LEVEL:.0%} of all labels{_power(images_needed(table, Accuracy(WITHOUT)))}")
    if not drawn:
        return empty_panel(axes, f"{LEVEL:.0%} is passed at no size")
    sizes = sorted(drawn)
    span = np.array([sizes[0], sizes[-1]], dtype=float)
    for power, name in ((1, "N"), (2, "N²")):
        guide = 0.75 * min(map(min, drawn.values())) * (span / span[0]) ** power
        axes.plot(span, guide, color=FAINT, linewidth=1.1, zorder=1)
        axes.text(span[1] * 1.015, guide[1], name, color="#777777", fontsize=13, va="center")
    axes.set(xscale="log", yscale="log", xlabel="N, side of the canvas", ylabel="images")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.set_ylim(top=axes.get_ylim()[1] * 14)  # room for the names
    axes.legend(loc="upper left", fontsize=12.5, handlelength=2.2)
    return None


def _power(found: Needed) -> str:
    fits = slopes(found) if len({pixels for own in found.values() for pixels in own}) >= FEWEST_SIZES else {}
    return f": N$^{{{mean(fits):.2f}}}$, bumps alone" if fits else ""


def _curves(by_seed: Mapping[int, Mapping[int, float]]) -> list[Curve]:
    return [(np.array(list(own)), np.array(list(own.values()))) for own in by_seed.values()]


def _mean(by_seed: Mapping[int, Mapping[int, float]]) -> Curve:
    at, (level, _, _) = mean_and_band(_curves(by_seed), "min-max")
    return at, level


def _colors(table: Table) -> dict[float, str]:
    """Bright to dark with the size."""
    return shades(levels(table, "pixels"), "viridis_r", (0.12, 0.95))
