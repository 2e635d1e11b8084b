"""Fig 5 of Bradley 2026 from tables: bars, profiles over blocks, matrices, and what the estimates differ by."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.instruments.representations.features import ESTIMATES
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import (
    FAINT,
    INK,
    SERIES_COLORS,
    SERIES_DASHES,
    empty_panel,
    house_style,
    put_caption,
)
from recombine.lab.rules import mean
from recombine.lab.table import Curve, at_end, curves, select
from recombine.runs.sdxl_features import (
    ARM,
    LATENT,
    PIXEL,
    SIDES,
    TEXT,
    FeaturesConfig,
)
from recombine.studies.local_scores.sdxl.trained_weights import weights_text

ESTIMATE_COLORS = dict(zip(ESTIMATES, ("#E69F00", "#56B4E9", "#0072B2"), strict=True))
WITHIN, BETWEEN = "#0072B2", "#E69F00"
LAYERS = (*SIDES, LATENT, PIXEL, TEXT)


def draw(table: pl.DataFrame, config: FeaturesConfig) -> dict[str, Drawing]:
    """Fig 5 for the main assumption; matrices of some concepts; all arms by three estimates."""
    return {
        "figure": Drawing(
            _profiles(table),
            "Directions of concepts minus the background. Left: mean cosine within and between categories, unbiased "
            "(halves); down, mid, up: means over blocks. Centre and right: ratio and difference of the two, block by "
            "block. Dashed: 97.5% of random assignments to categories. Dotted: the text embedding of the prompts.",
        ),
        "matrices": Drawing(
            _matrices(table, config), "Cosines of some concepts, unbiased (halves), mean over blocks and seeds."
        ),
        "estimates": Drawing(
            _estimates(table),
            "The cosine between categories by three estimates, a curve for each assumption. Where prompts do not share "
            "their noise, naive is biased towards 1/2 by the noise of the background, and background (split in halves) "
            "towards 0 by that of the lengths; where they share it, background falls off the scale. Halves: unbiased.",
        ),
    }


def _profiles(table: pl.DataFrame) -> Figure:
    with new_figure(18, 6.4, 1, 3, share_y=False) as (figure, [(bars, ratio, gap)]):
        series = {"within": WITHIN, "between": BETWEEN}
        draw_bars(bars, {layer: {name: _values(table, name, layer) for name in series} for layer in LAYERS}, series)
        bars.axhline(0, color=INK, linewidth=1)
        bars.set(ylabel="mean cosine", title="within and between categories")
        bars.legend()
        _profile(ratio, table, "ratio", "within / between", 1.0)
        _profile(gap, table, "gap", "within - between", 0.0)
        if gap.get_legend_handles_labels()[0]:
            gap.legend()
        put_caption(figure, weights_text(table), band_caption(table["seed"].n_unique()))
    return figure


def _profile(axes: Axes, table: pl.DataFrame, what: str, label: str, chance: float) -> None:
    for estimate in ("naive", "halves"):
        if found := _over_blocks(table, ARM, what, estimate):
            draw_mean(axes, found, ESTIMATE_COLORS[estimate], estimate, width=2.6)
    if limit := _over_blocks(table, ARM, f"{what}.chance", "halves"):
        draw_mean(axes, limit, FAINT, "random categories", dashes="--", thin=False)
    if text := _values(table, what, TEXT):
        axes.axhline(float(np.mean(text)), color=INK, linestyle=":", linewidth=1.8, label="text embedding")
    axes.axhline(chance, color=FAINT, linewidth=1, zorder=1)
    blocks = select(table, "between", estimate="naive", arm=ARM).drop_nulls("side")
    for side in SIDES:
        depths = blocks.filter(pl.col("side") == side)["depth"].to_numpy()
        if len(depths):
            alpha = 0.16 if side == "mid" else 0.0
            axes.axvspan(depths.min() - 0.5, depths.max() + 0.5, color=FAINT, alpha=alpha, linewidth=0)
            axes.text(
                depths.mean(), 1.0, side, transform=axes.get_xaxis_transform(), ha="center", va="top", color=FAINT
            )
    middle = at_end(table, what, estimate="halves", side="mid", arm=ARM)
    axes.set(xlabel="transformer block", title=f"{label}: {mean(middle):.2f} in the middle" if middle else label)


def _matrices(table: pl.DataFrame, config: FeaturesConfig) -> Figure:
    """A sheet of matrices, layer by layer."""
    image: Any = None
    with house_style():
        figure = Figure(figsize=(17, 11), layout="constrained")
        panels = figure.subplots(2, 3)
        for axes, layer in zip(panels.flat, LAYERS, strict=True):
            found = _matrix(axes, table, layer, config)
            image = found or image
            axes.set_title({TEXT: "text embedding"}.get(layer, layer), loc="center")
            if axes not in panels[:, 0]:
                axes.set_yticklabels([])
        if image is not None:
            figure.colorbar(image, ax=list(panels.flat), shrink=0.75, label="cosine")
        put_caption(figure, weights_text(table))
    return figure


def _matrix(axes: Axes, table: pl.DataFrame, layer: str, config: FeaturesConfig) -> Any:
    concepts, each = config.representatives, config.shown
    rows = select(table, "matrix", estimate="halves", layer=layer, arm=ARM)
    means = rows.group_by("row", "column").agg(pl.col("value").mean()).sort("row", "column")["value"].to_numpy()
    if len(means) != len(concepts) ** 2:
        return empty_panel(axes, "not measured")
    image = axes.imshow(means.reshape(len(concepts), -1).astype(float), cmap="RdBu_r", vmin=-1, vmax=1)
    for edge in range(each, len(concepts), each):
        axes.axhline(edge - 0.5, color=INK, linewidth=1)
        axes.axvline(edge - 0.5, color=INK, linewidth=1)
    axes.set_xticks(range(len(concepts)), concepts, rotation=60, ha="right", fontsize=13)
    axes.set_yticks(range(len(concepts)), concepts, fontsize=13)
    axes.grid(False)
    return image


def _estimates(table: pl.DataFrame) -> Figure:
    arms = table["arm"].unique(maintain_order=True).to_list()
    with new_figure(17, 6.2, 1, len(ESTIMATES)) as (figure, [panels]):
        for axes, estimate in zip(panels, ESTIMATES, strict=True):
            for number, arm in enumerate(arms):
                if found := _over_blocks(table, arm, "between", estimate):
                    color = SERIES_COLORS[number % len(SERIES_COLORS)]
                    draw_mean(axes, found, color, arm, dashes=SERIES_DASHES[number % len(SERIES_DASHES)])
            axes.axhline(0, color=FAINT, linestyle=":", linewidth=1.5, zorder=1)
            axes.set(title=estimate, xlabel="transformer block", ylim=(-1.05, 1.05))
        panels[0].set_ylabel("cosine between categories")
        one_legend(figure, panels[0])
        put_caption(figure, weights_text(table), band_caption(table["seed"].n_unique()))
    return figure


def _over_blocks(table: pl.DataFrame, arm: str, instrument: str, estimate: str) -> list[Curve]:
    """A curve over the blocks of the network for each seed."""
    blocks = table.drop_nulls("side")
    return list(curves(blocks, instrument, over="depth", estimate=estimate, arm=arm).values())


def _values(table: pl.DataFrame, instrument: str, layer: str) -> list[float]:
    """What each seed has in a layer; of a side, the mean over its blocks."""
    where = {"side" if layer in SIDES else "layer": layer}
    return list(at_end(table, instrument, estimate="halves", arm=ARM, **where).values())
