"""What fills a hole (Liang et al. 2024, Fig. 12): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above
from recombine.lab.table import at_end
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.worlds.holdouts import HELD_OUT, SEEN

if TYPE_CHECKING:
    import polars as pl

BUMP, STRIPES = PATTERNS = ("bump", "stripes")
CENTRE, CORNER = PLACES = ("centre", "corner")
HIGH = 0.8
BY_FAR = 0.3
STEEP = 0.25


def arm_of(pattern: str, place: str, side: int) -> str:
    """The arm with this square held out."""
    return f"{pattern} {place} W={side}"


def recalled(place: str, side: float) -> float:
    """The share of the square that lies less than a pixel from a label that was seen."""
    inner = max(0.0, side - 2) if place == CENTRE else max(0.0, side - 1)
    return 1 - (inner / side) ** 2


def sides_of(table: pl.DataFrame, pattern: str, place: str) -> list[int]:
    """The sides that were trained with, ascending."""
    head = f"{pattern} {place} W="
    return sorted(int(arm.removeprefix(head)) for arm in table["arm"].unique() if arm.startswith(head))


def shared_seeds(table: pl.DataFrame) -> set[int]:
    """The seeds that every trained arm has, so that arms can be compared seed by seed."""
    own: dict[str, set[int]] = {}
    for arm, seed in table.select("arm", "seed").unique().iter_rows():
        if not arm.startswith(null_of("")):
            own.setdefault(arm, set()).add(seed)
    return set.intersection(*own.values()) if own else set()


def over_sides(
    table: pl.DataFrame,
    pattern: str,
    place: str,
    how: str,
    node: str = HELD_OUT,
    null: bool = False,
    among: set[int] | None = None,
) -> tuple[list[int], NDArray[np.float64]]:
    """Sides, and how often both coordinates are right in the square: seed by side, of these seeds.  # [s, w]"""
    found = {}
    for side in sides_of(table, pattern, place):
        arm = arm_of(pattern, place, side)
        values = at_end(table, f"{how}.both", null_of(arm) if null else arm, [node])
        if values:
            found[side] = values
    seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
    if among is not None:
        seeds = [seed for seed in seeds if seed in among]
    return list(found), np.array([[found[side][seed] for side in found] for seed in seeds])


def falls(pattern: str, place: str) -> Callable[[pl.DataFrame], Judgement]:
    """The smallest square less the largest."""

    def judge(table: pl.DataFrame) -> Judgement:
        sides, values = _measured(table, pattern, place, "fine")
        if len(sides) < 2:
            raise NotMeasured("only one side was measured")
        return judge_above(values[:, 0] - values[:, -1], STEEP, _listed(sides, values))

    return judge


def inside_less_corner(pattern: str, less_recall: bool) -> Callable[[pl.DataFrame], Judgement]:
    """Inside less at the corner, the mean over sides; each less its recall if asked for."""

    def judge(table: pl.DataFrame) -> Judgement:
        (sides, inside), (others, corner) = (_measured(table, pattern, place, "fine") for place in PLACES)
        if sides != others or len(inside) != len(corner):
            raise NotMeasured("the two places were not measured alike")
        expected = np.array([recalled(CENTRE, side) - recalled(CORNER, side) for side in sides])
        difference = inside - corner - (expected if less_recall else 0)
        return judge_above(difference.mean(axis=1), 0.0, f"recall alone: {expected.mean():.2f}")

    return judge


def stays_high(table: pl.DataFrame) -> Judgement:
    """Stripes: the lowest over sides and places."""
    lowest, notes = [], []
    for place in PLACES:
        sides, values = _measured(table, STRIPES, place, "darkest")
        lowest.append(values.min(axis=1))
        fine = over_sides(table, STRIPES, place, "fine")[1]
        notes.append(f"{place}: {_listed(sides, values)}; lowest by the fine estimate {fine.mean(axis=0).min():.2f}")
    return judge_above(_lower(lowest), HIGH, ". ".join(notes))


def beyond_recall(pattern: str, place: str | None, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """Less the recall of the nearest label, the mean over sides; the lower of both places if none is named."""

    def judge(table: pl.DataFrame) -> Judgement:
        excess, notes = [], []
        for where in PLACES if place is None else (place,):
            sides, values = _measured(table, pattern, where, "fine")
            null = np.array([recalled(where, side) for side in sides])
            excess.append((values - null).mean(axis=1))
            notes.append(f"{where}: {_listed(sides, values)}; recall {null.mean():.2f} on the mean")
        return judge_above(_lower(excess), bound, ". ".join(notes))

    return judge


def seen_stay_right(table: pl.DataFrame) -> Judgement:
    """Pixels that were seen: the lowest over patterns, places and sides."""
    cells = [(pattern, place) for pattern in PATTERNS for place in PLACES]
    lowest = [_measured(table, *cell, "darkest", SEEN)[1].min(axis=1) for cell in cells]
    return judge_above(_lower(lowest), 0.9)


def _measured(
    table: pl.DataFrame, pattern: str, place: str, how: str, node: str = HELD_OUT
) -> tuple[list[int], NDArray[np.float64]]:
    sides, values = over_sides(table, pattern, place, how, node, among=shared_seeds(table))
    if not values.size:
        raise NotMeasured(f"{pattern}, {place}: not measured")
    return sides, values


def _lower(values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Seed by seed, the lowest of several.  # [s]"""
    if len({len(each) for each in values}) > 1:
        raise NotMeasured("not every arm has the same seeds")
    lowest: NDArray[np.float64] = np.min(values, axis=0)
    return lowest


def _listed(sides: list[int], values: NDArray[np.float64]) -> str:
    return ", ".join(f"W {side}: {value:.2f}" for side, value in zip(sides, values.mean(axis=0), strict=True))


SQUARES = (
    Claim(
        "S1",
        "Bumps at the corner are right less often the larger the square (smallest less largest)",
        f"falls fast (above {STEEP:g})",
        falls(BUMP, CORNER),
    ),
    Claim(
        "S2",
        "Bumps are right more often inside than at the corner (difference)",
        "falls slowly inside, fast at the corner (above 0)",
        inside_less_corner(BUMP, less_recall=False),
    ),
    Claim(
        "S2n",
        "Bumps are so by more than recall of the nearest label is (difference of differences)",
        "not asked (above 0)",
        inside_less_corner(BUMP, less_recall=True),
    ),
    Claim("S3", "Stripes are right at every side, inside and at the corner (the lowest)", f"stay high (above {HIGH:g})",
          stays_high),
    Claim(
        "S3n",
        "Stripes are right far more often than recall gives, inside and at the corner (the lower difference)",
        f"not asked (above {BY_FAR:g})",
        beyond_recall(STRIPES, None, BY_FAR),
    ),
    Claim("S4", "What was seen is right in every arm (the lowest)", "high (above 0.9)", seen_stay_right),
    Claim("S5n", "Bumps inside are right more often than recall gives (difference)", "not asked (above 0)",
          beyond_recall(BUMP, CENTRE, 0.0)),
    Claim("S6n", "Bumps at the corner are right more often than recall gives (difference)", "not asked (above 0)",
          beyond_recall(BUMP, CORNER, 0.0)),
)  # fmt: skip
