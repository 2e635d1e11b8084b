"""Figures of the diffusion experiment (Yang et al. 2025, Fig 6): paths, errors and speeds of the held-out class."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.shapes.concept_space import corner_error, monotone, speeds
from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import images_axis, one_legend
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import (
    FAINT,
    INK,
    SERIES_COLORS,
    empty_figure,
    house_style,
    put_caption,
    seeds_text,
)
from recombine.lab.table import Table
from recombine.studies.identity_mapping.diffusion.claims import (
    BLUR,
    BLUR_SPEED,
    Runs,
    images_behind,
    mean_path,
    mean_rise,
    paths,
    rise,
    rise_by_chance,
    slow_down,
)


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Paths, errors and speeds over training, as in Fig 6; and single runs beside the smoothed mean."""
    try:
        found = paths(table)
    except NotMeasured as reason:
        return {name: Drawing(empty_figure(f"not measured: {reason}"), str(reason)) for name in ("figure", "runs")}
    return {
        "figure": Drawing(
            _over_training(found, float(np.mean(list(slow_down(table).values())))),
            "The held-out class in concept space: its path, its error over training and its speed.",
        ),
        "runs": Drawing(
            _single_runs(found, images_behind(table)), "The error of single runs, and how far it rises in each of them."
        ),
    }


def _over_training(found: dict[float, Runs], fall: float) -> Figure:
    """Path, error and speed of the smoothed mean over seeds, a line for each separation of the colours."""
    shades = dict(zip(found, colormaps["viridis"](np.linspace(0, 0.9, len(found))), strict=True))
    with new_figure(20, 8.2, 1, 3, share_y=False) as (figure, [(plane, error, speed)]):
        for color, runs in found.items():
            seen, way = mean_path(runs.values(), BLUR)
            plane.plot(*way.T, "o-", color=shades[color], linewidth=2.8, markersize=4, label=f"{color:g} apart")
            plane.plot(*way[0], "s", color=shades[color], markersize=11)
            error.plot(seen, corner_error(way), color=shades[color], linewidth=2.8)
            for each_seen, each in runs.values():
                error.plot(each_seen, corner_error(each), color=shades[color], linewidth=0.6, alpha=0.35)
            moments, fast = speeds(*mean_path(runs.values(), BLUR_SPEED))
            speed.plot(moments, np.where(fast > 0, fast, np.nan), color=shades[color], linewidth=2.8)
        plane.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal", xlabel="P(blue)", ylabel="P(small)")
        plane.set_title("Path of small blue")
        for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            plane.plot(*corner, "+", color=FAINT, markersize=14)
        weakest, runs = next(iter(found.items()))
        error.set_title(f"Error: rises by {mean_rise([runs], list(runs)):.0%} at {weakest:g}")
        speed.set_title(f"Speed: falls {10**fall:,.0f}-fold")
        _over_images(error, found, "mean squared distance to (1, 1)")
        _over_images(speed, found, "distance moved in 1,000 images")
        speed.set_yscale("log")
        one_legend(figure, plane)
        put_caption(
            figure,
            f"Lines: how far the colours are apart. Mean of {seeds_text(_most(found))}, smoothed over {BLUR:g} "
            f"evaluations ({BLUR_SPEED:g} for speed), as in the paper. Square: first evaluation. Thin: single runs, "
            "unsmoothed. A straight line of speed is a power law.",
        )
    return figure


def _single_runs(found: dict[float, Runs], images: int) -> Figure:
    """The error of the runs of up to three separations beside its monotone version; the rise in every run of all."""
    colors = list(found)
    shown = sorted({colors[0], colors[len(colors) // 2], colors[-1]})
    with house_style():
        figure = Figure(figsize=(15, 11.5), layout="constrained")
        panels = list(figure.subplots(2, 2).flat)
        for axes in panels[len(shown) : 3]:
            axes.set_axis_off()
        for axes, color in zip(panels, shown, strict=False):
            axes.set_title(f"Colours {color:g} apart")
            for (seed, (seen, way)), shade in zip(found[color].items(), SERIES_COLORS * 9, strict=False):
                axes.plot(seen, corner_error(way), color=shade, linewidth=2, label=f"seed {seed}")
                rising = np.stack([monotone(axis) for axis in way.T], 1)
                axes.plot(seen, corner_error(rising), color=shade, linewidth=1.4, linestyle=":")
            _over_images(axes, found, "error")
            axes.set_ylim(-0.03, 1.03)
        _draw_rises(panels[-1], found, images)
        one_legend(figure, panels[0])
        put_caption(
            figure,
            "Error of the held-out class, unsmoothed; dotted: the same if each coordinate only rose (the monotone "
            f"curve nearest to it). Last panel: its largest rise, a dot a run, and what {images} images an evaluation "
            f"explain in 95 of 100 such monotone runs. {seeds_text(_most(found))} each.",
        )
    return figure


def _draw_rises(axes: Axes, found: dict[float, Runs], images: int) -> None:
    rises = [[(rise(run), rise_by_chance(run, images, seed)) for seed, run in runs.items()] for runs in found.values()]
    flat = [pair for each in rises for pair in each]
    beyond = sum(found_rise > chance for found_rise, chance in flat)
    axes.set_title(f"Rise: beyond chance in {beyond} of {len(flat)} runs")
    for place, each in enumerate(rises):
        at = place + np.linspace(-0.2, 0.2, len(each)) if len(each) > 1 else [place]
        axes.plot(
            at, [r for r, _ in each], "o", color=SERIES_COLORS[4], markersize=9, label="run" if not place else None
        )
        axes.plot(at, [c for _, c in each], "_", color=INK, markersize=16, markeredgewidth=2.4,
                  label="by chance" if not place else None)  # fmt: skip
    axes.set_xticks(range(len(found)), [f"{color:g}" for color in found])
    axes.set(
        xlabel="separation of the colours", ylabel="largest rise of the error", ylim=(0, 1.25 * max(map(max, flat)))
    )
    axes.legend(loc="upper right")


def _over_images(axes: Axes, found: dict[float, Runs], label: str) -> None:
    every = [seen for runs in found.values() for seen, _ in runs.values()]
    images_axis(axes, min(float(seen[0]) for seen in every), max(float(seen[-1]) for seen in every))
    axes.set_ylabel(label)


def _most(found: dict[float, Runs]) -> int:
    return max(map(len, found.values()))
