"""One value a seed, as rules compare them: {seed: value}."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from recombine.lab.claims import NotMeasured

BySeed = Mapping[int, float]
Name = TypeVar("Name")


def mean(values: BySeed) -> float:
    """The mean over seeds; not a number if there is none."""
    return float(np.mean(list(values.values()))) if values else float("nan")


def less(one: BySeed, other: BySeed, what: str = "what is compared") -> dict[int, float]:
    """One less the other, of the seeds that have both."""
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        raise NotMeasured(f"no seed has both of {what}")
    return {seed: one[seed] - other[seed] for seed in seeds}


def least(found: Mapping[Name, BySeed], otherwise: str = "no arm was measured") -> Name:
    """The name of the lowest mean; names without a seed do not count."""
    measured = {name: values for name, values in found.items() if values}
    if not measured:
        raise NotMeasured(otherwise)
    return min(measured, key=lambda name: mean(measured[name]))


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's; 0 where either is the same throughout: there is nothing to rank."""
    from scipy.stats import spearmanr

    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(spearmanr(first, second).statistic) if np.ptp(first) and np.ptp(second) else 0.0
