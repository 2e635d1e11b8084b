"""The house style of every figure, and the pieces figures are built from: curves with bands, axes, sheets of samples.

Figures are made without pyplot, so nothing global is left behind, and saved so that the same table gives the same
bytes. Colours are Okabe and Ito's, which stay apart for colour-blind readers; a concept distance always has its own.
"""

import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from recombine.files import write_whole
from recombine.lab.claims import mean_intervals
from recombine.lab.table import Curve

DISTANCE_COLORS = ("#4D4D4D", "#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Distance 0 (trained), 1, 2, 3, 4."""
SERIES_COLORS = ("#CC79A7", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00")
"""For what is not a distance: concepts, measures, arms."""
SERIES_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (3, 3)),
)
INK, FAINT = "#222222", "#9A9A9A"

Band = Literal["min-max", "interval"]

STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "font.family": "DejaVu Sans",  # shipped with matplotlib, so the same on every machine
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 13,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 12,
    "svg.fonttype": "path",
    "svg.hashsalt": "recombine",
    "savefig.dpi": 130,
}

# A reader's own matplotlibrc must not change a figure; the backend is left alone, figures bring their own canvas.
_DEFAULTS: dict[str, Any] = {
    str(key): value for key, value in matplotlib.rcParamsDefault.items() if not str(key).startswith("backend")
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this: the style holds for the figures made within and nowhere else."""
    style: Any = _DEFAULTS | STYLE
    with matplotlib.rc_context(style):
        yield


def save_figure(figure: Figure, path_without_suffix: Path) -> list[Path]:
    """Write PNG (130 dpi) and SVG, each whole or not at all, with no date inside: same figure, same bytes."""
    paths = [path_without_suffix.with_name(f"{path_without_suffix.name}.{kind}") for kind in ("png", "svg")]
    for path in paths:
        write_whole(path, figure_bytes(figure, path.suffix[1:]))
    return paths


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """The figure as a PNG or SVG file without a date."""
    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    with house_style():
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def distance_color(distance: int | None) -> str:
    """The fixed colour of a concept distance; grey where there is none."""
    return FAINT if distance is None else DISTANCE_COLORS[min(distance, len(DISTANCE_COLORS) - 1)]


def mean_and_band(curves: Sequence[Curve], band: Band) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Mean, lower and upper edge over seeds, where every seed was measured.  # [moments], [3, moments]

    A seed that is still running shortens the mean rather than making it jump.
    """
    if not curves:
        return np.zeros(0, dtype=np.int64), np.zeros((3, 0))
    seen = curves[0][0]
    for other, _ in curves[1:]:
        seen = np.intersect1d(seen, other)
    values = np.stack([value[np.searchsorted(at, seen)] for at, value in curves])  # [seeds, moments]
    mean = values.mean(axis=0)
    if band == "min-max":
        return seen, np.stack([mean, values.min(axis=0), values.max(axis=0)])
    edges = mean_intervals(values) if len(values) > 1 else (mean, mean)
    return seen, np.stack([mean, *edges])


def draw_mean(
    axes: Axes,
    curves: Sequence[Curve],
    color: str,
    label: str | None = None,
    band: Band = "interval",
    dashes: Any = "-",
    width: float = 3.0,
    thin: bool = True,
    opacity: float = 0.16,
) -> None:
    """Thin lines for the seeds, a thick line for their mean, a band as `band_caption` states it."""
    seen, (mean, low, high) = mean_and_band(curves, band)
    if len(curves) > 1:
        axes.fill_between(seen, low, high, color=color, alpha=opacity, linewidth=0, zorder=2)
        if thin:
            for at, value in curves:
                axes.plot(at, value, color=color, linewidth=0.8, alpha=0.35, zorder=2.5)
    axes.plot(seen, mean, color=color, linewidth=width, linestyle=dashes, label=label, zorder=3)


def draw_series(
    axes: Axes,
    series: Mapping[str, Sequence[Curve]],
    chance: float | None = None,
    colors: Sequence[str] = SERIES_COLORS,
    place: Literal["best", "lower right"] | None = "best",
) -> None:
    """Several named sets of curves over images seen, each with its colour and dashes; what was not measured is said.

    The legend is at `place`, or left to the caller.
    """
    present = {name: curves for name, curves in series.items() if curves}
    if not present:
        return empty_panel(axes, f"not measured: {', '.join(series)}")
    for position, (name, curves) in enumerate(series.items()):
        if curves:
            color, dashes = colors[position % len(colors)], SERIES_DASHES[position % len(SERIES_DASHES)]
            draw_mean(axes, curves, color, name, dashes=dashes)
        else:
            axes.plot([], [], alpha=0, label=f"(not measured: {name})")
    at = np.concatenate([seen for curves in present.values() for seen, _ in curves])
    at = at[at > 0]
    images_axis(axes, *((float(at.min()), float(at.max())) if len(at) else (None, None)))
    accuracy_axis(axes, chance=chance)
    if place is not None:
        axes.legend(loc=place, handlelength=3.2)
    return None


def seeds_text(n: int) -> str:
    """ "n = 1 seed", "n = 5 seeds"."""
    return f"n = {n} seed" if n == 1 else f"n = {n} seeds"


def one_legend(figure: Figure, axes: Axes) -> None:
    """The legend of one panel above all of them, where every panel shows the same series."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), handlelength=3.2)


def empty_figure(reason: str) -> Figure:
    """A figure that says why it is empty."""
    with house_style():
        figure = Figure(figsize=(8, 4), layout="constrained")
        empty_panel(figure.subplots(), reason)
    return figure


def band_caption(n: int, band: Band = "interval") -> str:
    """What lines and bands mean, over n seeds."""
    if n < 2:
        return f"n = {n} seed: one curve, no band."
    what = "95% interval of the mean" if band == "interval" else "smallest to largest seed"
    return f"Thin lines: seeds. Thick line: their mean. Band: {what}. n = {n} seeds."


def images_axis(axes: Axes, start: float | None = None, end: float | None = None) -> None:
    """A logarithmic x axis of images seen, with ticks like 10k and 1M; what was measured at 0 images is left out."""
    axes.set_xscale("log", nonpositive="mask")
    narrow = bool(start and end and end < 50 * start)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("images seen")
    if start and end and start < end:
        axes.set_xlim(start, end)


def accuracy_axis(axes: Axes, label: str = "accuracy", chance: float | None = None, under: bool = False) -> None:
    """A y axis from 0 to 1, with the level of guessing as a dotted line, its name over it or under it."""
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    axes.set_ylabel(label)
    if chance is not None:
        axes.axhline(chance, color=FAINT, linestyle=":", linewidth=1.5, zorder=1)
        axes.annotate(
            "chance",
            (0.995, chance),
            xycoords=("axes fraction", "data"),
            xytext=(0, -3 if under else 2),
            textcoords="offset points",
            color=FAINT,
            fontsize=10,
            ha="right",
            va="top" if under else "baseline",
        )


def count_text(number: float) -> str:
    """100 -> "100", 25600 -> "25.6k", 1500000 -> "1.5M"."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def put_caption(figure: Figure, *sentences: str) -> None:
    """Text under the figure, wrapped to its width."""
    columns = int(figure.get_size_inches()[0] * 13)
    text = textwrap.fill(" ".join(sentence for sentence in sentences if sentence), columns)
    figure.supxlabel(text, fontsize=10.5, color="#555555", x=0.01, ha="left", linespacing=1.4)


def empty_panel(axes: Axes, reason: str) -> None:
    """A panel that says why it is empty."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, textwrap.fill(reason, 34), transform=axes.transAxes, ha="center", va="center", color="#777777")


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


def sheet_over_time(samples: Mapping[int, NDArray[np.uint8]], nodes: Sequence[str]) -> Figure:
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
                    axes.set_title(count_text(seen), fontsize=12, loc="center")
                if column == 0:
                    axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=11, color=INK)
        put_caption(figure, "Columns: images seen.")
    return figure


def draw_sheet(axes: Axes, images: NDArray[np.uint8]) -> None:
    """Show a grid of images, pixels kept sharp."""
    axes.imshow(tile(images, background=225), interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def end_labels(axes: Axes, ends: Mapping[str, tuple[float, str]], gap: float = 0.062) -> None:
    """Name curves at their right end, {text: (y, colour)}, pushed apart so that no two names overlap."""
    if not ends:
        return
    placed: list[tuple[str, float]] = []
    first_on_top = reversed(list(ends.items()))  # among ends that are nearly level, the order given decides
    for text, (y, _) in sorted(first_on_top, key=lambda item: round(item[1][0], 1)):
        placed.append((text, max(y, placed[-1][1] + gap) if placed else y))
    excess = max(0.0, placed[-1][1] - 1.02)
    for position in range(len(placed) - 1, -1, -1):  # push the pile back down under the top of the axis
        ceiling = placed[position + 1][1] - gap if position + 1 < len(placed) else placed[position][1] - excess
        placed[position] = (placed[position][0], min(placed[position][1], ceiling))
    across = axes.get_yaxis_transform()
    for text, y in placed:
        end, color = ends[text]
        axes.plot([1.005, 1.035], [end, y], transform=across, color=color, linewidth=0.8, alpha=0.6, clip_on=False)
        axes.text(1.045, y, text, transform=across, color=color, fontsize=11, va="center")


def _fold(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """k images as two rows where that comes out even, else as one.  # [k, H, W, 3] -> [R, C, H, W, 3]"""
    rows = 2 if len(images) > 2 and len(images) % 2 == 0 else 1
    return images.reshape(rows, len(images) // rows, *images.shape[1:])
