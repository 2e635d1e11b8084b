"""Differences and trends of shares: whether one share is larger than another, whether shares rise along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Judgement, NotMeasured, verdict_above
from recombine.lab.rules import Note, Rule
from recombine.lab.shares import Share
from recombine.lab.statistics import Interval, proportion_interval

if TYPE_CHECKING:
    import polars as pl

Counts = tuple[int, int]
"""So many of so many."""
Series = dict[float, Counts]
"""Counts along an axis, ascending."""


def larger(more: Share, less: Share, note: Note = "") -> Rule:
    """The first share is larger than the second."""
    return lambda table: judge_difference(more(table), less(table), note if isinstance(note, str) else note(table))


def rising(series: Callable[[pl.DataFrame], Series]) -> Rule:
    """Shares rise along the axis: the ends differ, and no two neighbours clearly fall."""
    return lambda table: judge_trend(series(table), 1)


def falling(series: Callable[[pl.DataFrame], Series]) -> Rule:
    """Shares fall along the axis."""
    return lambda table: judge_trend(series(table), -1)


def judge_difference(more: Counts, less: Counts, note: str = "") -> Judgement:
    """The judgement of "the first share is larger"; n is the smaller count."""
    if not more[1] or not less[1]:
        raise NotMeasured("one of the two shares was not counted")
    n, interval = min(more[1], less[1]), share_difference(more, less)
    return Judgement(share(more) - share(less), interval, n, verdict_above(interval, 0, n), note)


def judge_trend(series: Mapping[float, Counts] | Mapping[str, Counts], direction: int) -> Judgement:
    """The judgement of "shares rise" (direction 1) or "shares fall" (-1)."""
    if len(series) < 2:
        raise NotMeasured("fewer than two values along this axis were counted")
    note, listed = listed_shares(series), list(series.values())[::direction]
    judged = judge_difference(listed[-1], listed[0], note)
    back = any(share_difference(*pair)[0] > 0 for pair in pairwise(listed))
    if back and judged.verdict == "holds":
        return Judgement(judged.estimate, judged.interval, judged.n, "fails", f"not monotone; {note}")
    return judged


def share_difference(more: Counts, less: Counts) -> Interval:
    """An interval of at least 95% for the difference of two shares: between the ends of two exact ones of 97.5%."""
    (low, high), (lower, upper) = (proportion_interval(*counts, level=0.975) for counts in (more, less))
    return low - upper, high - lower


def log_crossing(response: Mapping[int, float] | Mapping[float, float], level: float) -> float:
    """The place from which on a response is at the level, {place: value} ascending, between two places by a straight
    line over their logarithm; infinite if it never is, 0 if it is from the first place on.
    """
    places, values = list(response), list(response.values())
    under = [number for number, value in enumerate(values) if value < level]
    if not under:
        return 0.0
    last = under[-1]
    if last + 1 == len(values):
        return math.inf
    rise = (level - values[last]) / (values[last + 1] - values[last])
    return float(places[last] * (places[last + 1] / places[last]) ** rise)


def log_slope(response: Mapping[int, float] | Mapping[float, float]) -> float:
    """The power with which a response, {place: value}, grows: the slope of its logarithm over that of the place."""
    return float(np.polyfit(np.log(list(response)), np.log(list(response.values())), 1)[0])


def share(counts: Counts) -> float:
    """What part that is."""
    return counts[0] / counts[1]


def listed_shares(series: Mapping[float, Counts] | Mapping[str, Counts]) -> str:
    """Every share by its name or place, for a note."""
    return ", ".join(
        f"{name if isinstance(name, str) else f'{name:g}'}: {share(counts):.3f}"
        for name, counts in series.items()
        if counts[1]
    )
