"""Whether interpolation depends on how the label is told: the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import less, mean
from recombine.studies.bumps.crossing.compose.claims import BOTH, CROSSING, HELD_COORDINATE, Asked, accuracy, null_of
from recombine.worlds.holdouts import SEEN

if TYPE_CHECKING:
    import polars as pl

RAW, LONG, SCALAR, ANGLES = ENCODINGS = ("raw", "long", "scalar", "angles")
LEARNT = 0.85  # of seen labels must be right before anything follows

Rule = Callable[["pl.DataFrame"], Judgement]


def arm_of(part: str, encoding: str) -> str:
    """The arm that saw this part and was told the label so."""
    return f"{part} {encoding}"


def means(table: pl.DataFrame, arm: str, asked: tuple[Asked, ...], how: str = "fine") -> dict[int, float]:
    """For each seed: the mean of these accuracies."""
    return {seed: sum(each) / len(each) for seed, each in accuracy(table, arm, asked, how).items()}


def recalled(table: pl.DataFrame, part: str, asked: tuple[Asked, ...], how: str = "fine") -> float:
    """What the memoriser of this training set scores."""
    return next(iter(means(table, null_of(part), asked, how).values()))


def still_wrong(encoding: str) -> Rule:
    """The held-out coordinate in the arms of the cross, the higher of two, as C2 of compose."""

    def judge(table: pl.DataFrame) -> Judgement:
        arm = _learnt(table, encoding)
        values = [max(each) for each in accuracy(table, arm, HELD_COORDINATE).values()]
        fine = list(means(table, arm, HELD_COORDINATE).values())
        return judge_below(values, 0.45, f"mean of the two by the fine estimate {sum(fine) / len(fine):.2f}")

    return judge


def more_than_raw(encoding: str, asked: tuple[Asked, ...]) -> Rule:
    """Less the same seed told raw sinusoids."""

    def judge(table: pl.DataFrame) -> Judgement:
        other, raw = means(table, _learnt(table, encoding), asked), means(table, arm_of("2D", RAW), asked)
        values = less(other, raw, f"{encoding} and {RAW}")
        return judge_above(list(values.values()), 0.0, f"raw: {mean(raw):.2f}")

    return judge


def more_than_recall(encoding: str, asked: tuple[Asked, ...]) -> Rule:
    """Less the memoriser."""

    def judge(table: pl.DataFrame) -> Judgement:
        null = recalled(table, "2D", asked)
        values = [value - null for value in means(table, _learnt(table, encoding), asked).values()]
        return judge_above(values, 0.0, f"the memoriser: {null:.3f}")

    return judge


def composes(encoding: str) -> Rule:
    """The control: with 1D both coordinates are right where the arms cross (the lower of two), as C5 of compose."""

    def judge(table: pl.DataFrame) -> Judgement:
        arm = arm_of("2D+1D", encoding)
        fine = [min(each) for each in accuracy(table, arm, CROSSING, "fine").values()]
        values = [min(each) for each in accuracy(table, arm, CROSSING).values()]
        return judge_above(values, 0.8, f"by the fine estimate {sum(fine) / len(fine):.2f}")

    return judge


def _learnt(table: pl.DataFrame, encoding: str) -> str:
    """The arm that saw 2D, if it places what it saw."""
    arm = arm_of("2D", encoding)
    seen = list(means(table, arm, ((SEEN, "both"),)).values())
    if sum(seen) / len(seen) < LEARNT:
        raise NotMeasured(f"only {sum(seen) / len(seen):.2f} of what was seen is right: nothing follows")
    return arm


def _claims() -> Iterator[Claim]:
    says = {LONG: "Long sinusoids", SCALAR: "Two numbers", ANGLES: "Two angles", RAW: "Sinusoids of the paper"}
    for encoding in (LONG, SCALAR, ANGLES):
        name, told = f"-{encoding}", says[encoding]
        yield Claim(
            f"EN1{name}",
            f"{told}, 2D: in the arms the coordinate that was held out is wrong (the higher of two)",
            "wrong with raw sinusoids (below 0.45)",
            still_wrong(encoding),
        )
        yield Claim(
            f"EN2{name}",
            f"{told}, 2D: it is right more often than with the paper's sinusoids (difference)",
            "not asked (above 0)",
            more_than_raw(encoding, HELD_COORDINATE),
        )
        yield Claim(
            f"EN4{name}",
            f"{told}, 2D: where the arms cross both are right more often than with the paper's sinusoids (difference)",
            "not asked (above 0)",
            more_than_raw(encoding, BOTH),
        )
    for encoding in ENCODINGS:
        name, told = f"-{encoding}", says[encoding]
        yield Claim(
            f"EN3{name}",
            f"{told}, 2D: in the arms the held-out coordinate is right more often than recall gives (difference)",
            "not asked (above 0)",
            more_than_recall(encoding, HELD_COORDINATE),
        )
        yield Claim(
            f"EN4n{name}",
            f"{told}, 2D: where the arms cross both are right more often than recall gives (difference)",
            "not asked (above 0)",
            more_than_recall(encoding, BOTH),
        )
    for encoding in (LONG, SCALAR, ANGLES):
        yield Claim(
            f"EN5-{encoding}",
            f"{says[encoding]}, 2D+1D: where the arms cross both coordinates are right (the lower of two)",
            "high with raw sinusoids (above 0.8)",
            composes(encoding),
        )


CODES = tuple(sorted(_claims(), key=lambda claim: claim.id.split("-")[0]))
