"""Paths in concept space (Park et al. 2024): the rules."""

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, above, below, between
from recombine.lab.table import Table, curves
from recombine.studies.concept_space.speed.claims import HELD_OUT, THRESHOLD, lowest_on_real_images

Path = NDArray[np.float64]  # [moments, 2]: P(blue), P(small)


def path(table: Table, arm: str, node: str) -> dict[int, Path]:
    """For each seed: where the samples of a class lie in concept space at each evaluation."""
    blue, small = (
        curves(table, "classifier.answer", answer=answer, arm=arm, node=node, sampler=None)
        for answer in ("blue", "small")
    )
    return {seed: np.stack([blue[seed,][1], small[seed,][1]], 1) for (seed,) in blue if (seed,) in small}


def bend(way: Path) -> float:
    """The mean of P(small) - P(blue) on the way, before both are learned; 0 for a class that is there at once."""
    arrived = np.flatnonzero((way >= THRESHOLD).all(1))
    until = way[: arrived[0]] if len(arrived) else way
    return float((until[:, 1] - until[:, 0]).mean()) if len(until) else 0.0


def bend_of(arm: str) -> Measure:
    """The bend of the held-out class's path in an arm."""

    def measure(table: Table) -> dict[int, float]:
        ways = path(table, arm, HELD_OUT)
        if not ways:
            raise NotMeasured(f"the path of {HELD_OUT} in arm {arm} was not measured")
        return {seed: bend(way) for seed, way in ways.items()}

    return measure


CLAIMS = (
    Claim("P4", "with weak colour the held-out class goes by way of small red (bend of its path)",
          "towards red-small (above 0)", above(bend_of("weak"), 0)),
    Claim("P4b", "with strong colour it goes by way of large blue (bend of its path)", "towards blue-large (below 0)",
          below(bend_of("strong"), 0)),
    Claim("P7", "the classifier is right on fresh real images of every class (accuracy)", "1.0",
          between(lowest_on_real_images("classifier"), 0.999, 1)),
)  # fmt: skip
