"""The figure of codes and how far they reach."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.bumps.band_evaluation import BAND, BIN
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import at_end
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.bar_figure import bar
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.encodings.claims import LONG, RAW
from recombine.studies.bumps.crossing.encodings.figures import code_distances
from recombine.studies.bumps.holes.lesion.claims import depths_of
from recombine.studies.bumps.holes.reach.claims import CODES, SHARE, SHORT, WIDE, WIDTHS, band_arm, in_band, on_lattice

COLORS = {SHORT: "#D55E00", RAW: "#4D4D4D", LONG: "#009E73"}
NAMES = {SHORT: "short sinusoids", RAW: "raw sinusoids (the paper)", LONG: "long sinusoids"}
DASHES = {SHORT: ":", RAW: "-", LONG: "--"}
GROUPS = {**{f"band of {width:g} px": in_band(width) for width in WIDTHS}, f"{SHARE:g} of the lattice": on_lattice}
BAR = 0.26
SHOWN = 12.0  # px between labels, on a canvas that has room for them


def by_code(table: pl.DataFrame, codes: Mapping[str, BumpsRun]) -> Figure:
    """Distances in each code; the wide band by depth; all that was never seen."""
    with house_style():
        figure = Figure(figsize=(19, 7), layout="constrained")
        panels = figure.subplots(1, 3)
        farthest = min(SHOWN, *(run.world.extent / 2 for run in codes.values()))
        _draw_codes(panels[0], codes, farthest)
        _draw_depths(panels[1], table)
        _draw_bars(panels[2], table)
        seeds = table.filter(~pl.col("arm").str.starts_with(null_of("")))["seed"].n_unique()
        put_caption(
            figure,
            f"(a) Distance between the codes of two labels, as a share of that {farthest:g} px apart. (b) The band of "
            f"{WIDE:g} px by how far inside bumps were asked for, bins of {BIN:g} px, fine estimate, mean over seeds. "
            "(c) What is right of all that was never seen, at the end of training: bands by the fine estimate, the "
            f"lattice by the darkest pixel; dots are seeds, {seeds_text(seeds)}; black: recall of the nearest label.",
        )
    return figure


def _draw_codes(axes: Axes, codes: Mapping[str, BumpsRun], farthest: float) -> None:
    axes.set_title("a   How far apart two labels are")
    for code, run in codes.items():
        away, distance = code_distances(run, farthest)
        axes.plot(away, distance, color=COLORS[code], linestyle=DASHES[code], linewidth=3, label=NAMES[code])
    axes.set_xlim(0, farthest)
    axes.set_xlabel("labels apart in x, in pixels")
    accuracy_axis(axes, "distance of their codes")
    axes.legend(loc="lower right", handlelength=3.2)


def _draw_depths(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title(f"b   Inside a band of {WIDE:g} px")
    depths = depths_of(table)
    if not depths:
        return empty_panel(axes, "not measured: any depth")
    axes.axvspan(0, 1, color="#EEEEEE", zorder=0.5)
    axes.text(0.5, 0.03, "recall", ha="center", color="#777777", fontsize=11)
    for code in CODES:
        found = {
            end - BIN / 2: at_end(table, "fine.both", band_arm(code, WIDE), [node]) for node, end in depths.items()
        }
        means = {at: float(np.mean(list(values.values()))) for at, values in found.items() if values}
        axes.plot(
            list(means), list(means.values()), color=COLORS[code], linestyle=DASHES[code], marker="o", linewidth=2.6,
            markersize=7, markeredgecolor="white",
        )  # fmt: skip
    axes.set_xlim(0, WIDE / 2)
    axes.set_xlabel("distance from the nearest bump that was seen, in pixels")
    accuracy_axis(axes)
    return None


def _draw_bars(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("c   What was never seen")
    nulls = {
        name: next(iter(at_end(table, "fine.both", null_of(band_arm(RAW, width)), [BAND]).values()), None)
        for name, width in zip(GROUPS, WIDTHS, strict=False)
    }
    found = {
        (place, code): list(reading(table, code).values())
        for place, reading in enumerate(GROUPS.values())
        for code in CODES
    }
    if not any(found.values()):
        return empty_panel(axes, "not measured: any code")
    for (place, code), values in found.items():
        if values:
            offset = (CODES.index(code) - 1) * BAR
            bar(axes, place + offset, BAR, COLORS[code], values, nulls.get(list(GROUPS)[place], 0.0))
    axes.set_xticks(range(len(GROUPS)), list(GROUPS))
    axes.grid(False, axis="x")
    accuracy_axis(axes)
    return None
