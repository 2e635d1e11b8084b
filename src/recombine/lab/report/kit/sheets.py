"""Sheets of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.style import INK, empty_panel, house_style, put_caption


def tile(images: NDArray[np.uint8], pad: int = 1, background: int = 255) -> NDArray[np.uint8]:
    """A grid of images as one picture, `pad` pixels between them.  # [R, C, H, W, 3] -> [h, w, 3]"""
    if images.ndim != 5 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise ValueError(f"a sheet is uint8 [rows, columns, H, W, 3], not {images.dtype} {images.shape}")
    rows, columns, height, width, _ = images.shape
    step_y, step_x = height + pad, width + pad
    sheet = np.full((rows * step_y + pad, columns * step_x + pad, 3), background, dtype=np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = pad + row * step_y, pad + column * step_x
            sheet[top : top + height, left : left + width] = images[row, column]
    return sheet


def sheet_over_time(samples: Mapping[int, NDArray[np.uint8]], nodes: Sequence[str], seed: int = 0) -> Figure:
    """Samples of each node (rows, labelled as given) at each moment (columns): {images seen: [nodes, k, H, W, 3]}."""
    for seen, images in samples.items():
        if images.shape[0] != len(nodes):
            raise ValueError(f"samples at {seen} have {images.shape[0]} rows for {len(nodes)} nodes")
    rows, columns = max(len(nodes), 1), max(len(samples), 1)
    with house_style():
        layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
        wide = max((images.shape[1] for images in samples.values()), default=0) if columns == 1 else 2
        figure = Figure(figsize=(2.4 + 0.95 * max(wide, 2) * columns, 0.7 + rows), layout=layout)
        panels = figure.subplots(rows, columns, squeeze=False)
        if not samples or not nodes:
            empty_panel(panels[0, 0], "no samples yet")
        for row, label in enumerate(nodes):
            for column, seen in enumerate(sorted(samples)):
                axes = panels[row, column]
                draw_sheet(axes, samples[seen][row][None] if columns == 1 else _fold(samples[seen][row]))
                if row == 0:
                    axes.set_title(count_text(seen), fontsize=14, loc="center")
                if column == 0:
                    axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=13, color=INK)
        put_caption(figure, f"Seed {seed}. Columns: images seen.")
    return figure


def draw_sheet(axes: Axes, images: NDArray[np.uint8]) -> None:
    """Show a grid of images, pixels kept sharp."""
    axes.imshow(tile(images, background=225), interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _fold(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """k images as two rows where that comes out even, else as one.  # [k, H, W, 3] -> [R, C, H, W, 3]"""
    rows = 2 if len(images) > 2 and len(images) % 2 == 0 else 1
    return images.reshape(rows, len(images) // rows, *images.shape[1:])
