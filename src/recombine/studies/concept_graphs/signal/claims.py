"""Which concept comes last, the one with the weakest pixel signal or the rarest: the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

FARTHEST = "111"
CONCEPTS = ("shape", "color", "size")
WEAKEST = {"as-is": "shape", "weak-color": "color", "weak-size": "size"}


def lateness(table: pl.DataFrame, arm: str, concept: str) -> dict[int, float]:
    """For each seed, how late a concept of the farthest class is: one less its accuracy, averaged over the log-spaced
    evaluations; 0 for a concept that is right from the first, 1 for one that never comes.
    """
    found = curves(table, f"reader.{concept}", arm, FARTHEST)
    if not found:
        raise NotMeasured(f"{concept} of {FARTHEST} in arm {arm} was not measured")
    return {seed: 1 - float(np.mean(values)) for (seed, _), (_, values) in found.items()}


def last_concepts(table: pl.DataFrame, arm: str) -> dict[int, str | None]:
    """The latest concept of each seed that has all of them; None where two are equally late."""
    late = {concept: lateness(table, arm, concept) for concept in CONCEPTS}
    last: dict[int, str | None] = {}
    for seed in set.intersection(*(set(found) for found in late.values())):
        latest = max(found[seed] for found in late.values())
        candidates = [concept for concept in CONCEPTS if late[concept][seed] == latest]
        last[seed] = candidates[0] if len(candidates) == 1 else None
    return last


def weakest_is_last(table: pl.DataFrame) -> Judgement:
    """G1: in how many seeds the concept with the weakest signal is the last, in all three arms."""
    last = {arm: last_concepts(table, arm) for arm in WEAKEST}
    seeds = set.intersection(*(set(found) for found in last.values()))
    agree = sum(all(last[arm][seed] == concept for arm, concept in WEAKEST.items()) for seed in seeds)
    each = {arm: sum(found == WEAKEST[arm] for found in last[arm].values()) for arm in WEAKEST}
    note = "; ".join(f"{arm}: {WEAKEST[arm]} last in {count} of {len(last[arm])}" for arm, count in each.items())
    return judge_every(agree, len(seeds), note)


def frequent_is_earlier(table: pl.DataFrame) -> Judgement:
    """G2: how much earlier colour comes with blue in three quarters of the images; same seed, same signals."""
    before, after = (lateness(table, arm, "color") for arm in ("as-is", "blue-most"))
    return judge_above([before[seed] - after[seed] for seed in before if seed in after], 0.0)


def strong_is_earlier(table: pl.DataFrame) -> Judgement:
    """G3: how much earlier colour comes with its full signal than with a weak one."""
    weak, full = (lateness(table, arm, "color") for arm in ("weak-color", "as-is"))
    return judge_above([weak[seed] - full[seed] for seed in weak if seed in full], 0.0)


SIGNAL = (
    Claim(
        "G1",
        "the last concept of 111 is the one with the weakest pixel signal, whichever that is (share of seeds)",
        "beyond; the paper: the minority value, blue",
        weakest_is_last,
    ),
    Claim(
        "G2",
        "where blue is in three quarters of the images, the colour of 111 comes earlier (difference in lateness)",
        "beyond; implied by the paper's explanation (above 0)",
        frequent_is_earlier,
    ),
    Claim(
        "G3",
        "with more pixel signal the colour of 111 comes earlier (difference in lateness)",
        "beyond (above 0)",
        strong_is_earlier,
    ),
)
