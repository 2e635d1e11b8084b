"""Whether interpolation depends on the code in which the network receives the label: the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, above, average, below, difference, largest, mean, smallest
from recombine.runs.bump_codes import ANGLES, LONG, RAW, SCALAR
from recombine.studies.bumps._shared.codes import NAMES
from recombine.studies.bumps.crossing.compose.claims import BOTH, CROSSING, HELD_COORDINATE, Asked, baseline, right
from recombine.worlds.holdouts import SEEN

if TYPE_CHECKING:
    import polars as pl

    from recombine.lab.rules import BySeed

CODES = (RAW, LONG, SCALAR, ANGLES)
LEARNT = 0.85  # of seen labels must be right before anything follows
ONE, MEET = "in the arms the held-out coordinate is", "where the arms cross both are"


def fine(asked: tuple[Asked, ...], data: str, code: str) -> Measure:
    """The mean accuracy of these by the fine estimate."""
    return right(average, asked, data, "fine", code=code)


def if_learnt(code: str, measure: Measure) -> Measure:
    """What a model of 2D has, if it places what it saw."""

    def values(table: pl.DataFrame) -> BySeed:
        seen = fine(((SEEN, "both"),), "2D", code)(table)
        if not seen:
            raise NotMeasured(f"2D with {NAMES[code]} was not measured")
        if mean(seen) < LEARNT:
            raise NotMeasured(f"only {mean(seen):.2f} of what was seen is right: nothing follows")
        return measure(table)

    return values


def more_than_raw(code: str, asked: tuple[Asked, ...]) -> Measure:
    """Less what the same seed has with the paper's sinusoids."""
    return difference(if_learnt(code, fine(asked, "2D", code)), fine(asked, "2D", RAW))


def more_than_baseline(code: str, asked: tuple[Asked, ...]) -> Measure:
    """Less what the nearest-label baseline has."""
    return difference(if_learnt(code, fine(asked, "2D", code)), baseline(average, asked, "2D", "fine"))


def _claims() -> Iterator[Claim]:
    for code in (LONG, SCALAR, ANGLES):
        name = NAMES[code].capitalize()
        yield Claim(
            f"EN1-{code}",
            f"{name}, 2D: in the arms the coordinate that was held out is wrong (the higher of two)",
            "wrong with raw sinusoids (below 0.45)",
            below(
                if_learnt(code, right(largest, HELD_COORDINATE, "2D", code=code)),
                0.45,
            ),
            check=True,
        )
    for claim, says, asked in (("EN2", ONE, HELD_COORDINATE), ("EN4", MEET, BOTH)):
        for code in (LONG, SCALAR, ANGLES):
            yield Claim(
                f"{claim}-{code}",
                f"{NAMES[code].capitalize()}, 2D: {says} right more often than with the paper's sinusoids (difference)",
                "not asked (above 0)",
                above(more_than_raw(code, asked), 0.0),
                check=True,
            )
    for claim, says, asked in (("EN3", ONE, HELD_COORDINATE), ("EN4n", MEET, BOTH)):
        for code in CODES:
            yield Claim(
                f"{claim}-{code}",
                f"{NAMES[code].capitalize()}, 2D: {says} right more often than for the nearest-label baseline "
                "(difference)",
                "not asked (above 0)",
                above(more_than_baseline(code, asked), 0.0),
                check=True,
            )
    for code in (LONG, SCALAR, ANGLES):
        yield Claim(
            f"EN5-{code}",
            f"{NAMES[code].capitalize()}, 2D+1D: where the arms cross both coordinates are right (the lower of two)",
            "high with raw sinusoids (above 0.8)",
            above(right(smallest, CROSSING, "2D+1D", code=code), 0.8),
            check=True,
        )


CLAIMS = tuple(sorted(_claims(), key=lambda claim: claim.id.split("-")[0]))
