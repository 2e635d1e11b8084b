"""The figure of encodings: how far apart labels are for the network, and what it makes of labels it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from recombine.denoisers.conditioners import Sinusoids
from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.curves import draw_series
from recombine.lab.report.kit.style import INK, SERIES_DASHES, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import Curve, group_curves
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.bar_figure import bar, memoriser_mark
from recombine.studies.bumps.crossing.compose.claims import BOTH, HELD_COORDINATE, Asked, null_of
from recombine.studies.bumps.crossing.encodings.claims import (
    ANGLES,
    ENCODINGS,
    LONG,
    RAW,
    SCALAR,
    arm_of,
    means,
    recalled,
)
from recombine.worlds.holdouts import HORIZONTAL, SEEN, VERTICAL, Cross

if TYPE_CHECKING:
    from torch import Tensor

SHOWN: dict[str, tuple[tuple[Asked, ...], str]] = {
    "seen: both right": (((SEEN, "both"),), "#9A9A9A"),
    "arms: the held-out coordinate": (HELD_COORDINATE, "#0072B2"),
    "intersection: both right": (BOTH, "#D55E00"),
}
NAMES = {
    RAW: "raw sinusoids\n(the paper)", LONG: "long\nsinusoids", SCALAR: "two\nnumbers", ANGLES: "two\nangles",
}  # fmt: skip
COLORS = {RAW: "#4D4D4D", LONG: "#009E73", SCALAR: "#CC79A7", ANGLES: "#E69F00"}
WIDTH = 0.26


def by_encoding(table: pl.DataFrame, codes: Mapping[str, BumpsRun]) -> Figure:
    """Codes; accuracy with each, trained on 2D and on 2D+1D; the held-out coordinate over training."""
    with house_style():
        figure = Figure(figsize=(17, 12.4), layout="constrained")
        panels = figure.subplots(2, 2)
        _draw_codes(panels[0, 0], codes)
        for axes, part, letter in ((panels[0, 1], "2D", "b"), (panels[1, 0], "2D+1D", "c")):
            axes.set_title(f"{letter}   Trained on {part}")
            _draw_bars(axes, table, part)
        _draw_training(panels[1, 1], table)
        handles: list[Artist] = [Patch(color=color, alpha=0.8, label=name) for name, (_, color) in SHOWN.items()]
        handles.append(memoriser_mark())
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
        seeds = table.filter(~pl.col("arm").str.starts_with(null_of("")))["seed"].n_unique()
        put_caption(
            figure,
            "(a) Distance between the codes of two labels, as a share of that half the label space apart. Shaded: how "
            "far the held-out labels lie from the nearest that were seen. (b, c) Share of labels that are right at the "
            "end of training, by the fine estimate; white: by the darkest pixel; points: seeds, "
            f"{seeds_text(seeds)}; the held-out coordinate is the mean over both arms. (d) Lines: mean over seeds, "
            "band: its 95% interval; dotted: the memoriser.",
        )
    return figure


def code(run: BumpsRun, labels: Tensor) -> Tensor:
    """What the network is told before anything that is trained.  # [n, 2] -> [n, D]"""
    condition, how = run.world.condition(labels), run.network.condition
    if how.entry != "positional":
        return condition
    sinusoids: Tensor = Sinusoids(how.width, how.periods)(condition)  # [n, 2, width]
    return sinusoids.flatten(1)


def code_distances(run: BumpsRun, farthest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pixels between two labels, and the distance of their codes as a share of that at the farthest."""
    middle = run.world.extent / 2
    away = torch.linspace(0, farthest, 400, dtype=torch.float64)
    told = code(run, torch.stack([middle + away, torch.full_like(away, middle)], 1)).double()
    distance = (told - told[0]).norm(dim=1)
    return away.numpy(), (distance / distance[-1]).numpy()


def _draw_codes(axes: Axes, codes: Mapping[str, BumpsRun]) -> None:
    axes.set_title("a   How far apart two labels are for the network")
    for (encoding, run), dashes in zip(codes.items(), SERIES_DASHES, strict=False):
        away, distance = code_distances(run, run.world.extent / 2)
        name = NAMES[encoding].replace("\n", " ")
        axes.plot(away, distance, color=COLORS[encoding], linewidth=3, linestyle=dashes, label=name)
    held = next(iter(codes.values())).split.held_out
    if isinstance(held, Cross):
        axes.axvspan(0, (held.high - held.low) / 2, color="#EEEEEE", zorder=0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("labels apart in x, in pixels")
    accuracy_axis(axes, "distance of their codes")
    axes.legend(loc="lower right", handlelength=3.4)


def _draw_bars(axes: Axes, table: pl.DataFrame, part: str) -> None:
    present = [encoding for encoding in ENCODINGS if arm_of(part, encoding) in table["arm"].unique()]
    if not present:
        return empty_panel(axes, f"not measured: trained on {part}")
    for place, encoding in enumerate(present):
        for offset, (asked, color) in zip((-WIDTH, 0, WIDTH), SHOWN.values(), strict=True):
            at, values = place + offset, _values(table, arm_of(part, encoding), asked, "fine")
            if not values:
                continue
            bar(axes, at, WIDTH, color, values, _recalled(table, part, asked))
            darkest = float(np.mean(_values(table, arm_of(part, encoding), asked, "darkest")))
            axes.plot([at - WIDTH / 3, at + WIDTH / 3], [darkest] * 2, color="white", linewidth=2.2)
    axes.set_xticks(range(len(present)), [NAMES[encoding] for encoding in present])
    axes.grid(False, axis="x")
    accuracy_axis(axes)
    return None


def _draw_training(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("d   The held-out coordinate in the arms over training, 2D")
    series = {encoding: _held_coordinate(table, arm_of("2D", encoding)) for encoding in ENCODINGS}
    draw_series(axes, series, colors=list(COLORS.values()))
    null = _recalled(table, "2D", HELD_COORDINATE)
    if null is not None and any(series.values()):
        axes.axhline(null, color=INK, linewidth=2, linestyle=":")


def _held_coordinate(table: pl.DataFrame, arm: str) -> list[Curve]:
    """x in the vertical arm and y in the horizontal one, their mean: a curve a seed."""
    across = group_curves(table, "fine.x", arm, [VERTICAL])
    down = group_curves(table, "fine.y", arm, [HORIZONTAL])
    return [(seen, (x + y) / 2) for (seen, x), (_, y) in zip(across, down, strict=True)]


def _values(table: pl.DataFrame, arm: str, asked: tuple[Asked, ...], how: str) -> list[float]:
    try:
        return list(means(table, arm, asked, how).values())
    except NotMeasured:
        return []


def _recalled(table: pl.DataFrame, part: str, asked: tuple[Asked, ...]) -> float | None:
    try:
        return recalled(table, part, asked)
    except NotMeasured:
        return None
