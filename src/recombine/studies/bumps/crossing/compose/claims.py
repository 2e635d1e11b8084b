"""What was composed (Liang et al. 2024, Fig. 4): the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import less
from recombine.lab.table import at_end
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, VERTICAL

if TYPE_CHECKING:
    import polars as pl

Asked = tuple[str, str]  # region, coordinate
SEEN_COORDINATE: tuple[Asked, ...] = ((VERTICAL, "y"), (HORIZONTAL, "x"))
HELD_COORDINATE: tuple[Asked, ...] = ((VERTICAL, "x"), (HORIZONTAL, "y"))
ARMS: tuple[Asked, ...] = (*SEEN_COORDINATE, *HELD_COORDINATE)
CROSSING: tuple[Asked, ...] = ((INTERSECTION, "x"), (INTERSECTION, "y"))
BOTH: tuple[Asked, ...] = ((INTERSECTION, "both"),)
NEVER_SEEN: tuple[Asked, ...] = ((VERTICAL, "both"), (HORIZONTAL, "both"), (INTERSECTION, "both"))


def null_of(arm: str) -> str:
    """The arm that holds the memoriser of another."""
    return f"memoriser-{arm}"


def accuracy(table: pl.DataFrame, arm: str, asked: Sequence[Asked], how: str = "darkest") -> dict[int, list[float]]:
    """For each seed: the accuracy at the end of training of each that is asked, in its order."""
    found = [at_end(table, f"{how}.{what}", arm, [region]) for region, what in asked]
    seeds = set.intersection(*map(set, found)) if found else set()
    if not seeds:
        raise NotMeasured(f"arm {arm} was not measured")
    return {seed: [each[seed] for each in found] for seed in sorted(seeds)}


def lowest(arm: str, asked: Sequence[Asked], bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """The lowest of these accuracies, a value a seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        values = [min(each) for each in accuracy(table, arm, asked).values()]
        return judge_above(values, bound, _beside(table, arm, asked, min))

    return judge


def highest(arm: str, asked: Sequence[Asked], bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """The highest of these accuracies is below a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        values = [max(each) for each in accuracy(table, arm, asked).values()]
        return judge_below(values, bound, _beside(table, arm, asked, max))

    return judge


def beyond_recall(arm: str, asked: Sequence[Asked]) -> Callable[[pl.DataFrame], Judgement]:
    """The lowest of these accuracies is above that of the memoriser of the same training set."""

    def judge(table: pl.DataFrame) -> Judgement:
        null = min(next(iter(accuracy(table, null_of(arm), asked).values())))
        values = [min(each) - null for each in accuracy(table, arm, asked).values()]
        return judge_above(values, 0.0, f"the memoriser: {null:.3f}")

    return judge


def rim_is_enough(table: pl.DataFrame) -> Judgement:
    """Crossings never seen: 1D with the rim less 2D+1D, a seed each, not below by a tenth."""
    rim, both = (
        {seed: _mean(each) for seed, each in accuracy(table, arm, NEVER_SEEN).items()} for arm in ("1D+rim", "2D+1D")
    )
    return judge_above(list(less(rim, both, "1D+rim and 2D+1D").values()), -0.1)


def _beside(table: pl.DataFrame, arm: str, asked: Sequence[Asked], pick: Callable[[list[float]], float]) -> str:
    """What the fine estimate says of the same, and the memoriser."""
    fine = [pick(each) for each in accuracy(table, arm, asked, "fine").values()]
    said = f"by the fine estimate {_mean(fine):.2f}"
    try:
        null = pick(next(iter(accuracy(table, null_of(arm), asked).values())))
    except NotMeasured:
        return said
    return f"{said}; the memoriser {null:.3f}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


COMPOSE = (
    Claim(
        "C1",
        "2D: in the arms of the cross the coordinate that was seen is right (the lower of two)",
        "right (above 0.85)",
        lowest("2D", SEEN_COORDINATE, 0.85),
    ),
    Claim(
        "C2",
        "2D: and the coordinate that was held out is wrong (the higher of two)",
        "wrong (below 0.45)",
        highest("2D", HELD_COORDINATE, 0.45),
    ),
    Claim("C3", "2D: where the arms cross, both are not right together", "low (below 0.2)", highest("2D", BOTH, 0.2)),
    Claim(
        "C4",
        "2D+1D: in the arms both coordinates are right (the lowest of four)",
        "high everywhere (above 0.8)",
        lowest("2D+1D", ARMS, 0.8),
    ),
    Claim(
        "C5",
        "2D+1D: where the arms cross, both coordinates are right (the lower of two)",
        "high everywhere (above 0.8)",
        lowest("2D+1D", CROSSING, 0.8),
    ),
    Claim(
        "C5n",
        "2D+1D: where the arms cross, both are right more often than for its memoriser (difference)",
        "not asked (above 0)",
        beyond_recall("2D+1D", BOTH),
    ),
    Claim(
        "C2n",
        "2D: in the arms the held-out coordinate is right more often than for its memoriser (difference)",
        "not asked (above 0)",
        beyond_recall("2D", HELD_COORDINATE),
    ),
    Claim("C6", "1D: where the arms cross, both are not right together", "low (below 0.15)", highest("1D", BOTH, 0.15)),
    Claim(
        "C7",
        "1D with the rim is as good as 2D+1D on crossings never seen (difference)",
        "at least as good (above -0.1)",
        rim_is_enough,
    ),
)
