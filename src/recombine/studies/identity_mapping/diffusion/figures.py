"""Figures of the diffusion experiment (Yang et al. 2025, Fig 6): paths, errors and speeds of the held-out class."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure

from recombine.instruments.shapes.concept_space import corner_error, monotone, speeds
from recombine.lab.report.kit.axes import images_axis, one_legend
from recombine.lab.report.kit.style import FAINT, empty_figure, house_style, put_caption, seeds_text
from recombine.studies.identity_mapping.diffusion.claims import BLUR, BLUR_SPEED, mean_path, paths, separation

NOT_MEASURED = "not measured: the path of the held-out class"


def over_training(table: pl.DataFrame) -> Figure:
    """Path, error and speed of the smoothed mean over seeds, a line for each separation of the colours."""
    found = {arm: paths(table, arm) for arm in dict.fromkeys(table["arm"].to_list())}
    found = {arm: ways for arm, ways in found.items() if ways}
    if not found:
        return empty_figure(NOT_MEASURED)
    shades = colormaps["viridis"](np.linspace(0, 0.9, len(found)))
    with house_style():
        figure = Figure(figsize=(17, 6.4), layout="constrained")
        plane, error, speed = figure.subplots(1, 3)
        for shade, (arm, ways) in zip(shades, sorted(found.items(), key=lambda item: separation(item[0])), strict=True):
            seen, way = mean_path(list(ways.values()), BLUR)
            label = f"{separation(arm):g} apart"
            plane.plot(*way.T, "o-", color=shade, linewidth=2.4, markersize=3.5, label=label)
            plane.plot(*way[0], "s", color=shade, markersize=9)
            error.plot(seen, corner_error(way), color=shade, linewidth=2.4)
            for each_seen, each in ways.values():
                error.plot(each_seen, corner_error(each), color=shade, linewidth=0.6, alpha=0.35)
            moments, speeds_there = speeds(*mean_path(list(ways.values()), BLUR_SPEED))
            speed.plot(moments, np.where(speeds_there > 0, speeds_there, np.nan), color=shade, linewidth=2.4)
        plane.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal", xlabel="P(blue)", ylabel="P(small)")
        plane.set_title("a   Path")
        for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            plane.plot(*corner, "+", color=FAINT, markersize=14)
        first, last = (min(s[0] for w in found.values() for s, _ in w.values()),
                       max(s[-1] for w in found.values() for s, _ in w.values()))  # fmt: skip
        error.set_title("b   Error: mean squared distance to (1, 1)")
        speed.set_title("c   Speed: distance moved in 1,000 images")
        for axes in (error, speed):
            images_axis(axes, first, last)
        error.set_ylabel("error")
        speed.set_yscale("log")
        speed.set_ylabel("speed")
        one_legend(figure, plane)
        put_caption(
            figure,
            f"Mean of {seeds_text(table['seed'].n_unique())}, smoothed over {BLUR:g} evaluations (a, b) and "
            f"{BLUR_SPEED:g} (c), as in the paper. Square: the first evaluation. Thin: single runs, unsmoothed. A "
            "straight line in c is a power law.",
        )
    return figure


def single_runs(table: pl.DataFrame) -> Figure:
    """The error of every run, and what it would be if both coordinates only rose."""
    found = {arm: paths(table, arm) for arm in dict.fromkeys(table["arm"].to_list())}
    found = {arm: ways for arm, ways in found.items() if ways}
    if not found:
        return empty_figure(NOT_MEASURED)
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    with house_style():
        figure = Figure(figsize=(5.4 * columns, 4.4 * rows + 0.8), layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in panels.flat[len(found) :]:
            axes.set_axis_off()
        for axes, (arm, ways) in zip(panels.flat, found.items(), strict=False):
            axes.set_title(f"colours {separation(arm):g} apart")
            colors = colormaps["tab10"](np.arange(len(ways)))
            for color, (seen, way) in zip(colors, ways.values(), strict=True):
                axes.plot(seen, corner_error(way), color=color, linewidth=1.8)
                rising = np.stack([monotone(axis) for axis in way.T], 1)
                axes.plot(seen, corner_error(rising), color=color, linewidth=1.2, linestyle=":")
            images_axis(axes, float(seen[0]), float(seen[-1]))
        for axes in panels[:, 0]:
            axes.set_ylabel("error")
        put_caption(
            figure,
            "Error of the held-out class, a colour for each seed, unsmoothed. Dotted: the same if each coordinate only "
            f"rose (the monotone curve nearest to it). {seeds_text(table['seed'].n_unique())}.",
        )
    return figure
