"""A map of places in a block of a network, drawn as the grid that it is bent from (Liang et al. 2024, Fig. 15)."""

from typing import Any

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import NDArray

from recombine.instruments.representations.learned_maps import MAP
from recombine.lab.report.kit.style import empty_panel
from recombine.lab.table import select

OUTSIDE = 0.03  # of the places along an axis: one far away would shrink all others
Places = dict[tuple[float, float], NDArray[np.float64]]
"""(x, y) in pixels -> coordinates."""


def places_of(table: pl.DataFrame, **where: Any) -> Places:
    """The first two coordinates of every place of one run; none if it was not measured."""
    rows = select(table, MAP, coordinate=[1, 2], **where).sort("x", "y", "coordinate")
    found: dict[tuple[float, float], list[float]] = {}
    for x, y, value in rows.select("x", "y", "value").iter_rows():
        found.setdefault((x, y), []).append(value)
    return {place: np.array(coordinates) for place, coordinates in found.items()}


def draw_map(axes: Axes, places: Places, held_out: tuple[float, float] | None = None) -> None:
    """Lines from each place to the next in x and in y, coloured by x; dots are places between `held_out` in x."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    if not places:
        return empty_panel(axes, "no map")
    columns, rows = (sorted({place[axis] for place in places}) for axis in (0, 1))
    shade = matplotlib.colormaps["viridis"]
    lines, colors = [], []
    for x, y in places:
        for axis, line in ((0, columns), (1, rows)):
            after = line.index((x, y)[axis]) + 1
            if after < len(line):
                other = (line[after], y) if axis == 0 else (x, line[after])
                if other in places:
                    lines.append([places[x, y], places[other]])
                    colors.append(shade((x - columns[0]) / max(columns[-1] - columns[0], 1e-9)))
    axes.add_collection(LineCollection(lines, colors=colors, linewidths=0.9))
    points = np.array(list(places.values()))
    axes.plot(*points.T, ".", color="#333333", markersize=1.2)
    if held_out is not None:
        inside = [point for (x, _), point in places.items() if held_out[0] < x < held_out[1]]
        if inside:
            axes.plot(*np.array(inside).T, ".", color="#D55E00", markersize=6)
    low, high = np.quantile(points, (OUTSIDE / 2, 1 - OUTSIDE / 2), axis=0)
    spare = np.maximum(high - low, 1e-9) * 0.06
    axes.set(xlim=(low[0] - spare[0], high[0] + spare[0]), ylim=(low[1] - spare[1], high[1] + spare[1]))
    return None
