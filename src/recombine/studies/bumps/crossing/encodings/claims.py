"""Whether interpolation depends on the code in which the network receives the label: the rules."""

from collections.abc import Callable, Iterator

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Measure, Rule, above, average, below, difference, largest, mean, smallest
from recombine.lab.table import Table
from recombine.runs.bump_codes import ANGLES, LONG, RAW, SCALAR
from recombine.studies.bumps._shared.codes import NAMES
from recombine.studies.bumps.crossing.compose.claims import BOTH, CROSSING, HELD_COORDINATE, Asked, baseline, right
from recombine.worlds.holdouts import SEEN

CODES = (RAW, LONG, SCALAR, ANGLES)
LEARNT = 0.85  # of seen labels must be right before anything follows
ONE, MEET = "in the arms the held-out coordinate is", "where the arms cross both are"


def fine(asked: tuple[Asked, ...], data: str, code: str) -> Measure:
    """The mean accuracy of these by the fine estimate."""
    return right(average, asked, data, "fine", code=code)


def if_learnt(code: str, measure: Measure) -> Measure:
    """What a model of 2D has, if it places what it saw."""

    def values(table: Table) -> BySeed:
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


def _each(name: str, says: str, paper: str, rule: Callable[[str], Rule], codes: tuple[str, ...]) -> Iterator[Claim]:
    """A claim for each of these codes."""
    for code in codes:
        yield Claim(f"{name}-{code}", f"{NAMES[code].capitalize()}, {says}", paper, rule(code), check=True)


def held_out_is_wrong(code: str) -> Rule:
    """The higher accuracy of the coordinates that 2D holds out is low, as with the paper's sinusoids."""
    return below(if_learnt(code, right(largest, HELD_COORDINATE, "2D", code=code)), 0.45)


def crossing_is_right(code: str) -> Rule:
    """The lower accuracy of 2D+1D where the arms cross is high."""
    return above(right(smallest, CROSSING, "2D+1D", code=code), 0.8)


def more(than: Callable[[str, tuple[Asked, ...]], Measure], asked: tuple[Asked, ...]) -> Callable[[str], Rule]:
    """More is right than with the paper's sinusoids, or than for the nearest-label baseline."""
    return lambda code: above(than(code, asked), 0.0)


OTHERS = (LONG, SCALAR, ANGLES)
THAN_RAW = "right more often than with the paper's sinusoids (difference)"
THAN_NULL = "right more often than for the nearest-label baseline (difference)"
NOT_ASKED = "not asked (above 0)"
CLAIMS = (
    *_each("EN1", "2D: in the arms the coordinate that was held out is wrong (the higher of two)",
           "wrong with raw sinusoids (below 0.45)", held_out_is_wrong, OTHERS),
    *_each("EN2", f"2D: {ONE} {THAN_RAW}", NOT_ASKED, more(more_than_raw, HELD_COORDINATE), OTHERS),
    *_each("EN3", f"2D: {ONE} {THAN_NULL}", NOT_ASKED, more(more_than_baseline, HELD_COORDINATE), CODES),
    *_each("EN4", f"2D: {MEET} {THAN_RAW}", NOT_ASKED, more(more_than_raw, BOTH), OTHERS),
    *_each("EN4n", f"2D: {MEET} {THAN_NULL}", NOT_ASKED, more(more_than_baseline, BOTH), CODES),
    *_each("EN5", "2D+1D: where the arms cross both coordinates are right (the lower of two)",
           "high with raw sinusoids (above 0.8)", crossing_is_right, OTHERS),
)  # fmt: skip
