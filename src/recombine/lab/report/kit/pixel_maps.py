"""What one pixel of a scene depends on, model by model, over noise (Bradley 2026, Fig 2 left)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from recombine.lab.report.kit.style import house_style, put_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recombine.instruments.locality.maps import PixelMap

LEAST = 1e-3  # of the largest gradient of a map: darkest
FRAME = "#7fdfff"


def pixel_maps(maps: Mapping[str, PixelMap], frames: Mapping[str, tuple[int, int]], words: str = "") -> Figure:
    """Models down; a sample, then its map at every noise level. `frames`: pixels of a cell, radius in cells."""
    levels = next(iter(maps.values())).sigma.tolist()
    with house_style():
        figure = Figure(figsize=(2.5 + 2.55 * (1 + len(levels)), 0.9 + 2.5 * len(maps)), layout="constrained")
        panels = figure.subplots(len(maps), 1 + len(levels), squeeze=False)
        for line, (name, found) in zip(panels, maps.items(), strict=True):
            line[0].imshow(((found.drawn.movedim(0, -1) + 1) / 2).clamp(0, 1).numpy(), interpolation="nearest")
            _mark(line[0], found, np.ones(len(found.places)))
            line[0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=10)
            strongest = max(float(found.influence.max()), 1e-12)
            for axes, heat, influence in zip(line[1:], found.heat.numpy(), found.influence.numpy(), strict=True):
                shown = (heat / max(heat.max(), 1e-12)).clip(LEAST)
                axes.imshow(shown, cmap="magma", norm=LogNorm(LEAST, 1), interpolation="nearest")
                axes.add_patch(_frame(found, *frames[name]))
                _mark(axes, found, influence / strongest)
                shares = influence / max(influence.sum(), 1e-12)
                axes.set_xlabel("  ".join(f"{share:.2f}" for share in shares), fontsize=10)
        for axes, title in zip(panels[0], ["sample", *(f"sigma = {sigma:.2g}" for sigma in levels)], strict=True):
            axes.set_title(title, loc="center", fontsize=13)
        for axes in panels.flat:
            axes.set(xticks=[], yticks=[])
            axes.grid(False)
        put_caption(
            figure,
            "Four labels, in the layout of several where they are farthest from each other. Colour: the gradient of "
            "the denoised image at the ringed pixel to every pixel, logarithmic, from a thousandth of its largest "
            "value (black) to that (white); mean over noises. Crosses: labels, the brighter the more the pixel changes "
            "when they are removed; below, each one's share of that, the pixel's own label first. Frame: the receptive "
            "field of 2L and 3L.",
            words,
        )
    return figure


def _mark(axes: Axes, found: PixelMap, strength: np.ndarray) -> None:
    """The pixel and the labels."""
    row, column = found.pixel.tolist()
    axes.plot(column, row, "o", markersize=13, markerfacecolor="none", markeredgecolor="white", markeredgewidth=1.6)
    for (x, y), share in zip(found.places.tolist(), strength, strict=True):
        spot, bright = (x - 0.5, y - 0.5), float(0.15 + 0.85 * share)
        axes.plot(*spot, "x", color="black", markersize=8, markeredgewidth=3.4, alpha=0.5)
        axes.plot(*spot, "x", color="white", markersize=8, markeredgewidth=1.9, alpha=bright)


def _frame(found: PixelMap, cell: int, radius: int) -> Rectangle:
    row, column = ((found.pixel // cell - radius) * cell).tolist()
    side = (2 * radius + 1) * cell
    return Rectangle((column - 0.5, row - 0.5), side, side, fill=False, edgecolor=FRAME, linewidth=1.2)
