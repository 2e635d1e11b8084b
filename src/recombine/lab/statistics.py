"""Intervals over seeds: exact for shares, Student's for means, bootstrap for other statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recombine.lab.numbers import interval_text, number_text

Interval = tuple[float, float]


def proportion_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of Clopper and Pearson for k successes in n."""
    from scipy.stats import beta

    check_count(k, n)
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


def mean_text(values: Sequence[float]) -> str:
    """The mean over seeds and its interval: "1.02 (0.95 to 1.10)"."""
    return f"{number_text(np.mean(values))} ({interval_text(mean_interval(values))})"


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


def check_count(k: int, n: int) -> None:
    """Refuse what is no share."""
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
