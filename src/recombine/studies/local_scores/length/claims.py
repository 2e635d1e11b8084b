"""Length generalization (Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from recombine.instruments.scenes.counting import (
    CHANCE,
    CHANCE_APART,
    LEAST,
    OBJECTS,
    RECALL,
    RECALL_APART,
    SHARE_APART,
    k_max,
)
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_every
from recombine.lab.rules import less, mean
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

HEADLINE = "1-3"
WHOLE = "2L whole 1-3"  # the control: a patch as large as the image
FAR = "2L far 1-3"  # a control of labels alone: a patch of 5 x 5 cells, told of labels within 8
CONTROLS = (WHOLE, FAR)
CHANNEL, FIXED = "channel", "fixed"  # told otherwise: labels as a channel of the image; a list always from its start
MULTIPLIED, LINEAR = "multiplied", "linear"  # in a patch as in the whole image: the embedding multiplies; all of it
BEYOND = 3  # objects that a training image holds at most: more labels than that are beyond training
FEW, MANY = (2, 3), (7, 8, 9, 10, 11, 12)  # numbers of labels that recall of labels that stand apart is compared at
PAPER = {  # its table of K_max: experiment, objects of a training image
    ("1", "1-3"): 7, ("2", "1"): 1, ("2", "1-3"): 2, ("2", "1-5"): 3, ("2L", "1"): 5, ("2L", "1-3"): 9,
    ("2L", "1-5"): 10, ("3", "1-3"): 3, ("3L", "1-3"): 9,
}  # fmt: skip
KEPT, NOTHING = 0.8, 0.1  # a share of what is met among few that counts as kept; so little above chance is nothing
LEARNT = 0.8  # of single labels, what networks must meet before a rule says that they do not go further


Measure = Callable[["pl.DataFrame", str], Mapping[int, float]]  # table, arm: a value for each seed


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


def longest(table: pl.DataFrame, arm: str, instrument: str = RECALL, least: float = LEAST) -> dict[int, float]:
    """K_max of each seed; by other rules, the last number of labels up to which another reading is this or more."""
    found = recall_by_count(table, arm, instrument)
    if instrument == OBJECTS:  # as a share of the labels
        found = {seed: {k: min(1.0, objects / k) for k, objects in curve.items()} for seed, curve in found.items()}
    return {seed: float(k_max(curve, least).steady) for seed, curve in found.items()}


def beyond(table: pl.DataFrame, arm: str, instrument: str = RECALL) -> dict[int, float]:
    """For each seed: the mean over the numbers of labels that are beyond training."""
    found = {
        seed: [value for count, value in curve.items() if count > BEYOND]
        for seed, curve in recall_by_count(table, arm, instrument).items()
    }
    if not any(found.values()):
        raise NotMeasured(f"{arm} was not asked for more than {BEYOND} labels")
    return {seed: float(np.mean(values)) for seed, values in found.items() if values}


def beyond_chance(table: pl.DataFrame, arm: str) -> dict[int, float]:
    """The same on a scale from chance, what labels of other images meet, 0, to all labels, 1."""
    recall, chance = recall_by_count(table, arm), recall_by_count(table, arm, CHANCE)
    found = {
        seed: [scaled(recall[seed][k], chance[seed][k]) for k in recall[seed] if k > BEYOND and k in chance[seed]]
        for seed in sorted(recall.keys() & chance.keys())
    }
    if not any(found.values()):
        raise NotMeasured(f"{arm} has no chance with more than {BEYOND} labels")
    return {seed: float(np.mean(values)) for seed, values in found.items() if values}


def must_have_learnt(table: pl.DataFrame, *arms: str) -> None:
    """Refuse networks that do not meet single labels: what they do with many says nothing."""
    for arm in arms:
        singles = mean(with_one(table, arm))
        if not singles >= LEARNT:
            raise NotMeasured(f"{arm} meets {singles:.2f} of single labels: not trained long enough to be compared")


def scaled(recall: float, chance: float) -> float:
    """0 at chance, 1 if everything is met: what an image of many objects meets by chance grows with what it meets."""
    return (recall - chance) / (1 - chance) if chance < 1 else 0.0


def apart(table: pl.DataFrame, arm: str, counts: Collection[int], instrument: str = RECALL_APART) -> dict[int, float]:
    """For each seed: recall, or its chance, of all labels that stand apart among so many."""
    recall, share = recall_by_count(table, arm, instrument), recall_by_count(table, arm, SHARE_APART)
    found = {}
    for seed in recall.keys() & share.keys():
        labels = {k: k * share[seed][k] for k in counts if k in recall[seed] and share[seed].get(k)}
        if labels:
            found[seed] = sum(recall[seed][k] * n for k, n in labels.items()) / sum(labels.values())
    if not found:
        raise NotMeasured(f"{arm} has no labels that stand apart")
    return dict(sorted(found.items()))


def reaches(arm: str, bound: int) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or more, a value a seed."""
    return lambda table: judge_above(list(longest(table, arm).values()), bound - 0.5, _singles(table, arm))


def stays(arm: str, bound: int) -> Callable[[pl.DataFrame], Judgement]:
    """K_max is this or less, of a model that learnt single labels."""

    def judge(table: pl.DataFrame) -> Judgement:
        must_have_learnt(table, arm)
        return judge_below(list(longest(table, arm).values()), bound + 0.5, _singles(table, arm))

    return judge


def with_one(table: pl.DataFrame, arm: str) -> dict[int, float]:
    """Recall of each seed with one label."""
    return {seed: curve[1] for seed, curve in recall_by_count(table, arm).items() if 1 in curve}


def _singles(table: pl.DataFrame, arm: str) -> str:
    return f"single labels: recall {mean(with_one(table, arm)):.2f}"


def in_order(table: pl.DataFrame) -> Judgement:
    """Seeds in which 2L and 3L go further than Exp 1, that further than Exp 3, and that at least as far as Exp 2."""
    found = {name: longest(table, arm_of(name, HEADLINE)) for name in ("1", "2", "3", "2L", "3L")}
    seeds = sorted(set.intersection(*(set(each) for each in found.values())))
    if not seeds:
        raise NotMeasured("no seed has all five experiments")
    right = [min(found["2L"][s], found["3L"][s]) > found["1"][s] > found["3"][s] >= found["2"][s] for s in seeds]
    means = ", ".join(f"{name} {mean(each):.1f}" for name, each in found.items())
    return judge_every(sum(right), len(right), f"mean K_max: {means}")


def off_the_paper(table: pl.DataFrame, instrument: str = RECALL, least: float = LEAST) -> float:
    """How far K_max by such a rule is from the paper's, the mean over the entries of its table that were measured."""
    off = []
    for entry, paper in PAPER.items():
        try:
            off.append(abs(mean(longest(table, arm_of(*entry), instrument, least)) - paper))
        except NotMeasured:
            continue
    return float(np.mean(off)) if off else float("nan")


def further(one: str, other: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """K_max of one arm less that of another, a value a seed, is above a bound; both learnt single labels."""

    def judge(table: pl.DataFrame) -> Judgement:
        must_have_learnt(table, one, other)
        own, beside = longest(table, one), longest(table, other)
        words = f"{mean(own):.1f} and {mean(beside):.1f}"
        return judge_above(list(less(own, beside, f"{one} and {other}").values()), bound, words)

    return judge


def trained_are_met(name: str) -> Callable[[pl.DataFrame], Judgement]:
    """Recall of an experiment with 1 to 3 labels, the lowest of them."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = recall_by_count(table, arm_of(name, HEADLINE))
        return judge_above([min(value for k, value in curve.items() if k <= BEYOND) for curve in found.values()], 0.9)

    return judge


def more(one: str, other: str, objects: str = HEADLINE) -> Callable[[pl.DataFrame], Judgement]:
    """More of more than three labels are met by one experiment than by another, on a scale from chance 0 to 1.

    Both have to meet single labels: otherwise the rule would be about training.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        arms = (arm_of(one, objects), arm_of(other, objects))
        must_have_learnt(table, *arms)
        own, beside = (beyond_chance(table, arm) for arm in arms)
        words = [f"{mean(beyond(table, arm)):.2f} (chance {mean(beyond(table, arm, CHANCE)):.2f})" for arm in arms]
        return judge_above(list(less(own, beside, f"{one} and {other}").values()), 0.0, " and ".join(words))

    return judge


def among_many(name: str, lost: bool = False) -> Callable[[pl.DataFrame], Judgement]:
    """Labels that stand apart, on a scale from chance 0 to 1: what is met among many, as a share of that among few.

    Models that meet hardly more than chance among few have nothing to keep, 0, and nothing to lose.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        arm = arm_of(name, HEADLINE)
        many, few = (_apart_scaled(table, arm, counts) for counts in (MANY, FEW))
        if lost and min(few.values()) <= NOTHING:
            raise NotMeasured(f"{arm} meets hardly more than chance among few labels: it has nothing to lose")
        kept = [many[seed] / few[seed] if few[seed] > NOTHING else 0.0 for seed in many if seed in few]
        words = [
            f"{mean(apart(table, arm, counts)):.2f} (chance {_chance(table, arm, counts)})" for counts in (MANY, FEW)
        ]
        return (judge_below if lost else judge_above)(kept, KEPT, " and ".join(words))

    return judge


def more_apart(one: str, other: str) -> Callable[[pl.DataFrame], Judgement]:
    """Of labels that stand apart among many, one experiment meets more than another (scale from chance 0 to 1)."""

    def judge(table: pl.DataFrame) -> Judgement:
        own, beside = (_apart_scaled(table, arm_of(name, HEADLINE), MANY) for name in (one, other))
        words = [
            f"{mean(apart(table, arm, MANY)):.2f} (chance {_chance(table, arm, MANY)})"
            for arm in (arm_of(one, HEADLINE), arm_of(other, HEADLINE))
        ]
        return judge_above(list(less(own, beside, f"{one} and {other}").values()), 0.0, " and ".join(words))

    return judge


def _apart_scaled(table: pl.DataFrame, arm: str, counts: Collection[int]) -> dict[int, float]:
    recall, chance = apart(table, arm, counts), apart(table, arm, counts, CHANCE_APART)
    return {seed: scaled(recall[seed], chance[seed]) for seed in recall if seed in chance}


def _chance(table: pl.DataFrame, arm: str, counts: Collection[int]) -> str:
    return f"{mean(apart(table, arm, counts, CHANCE_APART)):.2f}"


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
          trained_are_met("1")),
    Claim("LN0f", "the finder meets the objects of rendered scenes (lowest recall over 1 to 12)", "beyond (above 0.95)",
          finder_is_right, general=True),
    Claim("LN1", "K_max in order: 2L and 3L above Exp 1, that above Exp 3, that not below Exp 2 (share of seeds)",
          "9, 9 > 7 > 3 > 2", in_order),
    Claim("LN2a", "Exp 1 goes well beyond 3 labels (K_max)", "7 (at least 5)", reaches(arm_of("1", HEADLINE), 5)),
    Claim("LN2b", "Exp 2L does (K_max)", "9 (at least 6)", reaches(arm_of("2L", HEADLINE), 6)),
    Claim("LN2c", "Exp 3L does (K_max)", "9 (at least 6)", reaches(arm_of("3L", HEADLINE), 6)),
    Claim("LN2d", "Exp 2 does not (K_max)", "2 (at most 3)", stays(arm_of("2", HEADLINE), 3)),
    Claim("LN2e", "Exp 3 does not (K_max)", "3 (at most 4)", stays(arm_of("3", HEADLINE), 4)),
    Claim("LN3", "trained on single objects, a local network goes further than a plain one (difference of K_max)",
          "5 against 1 (above 2)", further(arm_of("2L", "1"), arm_of("2", "1"), 2.0)),
    Claim("LN3b", "of more than three labels it meets more (recall, scale from chance 0 to 1, difference)",
          "beyond (above 0)", more("2L", "2", "1")),
    Claim("LN3c", "the local one goes to five (K_max)", "5", reaches(arm_of("2L", "1"), 5)),
    Claim("LN3d", "the plain one stays at one (K_max)", "1", stays(arm_of("2", "1"), 1)),
    Claim("LN4", "a patch as large as the image takes the gain away (difference of K_max)", "fails again (above 2)",
          further(arm_of(f"2L {LINEAR}", HEADLINE), WHOLE, 2.0)),
    Claim("LN4b", "of more than three labels it meets fewer (recall, scale from chance 0 to 1, difference)",
          "beyond (above 0)", more(f"2L {LINEAR}", "2L whole")),
    Claim("LN4c", "the control itself does not go beyond 3 labels (K_max)", "fails again (at most 3)",
          stays(WHOLE, 3)),
    Claim("LN4d", "a patch of 5 x 5 cells told of labels within 8 meets fewer as well (recall, scale from chance 0 to "
          "1, difference)", "beyond (above 0)", more(f"2L {LINEAR}", "2L far")),
    Claim("LN5a", "More than three labels: Exp 1 meets more than Exp 2 (recall, scale from chance 0 to 1, difference)",
          "beyond (above 0)", more("1", "2")),
    Claim("LN5b", "and than Exp 3", "beyond (above 0)", more("1", "3")),
    Claim("LN5c", "Exp 2L more than Exp 2", "beyond (above 0)", more("2L", "2")),
    Claim("LN5d", "Exp 3L more than Exp 3", "beyond (above 0)", more("3L", "3")),
    Claim("LN5e", "Exp 2L more than Exp 1", "beyond (above 0)", more("2L", "1")),
    Claim("LN5f", "Exp 3L more than Exp 1", "beyond (above 0)", more("3L", "1")),
    Claim("LN5g", "Exp 2L more than Exp 1 if its embedding multiplies features, as that of Exp 1 does",
          "beyond (above 0)", more(f"2L {MULTIPLIED}", "1")),
    Claim("LN6a", "Labels with no other in the 5 x 5 cells around them: Exp 2L meets as many among 7 to 12 as among 2 "
          "or 3 (scale from chance 0 to 1, share kept)", "beyond (above 0.8)", among_many("2L")),
    Claim("LN6b", "so does Exp 3L", "beyond (above 0.8)", among_many("3L")),
    Claim("LN6c", "Exp 1 does not", "beyond (below 0.8)", among_many("1", lost=True)),
    Claim("LN6d", "among 7 to 12, Exp 2L meets more of them than Exp 1 (scale from chance 0 to 1, difference)",
          "beyond (above 0)", more_apart("2L", "1")),
    Claim("LN6e", "and Exp 3L does", "beyond (above 0)", more_apart("3L", "1")),
    Claim("LN6f", "labels as a channel of each patch: Exp 2L meets as many among 7 to 12 as among 2 or 3 (share kept)",
          "beyond (above 0.8)", among_many(f"2L {CHANNEL}")),
    Claim("LN7a", "labels as a channel of the image: Exp 2 goes further than embedded (more than three labels, scale "
          "from chance 0 to 1, difference)", "beyond (above 0)",
          more(f"2 {CHANNEL}", "2")),
    Claim("LN7b", "a list always from its first slot: Exp 3 draws what it was trained on (lowest recall of 1 to 3)",
          "beyond (above 0.9)", trained_are_met(f"3 {FIXED}")),
    Claim("LN7c", "and no more than that (K_max)", "3 (at most 4)", stays(arm_of(f"3 {FIXED}", HEADLINE), 4)),
    Claim("LN8a", "Trained on 1 to 5 objects: Exp 2 does not go beyond them (K_max)", "3 (at most 5)",
          stays(arm_of("2", "1-5"), 5)),
    Claim("LN8b", "Exp 2L does (K_max)", "10 (at least 7)", reaches(arm_of("2L", "1-5"), 7)),
    Claim("LN8c", "of more than three labels 2L meets more than Exp 2 (recall, scale from chance 0 to 1, difference)",
          "beyond (above 0)", more("2L", "2", "1-5")),
)  # fmt: skip
