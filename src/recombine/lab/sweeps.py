"""What was measured over the values of a column: an array of seed by value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recombine.lab.table import Table, at_ends, select

Swept = tuple[list[float], NDArray[np.float64]]


def levels(table: Table, column: str, **where: Any) -> list[float]:
    """The values of a column, ascending."""
    return sorted(select(table, **where)[column].drop_nulls().unique().to_list())


def swept(table: Table, column: str, instrument: str, among: set[int] | None = None, **where: Any) -> Swept:
    """Values of a column, and what was measured there at the end: seed by value, of these seeds.  # [seeds, values]"""
    found = at_ends(table, instrument, column, **where)
    seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
    kept = [seed for seed in seeds if among is None or seed in among]
    return list(found), np.array([[values[seed] for values in found.values()] for seed in kept])
