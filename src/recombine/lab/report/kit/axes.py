"""Axes of figures: images seen, accuracy, legends, names at the ends of curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from recombine.lab.report.kit.style import FAINT


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


def one_legend(on: Figure | Axes, axes: Axes, **how: Any) -> None:
    """The legend of one panel, above all of them where every panel shows the same series; each name once."""
    handles, labels = axes.get_legend_handles_labels()
    names = dict(zip(labels, handles, strict=True))
    above = {} if on is axes else {"loc": "outside upper center", "ncols": len(names), "handlelength": 3.2}
    if names:
        on.legend(list(names.values()), list(names), **{**above, **how})


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
