"""What models have over the size of what was held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recombine.lab.table import at_end, select

if TYPE_CHECKING:
    import polars as pl

Swept = tuple[list[float], NDArray[np.float64]]
CROSS: dict[str, Any] = {"marker": "x", "markersize": 10, "markeredgewidth": 2.4, "linestyle": "none", "zorder": 4}
"""How the exact score of the nearest-label baseline is marked."""


def levels(table: pl.DataFrame, column: str, **where: Any) -> list[float]:
    """The values of a column, ascending."""
    return sorted(select(table, **where)[column].drop_nulls().unique().to_list())


def swept(table: pl.DataFrame, column: str, instrument: str, among: set[int] | None = None, **where: Any) -> Swept:
    """Values of a column, and what was measured there at the end: seed by value, of these seeds.  # [seeds, values]"""
    found = {level: at_end(table, instrument, **{column: level}, **where) for level in levels(table, column, **where)}
    found = {level: values for level, values in found.items() if values}
    seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
    kept = [seed for seed in seeds if among is None or seed in among]
    return list(found), np.array([[values[seed] for values in found.values()] for seed in kept])
