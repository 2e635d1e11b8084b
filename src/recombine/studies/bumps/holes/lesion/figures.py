"""The figure of bands that were held out (Liang et al. 2024, Fig. 11)."""

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.instruments.bumps.band_evaluation import BAND, BIN
from recombine.instruments.bumps.evaluation import ALL
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import at_end
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.map_figure import draw_map, places_of
from recombine.studies.bumps._shared.sweep_figure import CROSS, cross_mark, sweep_line
from recombine.studies.bumps.holes.lesion.claims import ARM, arm_of, depths_of, over_widths, recalled, widths_of
from recombine.worlds.holdouts import HELD_OUT, SEEN

REGIONS = {SEEN: ("seen", "#4D4D4D"), ALL: ("all", "#E69F00"), HELD_OUT: ("held out", "#D55E00")}
FINE, DARKEST = "#0072B2", "#56B4E9"
MARKERS = "osD^vP<>"
PAPER = (1.0, 3.5, 8.0)  # widths whose maps Fig 11c shows


def over_width(table: pl.DataFrame, config: BumpsRun) -> Figure:
    """The band over its width beside recall; Fig 11; the band by depth."""
    with house_style():
        figure = Figure(figsize=(19, 7), layout="constrained")
        panels = figure.subplots(1, 3)
        _draw_band(panels[0], table)
        _draw_regions(panels[1], table)
        _draw_depths(panels[2], table)
        seeds = table.filter(pl.col("arm").str.starts_with(ARM))["seed"].n_unique()
        put_caption(
            figure,
            "Share of prompts whose bump is right in x and y at the end of training; points: seeds, lines: their mean, "
            f"band: its 95% interval, {seeds_text(seeds)}. (a) Prompts in {_columns(config)} columns from "
            "edge to edge of the band. Shaded: what recall of the nearest label gets by the fine estimate, 2 / W; "
            "crosses: its exact score, by either estimate. (b) Prompts at the middles of pixels, as in the paper; they "
            "are few and lie at other depths for every W. "
            f"(c) The prompts of a by how far inside the band they lie, in bins of {BIN:g} px, fine estimate; recall "
            "is right in the first pixel and never beyond.",
        )
    return figure


def maps(table: pl.DataFrame) -> Figure:
    """Fig 11c: a map of places for a narrow, a middle and a wide band, one seed."""
    widths = _three(widths_of(table))
    with house_style():
        figure = Figure(figsize=(6 * max(len(widths), 1), 7), layout="constrained")
        if not widths:
            empty_panel(figure.subplots(), "not measured: any width")
            return figure
        seed = int(table.filter(pl.col("arm") == arm_of(widths[0]))["seed"].min())  # type: ignore[arg-type]
        for axes, width in zip(figure.subplots(1, len(widths), squeeze=False)[0], widths, strict=True):
            places = places_of(table, arm_of(width), seed)
            middle = (min(x for x, _ in places) + max(x for x, _ in places)) / 2 if places else 0.0
            draw_map(axes, places, (middle - width / 2, middle + width / 2))
            axes.set_title(f"W = {width:g}")
        put_caption(
            figure,
            "Activations of the first up block at the last step of the generation, for every second place in x and y: "
            "first two coordinates (principal ones, or UMAP's where a run says so), neighbours joined, coloured by x. "
            f"Orange: places in the band that was held out. Seed {seed}, each axis at its own scale, "
            "the outermost 3% of places beyond it.",
        )
    return figure


def _three(widths: list[float]) -> list[float]:
    """Those nearest to the paper's 1, 3.5 and 8, each once."""
    return sorted({min(widths, key=lambda width: abs(width - wanted)) for wanted in PAPER}) if widths else []


def _draw_band(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("a   Where no bump was seen")
    widths = widths_of(table)
    if not widths:
        return empty_panel(axes, "not measured: any width")
    span = np.linspace(min(widths), max(widths), 200)
    axes.fill_between(span, 0, [recalled(width) for width in span], color="#EEEEEE", zorder=0.5)
    axes.plot(span, [recalled(width) for width in span], color=FAINT, linewidth=1.8, linestyle="--", zorder=1)
    for how, name, color in (("fine", "fine estimate", FINE), ("darkest", "darkest pixel", DARKEST)):
        sweep_line(axes, *over_widths(table, BAND, how), color, name, "o" if how == "fine" else "s")
        _crosses(axes, table, BAND, how, color)
    _width_axis(axes, widths)
    handles, labels = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=FAINT, linewidth=1.8, linestyle="--"))
    axes.legend([*handles, cross_mark()], [*labels, "2 / W", "recall, exact"], loc="best", handlelength=2.6)
    return None


def _draw_regions(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("b   At pixels, by the darkest one (Fig 11)")
    widths = widths_of(table)
    if not widths:
        return empty_panel(axes, "not measured: any width")
    for (region, (name, color)), marker in zip(REGIONS.items(), "osD", strict=True):
        sweep_line(axes, *over_widths(table, region, "darkest"), color, name, marker)
        if region == HELD_OUT:
            _crosses(axes, table, region, "darkest", color)
    _width_axis(axes, widths)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend([*handles, cross_mark()], [*labels, "recall, held out"], loc="best", handlelength=2.6)
    return None


def _draw_depths(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("c   By depth inside the band")
    depths, widths = depths_of(table), widths_of(table)
    if not depths or not widths:
        return empty_panel(axes, "not measured: any depth")
    axes.axvspan(0, 1, color="#EEEEEE", zorder=0.5)
    axes.text(0.5, 0.03, "recall", ha="center", color="#777777", fontsize=11)
    shades = matplotlib.colormaps["plasma"](np.linspace(0.02, 0.88, len(widths)))
    for width, shade, marker in zip(widths, map(to_hex, shades), _markers(len(widths)), strict=True):
        means = {}
        for node, end in depths.items():
            values = at_end(table, "fine.both", arm_of(width), [node])
            if values:
                means[min(end - BIN / 2, (end - BIN + width / 2) / 2)] = np.mean(list(values.values()))
        axes.plot(
            list(means), list(means.values()), color=shade, marker=marker, markersize=7, linewidth=2.4,
            label=f"W = {width:g}", markeredgecolor="white",
        )  # fmt: skip
    axes.set_xlim(0, max(depths.values()))
    axes.set_xlabel("distance from the nearest bump that was seen, in pixels")
    accuracy_axis(axes, "")
    axes.legend(loc="upper right", ncols=2, handlelength=1.8, columnspacing=1.2)
    return None


def _crosses(axes: Axes, table: pl.DataFrame, node: str, how: str, color: str) -> None:
    """What recall scores."""
    widths, values = over_widths(table, node, how, null=True)
    if values.size:
        axes.plot(widths, values.mean(axis=0), color=color, **CROSS)


def _width_axis(axes: Axes, widths: list[float]) -> None:
    axes.set_xticks(widths, [f"{width:g}" for width in widths])
    axes.set_xlabel("W, width of the band in pixels")
    accuracy_axis(axes)


def _columns(config: BumpsRun) -> int:
    return int(getattr(config.evaluation, "columns", 0))


def _markers(count: int) -> list[str]:
    return [MARKERS[place % len(MARKERS)] for place in range(count)]
