"""What was composed (Liang et al. 2024, Fig. 4): the rules."""

from collections.abc import Callable, Sequence

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import (
    Measure,
    Rule,
    above,
    average,
    below,
    difference,
    final,
    fixed,
    largest,
    mean,
    smallest,
)
from recombine.lab.table import Table
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, VERTICAL

Asked = tuple[str, str]  # region, coordinate
SEEN_COORDINATE: tuple[Asked, ...] = ((VERTICAL, "y"), (HORIZONTAL, "x"))
HELD_COORDINATE: tuple[Asked, ...] = ((VERTICAL, "x"), (HORIZONTAL, "y"))
ARMS: tuple[Asked, ...] = (*SEEN_COORDINATE, *HELD_COORDINATE)
CROSSING: tuple[Asked, ...] = ((INTERSECTION, "x"), (INTERSECTION, "y"))
BOTH: tuple[Asked, ...] = ((INTERSECTION, "both"),)
NEVER_SEEN: tuple[Asked, ...] = ((VERTICAL, "both"), (HORIZONTAL, "both"), (INTERSECTION, "both"))

Pick = Callable[..., Measure]
"""How several accuracies become one: smallest, largest or average."""


def right(
    pick: Pick, asked: Sequence[Asked], data: str, how: str = "darkest", model: str = TRAINED, **where: object
) -> Measure:
    """The smallest, largest or average accuracy of those asked for, at the end of training."""
    each = (final(f"{how}.{what}", data=data, model=model, region=region, **where) for region, what in asked)
    return pick(*each)


def baseline(pick: Pick, asked: Sequence[Asked], data: str, how: str = "darkest") -> Measure:
    """The same of the nearest-label baseline: what its first seed scores, for every seed.

    Seeds differ in how ties between labels fall, and in nothing that is compared.
    """
    return fixed(right(pick, asked, data, how, NEAREST), "the nearest-label baseline was not computed")


def lowest(data: str, asked: Sequence[Asked], bound: float) -> Rule:
    """The lowest of these accuracies, a value a seed, is above a bound."""
    return above(right(smallest, asked, data), bound, beside(smallest, asked, data))


def highest(data: str, asked: Sequence[Asked], bound: float) -> Rule:
    """The highest of these accuracies is below a bound."""
    return below(right(largest, asked, data), bound, beside(largest, asked, data))


def beyond_baseline(data: str, asked: Sequence[Asked]) -> Rule:
    """The lowest of these accuracies is above that of the nearest-label baseline of the same training set."""
    null = baseline(smallest, asked, data)
    return above(difference(right(smallest, asked, data), null), 0.0, lambda table: f"baseline {mean(null(table)):.3f}")


def rim_is_enough() -> Rule:
    """Crossings never seen: 1D with the rim less 2D+1D, a seed each, not below by a tenth."""
    return above(difference(*(right(average, NEVER_SEEN, data) for data in ("1D+rim", "2D+1D"))), -0.1)


def beside(pick: Pick, asked: Sequence[Asked], data: str) -> Callable[[Table], str]:
    """What the fine estimate says of the same, and the nearest-label baseline."""

    def note(table: Table) -> str:
        said = f"by the fine estimate {mean(right(pick, asked, data, 'fine')(table)):.2f}"
        try:
            return f"{said}; nearest-label baseline {mean(baseline(pick, asked, data)(table)):.3f}"
        except NotMeasured:
            return said

    return note


CLAIMS = (
    Claim("CR1", "2D: in the arms of the cross the coordinate that was seen is right (the lower of two)",
          "right (above 0.85)", lowest("2D", SEEN_COORDINATE, 0.85)),
    Claim("CR2", "2D: and the coordinate that was held out is wrong (the higher of two)", "wrong (below 0.45)",
          highest("2D", HELD_COORDINATE, 0.45)),
    Claim("CR3", "2D: where the arms cross, both are not right together", "low (below 0.2)", highest("2D", BOTH, 0.2)),
    Claim("CR4", "2D+1D: in the arms both coordinates are right (the lowest of four)", "high everywhere (above 0.8)",
          lowest("2D+1D", ARMS, 0.8)),
    Claim("CR5", "2D+1D: where the arms cross, both coordinates are right (the lower of two)",
          "high everywhere (above 0.8)", lowest("2D+1D", CROSSING, 0.8)),
    Claim("CR5n",
          "2D+1D: where the arms cross, both are right more often than for the nearest-label baseline (difference)",
          "not asked (above 0)", beyond_baseline("2D+1D", BOTH), check=True),
    Claim("CR2n", "2D: in the arms the held-out coordinate is right more often than for the nearest-label baseline "
          "(difference)", "not asked (above 0)", beyond_baseline("2D", HELD_COORDINATE), check=True),
    Claim("CR6", "1D: where the arms cross, both are not right together", "low (below 0.15)",
          highest("1D", BOTH, 0.15)),
    Claim("CR7", "1D with the rim is as good as 2D+1D on crossings never seen (difference)",
          "at least as good (above -0.1)", rim_is_enough()),
)  # fmt: skip
