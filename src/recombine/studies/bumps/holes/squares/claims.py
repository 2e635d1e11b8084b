"""What fills a hole (Liang et al. 2024, Fig. 12): the rules."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Measure, above, difference, smallest
from recombine.lab.sweeps import Swept, swept
from recombine.lab.table import Table, select
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.worlds.holdouts import HELD_OUT, SEEN

BUMP, STRIPES = PATTERNS = ("bump", "stripes")
CENTRE, CORNER = PLACES = ("centre", "corner")
Reduce = Callable[[list[float], NDArray[np.float64]], NDArray[np.float64]]
HIGH = 0.8
BY_FAR = 0.3
STEEP = 0.25


def expected(place: str, side: float) -> float:
    """The share of the square that lies less than a pixel from a label that was seen."""
    inner = max(0.0, side - 2) if place == CENTRE else max(0.0, side - 1)
    return 1 - (inner / side) ** 2


def over_sides(table: Table, pattern: str, place: str, how: str, region: str = HELD_OUT, model: str = TRAINED) -> Swept:
    """Sides, and how often both are right in the square: seed by side, of the seeds that all arms have.  # [s, w]"""
    by_arm = select(table, model=model).group_by("arm").agg("seed")["seed"].to_list()
    shared = set.intersection(*map(set, by_arm)) if by_arm else set()
    return swept(table, "side", f"{how}.both", shared, pattern=pattern, place=place, region=region, model=model)


def of_sides(reduce: Reduce, pattern: str, place: str, how: str = "fine", region: str = HELD_OUT) -> Measure:
    """What `reduce(sides, accuracies)` makes of each seed."""

    def measure(table: Table) -> BySeed:
        sides, values = over_sides(table, pattern, place, how, region)
        if not values.size:
            raise NotMeasured(f"{pattern}, {place}: not measured")
        return dict(enumerate(reduce(sides, values)))

    return measure


def falls(sides: list[float], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest square less the largest."""
    if len(sides) < 2:
        raise NotMeasured("only one side was measured")
    return values[:, 0] - values[:, -1]


def lowest(pattern: str, place: str, how: str, region: str = HELD_OUT) -> Measure:
    """The lowest over sides."""
    return of_sides(lambda _, values: values.min(axis=1), pattern, place, how, region)


def beyond_baseline(pattern: str, place: str) -> Measure:
    """Less the nearest-label baseline, the mean over sides."""
    return of_sides(
        lambda sides, values: (values - [expected(place, side) for side in sides]).mean(axis=1), pattern, place
    )


def listed(table: Table) -> str:
    """Accuracy at each side, by pattern and place."""
    parts = []
    for pattern in PATTERNS:
        for place in PLACES:
            sides, values = over_sides(table, pattern, place, "fine")
            if values.size:
                means = zip(sides, values.mean(axis=0), strict=True)
                parts.append(f"{pattern}, {place}: " + ", ".join(f"W {side:g}: {value:.2f}" for side, value in means))
    return "fine: " + "; ".join(parts)


BUMPS_INSIDE, BUMPS_CORNER = (beyond_baseline(BUMP, place) for place in PLACES)

CLAIMS = (
    Claim("SQ1", "Bumps at the corner are right less often the larger the square (smallest less largest)",
          f"falls fast (above {STEEP:g})", above(of_sides(falls, BUMP, CORNER), STEEP, listed)),
    Claim("SQ2", "Bumps are right more often inside than at the corner (difference)",
          "falls slowly inside, fast at the corner (above 0)",
          above(difference(*(of_sides(lambda _, values: values.mean(axis=1), BUMP, place) for place in PLACES)), 0.0)),
    Claim("SQ2n", "Bumps are so by more than the nearest-label baseline is (difference of differences)",
          "not asked (above 0)", above(difference(BUMPS_INSIDE, BUMPS_CORNER), 0.0), check=True),
    Claim("SQ3", "Stripes are right at every side, inside and at the corner (the lowest)",
          f"stay high (above {HIGH:g})",
          above(smallest(*(lowest(STRIPES, place, "darkest") for place in PLACES)), HIGH, listed)),
    Claim("SQ3n",
          "Stripes are right far more often than for the baseline, inside and at the corner (the lower difference)",
          f"not asked (above {BY_FAR:g})",
          above(smallest(*(beyond_baseline(STRIPES, place) for place in PLACES)), BY_FAR), check=True),
    Claim("SQ4", "What was seen is right in every arm (the lowest)", "high (above 0.9)",
          above(smallest(*(lowest(pattern, place, "darkest", SEEN) for pattern in PATTERNS for place in PLACES)), 0.9)),
    Claim("SQ5n", "Bumps inside are right more often than for the nearest-label baseline (difference)",
          "not asked (above 0)", above(BUMPS_INSIDE, 0.0), check=True),
    Claim("SQ6n", "Bumps at the corner are right more often than for the nearest-label baseline (difference)",
          "not asked (above 0)", above(BUMPS_CORNER, 0.0), check=True),
)  # fmt: skip
