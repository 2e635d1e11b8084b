"""Motion in concept space: how far a class is from its corner, whether it goes back, and how its speed falls.

Pure functions of a path [moments, axes] of mean probabilities of the right values; its corner is (1, ..., 1).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Curve = NDArray[np.float64]  # [moments]
Path = NDArray[np.float64]  # [moments, axes]


def corner_error(path: ArrayLike) -> Curve:
    """The mean over the axes of the squared distance to the corner.  # [moments]"""
    return np.asarray(((1 - np.asarray(path, dtype=np.float64)) ** 2).mean(-1))


def setback(curve: ArrayLike) -> float:
    """The largest rise of a curve above its lowest value so far; 0 for one that only falls."""
    values = np.asarray(curve, dtype=np.float64)
    return float((values - np.minimum.accumulate(values)).max())


def setback_by_chance(path: ArrayLike, images: int, draws: int, seed: int) -> NDArray[np.float64]:
    """Setbacks of the error if every coordinate only ever rises and each was seen on so many images.  # [draws]

    The null model is the monotone curve nearest to each coordinate; one seen on `images` images is a binomial share,
    the most a mean of probabilities can vary.
    """
    rising = np.stack([monotone(axis) for axis in np.asarray(path, dtype=np.float64).T], 1)  # [moments, axes]
    generator = np.random.default_rng(seed)
    drawn = generator.binomial(images, np.clip(rising, 0, 1), size=(draws, *rising.shape)) / images
    errors = ((1 - drawn) ** 2).mean(-1)  # [draws, moments]
    return np.asarray((errors - np.minimum.accumulate(errors, axis=1)).max(1))


def monotone(curve: ArrayLike) -> Curve:
    """The curve that never falls and is nearest in squares.  # [moments]"""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(np.asarray(curve, dtype=np.float64)).x)


def blurred(path: ArrayLike, width: float) -> Path:
    """A Gaussian average over neighbouring evaluations, `width` of them one standard deviation; ends are repeated."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(np.asarray(path, dtype=np.float64), width, axis=0, mode="nearest"))


def speeds(seen: ArrayLike, path: ArrayLike) -> tuple[Curve, Curve]:
    """Distance moved a 1,000 images, between evaluations, at the geometric middle of each.  # [moments - 1] both"""
    times = np.asarray(seen, dtype=np.float64)
    moved = np.linalg.norm(np.diff(np.asarray(path, dtype=np.float64), axis=0), axis=1)
    return np.sqrt(times[1:] * times[:-1]), 1_000 * moved / np.diff(times)


class Slowing(NamedTuple):
    """Log-likelihood a point of log speeds that were held out, for each law; one value a run left out.  # [runs]"""

    exponential: NDArray[np.float64]
    power: NDArray[np.float64]


def slowing(runs: Sequence[tuple[Curve, Curve]]) -> Slowing:
    """Which law do speeds follow, log speed linear in time (exponential) or in log time (power)?

    Each run in turn is left out, a line fitted to all others and the run scored by it, with the others' residual
    variance; a speed of exactly 0 is left out.
    """
    if len(runs) < 2:
        raise ValueError("leaving one run out needs at least two")
    scores: dict[str, list[float]] = {"exponential": [], "power": []}
    for left_out in range(len(runs)):
        train = [run for i, run in enumerate(runs) if i != left_out]
        for law, scale in (("exponential", np.asarray), ("power", np.log)):
            x, y = _log_speeds(train, scale)
            slope, level = np.polyfit(x, y, 1)
            variance = max(float(np.mean((y - slope * x - level) ** 2)), 1e-12)
            x, y = _log_speeds([runs[left_out]], scale)
            squares = (y - slope * x - level) ** 2
            scores[law].append(float(np.mean(-0.5 * (squares / variance + np.log(2 * np.pi * variance)))))
    return Slowing(np.array(scores["exponential"]), np.array(scores["power"]))


def _log_speeds(runs: Sequence[tuple[Curve, Curve]], scale: Callable[[Curve], Curve]) -> tuple[Curve, Curve]:
    times, values = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    moving = values > 0
    return scale(times[moving]), np.log(values[moving])
