"""Rules that judge shares: how many of how many, each with its exact interval; for starts, flows, points and cells.

    Claim("S9c", "with a small start it is the rule (share of nets)", "at least 0.8", share_above(nets, 0.8))

Shares found before are counts too, with an interval of their own: it is the range that `as_before` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

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

if TYPE_CHECKING:
    import polars as pl

Share: TypeAlias = "Callable[[pl.DataFrame], tuple[int, int]]"
"""From a table, how many of how many."""


def as_before(share: Share, before: tuple[int, int], note: Note = "") -> Rule:
    """It is the share that was found before."""

    def judge(table: pl.DataFrame) -> Judgement:
        low, high = proportion_interval(*before)
        known = f"before: {before[0]} of {before[1]}, so {low:.3f} to {high:.3f}"
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
    return replace(answer, note=note)
