"""Shares of starts: what claims on exact dynamics count, and the rules that judge a share by its exact interval.

A share is (how many, of how many). Shares found before are counts too: an independent replication of the released code
on 60 to 200 starts, whose interval is the range that a claim allows; it holds when all of our interval lies inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import (
    Judgement,
    NotMeasured,
    Verdict,
    judge_every,
    verdict_above,
    verdict_below,
    verdict_within,
)
from recombine.lab.rules import Note, Rule
from recombine.lab.statistics import Interval, bootstrap_interval, proportion_interval
from recombine.lab.table import select

if TYPE_CHECKING:
    import polars as pl

Share: TypeAlias = "Callable[[pl.DataFrame], tuple[int, int]]"
"""From a table, how many of how many."""


# What a table holds.


def values(table: pl.DataFrame, instrument: str, **where: Any) -> NDArray[np.float64]:
    """All numbers of an instrument in the order of the table; what was never reached is left out."""
    return select(table, instrument, **where)["value"].drop_nulls().to_numpy()


def per_start(table: pl.DataFrame, instrument: str, **where: Any) -> NDArray[np.float64]:
    """What an instrument measured on each start, NaN where there was nothing to measure.  # [n]"""
    import polars as pl

    found = select(table, instrument, **where).filter(pl.col("start").is_not_null()).sort("seed", "start")
    return found["value"].fill_null(np.nan).to_numpy()


def single(table: pl.DataFrame, instrument: str, **where: Any) -> float:
    """The one number of an instrument."""
    if not len(found := values(table, instrument, **where)):
        raise NotMeasured(f"no {instrument} with {', '.join(f'{name} {value}' for name, value in where.items())}")
    return float(found[0])


def count(table: pl.DataFrame, instrument: str, **where: Any) -> int:
    """One number of starts."""
    return round(single(table, instrument, **where))


# Shares and the rules about them.


def counted(instrument: str, of: str = "starts", **where: Any) -> Share:
    """How many an instrument counts, of how many another does, in the same rows."""
    return lambda table: (count(table, instrument, **where), count(table, of, **where))


def as_before(share: Share, before: tuple[int, int], note: Note = "") -> Rule:
    """It is the share that was found before."""
    low, high = proportion_interval(*before)
    known = f"before: {before[0]} of {before[1]}, so {low:.3f} to {high:.3f}"

    def judge(table: pl.DataFrame) -> Judgement:
        answer = judge_share(*share(table), lambda interval, n: verdict_within(interval, low, high, n))
        said = _said(note, table)
        return _noted(answer, f"{known}; {said}" if said else known)

    return judge


def share_above(share: Share, bound: float, note: Note = "") -> Rule:
    """It is more than `bound`."""
    return lambda table: _noted(
        judge_share(*share(table), lambda interval, n: verdict_above(interval, bound, n)), _said(note, table)
    )


def share_below(share: Share, bound: float, note: Note = "") -> Rule:
    """It is less than `bound`."""
    return lambda table: _noted(
        judge_share(*share(table), lambda interval, n: verdict_below(interval, bound, n)), _said(note, table)
    )


def all_of(share: Share, note: Note = "") -> Rule:
    """It is everything."""
    return lambda table: judge_every(*share(table), _said(note, table))


def rises(first: Share, second: Share, note: Note = "") -> Rule:
    """It is larger in the second than in the first."""

    def judge(table: pl.DataFrame) -> Judgement:
        one, other = first(table), second(table)
        n = min(one[1], other[1])
        rise, interval = share_rises(one, other)
        return Judgement(rise, interval, n, verdict_above(interval, 0, n), _said(note, table))

    return judge


def share_rises(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, Interval]:
    """By how much a share rises from one to the next; the interval from exact ends, so wide."""
    (low_1, high_1), (low_2, high_2) = proportion_interval(*first), proportion_interval(*second)
    return second[0] / second[1] - first[0] / first[1], (low_2 - high_1, high_2 - low_1)


def judge_share(k: int, n: int, verdict: Callable[[Interval, int], Verdict], note: str = "") -> Judgement:
    """The judgement of k of n by a verdict on its exact interval."""
    if not n:
        raise NotMeasured("no start was measured")
    interval = proportion_interval(k, n)
    return Judgement(k / n, interval, n, verdict(interval, n), note)


def judge_median(
    found: NDArray[np.float64], verdict: Callable[[Interval | None, int], Verdict], note: str = "", draws: int = 10_000
) -> Judgement:
    """The judgement of a median over starts by a verdict on its bootstrap interval."""
    interval = bootstrap_interval(found, np.median, draws=draws)
    return Judgement(float(np.median(found)), interval, len(found), verdict(interval, len(found)), note)


def _said(note: Note, table: pl.DataFrame) -> str:
    return note if isinstance(note, str) else note(table)


def _noted(answer: Judgement, note: str) -> Judgement:
    return Judgement(answer.estimate, answer.interval, answer.n, answer.verdict, note)
