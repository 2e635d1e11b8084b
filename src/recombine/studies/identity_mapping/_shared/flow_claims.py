"""What the claims on exact dynamics read off a table, and how a share is judged against one that was found before.

Rates found before are counts too: an independent replication of the released code on 100 or 200 starts, whose own exact
interval is the range that a claim allows. A claim holds when all of our interval lies inside that range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Judgement, NotMeasured, verdict_above, verdict_below
from recombine.lab.claims import verdict_within as within
from recombine.lab.statistics import proportion_interval

if TYPE_CHECKING:
    import polars as pl


def count(table: pl.DataFrame, arm: str, node: str, instrument: str) -> int:
    """One number of starts."""
    found = values(table, arm, instrument, node)
    if not len(found):
        raise NotMeasured(f"no {instrument} of {node} in arm {arm}")
    return round(float(found[0]))


def values(table: pl.DataFrame, arm: str, instrument: str, node: str | None = None) -> NDArray[np.float64]:
    """All numbers that an instrument gave, one a node; what was never reached is left out."""
    import polars as pl

    chosen = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == instrument)).drop_nulls("value")
    if node is not None:
        chosen = chosen.filter(pl.col("node") == node)
    return chosen["value"].to_numpy()


def every_start(table: pl.DataFrame, arm: str, instrument: str) -> dict[str, float]:
    """{node: value}; NaN where a start never got there."""
    import polars as pl

    chosen = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == instrument))
    if chosen.is_empty():
        raise NotMeasured(f"no {instrument} in arm {arm}")
    pairs = zip(chosen["node"].to_list(), chosen["value"].to_list(), strict=True)
    return {node: float("nan") if value is None else float(value) for node, value in pairs}


def share_like(k: int, n: int, before: tuple[int, int], note: str = "") -> Judgement:
    """Whether k of n is the share that was found before, as (how many, of how many)."""
    interval, (low, high) = proportion_interval(k, n), proportion_interval(*before)
    said = f"before: {before[0]} of {before[1]}, so {low:.3f} to {high:.3f}"
    return Judgement(k / n, interval, n, within(interval, low, high, n), f"{said}; {note}" if note else said)


def share_above(k: int, n: int, bound: float, note: str = "") -> Judgement:
    """Whether more than `bound` of all starts are so."""
    interval = proportion_interval(k, n)
    return Judgement(k / n, interval, n, verdict_above(interval, bound, n), note)


def share_below(k: int, n: int, bound: float, note: str = "") -> Judgement:
    """Whether less than `bound` of all starts are so."""
    interval = proportion_interval(k, n)
    return Judgement(k / n, interval, n, verdict_below(interval, bound, n), note)


def share_rises(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, tuple[float, float]]:
    """By how much a share rises from one (how many, of how many) to the next; the interval from exact ends, so wide."""
    (low_1, high_1), (low_2, high_2) = proportion_interval(*first), proportion_interval(*second)
    return second[0] / second[1] - first[0] / first[1], (low_2 - high_1, high_2 - low_1)
