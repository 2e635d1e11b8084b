"""Fig 4 of Bradley 2026 from tables: a sample with its places, curves and maps of words, gradient maps."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.representations.features import Array
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import (
    SERIES_COLORS,
    SERIES_DASHES,
    empty_figure,
    empty_panel,
    house_style,
    put_caption,
    seeds_text,
)
from recombine.lab.rules import mean
from recombine.lab.table import at_end, select
from recombine.runs.sdxl_pixels import (
    IMAGE,
    MAP,
    NEAR,
    NEAR_CHANCE,
    SAME,
    WORD,
    WORD_MAP,
    PixelsConfig,
    Place,
)
from recombine.studies.local_scores.sdxl.trained_weights import weights_text

PLACE_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")


def draw(table: pl.DataFrame, config: PixelsConfig) -> dict[str, Drawing]:
    """Fig 4 in two parts, and the maps of words of the appendix."""
    return {
        "figure": Drawing(
            _words(table, config),
            "Left: a sample and the places. Right: how much the answer at two places changes when a word is taken out "
            "of the prompt, over the schedule; means over seeds.",
        ),
        "maps": Drawing(
            _maps(table, config),
            "Absolute gradient of the answer at a place by latent pixel, first seed; colours logarithmic, from a "
            "thousandth of the largest. Number: share within 1/16 of the side without the pixel itself (chance), mean "
            "over seeds.",
        ),
        "words": Drawing(
            _word_maps(table, config.words),
            "Where the answer changes when a word is taken out: mean over the steps of the samples, first seed.",
        ),
    }


def _words(table: pl.DataFrame, config: PixelsConfig) -> Figure:
    with new_figure(18, 6.4, 1, 3, share_y=False) as (figure, [(left, *panels)]):
        _sample(left, table, config.places)
        means = select(table, WORD).drop_nulls("value").group_by("place", "word", "step").agg(pl.col("value").mean())
        for axes, place in zip(panels, config.compared, strict=True):
            for number, word in enumerate(config.words):
                curve = means.filter((pl.col("place") == place) & (pl.col("word") == word)).sort("step")
                dashes = SERIES_DASHES[number // len(SERIES_COLORS)]
                axes.plot(curve["step"].to_numpy(), curve["value"].to_numpy(), linewidth=2.4, label=word,
                          color=SERIES_COLORS[number % len(SERIES_COLORS)], linestyle=dashes)  # fmt: skip
            axes.set(title=f"words at '{place}'", xlabel="step, from noise to image", yscale="log")
            axes.invert_xaxis()  # samples begin with noise
        panels[0].set_ylabel("change of the answer")
        if overlap := at_end(table, SAME):
            panels[1].set_title(f"at '{config.compared[1]}': overlap {mean(overlap):.2f}")
        panels[0].legend(ncols=2)
        put_caption(figure, weights_text(table), f"{seeds_text(table['seed'].n_unique())}.")
    return figure


def _maps(table: pl.DataFrame, config: PixelsConfig) -> Figure:
    """A sheet: places down, noise levels across."""
    levels = tuple(config.levels)
    with house_style():
        figure = Figure(figsize=(3.2 * len(levels) + 1, 3.1 * len(config.places) + 0.6), layout="constrained")
        panels = figure.subplots(len(config.places), len(levels), squeeze=False)
        for number, (row, place) in enumerate(zip(panels, config.places, strict=True)):
            for axes, level in zip(row, levels, strict=True):
                _map(axes, table, place.name, level)
                if number == 0:
                    axes.set_title(f"{level} noise", loc="center")
            row[0].set_ylabel(place.name, color=PLACE_COLORS[number % len(PLACE_COLORS)], fontweight="bold")
        put_caption(figure, weights_text(table), f"{seeds_text(table['seed'].n_unique())}.")
    return figure


def _word_maps(table: pl.DataFrame, words: Sequence[str]) -> Figure:
    """A sheet of all words, on one scale."""
    found = {word: grid for word in words if (grid := _grid(select(table, WORD_MAP, word=word))) is not None}
    if not found:
        return empty_figure("no map of a word was measured")
    with house_style():
        across = min(4, len(found))
        down = -(-len(found) // across)
        figure = Figure(figsize=(3 * across + 1, 3.3 * down + 0.5), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        top = max(float(grid.max()) for grid in found.values())
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        for axes, (word, grid) in zip(panels, found.items(), strict=False):
            image = axes.imshow(grid, cmap="magma", vmin=0, vmax=top, interpolation="nearest")
            axes.set_title(word, loc="center")
            _bare(axes)
        figure.colorbar(image, ax=list(panels), shrink=0.8, label="change of the answer")
        put_caption(figure, weights_text(table), "First seed.")
    return figure


def _sample(axes: Axes, table: pl.DataFrame, places: Sequence[Place]) -> None:
    channels = [_grid(select(table, IMAGE, channel=channel)) for channel in ("red", "green", "blue")]
    shown = [channel for channel in channels if channel is not None]
    if len(shown) < 3:
        return empty_panel(axes, "no sample was kept")
    axes.imshow(np.stack(shown, -1).astype(np.uint8), interpolation="nearest")
    height, width = shown[0].shape
    for number, place in enumerate(places):
        color = PLACE_COLORS[number % len(PLACE_COLORS)]
        spot = (place.column * width - 0.5, place.row * height - 0.5)
        axes.plot(*spot, "o", markersize=15, markerfacecolor=color, markeredgecolor="white", markeredgewidth=2)
        axes.annotate(
            place.name, spot, xytext=(0, 13), textcoords="offset points", ha="center", color="white", fontweight="bold",
            bbox={"facecolor": color, "edgecolor": "none", "boxstyle": "round,pad=0.2"},
        )  # fmt: skip
    axes.set_title("a sample, and the places")
    return _bare(axes)


def _map(axes: Axes, table: pl.DataFrame, place: str, level: str) -> None:
    grid = _grid(select(table, MAP, place=place, level=level))
    if grid is None:
        return empty_panel(axes, "not measured")
    axes.imshow(np.log10(grid.clip(1e-3)), cmap="magma", vmin=-3, vmax=0, interpolation="nearest")
    near, chance = (mean(at_end(table, name, place=place, level=level)) for name in (NEAR, NEAR_CHANCE))
    axes.set_xlabel(f"{near:.2f} ({chance:.2f})")
    return _bare(axes)


def _grid(rows: pl.DataFrame) -> Array | None:
    """A map of the first seed.  # [H, W]"""
    if not len(rows):
        return None
    first = rows.filter(pl.col("seed") == rows["seed"].min()).sort("row", "column")
    return np.asarray(first["value"].to_numpy().reshape(int(first["row"].max()) + 1, -1), dtype=np.float64)  # type: ignore[arg-type]


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
