"""Locality of the models of length generalization (Bradley 2026, Fig 2 left): the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_every
from recombine.lab.rules import less, mean
from recombine.lab.table import at_end
from recombine.studies.local_scores.length.claims import CHANNEL, FIXED, HEADLINE, WHOLE, arm_of, must_have_learnt

if TYPE_CHECKING:
    import polars as pl

ALL = "all"  # the node of all noise levels together
REMOVED, MOVED, GRADIENT = (f"locality.conditions.{reading}.C" for reading in ("removed", "moved", "gradient"))
READINGS = {"removed": REMOVED, "moved": MOVED, "gradient": GRADIENT}
CHANCE = {
    REMOVED: "locality.conditions.C.chance",
    MOVED: "locality.conditions.C.chance",
    GRADIENT: "locality.conditions.gradient.C.chance",
}
PIXELS, BEYOND = "locality.pixels.P2", "locality.pixels.beyond"
LOCAL_MACHINE, GLOBAL_MACHINE = "machine local", "machine global"
ONE = 0.999  # what counts as C = 1: on a GPU equal patches in batches of different sizes differ in their last digits

Rule = Callable[["pl.DataFrame"], Judgement]


def ends(table: pl.DataFrame, arm: str, instrument: str, node: str = ALL) -> dict[int, float]:
    """For each seed: the value at the end of training."""
    found = at_end(table, instrument, arm, [node])
    if not found:
        raise NotMeasured(f"{instrument} of {arm} was not measured")
    return found


def excess(table: pl.DataFrame, arm: str, instrument: str = REMOVED) -> dict[int, float]:
    """(C - chance) / (1 - chance) for each seed: 0 if all conditions matter alike, 1 if only those that are near."""
    chance = ends(table, arm, CHANCE[instrument])
    return {s: (c - chance[s]) / (1 - chance[s]) for s, c in ends(table, arm, instrument).items() if s in chance}


def above(one: str, other: str, instrument: str, bound: float) -> Rule:
    """One arm's value less another's, seed by seed, is above a bound.

    A network that does not obey labels has C at chance: both have to meet single ones.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        if instrument in CHANCE:
            must_have_learnt(table, one, other)
        first, second = (ends(table, arm, instrument) for arm in (one, other))
        note = f"{mean(first):.2f} and {mean(second):.2f}"
        if instrument in CHANCE:
            note += f"; chance {mean(ends(table, one, CHANCE[instrument])):.2f}"
        return judge_above(list(less(first, second, f"{one} and {other}").values()), bound, note)

    return judge


def local(arm: str, holds: bool) -> Rule:
    """Whether C by removal is nearer to 1 than to chance."""

    def judge(table: pl.DataFrame) -> Judgement:
        must_have_learnt(table, arm)
        c, chance = (mean(ends(table, arm, name)) for name in (REMOVED, CHANCE[REMOVED]))
        others = {name: excess(table, arm, READINGS[name]) for name in ("moved", "gradient")}
        note = f"C {c:.2f}, chance {chance:.2f}; " + ", ".join(f"by {k} {mean(v):.2f}" for k, v in others.items())
        return (judge_above if holds else judge_below)(list(excess(table, arm).values()), 0.5, note)

    return judge


def is_one(arm: str, readings: Iterable[str] = tuple(READINGS)) -> Rule:
    """In how many seeds C is 1 by each of these readings."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = [ends(table, arm, READINGS[reading]) for reading in readings]
        lowest = {seed: min(each[seed] for each in found) for seed in set.intersection(*map(set, found))}
        note = f"no chance in it; lowest C: {min(lowest.values()):.6f}"
        return judge_every(sum(c >= ONE for c in lowest.values()), len(lowest), note)

    return judge


def is_zero_beyond(arm: str) -> Rule:
    """In how many seeds no gradient leaves the patch, exactly."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = ends(table, arm, BEYOND)
        note = f"no chance in it; largest share beyond: {max(found.values()):.1e}"
        return judge_every(sum(share == 0 for share in found.values()), len(found), note)

    return judge


def machine_is_not_local(table: pl.DataFrame) -> Judgement:
    """C of the global machine by removal, on the scale from chance to 1."""
    found = excess(table, GLOBAL_MACHINE)
    beyond = mean(ends(table, GLOBAL_MACHINE, BEYOND))
    return judge_below(list(found.values()), 0.5, f"share of the gradient beyond the patch: {beyond:.2f}")


EXP1, EXP2, EXP3, EXP2L, EXP3L = (arm_of(name, HEADLINE) for name in ("1", "2", "3", "2L", "3L"))
FIRST = "conditionally local, the others not (above 0.1)"
LOCALITY = (
    Claim("LC1a", "C of Exp 1 is well above that of Exp 2 (removed, difference)", FIRST,
          above(EXP1, EXP2, REMOVED, 0.1)),
    Claim("LC1b", "and that of Exp 3", FIRST, above(EXP1, EXP3, REMOVED, 0.1)),
    Claim("LC1c", "also where the condition is moved instead: Exp 2", "beyond (above 0.1)",
          above(EXP1, EXP2, MOVED, 0.1)),
    Claim("LC1d", "and Exp 3", "beyond (above 0.1)", above(EXP1, EXP3, MOVED, 0.1)),
    Claim("LC1e", "also by the gradient to the label: Exp 2", "beyond (above 0.1)", above(EXP1, EXP2, GRADIENT, 0.1)),
    Claim("LC1f", "and Exp 3", "beyond (above 0.1)", above(EXP1, EXP3, GRADIENT, 0.1)),
    Claim("LC2a", "Exp 1 is conditionally local (C removed, on a scale from chance 0 to 1)", "local (above 0.5)",
          local(EXP1, True)),
    Claim("LC2b", "Exp 2 is not (the same)", "not local (below 0.5)", local(EXP2, False)),
    Claim("LC2c", "Exp 3 is not (the same)", "not local (below 0.5)", local(EXP3, False)),
    Claim("LC3a", "pixels: Exp 1 is more local than Exp 3 (P within 2 cells, difference)",
          "local, Exp 3 not (above 0)", above(EXP1, EXP3, PIXELS, 0.0)),
    Claim("LC3b", "pixels: so is Exp 2 (the same)", "local, Exp 3 not (above 0)", above(EXP2, EXP3, PIXELS, 0.0)),
    Claim("LC4a", "Exp 2L has C = 1, however asked (share of seeds)", "1 by construction", is_one(EXP2L)),
    Claim("LC4b", "so has Exp 3L", "1 by construction", is_one(EXP3L)),
    Claim("LC4c", "no gradient leaves the 5 x 5 cells of Exp 2L (share of seeds)", "0 by construction",
          is_zero_beyond(EXP2L)),
    Claim("LC4d", "nor of Exp 3L", "0 by construction", is_zero_beyond(EXP3L)),
    Claim("LC5a", "the exact local machine has C = 1 (share of training sets)", "beyond: known answer",
          is_one(LOCAL_MACHINE, ("removed", "moved"))),
    Claim("LC5b", "no gradient leaves its 5 x 5 cells", "beyond: known answer", is_zero_beyond(LOCAL_MACHINE)),
    Claim("LC5c", "the exact global machine is not conditionally local (scale from chance 0 to 1)",
          "beyond: known answer (below 0.5)", machine_is_not_local),
    Claim("LC6", "a patch as large as the image takes conditional locality away (C removed, difference to Exp 2L)",
          "beyond (above 0.1)", above(EXP2L, WHOLE, REMOVED, 0.1)),
    Claim("LC7a", "labels as a channel of the image: Exp 1 is conditionally local (C removed, on a scale from chance 0 "
          "to 1)", "beyond (above 0.5)", local(arm_of(f"1 {CHANNEL}", HEADLINE), True)),
    Claim("LC7b", "so is Exp 2, which is told one object", "beyond (above 0.5)",
          local(arm_of(f"2 {CHANNEL}", HEADLINE), True)),
    Claim("LC7c", "a list from its first slot on: Exp 3 is not", "beyond (below 0.5)",
          local(arm_of(f"3 {FIXED}", HEADLINE), False)),
)  # fmt: skip
