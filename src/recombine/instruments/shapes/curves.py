"""What a learning curve says: when a skill emerges, how sharply it rises, and how smoothing changes both.

Pure functions of images seen [t] and a value [t] measured there, in increasing order of images seen. What a curve does
not show is None, never a number.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def emergence_time(seen: ArrayLike, value: ArrayLike, threshold: float = 0.8, consecutive: int = 3) -> float | None:
    """Images seen at the first of `consecutive` evaluations in a row that reach `threshold`; None if there is none.

    A run that lasts until the end of the curve counts even if it is shorter: at the last evaluation nothing contradicts
    it. NaN reaches nothing.
    """
    times, values = _curve(seen, value)
    if consecutive < 1:
        raise ValueError(f"consecutive = {consecutive}: give at least 1")
    reached = values >= threshold
    for start in np.flatnonzero(reached):
        if reached[start : start + consecutive].all():
            return float(times[start])
    return None


def time_until(seen: ArrayLike, value: ArrayLike, threshold: float = 0.8) -> float:
    """The emergence time, infinite where there is none: later than whatever has come."""
    time = emergence_time(seen, value, threshold)
    return math.inf if time is None else time


def rise(seen: ArrayLike, value: ArrayLike, low: float = 0.1, high: float = 0.9, log: bool = False) -> float | None:
    """Images seen while the curve climbs from `low` to `high` of the way between its own first and last value.

    The climb ends where the curve first reaches `high`, and begins where it last left `low` before that; between two
    evaluations the curve is a straight line in images seen. With `log` the answer is log10 of the ratio of the two
    times: a rise in decades. None if the curve does not end above its start, or holds NaN.
    """
    if not 0 < low < high <= 1:
        raise ValueError(f"low = {low}, high = {high}: give 0 < low < high <= 1")
    times, values = _curve(seen, value)
    if len(values) < 2 or not np.isfinite(values).all() or values[-1] <= values[0]:
        return None
    level = (values - values[0]) / (values[-1] - values[0])  # 0 at the start, 1 at the end
    top = int(np.flatnonzero(level >= high)[0])  # exists: the last level is 1
    foot = int(np.flatnonzero(level[:top] <= low)[-1])  # exists: the first level is 0
    begin = _crossing(times, level, foot, low)
    end = _crossing(times, level, top - 1, high)
    return math.log10(end / begin) if log else end - begin


def smooth(value: ArrayLike, window: int) -> NDArray[np.float64]:
    """Trailing moving average over `window` evaluations, over as many as there are at the start.  # [t]

    The released plots use 10 evaluations; this delays a jump and spreads it over the window.
    """
    if window < 1:
        raise ValueError(f"window = {window}: give at least 1")
    values = np.asarray(value, dtype=np.float64)
    sums = np.convolve(values, np.ones(window))[: len(values)] if len(values) else values
    return sums / np.minimum(np.arange(1, len(values) + 1), window)


def _curve(seen: ArrayLike, value: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    times, values = np.asarray(seen, dtype=np.float64), np.asarray(value, dtype=np.float64)
    if times.shape != values.shape or times.ndim != 1:
        raise ValueError(
            f"images seen {times.shape} and values {values.shape} must be one-dimensional and equally long"
        )
    if (np.diff(times) <= 0).any():
        raise ValueError("images seen must increase")
    return times, values


def _crossing(times: NDArray[np.float64], level: NDArray[np.float64], before: int, height: float) -> float:
    """Where the straight line from evaluation `before` to the next passes `height`."""
    share = (height - level[before]) / (level[before + 1] - level[before])
    return float(times[before] + share * (times[before + 1] - times[before]))
