"""Paths in concept space (Park et al. 2024): the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.table import curves
from recombine.studies.concept_space.speed.claims import HELD_OUT, THRESHOLD, real_images_are_read

if TYPE_CHECKING:
    import polars as pl

Path = NDArray[np.float64]  # [moments, 2]: P(blue), P(small)


def path(table: pl.DataFrame, arm: str, node: str) -> dict[int, Path]:
    """For each seed: where the samples of a class lie in concept space at each evaluation."""
    blue, small = (curves(table, f"classifier.{axis}", arm, node) for axis in ("color=blue", "size=small"))
    return {seed: np.stack([blue[seed, node][1], small[seed, node][1]], 1) for seed, _ in blue if (seed, node) in small}


def bend(way: Path) -> float:
    """The mean of P(small) - P(blue) on the way, before both are learned; 0 for a class that is there at once."""
    arrived = np.flatnonzero((way >= THRESHOLD).all(1))
    until = way[: arrived[0]] if len(arrived) else way
    return float((until[:, 1] - until[:, 0]).mean()) if len(until) else 0.0


def weak_bends_to_small_red(table: pl.DataFrame) -> Judgement:
    """P4: the bend with weak colour, above 0."""
    return judge_above(_bends(table, "weak"), 0.0)


def strong_bends_to_large_blue(table: pl.DataFrame) -> Judgement:
    """P4b: the bend with strong colour, below 0."""
    return judge_below(_bends(table, "strong"), 0.0)


def _bends(table: pl.DataFrame, arm: str) -> list[float]:
    ways = path(table, arm, HELD_OUT)
    if not ways:
        raise NotMeasured(f"the path of {HELD_OUT} in arm {arm} was not measured")
    return [bend(way) for way in ways.values()]


TRAJECTORIES = (
    Claim(
        "P4",
        "with weak colour the held-out class goes by way of small red (bend of its path)",
        "towards red-small (above 0)",
        weak_bends_to_small_red,
    ),
    Claim(
        "P4b",
        "with strong colour it goes by way of large blue (bend of its path)",
        "towards blue-large (below 0)",
        strong_bends_to_large_blue,
    ),
    Claim("P7", "the classifier is right on fresh real images of every class (accuracy)", "1.0", real_images_are_read),
)
