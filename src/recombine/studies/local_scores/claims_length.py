"""Length generalization (Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.instruments.counting import RECALL, KMax, k_max
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


def longest(table: pl.DataFrame, experiment: str, objects: str = HEADLINE) -> dict[int, KMax]:
    """K_max of each seed."""
    return {seed: k_max(curve) for seed, curve in recall_by_count(table, arm_of(experiment, objects)).items()}


def _steady(table: pl.DataFrame, experiment: str, objects: str = HEADLINE) -> dict[int, int]:
    return {seed: found.steady for seed, found in longest(table, experiment, objects).items()}


def reaches(experiment: str, bound: int, objects: str = HEADLINE) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or more, a value a seed."""

    def judge(table: pl.DataFrame) -> Judgement:
        return judge_above(list(_steady(table, experiment, objects).values()), bound - 0.5)

    return judge


def stays(experiment: str, bound: int, objects: str = HEADLINE) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or less."""

    def judge(table: pl.DataFrame) -> Judgement:
        return judge_below(list(_steady(table, experiment, objects).values()), bound + 0.5)

    return judge


def in_order(table: pl.DataFrame) -> Judgement:
    """Seeds in which 2L and 3L go further than Exp 1, that further than Exp 3, and that at least as far as Exp 2."""
    found = {name: _steady(table, name) for name in ("1", "2", "3", "2L", "3L")}
    seeds = sorted(set.intersection(*(set(each) for each in found.values())))
    if not seeds:
        raise NotMeasured("no seed has all five experiments")
    right = [min(found["2L"][s], found["3L"][s]) > found["1"][s] > found["3"][s] >= found["2"][s] for s in seeds]
    means = ", ".join(f"{name} {sum(each.values()) / len(each):.1f}" for name, each in found.items())
    return judge_every(sum(right), len(right), f"mean K_max: {means}")


def further(one: tuple[str, str], other: tuple[str, str], bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """K_max of one arm less that of another, a value a seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        values = less(_steady(table, *one), _steady(table, *other), f"{arm_of(*one)} and {arm_of(*other)}")
        return judge_above(list(values.values()), bound)

    return judge


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
    Claim("LN2a", "Exp 1 goes well beyond 3 labels (K_max)", "7 (at least 5)", reaches("1", 5)),
    Claim("LN2b", "Exp 2L does (K_max)", "9 (at least 6)", reaches("2L", 6)),
    Claim("LN2c", "Exp 3L does (K_max)", "9 (at least 6)", reaches("3L", 6)),
    Claim("LN2d", "Exp 2 does not (K_max)", "2 (at most 3)", stays("2", 3)),
    Claim("LN2e", "Exp 3 does not (K_max)", "3 (at most 4)", stays("3", 4)),
    Claim("LN3", "trained on single objects, a local network goes further than a plain one (difference of K_max)",
          "5 against 1 (above 2)", further(("2L", "1"), ("2", "1"), 2.0)),
    Claim("LN4", "a patch as large as the image takes the gain away (difference of K_max)", "fails again (above 2)",
          further(("2L", HEADLINE), ("2L whole", HEADLINE), 2.0)),
)  # fmt: skip
