"""What exact machines compose: the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_within
from recombine.lab.table import at_end
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, VERTICAL

if TYPE_CHECKING:
    import polars as pl

RECALLED = 2 / 6  # what the nearest labels score in six held-out ones


def arm_of(machine: str, training_set: str) -> str:
    """The arm of a machine on a training set."""
    return f"{machine}-{training_set}"


def scores(table: pl.DataFrame, arm: str, region: str, instrument: str) -> list[float]:
    """One value a seed."""
    found = at_end(table, instrument, arm, [region])
    if not found:
        raise NotMeasured(f"arm {arm} was not measured")
    return [found[seed] for seed in sorted(found)]


def recalls(table: pl.DataFrame) -> Judgement:
    """The memoriser of 2D: the held-out coordinate of both arms of the cross."""
    arm = arm_of("memoriser", "2D")
    pairs = zip(scores(table, arm, VERTICAL, "darkest.x"), scores(table, arm, HORIZONTAL, "darkest.y"), strict=True)
    return judge_within([(x + y) / 2 for x, y in pairs], RECALLED - 0.01, RECALLED + 0.01)


def low(arm: str, instrument: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """Where the arms of the cross meet, it is below a bound."""
    return lambda table: judge_below(scores(table, arm, INTERSECTION, instrument), bound)


def high(arm: str, instrument: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """Where the arms of the cross meet, it is above a bound."""
    return lambda table: judge_above(scores(table, arm, INTERSECTION, instrument), bound)


EITHER, JOINT = arm_of("local-either", "2D+1D"), arm_of("local", "2D+1D")

EXACT = (
    Claim(
        "E1",
        "a memoriser of 2D shows the pattern read as composing without interpolating (held-out coordinate)",
        "2 of 6 labels (0.333)",
        recalls,
    ),
    Claim(
        "E2",
        "a memoriser of 2D+1D does not compose (both right where the arms meet)",
        "4 of 36 labels (below 0.2)",
        low(arm_of("memoriser", "2D+1D"), "darkest.both", 0.2),
    ),
    Claim(
        "E3",
        "nor do added scores of 2D+1D (both right where the arms meet)",
        "not asked (below 0.2)",
        low(arm_of("added", "2D+1D"), "darkest.both", 0.2),
    ),
    Claim(
        "E4",
        "local scores matched by the whole label recall (both stripes where the arms meet)",
        "not asked (below 0.2)",
        low(JOINT, "fine.both", 0.2),
    ),
    Claim(
        "E5",
        "local scores matched by either number put both stripes right (both stripes where the arms meet)",
        "not asked (above 0.8)",
        high(EITHER, "fine.both", 0.8),
    ),
    Claim(
        "E6",
        "but leave their crossing grey (darkness there; 0.5 is one stripe, 1 a crossing)",
        "not asked (below 0.75)",
        low(EITHER, "dark.asked", 0.75),
    ),
)
