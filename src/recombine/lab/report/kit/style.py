"""The house style of every figure, and how figures are saved: without pyplot, and the same table gives the same bytes.

Colours are Okabe and Ito's, which stay apart for colour-blind readers; a concept distance always has its own.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.files import write_whole

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
_PATH, _DIGITS = re.compile(rb' d="[^"]*"'), re.compile(rb"(\.\d\d)\d+")
INK, FAINT = "#222222", "#9A9A9A"

STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "font.family": "DejaVu Sans",  # shipped with matplotlib, so the same on every machine
    "font.size": 15,
    "axes.titlesize": 16,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 15,
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
    "legend.fontsize": 14,
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


def figure_bytes(figure: Figure, kind: str, dpi: int | None = None) -> bytes:
    """The figure as a PNG or SVG file without a date; the paths of an SVG to a hundredth of a point."""
    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    with house_style():
        figure.savefig(buffer, format=kind, metadata=metadata, dpi=dpi or STYLE["savefig.dpi"])
    if kind == "png":
        return buffer.getvalue()
    return _PATH.sub(lambda path: _DIGITS.sub(rb"\1", path.group()), buffer.getvalue())


def distance_color(distance: int | None) -> str:
    """The fixed colour of a concept distance; grey where there is none."""
    return FAINT if distance is None else DISTANCE_COLORS[min(distance, len(DISTANCE_COLORS) - 1)]


def seeds_text(n: int) -> str:
    """ "n = 1 seed", "n = 5 seeds"."""
    return f"n = {n} seed" if n == 1 else f"n = {n} seeds"


def put_caption(figure: Figure, *sentences: str) -> None:
    """Text under the figure, wrapped to its width."""
    columns = int(figure.get_size_inches()[0] * 11)
    text = textwrap.fill(" ".join(sentence for sentence in sentences if sentence), columns)
    figure.supxlabel(text, fontsize=12, color="#555555", x=0.01, ha="left", linespacing=1.4)


def empty_figure(reason: str) -> Figure:
    """A figure that says why it is empty."""
    with house_style():
        figure = Figure(figsize=(8, 4), layout="constrained")
        empty_panel(figure.subplots(), reason)
    return figure


def empty_panel(axes: Axes, reason: str) -> None:
    """A panel that says why it is empty."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, textwrap.fill(reason, 34), transform=axes.transAxes, ha="center", va="center", color="#777777")
