"""Figs 4 and 5 of Bradley 2026 from tables: maps, curves of words, bars, the profile over blocks, matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch

from recombine.instruments.representations.features import Array
from recombine.lab.report.kit.style import (
    FAINT,
    INK,
    SERIES_COLORS,
    SERIES_DASHES,
    empty_figure,
    empty_panel,
    house_style,
    put_caption,
    seeds_text,
)
from recombine.lab.table import at_end
from recombine.studies.local_scores._shared import sdxl_claims as claims_sdxl
from recombine.studies.local_scores._shared.sdxl import REAL
from recombine.studies.local_scores._shared.sdxl_claims import ARM, LATENT, PIXEL, PROMPT, SIDES, TEXT

Places = Sequence[tuple[str, tuple[float, float]]]  # names, rows and columns as shares

PLACE_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
ESTIMATE_COLORS = {"naive": "#E69F00", "background": "#56B4E9", "halves": "#0072B2"}
WITHIN, BETWEEN = "#0072B2", "#E69F00"
RANDOM = "RANDOM WEIGHTS: this shows what nothing looks like."


def pixels(
    table: pl.DataFrame, places: Places, levels: Sequence[str], words: Sequence[str], apart: Sequence[str]
) -> Figure:
    """A sample with the places; a map for each place and noise level; influence of words over time at two places."""
    with house_style():
        figure = Figure(figsize=(19, 8.4), layout="constrained")
        parts: Any = figure.subfigures(1, 3, width_ratios=(1, 1.25, 1.25))
        left, centre, right = parts
        _sample(left, table, places)
        panels = centre.subplots(len(places), len(levels), squeeze=False)
        for number, (row, (place, _)) in enumerate(zip(panels, places, strict=True)):
            for axes, level in zip(row, levels, strict=True):
                _map(axes, table, f"{place}/{level}")
                if number == 0:
                    axes.set_title(f"{level} noise", loc="center", fontsize=13)
            row[0].set_ylabel(place, color=PLACE_COLORS[number % len(PLACE_COLORS)], fontweight="bold")
        centre.suptitle("gradient of the answer at a place", fontweight="bold", fontsize=14)
        _words(right, table, words, apart)
        put_caption(
            figure, _weights(table, PROMPT),
            "Maps: absolute gradient by latent pixel, seed 0; colours logarithmic, from a thousandth of the largest. "
            "Number: share of it within 1/16 of the side, the pixel itself left out (chance). Curves: change of the "
            "answer at a place when a word is taken out of the prompt. Means over seeds.", _seeds(table),
        )  # fmt: skip
    return figure


def word_maps(table: pl.DataFrame, words: Sequence[str]) -> Figure:
    """Where each word acts, all maps on one scale."""
    maps = {word: _grid(table, claims_sdxl.WORD_MAP, word) for word in words}
    found = {word: grid for word, grid in maps.items() if grid is not None}
    if not found:
        return empty_figure("no map of a word was measured")
    with house_style():
        figure = Figure(figsize=(2.1 * len(found) + 1, 3.4), layout="constrained")
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        top = max(float(grid.max()) for grid in found.values())
        for axes, (word, grid) in zip(panels, found.items(), strict=True):
            image = axes.imshow(grid, cmap="magma", vmin=0, vmax=top, interpolation="nearest")
            axes.set_title(word, loc="center", fontsize=13)
            _bare(axes)
        figure.colorbar(image, ax=list(panels), shrink=0.8, label="change of the answer")
        put_caption(figure, _weights(table, PROMPT), "Mean over the way of the samples; seed 0.")
    return figure


def features(table: pl.DataFrame, concepts: Sequence[str], categories: int) -> Figure:
    """Bars within and between, the profile over blocks, and matrices."""
    with house_style():
        figure = Figure(figsize=(19, 9.2), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.15, 1))
        top, bottom = parts
        bars, ratio, gap = top.subplots(1, 3, width_ratios=(1.15, 1, 1))
        _bars(bars, table)
        _profile(ratio, table, "ratio", "ratio within / between", 1.0)
        _profile(gap, table, "gap", "gap, within less between", 0.0)
        top.legend(*gap.get_legend_handles_labels(), loc="outside upper right", ncols=4)
        nodes = (*SIDES, LATENT, PIXEL, TEXT)
        panels = bottom.subplots(1, len(nodes))
        for axes, node in zip(panels, nodes, strict=True):
            image = _matrix(axes, table, node, concepts, categories)
            axes.set_title({TEXT: "text (input)"}.get(node, node), loc="center")
            if axes is not panels[0]:
                axes.set_yticklabels([])
        if image is not None:
            bottom.colorbar(image, ax=list(panels), shrink=0.75, label="cosine")
        put_caption(
            figure, _weights(table, ARM),
            "Directions of concepts less the background. Bars and matrices: unbiased (halves); white marks: naive. "
            "Down, mid, up: means over the blocks. Dashed: 97.5% of categories dealt at random. Dotted: the text that "
            "the network is told.", _seeds(table),
        )  # fmt: skip
    return figure


def estimates(table: pl.DataFrame) -> Figure:
    """The cosine between categories over the blocks, by three estimates, a panel for each arm."""
    arms = table["arm"].unique(maintain_order=True).to_list()
    with house_style():
        figure = Figure(figsize=(4.4 * len(arms) + 3, 5.2), layout="constrained")
        panels = figure.subplots(1, len(arms), squeeze=False, sharey=True)[0]
        for axes, arm in zip(panels, arms, strict=True):
            for estimate, color in ESTIMATE_COLORS.items():
                _line(axes, _walk(table, arm, f"{estimate}.between"), color, estimate)
            axes.axhline(0, color=FAINT, linestyle=":", linewidth=1.5, zorder=1)
            axes.set(title=arm, xlabel="transformer block, down to up")
        panels[0].set(ylabel="cosine between categories", ylim=(-1.05, 1.05))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        put_caption(
            figure, _weights(table, ARM),
            "Naive: where prompts have noise of their own, that of the common background draws it to 1/2. Background: "
            "split in halves; noise in the lengths still draws it to 0, and where prompts share their noise it falls "
            "off the scale. Halves: right in both cases.", _seeds(table),
        )  # fmt: skip
    return figure


def _sample(place: SubFigure, table: pl.DataFrame, places: Places) -> None:
    axes = place.subplots()
    packed = _grid(table, claims_sdxl.IMAGE, "all")
    if packed is None:
        return empty_panel(axes, "no sample was kept")
    colours = np.stack([packed // 65536, packed // 256 % 256, packed % 256], -1).astype(np.uint8)
    axes.imshow(colours, interpolation="nearest")
    height, width = packed.shape
    for number, (name, (row, column)) in enumerate(places):
        color = PLACE_COLORS[number % len(PLACE_COLORS)]
        spot = (column * width - 0.5, row * height - 0.5)
        axes.plot(*spot, "o", markersize=15, markerfacecolor=color, markeredgecolor="white", markeredgewidth=2)
        axes.annotate(
            name, spot, xytext=(0, 13), textcoords="offset points", ha="center", color="white", fontweight="bold",
            bbox={"facecolor": color, "edgecolor": "none", "boxstyle": "round,pad=0.2"},
        )  # fmt: skip
    axes.set_title("a sample, and the places")
    _bare(axes)
    return None


def _map(axes: Axes, table: pl.DataFrame, node: str) -> None:
    grid = _grid(table, claims_sdxl.MAP, node)
    if grid is None:
        return empty_panel(axes, "not measured")
    axes.imshow(np.log10(grid.clip(1e-3)), cmap="magma", vmin=-3, vmax=0, interpolation="nearest")
    readings = (at_end(table, name, PROMPT, [node]) for name in (claims_sdxl.NEAR, claims_sdxl.NEAR_CHANCE))
    near, chance = (np.mean(list(found.values())) for found in readings)
    axes.set_xlabel(f"{near:.2f} ({chance:.2f})", fontsize=11)
    _bare(axes)
    return None


def _words(place: SubFigure, table: pl.DataFrame, words: Sequence[str], apart: Sequence[str]) -> None:
    panels = place.subplots(len(apart), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    chosen = table.filter(pl.col("instrument") == claims_sdxl.WORD).drop_nulls("value")
    means = chosen.group_by("node", "images_seen").agg(pl.col("value").mean()).sort("images_seen")
    for axes, spot in zip(panels, apart, strict=True):
        for number, word in enumerate(words):
            curve = means.filter(pl.col("node") == f"{spot}/{word}")
            color, dashes = SERIES_COLORS[number % len(SERIES_COLORS)], SERIES_DASHES[number // len(SERIES_COLORS)]
            axes.plot(
                curve["images_seen"].to_numpy(), curve["value"].to_numpy(), color=color, linestyle=dashes,
                linewidth=2.4, label=word,
            )  # fmt: skip
        axes.set(title=f"words at '{spot}'", ylabel="change of the answer", yscale="log")
    panels[-1].invert_xaxis()  # the way of a sample: from noise to image
    panels[-1].set_xlabel("step of the schedule, from noise to image")
    panels[0].legend(ncols=2, fontsize=11)


def _bars(axes: Axes, table: pl.DataFrame) -> None:
    nodes = (*SIDES, LATENT, PIXEL, TEXT)
    for offset, name, color in ((-0.2, "within", WITHIN), (0.2, "between", BETWEEN)):
        for place, node in enumerate(nodes):
            values = _of_node(table, f"halves.{name}", node)
            if len(values):
                axes.bar(place + offset, values.mean(), 0.38, color=color)
                axes.plot(np.full(len(values), place + offset), values, "o", color=INK, markersize=3, alpha=0.6)
            naive = _of_node(table, f"naive.{name}", node)
            if len(naive):
                axes.plot(place + offset, naive.mean(), "D", color="white", markeredgecolor=INK, markersize=6)
    axes.axhline(0, color=INK, linewidth=1)
    axes.set_xticks(range(len(nodes)), [{TEXT: "text\n(input)"}.get(node, node) for node in nodes])
    axes.set(ylabel="mean cosine", title="within and between categories")
    axes.margins(y=0.15)
    axes.legend(handles=[Patch(color=WITHIN, label="within"), Patch(color=BETWEEN, label="between")], ncols=2)


def _profile(axes: Axes, table: pl.DataFrame, what: str, label: str, chance: float) -> None:
    for estimate in ("naive", "halves"):
        _line(axes, _walk(table, ARM, f"{estimate}.{what}"), ESTIMATE_COLORS[estimate], estimate)
    if what == "gap":
        limit = _walk(table, ARM, "halves.gap.chance")
        axes.plot(
            limit[0],
            limit[1].mean(0) if len(limit[1]) else [],
            color=FAINT,
            linestyle="--",
            label="categories at random",
        )
    text = _of_node(table, f"halves.{what}", TEXT)
    if len(text):
        axes.axhline(text.mean(), color=INK, linestyle=":", linewidth=1.5, label="text (input)")
    axes.axhline(chance, color=FAINT, linewidth=1, zorder=1)
    names = _blocks(table, ARM)
    for side in SIDES:
        own = [number for number, name in enumerate(names) if name.startswith(f"{side}_")]
        if own:
            axes.axvspan(own[0] - 0.5, own[-1] + 0.5, color=FAINT, alpha=0.16 if side == "mid" else 0.0, linewidth=0)
            axes.text(
                sum(own) / len(own), 1.0, side, transform=axes.get_xaxis_transform(), ha="center", va="top", color=FAINT
            )
    axes.set(xlabel="transformer block, down to up", title=label)


def _matrix(axes: Axes, table: pl.DataFrame, node: str, concepts: Sequence[str], categories: int) -> object:
    chosen = table.filter((pl.col("arm") == ARM) & (pl.col("node") == node) & (pl.col("instrument") == "halves.matrix"))
    mean = chosen.group_by("images_seen").agg(pl.col("value").mean()).sort("images_seen")["value"].to_numpy()
    if len(mean) != len(concepts) ** 2:
        empty_panel(axes, "not measured")
        return None
    image = axes.imshow(mean.reshape(len(concepts), -1).astype(float), cmap="RdBu_r", vmin=-1, vmax=1)
    each = len(concepts) // categories
    for edge in range(each, len(concepts), each):
        axes.axhline(edge - 0.5, color=INK, linewidth=1)
        axes.axvline(edge - 0.5, color=INK, linewidth=1)
    axes.set_xticks(range(len(concepts)), concepts, rotation=60, ha="right", fontsize=10)
    axes.set_yticks(range(len(concepts)), concepts, fontsize=10)
    axes.grid(False)
    return image


def _line(axes: Axes, walk: tuple[Array, Array], color: str, label: str) -> None:
    place, values = walk
    if not len(values):
        return
    axes.plot(place, np.nanmean(values, 0), color=color, linewidth=2.6, label=label)
    for one in values if len(values) > 1 else ():
        axes.plot(place, one, color=color, linewidth=0.8, alpha=0.35)


def _walk(table: pl.DataFrame, arm: str, instrument: str) -> tuple[Array, Array]:
    """The number of each block, and what it reads, NaN where there is nothing.  # [blocks], [seeds, blocks]"""
    names, found = _blocks(table, arm), claims_sdxl.readings(table, arm, instrument)
    values = np.array([[found[seed].get(name, np.nan) for name in names] for seed in sorted(found)])
    kept = np.isfinite(values).any(0) if len(values) else np.zeros(len(names), dtype=bool)
    return np.arange(len(names))[kept].astype(float), values[:, kept] if len(values) else np.zeros((0, 0))


def _blocks(table: pl.DataFrame, arm: str) -> list[str]:
    """The blocks of the network in the order of the walk."""
    chosen = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == "naive.between"))
    order = chosen.select("node", "images_seen").unique().sort("images_seen")["node"].to_list()
    return [str(node) for node in order if node.split("_")[0] in SIDES]


def _of_node(table: pl.DataFrame, instrument: str, node: str) -> Array:
    """What a node reads in each seed; of a side, the mean over its blocks."""
    found = claims_sdxl.readings(table, ARM, instrument)
    if node in SIDES:
        sides = [[value for name, value in seed.items() if name.startswith(f"{node}_")] for seed in found.values()]
        return np.array([np.mean(values) for values in sides if values])
    return np.array([seed[node] for seed in found.values() if node in seed])


def _grid(table: pl.DataFrame, instrument: str, node: str) -> Array | None:
    """A map of the first seed, as it was kept row by row."""
    chosen = table.filter((pl.col("instrument") == instrument) & (pl.col("node") == node)).sort("seed", "images_seen")
    if not len(chosen):
        return None
    values = chosen.filter(pl.col("seed") == chosen["seed"][0])["value"].to_numpy()
    side = round(len(values) ** 0.5)
    return np.asarray(values.reshape(side, -1), dtype=np.float64)


def _bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.grid(False)


def _weights(table: pl.DataFrame, arm: str) -> str:
    return RANDOM if min(at_end(table, REAL, arm, ["all"]).values(), default=1) < 1 else ""


def _seeds(table: pl.DataFrame) -> str:
    return f"{seeds_text(table['seed'].n_unique())}."
