"""What claims on exact dynamics ask a table: numbers of starts, shares of them, and what each start did."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import NotMeasured
from recombine.lab.shares import Share
from recombine.lab.table import Table, select


def values(table: Table, instrument: str, **where: Any) -> NDArray[np.float64]:
    """All numbers of an instrument in the order of the table; what was never reached is left out."""
    return select(table, instrument, **where)["value"].drop_nulls().to_numpy()


def per_start(table: Table, instrument: str, **where: Any) -> NDArray[np.float64]:
    """What an instrument measured on each start, NaN where there was nothing to measure.  # [n]"""
    import polars as pl

    found = select(table, instrument, **where).filter(pl.col("start").is_not_null()).sort("seed", "start")
    return found["value"].fill_null(np.nan).to_numpy()


def single(table: Table, instrument: str, **where: Any) -> float:
    """The one number of an instrument."""
    if not len(found := values(table, instrument, **where)):
        raise NotMeasured(f"no {instrument} with {', '.join(f'{name} {value}' for name, value in where.items())}")
    return float(found[0])


def count(table: Table, instrument: str, **where: Any) -> int:
    """One number of starts."""
    return round(single(table, instrument, **where))


def counted(instrument: str, of: str = "starts", **where: Any) -> Share:
    """How many an instrument counts, of how many another does, in the same rows."""
    return lambda table: (count(table, instrument, **where), count(table, of, **where))


def summed(instrument: str, of: str = "starts", **where: Any) -> Share:
    """What an instrument counts in all of these rows together, of what another does."""

    def share(table: Table) -> tuple[int, int]:
        found, total = (values(table, name, **where) for name in (instrument, of))
        if not len(found) or len(found) != len(total):
            raise NotMeasured(f"no {instrument} for every {of}")
        return int(found.sum()), int(total.sum())

    return share


def those(instrument: str, test: Callable[[NDArray[np.float64]], NDArray[np.bool_]], **where: Any) -> Share:
    """How many numbers of an instrument pass a test; one that was never reached is NaN."""

    def share(table: Table) -> tuple[int, int]:
        found = select(table, instrument, **where)["value"].fill_null(np.nan).to_numpy()
        if not len(found):
            raise NotMeasured(f"no {instrument}")
        return int(test(found).sum()), len(found)

    return share
