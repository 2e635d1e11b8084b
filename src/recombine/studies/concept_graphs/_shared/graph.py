"""The concept graph on paper: a disc for each node, an edge where one concept changes, labels in digits and words.

Digits are in the order of `concepts`: shape, colour, size; the paper's figures print shape, size, colour.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.style import INK, distance_color

Concepts = Mapping[str, tuple[str, ...]]

_AXES = np.array([[1.0, 0.0], [0.0, 1.0], [0.47, 0.36], [2.75, 0.28]])
"""Where one step in each concept leads on paper: right, up, back, and to the next cube."""


def node_label(node: str, concepts: Concepts, between: str = " ") -> str:
    """Digits and words of a class: "011 circle blue small"."""
    return node + between + " ".join(names[int(digit)] for digit, names in zip(node, concepts.values(), strict=True))


def draw_graph(
    axes: Axes,
    accuracy: Mapping[str, float],
    far: Mapping[str, int],
    concepts: Concepts,
    times: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """The concept graph: a disc for each node, filled by accuracy, an edge where one concept changes; below it when it
    emerged in each seed, if times are given.
    """
    many = len(concepts) > 3  # sixteen nodes leave no room for words
    disc, digits, words, drop = (700, 12, 10, -17) if many else (1250, 15, 12, -23)  # sizes
    place = {node: np.array([int(digit) for digit in node]) @ _AXES[: len(node)] for node in accuracy}
    for one, other in combinations(place, 2):
        if sum(abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)) == 1:
            between_cubes = one[:3] == other[:3]
            color, width = ("#E2E2E2", 1.1) if between_cubes else ("#C4C4C4", 1.7)
            axes.plot(*zip(place[one], place[other], strict=True), color=color, linewidth=width, zorder=1)
    shade = matplotlib.colormaps["viridis"]
    for node, (x, y) in place.items():
        value, trained = accuracy[node], far.get(node) == 0
        fill = "#EEEEEE" if np.isnan(value) else shade(value)
        edge, line = ("black", 3) if trained else ("white", 1.5)
        axes.scatter(x, y, s=disc, color=fill, edgecolors=edge, linewidths=line, zorder=3)
        text, color = ("–", INK) if np.isnan(value) else (f"{100 * value:.0f}", "black" if value > 0.55 else "white")
        axes.text(x, y, text, ha="center", va="center", fontsize=digits, weight="bold", color=color, zorder=4)
        note = node if many else node_label(node, concepts, "\n")
        if times is not None:
            note += "\n" + _time_text(times.get(node, []), brief=many)
        axes.annotate(
            note, (x, y), xytext=(0, drop), textcoords="offset points", ha="center", va="top", fontsize=words,
            color=distance_color(far.get(node)), linespacing=1.15, zorder=5,
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6},
        )  # fmt: skip
    axes.margins(0.17, 0.12)
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.22, high)
    axes.set_axis_off()


def add_colorbar(figure: Figure, axes: Axes | NDArray[np.object_]) -> None:
    """The scale of the discs beside these panels."""
    mappable = matplotlib.cm.ScalarMappable(Normalize(0, 1), "viridis")
    bar = figure.colorbar(mappable, ax=axes, shrink=0.6, aspect=28, pad=0.01, ticks=[0, 0.5, 1])
    bar.set_label("product accuracy")
    bar.outline.set_visible(False)


def _time_text(times: Sequence[float], brief: bool) -> str:
    """The median emergence time; how many seeds, unless all of them; where room is scarce, only that none did."""
    reached = sum(np.isfinite(times))
    middle = float(np.median(times)) if times else np.inf
    if brief and not reached:
        return "never"
    share = "" if reached == len(times) else f" ({reached}/{len(times)} seeds)"
    return (f"at {count_text(middle)}" if np.isfinite(middle) else "not reached") + share
