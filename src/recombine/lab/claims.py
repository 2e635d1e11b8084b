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
from numpy.typing import ArrayLike, NDArray

from recombine.errors import RunFailed

if TYPE_CHECKING:
    import polars as pl

Verdict = Literal["holds", "fails", "undecided"]
Interval = tuple[float, float]

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
    """A statement, the paper's number for it, and the rule that judges it from a table."""

    id: str
    says: str
    paper: str
    judge: Callable[[pl.DataFrame], Judgement]
    general: bool = False  # speaks of no class by name: makes sense for any world and split


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
    _check_count(k, n)
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


def proportion_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of Clopper and Pearson for k successes in n."""
    from scipy.stats import beta

    _check_count(k, n)
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))
    return low, high


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval | None:
    """Student's interval of the mean over seeds, exact for normal values; None below two of them.

    A bootstrap of five values covers their mean in 85 of 100 cases and not in 95: it cannot draw what was not there.
    Equal values have no spread: the interval is the point itself.
    """
    data = np.asarray(values, dtype=np.float64).reshape(-1, 1)  # [n, 1]
    if len(data) < 2:
        return None
    (low,), (high,) = mean_intervals(data, level)
    return float(low), float(high)


def mean_intervals(values: NDArray[np.float64], level: float = 0.95) -> NDArray[np.float64]:
    """The interval of `mean_interval` for every column of two seeds or more.  # [seeds, columns] -> [2, columns]"""
    from scipy.stats import t

    mean = values.mean(axis=0)
    half = t.ppf((1 + level) / 2, len(values) - 1) * values.std(axis=0, ddof=1) / math.sqrt(len(values))
    equal = np.ptp(values, axis=0) == 0
    return np.where(equal, values[0], np.stack([mean - half, mean + half]))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Interval | None:
    """Bootstrap interval of a statistic over seeds: BCa, or percentiles where that is undefined; None below two values.

    Equal values have no spread to draw from: the interval is the point itself.
    """
    data = np.asarray(values, dtype=np.float64).ravel()  # [n]
    if not np.isfinite(data).all():
        raise ValueError("bootstrap_interval needs finite values: decide first what an infinite one means")
    if len(data) < 2:
        return None
    if np.ptp(data) == 0:
        point = float(statistic(data))
        return point, point
    interval = _bca(data, statistic, level, draws, seed)
    if interval is None:
        picks = np.random.default_rng(seed).integers(len(data), size=(draws, len(data)))
        drawn = np.array([float(statistic(sample)) for sample in data[picks]])
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        interval = float(low), float(high)
    return interval


def _bca(
    data: NDArray[np.float64], statistic: Callable[..., Any], level: float, draws: int, seed: int
) -> Interval | None:
    import warnings

    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # scipy warns where BCa is undefined and answers with NaN, which is handled here
        answer = bootstrap(
            (data,),
            statistic,
            confidence_level=level,
            n_resamples=draws,
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(answer.low), float(answer.high)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


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


def _check_count(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)
