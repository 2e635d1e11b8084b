"""Claims: a statement of a paper, the rule that judges it over seeds, and the statistics the rules are made of.

A verdict looks at an interval, never at a point: holds when all of it agrees with the statement, fails when none of
it does, undecided otherwise, and always undecided on fewer than five seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recombine.errors import RunFailed
from recombine.lab.statistics import Interval, check_count, mean_interval, proportion_interval

if TYPE_CHECKING:
    import polars as pl

Verdict = Literal["holds", "fails", "undecided"]

MIN_SEEDS = 5


class NotMeasured(Exception):
    """A judge found that the table lacks what it needs; the claim is undecided, with this as its reason."""


@dataclass(frozen=True)
class Judgement:
    """What the data says about a claim, over `n` seeds."""

    estimate: float | None
    interval: Interval | None
    n: int
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement, the paper's number for it, and the rule that judges it from a table.

    The paper's claims make the scoreboard; `check=True` marks our own: controls, calibrations, further questions.
    """

    id: str
    says: str
    paper: str
    judge: Callable[[pl.DataFrame], Judgement]
    general: bool = False  # speaks of no class by name: makes sense for any world and split
    check: bool = False


def judge_all(
    claims: Iterable[Claim], table: pl.DataFrame, study: str, experiment: str, budget: str
) -> list[dict[str, Any]]:
    """Judge every claim; ready for JSON. A number that is not finite becomes null: an open end, or no estimate."""
    judged: dict[str, dict[str, Any]] = {}
    for claim in claims:
        if claim.id in judged:
            raise ValueError(f"two claims are called '{claim.id}'")
        try:
            judgement = claim.judge(table)
        except NotMeasured as reason:
            judgement = Judgement(None, None, 0, "undecided", str(reason) or "not measured")
        judged[claim.id] = {
            "claim": claim.id,
            "study": study,
            "experiment": experiment,
            "budget": budget,
            "says": claim.says,
            "paper": claim.paper,
            "check": claim.check,
            "estimate": _finite(judgement.estimate),
            "interval": None if judgement.interval is None else [_finite(end) for end in judgement.interval],
            "n": int(judgement.n),
            "verdict": judgement.verdict,
            "note": judgement.note,
        }
    return list(judged.values())


def read_claims(path: Path) -> list[dict[str, Any]]:
    """The judged claims in one claims.json."""
    try:
        claims = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        claims = None
    if not isinstance(claims, list):
        raise RunFailed(f"{path} is not readable as JSON: make it again with `recombine report`")
    return claims


def read_results(results: Path) -> list[dict[str, Any]]:
    """All committed claims, in order of study and experiment."""
    return [claim for path in sorted(results.glob("*/*/claims.json")) for claim in read_claims(path)]


def verdict_above(interval: Interval | None, bound: float, n: int) -> Verdict:
    """For "more than `bound`": strict, so that a difference of exactly nothing is not above 0."""
    return _verdict(interval, n, lambda low, high: low > bound, lambda low, high: high <= bound)


def verdict_below(interval: Interval | None, bound: float, n: int) -> Verdict:
    """For "less than `bound`", strict."""
    return _verdict(interval, n, lambda low, high: high < bound, lambda low, high: low >= bound)


def verdict_within(interval: Interval | None, low: float, high: float, n: int) -> Verdict:
    """For "between `low` and `high`", ends included."""
    return _verdict(interval, n, lambda a, b: low <= a and b <= high, lambda a, b: b < low or a > high)


def verdict_every(k: int, n: int) -> Verdict:
    """For "in every seed", when it was so in k of n."""
    check_count(k, n)
    if n < MIN_SEEDS:
        return "undecided"
    return "holds" if k == n else "fails"


def judge_every(k: int, n: int, note: str = "") -> Judgement:
    """The judgement of "in every seed": the share of seeds, with its exact interval."""
    estimate = k / n if n else None
    return Judgement(estimate, proportion_interval(k, n), n, verdict_every(k, n), note)


def judge_within(values: ArrayLike, low: float, high: float, note: str = "") -> Judgement:
    """The judgement of "the mean over seeds lies between `low` and `high`", from one value a seed."""
    return _judge_mean(values, lambda interval, n: verdict_within(interval, low, high, n), note)


def judge_above(values: ArrayLike, bound: float, note: str = "") -> Judgement:
    """The judgement of "the mean over seeds is more than `bound`"."""
    return _judge_mean(values, lambda interval, n: verdict_above(interval, bound, n), note)


def judge_below(values: ArrayLike, bound: float, note: str = "") -> Judgement:
    """The judgement of "the mean over seeds is less than `bound`"."""
    return _judge_mean(values, lambda interval, n: verdict_below(interval, bound, n), note)


def _judge_mean(values: ArrayLike, verdict: Callable[[Interval | None, int], Verdict], note: str) -> Judgement:
    data = np.asarray(values, dtype=np.float64).ravel()
    if not len(data):
        raise NotMeasured("no seed has what is compared")
    if not np.isfinite(data).all():
        raise NotMeasured("a seed has no finite value of what is compared")
    interval, n = mean_interval(data), len(data)
    return Judgement(float(data.mean()), interval, n, verdict(interval, n), note)


def _verdict(
    interval: Interval | None, n: int, agrees: Callable[[float, float], bool], disagrees: Callable[[float, float], bool]
) -> Verdict:
    if n < MIN_SEEDS or interval is None or any(math.isnan(end) for end in interval):
        return "undecided"
    if agrees(*interval):
        return "holds"
    return "fails" if disagrees(*interval) else "undecided"


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)
