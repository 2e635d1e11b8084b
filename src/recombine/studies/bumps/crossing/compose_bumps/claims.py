"""Bumps put where none was seen, from stripes and few bumps (Liang et al. 2024, Fig 4g): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_within
from recombine.lab.rules import least, less, mean
from recombine.lab.table import at_end
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.efficiency.claims import judge_bumps
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

if TYPE_CHECKING:
    import polars as pl

WITH, WITHOUT = "stripes", "bumps"
HELD = (VERTICAL, HORIZONTAL, INTERSECTION)
LEAST = 20  # percent of the bumps


def named(kind: str, percent: int) -> str:
    """("stripes", 20) -> "stripes-20", the arm."""
    return f"{kind}-{percent}"


def held_out(table: pl.DataFrame, arm: str, how: str = "darkest", what: str = "both") -> dict[int, float]:
    """For each seed: how often x and y are right at the end of training, the mean over the three held-out regions.

    `what` is "both", or "bump" if a bump must be there too.
    """
    found = [at_end(table, f"{how}.{what}", arm, [region]) for region in HELD]
    seeds = set.intersection(*map(set, found))
    if not seeds:
        raise NotMeasured(f"{how}.{what} of arm {arm} was not measured")
    return {seed: sum(each[seed] for each in found) / len(HELD) for seed in sorted(seeds)}


def composes(table: pl.DataFrame) -> Judgement:
    """CB1: held-out accuracy with stripes and all other bumps."""
    arm = named(WITH, 100)
    fine = held_out(table, arm, "fine").values()
    return judge_within(
        list(held_out(table, arm).values()), 0.55, 0.85,
        f"by the fine estimate {sum(fine) / len(fine):.2f}; {_null(table, WITH)}",
    )  # fmt: skip


def recalls_seen(table: pl.DataFrame) -> Judgement:
    """CB0: accuracy where bumps were seen, at the arm where that is least."""
    found = {arm: at_end(table, "darkest.both", arm, [SEEN]) for arm in _trained(table)}
    arm = least(found, "no arm was measured where bumps were seen")
    return judge_above(list(found[arm].values()), 0.9, f"least for {arm}")


def right_are_bumps(table: pl.DataFrame) -> Judgement:
    """CB1b: of the samples that are right where none was seen, those that show a bump, in the arm where it is least."""
    arms = named(WITH, 100), named(WITH, LEAST)
    return judge_bumps({arm: (held_out(table, arm, what="bump"), held_out(table, arm)) for arm in arms})


def few_are_as_good(table: pl.DataFrame) -> Judgement:
    """CB2: held-out accuracy with a fifth of the bumps less that with all of them."""
    return _difference(table, named(WITH, LEAST), named(WITH, 100), -0.1)


def stripes_help(table: pl.DataFrame) -> Judgement:
    """CB3: held-out accuracy with stripes less that without."""
    return _difference(table, named(WITH, 100), named(WITHOUT, 100), 0.0)


def beyond_recall(percent: int) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "above the memoriser of the same labels"."""

    def judge(table: pl.DataFrame) -> Judgement:
        null = next(iter(held_out(table, null_of(WITH)).values()))
        values = [value - null for value in held_out(table, named(WITH, percent)).values()]
        return judge_above(values, 0.0, f"the memoriser: {null:.3f}")

    return judge


def _difference(table: pl.DataFrame, arm: str, other: str, bound: float) -> Judgement:
    own, beside = held_out(table, arm), held_out(table, other)
    values = less(own, beside, f"{arm} and {other}")
    return judge_above(list(values.values()), bound, f"{mean(own):.2f} and {mean(beside):.2f}")


def _trained(table: pl.DataFrame) -> list[str]:
    return [arm for arm in sorted(table["arm"].unique()) if not arm.startswith(null_of(""))]


def _null(table: pl.DataFrame, kind: str) -> str:
    try:
        return f"the memoriser {next(iter(held_out(table, null_of(kind)).values())):.3f}"
    except NotMeasured:
        return "no memoriser"


COMPOSE_BUMPS = (
    Claim("CB0", "bumps that were seen are drawn where they were asked for (accuracy of the arm where it is least)",
          "not asked (above 0.9); without it the others say little", recalls_seen),
    Claim("CB1", "with stripes, bumps are right where none was seen (mean over two arms of the cross and where they "
          "meet)", "up to 70% (0.55 to 0.85)", composes),
    Claim("CB1n", "that is more often than for its memoriser (difference)", "not asked (above 0)", beyond_recall(100)),
    Claim("CB1b", "what is right there is a bump, not two stripes that cross (share of it, where least)",
          "not asked (above 0.9); without it CB1 counts crossings as bumps", right_are_bumps),
    Claim("CB2", f"{LEAST}% of the bumps do as well as all of them (difference)", "similar (above -0.1)",
          few_are_as_good),
    Claim("CB2n", f"and {LEAST}% of the bumps are more often right than the memoriser (difference)",
          "not asked (above 0)", beyond_recall(LEAST)),
    Claim("CB3", "stripes help: without them fewer are right where none was seen (difference)", "below (above 0)",
          stripes_help),
)  # fmt: skip
