"""How local a score must be (beyond Bradley 2026): the rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_within
from recombine.lab.rules import less, mean, rank_correlation
from recombine.studies.local_scores.length.claims import (
    LEARNT,
    Measure,
    beyond_chance,
    longest,
    must_have_learnt,
    recall_by_count,
    with_one,
)

if TYPE_CHECKING:
    import polars as pl

ALIKE = "labels near, patches as far"  # labels near at every noise level; patches drawn as where they reach far
ABOVE, BELOW = "labels near above", "labels near below"  # only above, or below, a noise level
MANY = 6  # labels at which recalls are compared
FEWEST = 4  # pairs of fields that a rank correlation needs

Rule = Callable[["pl.DataFrame"], Judgement]


def fields_arm(radius: int, label_radius: int) -> str:
    """How arms are called by their pixel and condition field: "pixels 2 labels 8"."""
    return f"pixels {radius} labels {label_radius}"


def fields_of(arm: str) -> tuple[int, int] | None:
    """The fields of an arm that is called by them, of a network or of a machine."""
    found = re.fullmatch(r"(?:machine )?pixels (\d+) labels (\d+)", arm)
    return None if found is None else (int(found[1]), int(found[2]))


def machine_beside(arm: str) -> str:
    """The arm of the machine with the same fields."""
    return f"machine {arm}"


def with_many(table: pl.DataFrame, arm: str) -> dict[int, float]:
    """Recall of each seed with MANY labels, where it was asked."""
    return {seed: curve[MANY] for seed, curve in recall_by_count(table, arm).items() if MANY in curve}


def reach(table: pl.DataFrame, arm: str) -> Mapping[int, float]:
    """K_max of each seed of a network that learnt single labels."""
    must_have_learnt(table, arm)
    return longest(table, arm)


def met_beyond(table: pl.DataFrame, arm: str) -> Mapping[int, float]:
    """What is met of more than three labels, from chance 0 to 1, of a network that learnt single labels."""
    must_have_learnt(table, arm)
    return beyond_chance(table, arm)


def loss(table: pl.DataFrame, arm: str, other: str, reading: Measure) -> dict[int, float]:
    """A reading of one arm less that of another, for each seed that has both."""
    return less(reading(table, arm), reading(table, other), f"{arm} and {other}")


def falls(arm: str, other: str, bound: float, reading: Measure = reach) -> Rule:
    """From one arm to another a reading falls by more than a bound."""
    return lambda table: judge_above(
        list(loss(table, arm, other, reading).values()), bound, _both(table, arm, other, reading)
    )


def keeps(arm: str, other: str, bound: float, reading: Measure = reach) -> Rule:
    """From one arm to another a reading changes by no more than a bound."""
    return lambda table: judge_within(
        list(loss(table, arm, other, reading).values()), -bound, bound, _both(table, arm, other, reading)
    )


def spares(arm: str, other: str, bound: float, reading: Measure) -> Rule:
    """From one arm to another a reading falls by less than a bound."""
    return lambda table: judge_below(
        list(loss(table, arm, other, reading).values()), bound, _both(table, arm, other, reading)
    )


def _both(table: pl.DataFrame, arm: str, other: str, reading: Measure) -> str:
    return f"{mean(reading(table, arm)):.2f} and {mean(reading(table, other)):.2f}"


def too_little(table: pl.DataFrame) -> Judgement:
    """K_max with a single cell of both fields falls well short; such a network cannot even meet single labels."""
    singles = mean(with_one(table, POINT))
    found = list(loss(table, NEAR, POINT, longest).values())
    return judge_above(found, 2.0, f"single cell: recall of single labels {singles:.2f}")


def labels_cost_more(bound: float, reading: Measure = reach) -> Rule:
    """What a larger condition field costs is more than what a larger pixel field costs."""

    def judge(table: pl.DataFrame) -> Judgement:
        told, seen = loss(table, NEAR, FAR, reading), loss(table, NEAR, WIDE, reading)
        return judge_above(list(less(told, seen).values()), bound, f"{mean(told):.2f} and {mean(seen):.2f}")

    return judge


def machines_rank(table: pl.DataFrame) -> Judgement:
    """For each seed: rank correlation over pairs of fields between the recall of network and of machine."""
    every, learnt = _ranks(table, 0.0), _ranks(table, LEARNT)
    if not every:
        raise NotMeasured(f"no seed has networks and machines of {FEWEST} pairs of fields with {MANY} labels")
    words = f"among networks that meet {LEARNT:g} of single labels {np.mean(learnt):.2f}" if learnt else ""
    return judge_above(every, 0.6, words)


def _ranks(table: pl.DataFrame, singles: float) -> list[float]:
    """The rank correlation of each seed over networks that meet so much of single labels."""
    pairs: dict[int, list[tuple[float, float]]] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        if fields_of(arm) is None or arm.startswith("machine"):
            continue
        try:
            network, machine = with_many(table, arm), with_many(table, machine_beside(arm))
        except NotMeasured:
            continue
        if mean(with_one(table, arm)) >= singles:
            for seed in network.keys() & machine.keys():
                pairs.setdefault(seed, []).append((machine[seed], network[seed]))
    return [rank_correlation(*np.array(pairs[seed]).T) for seed in sorted(pairs) if len(pairs[seed]) >= FEWEST]


NEAR, FAR, WIDE, POINT = fields_arm(2, 2), fields_arm(2, 8), fields_arm(6, 2), fields_arm(0, 0)

DOSE = (
    Claim("DS1", "K_max falls with the condition field, pixels within 2 cells (labels within 2 less within 8)",
          "not asked (above 2)", falls(NEAR, FAR, 2.0)),
    Claim("DS1b", "also if both learn from the same patches (labels within 2 less within 8)",
          "not asked (above 2)", falls(ALIKE, FAR, 2.0)),
    Claim("DS2", "but hardly with the pixel field, labels within 2 cells (pixels within 2 less within 6)",
          "not asked (2 at most)", keeps(NEAR, WIDE, 2.0)),
    Claim("DS3", "what a network is told costs more than what it sees (difference of the two losses of K_max)",
          "not asked (above 1)", labels_cost_more(1.0)),
    Claim("DS4", "both fields together: K_max falls from 5 x 5 to 13 x 13 cells (difference)",
          "k = 8 fails (above 2)", falls(NEAR, fields_arm(6, 6), 2.0)),
    Claim("DS4b", "and a single cell is too little (K_max at k = 2 less at k = 0)", "not asked (above 2)",
          too_little),
    Claim("DS5", "high noise sets the layout: labels that are near at high noise only keep K_max (difference)",
          "said, no number (2 at most)", keeps(ALIKE, ABOVE, 2.0)),
    Claim("DS5b", "labels that are near at low noise only do not (K_max, high less low)",
          "said, no number (above 2)", falls(ABOVE, BELOW, 2.0)),
    Claim("DS6", "the machine of the same fields ranks networks right (rank correlation, recall with 6 labels)",
          "not asked (above 0.6)", machines_rank),
    Claim("DS7", "in the machine K_max falls with the condition field (labels within 2 less within 8)",
          "not asked (above 2)", falls(machine_beside(NEAR), machine_beside(FAR), 2.0)),
    Claim("DS7b", "and hardly with the pixel field (pixels within 2 less within 6)", "not asked (2 at most)",
          keeps(machine_beside(NEAR), machine_beside(WIDE), 2.0)),
    Claim("DS8a", "More than three labels: fewer are met with a larger condition field (recall, scale from chance 0 to "
          "1, labels within 2 less within 8)", "not asked (above 0.1)", falls(NEAR, FAR, 0.1, met_beyond)),
    Claim("DS8b", "hardly fewer with a larger pixel field (pixels within 2 less within 6)",
          "not asked (less than 0.1)", spares(NEAR, WIDE, 0.1, met_beyond)),
    Claim("DS8c", "what a network is told costs more than what it sees (difference of the two losses)",
          "not asked (above 0)", labels_cost_more(0.0, met_beyond)),
    Claim("DS8d", "labels that are near at high noise only keep recall (difference)",
          "said, no number (less than 0.1)", spares(ALIKE, ABOVE, 0.1, met_beyond)),
    Claim("DS8e", "labels that are near at low noise only do not (high less low)",
          "said, no number (above 0.1)", falls(ABOVE, BELOW, 0.1, met_beyond)),
)  # fmt: skip
