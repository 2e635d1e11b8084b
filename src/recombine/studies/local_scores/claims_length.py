"""Length generalization (Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.instruments.counting import RECALL, k_max
from recombine.lab.by_seed import less
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_every
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

HEADLINE = "1-3"
WHOLE = "2L whole 1-3"  # the control: a patch as large as the image


def arm_of(experiment: str, objects: str) -> str:
    """How arms are called: "2L 1-3"."""
    return f"{experiment} {objects}"


def recall_by_count(table: pl.DataFrame, arm: str, instrument: str = RECALL) -> dict[int, dict[int, float]]:
    """For each seed: recall at the end of training for each number of labels."""
    found: dict[int, dict[int, float]] = {}
    for (seed, node), (_, values) in curves(table, instrument, arm).items():
        found.setdefault(seed, {})[int(node)] = float(values[-1])
    if not found:
        raise NotMeasured(f"arm {arm} was not measured")
    return found


def longest(table: pl.DataFrame, arm: str, instrument: str = RECALL) -> dict[int, float]:
    """K_max of each seed."""
    return {seed: float(k_max(curve).steady) for seed, curve in recall_by_count(table, arm, instrument).items()}


def reaches(arm: str, bound: int) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or more, a value a seed."""
    return lambda table: judge_above(list(longest(table, arm).values()), bound - 0.5)


def stays(arm: str, bound: int) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or less."""
    return lambda table: judge_below(list(longest(table, arm).values()), bound + 0.5)


def in_order(table: pl.DataFrame) -> Judgement:
    """Seeds in which 2L and 3L go further than Exp 1, that further than Exp 3, and that at least as far as Exp 2."""
    found = {name: longest(table, arm_of(name, HEADLINE)) for name in ("1", "2", "3", "2L", "3L")}
    seeds = sorted(set.intersection(*(set(each) for each in found.values())))
    if not seeds:
        raise NotMeasured("no seed has all five experiments")
    right = [min(found["2L"][s], found["3L"][s]) > found["1"][s] > found["3"][s] >= found["2"][s] for s in seeds]
    means = ", ".join(f"{name} {sum(each.values()) / len(each):.1f}" for name, each in found.items())
    return judge_every(sum(right), len(right), f"mean K_max: {means}")


def further(one: str, other: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """K_max of one arm less that of another, a value a seed, is above a bound."""
    return lambda table: judge_above(
        list(less(longest(table, one), longest(table, other), f"{one} and {other}").values()), bound
    )


def trained_are_met(table: pl.DataFrame) -> Judgement:
    """Recall of Exp 1 with 1 to 3 labels, the lowest of them."""
    found = recall_by_count(table, arm_of("1", HEADLINE))
    return judge_above([min(value for k, value in curve.items() if k <= 3) for curve in found.values()], 0.9)


def finder_is_right(table: pl.DataFrame) -> Judgement:
    """Recall of the finder on rendered scenes, the lowest over the numbers of objects."""
    lowest: dict[int, float] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        for (seed, _), (_, values) in curves(table, f"calibration.{RECALL}", arm).items():
            lowest[seed] = min(lowest.get(seed, 1.0), float(values[0]))
    if not lowest:
        raise NotMeasured("the finder was not calibrated")
    return judge_above(list(lowest.values()), 0.95)


LENGTH = (
    Claim("LN0", "Exp 1 draws what it was trained on: 1 to 3 labels (lowest recall)", "beyond (above 0.9)",
          trained_are_met),
    Claim("LN0f", "the finder meets the objects of rendered scenes (lowest recall over 1 to 12)", "beyond (above 0.95)",
          finder_is_right, general=True),
    Claim("LN1", "K_max in order: 2L and 3L above Exp 1, that above Exp 3, that not below Exp 2 (share of seeds)",
          "9, 9 > 7 > 3 > 2", in_order),
    Claim("LN2a", "Exp 1 goes well beyond 3 labels (K_max)", "7 (at least 5)", reaches(arm_of("1", HEADLINE), 5)),
    Claim("LN2b", "Exp 2L does (K_max)", "9 (at least 6)", reaches(arm_of("2L", HEADLINE), 6)),
    Claim("LN2c", "Exp 3L does (K_max)", "9 (at least 6)", reaches(arm_of("3L", HEADLINE), 6)),
    Claim("LN2d", "Exp 2 does not (K_max)", "2 (at most 3)", stays(arm_of("2", HEADLINE), 3)),
    Claim("LN2e", "Exp 3 does not (K_max)", "3 (at most 4)", stays(arm_of("3", HEADLINE), 4)),
    Claim("LN3", "trained on single objects, a local network goes further than a plain one (difference of K_max)",
          "5 against 1 (above 2)", further(arm_of("2L", "1"), arm_of("2", "1"), 2.0)),
    Claim("LN4", "a patch as large as the image takes the gain away (difference of K_max)", "fails again (above 2)",
          further(arm_of("2L", HEADLINE), WHOLE, 2.0)),
)  # fmt: skip
