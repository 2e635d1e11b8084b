"""Series that are an order and not a set of names: their shades; and legends of any marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

Level = TypeVar("Level", int, float)


def shades(
    levels: Sequence[Level], colormap: str = "plasma", ends: tuple[float, float] = (0.02, 0.88)
) -> dict[Level, str]:
    """A colour for each level, from one end of the colour map to the other."""
    found = matplotlib.colormaps[colormap](np.linspace(*ends, max(len(levels), 2)))
    return {level: to_hex(shade) for level, shade in zip(levels, found, strict=False)}


def put_legend(on: Figure | Axes, marks: Mapping[str, Mapping[str, Any]], **how: Any) -> None:
    """A legend of marks, {name: how a line is drawn}: in one row above a figure, or as asked for."""
    handles = [Line2D([], [], label=name, **mark) for name, mark in marks.items()]
    above: dict[str, Any] = {"loc": "outside upper center", "ncols": len(handles)} if isinstance(on, Figure) else {}
    if handles:
        on.legend(handles=handles, **{**above, **how})
