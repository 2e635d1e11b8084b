"""Label recall and K_max of models of scenes: the measures that the experiments of this study share."""

from collections.abc import Callable, Mapping

import numpy as np

from recombine.instruments.scenes.counting import CHANCE, LEAST, OBJECTS, RECALL, k_max
from recombine.lab import rules
from recombine.lab.claims import NotMeasured
from recombine.lab.rules import Rule, above, difference, mean
from recombine.lab.table import Table, select

HEADLINE = "1-3"  # the training set of the paper's figures
BEYOND = 3  # objects of a training image at most: more labels than that are beyond training
MANY = 6  # labels at which models of different receptive fields are compared
LEARNT = 0.8  # recall of single labels from which on a rule may say that a network does not go further

Measure = Callable[["Table", str], Mapping[int, float]]  # table, arm: a value for each seed
COLUMNS: dict[str, type] = {"labels": int, "sigma": float, "radius": int, "sampler": str}  # of a run on scenes


def arm_of(experiment: str, objects: str) -> str:
    """How arms are called: "2L 1-3"."""
    return f"{experiment} {objects}"


def recall_by_count(table: Table, arm: str, instrument: str = RECALL) -> dict[int, dict[int, float]]:
    """{seed: {labels: recall at the end of training}}, or what another instrument measured there."""
    found: dict[int, dict[int, float]] = {}
    rows = select(table, instrument, arm=arm).drop_nulls("value").sort("seed", "labels", "images_seen")
    for seed, labels, value in rows.select("seed", "labels", "value").iter_rows():
        found.setdefault(seed, {})[labels] = value
    if not found:
        raise NotMeasured(f"arm {arm} was not measured")
    return found


def longest(table: Table, arm: str, instrument: str = RECALL, least: float = LEAST) -> dict[int, float]:
    """K_max of each seed; by other rules, the last number of labels up to which another measure is this or more."""
    found = recall_by_count(table, arm, instrument)
    if instrument == OBJECTS:  # as a share of the labels
        found = {seed: {k: min(1.0, objects / k) for k, objects in curve.items()} for seed, curve in found.items()}
    return {seed: float(k_max(curve, least).steady) for seed, curve in found.items()}


def beyond(table: Table, arm: str, instrument: str = RECALL) -> dict[int, float]:
    """For each seed: the mean over the numbers of labels that are beyond training."""
    found = {
        seed: [value for count, value in curve.items() if count > BEYOND]
        for seed, curve in recall_by_count(table, arm, instrument).items()
    }
    if not any(found.values()):
        raise NotMeasured(f"{arm} was not measured with more than {BEYOND} labels")
    return {seed: float(np.mean(values)) for seed, values in found.items() if values}


def chance_beyond(table: Table, arm: str) -> dict[int, float]:
    """The same of the recall that the images have against labels of other layouts."""
    return beyond(table, arm, CHANCE)


def beyond_chance(table: Table, arm: str) -> dict[int, float]:
    """Recall beyond training on a scale from chance, 0, to all labels, 1."""
    recall, chance = recall_by_count(table, arm), recall_by_count(table, arm, CHANCE)
    found = {
        seed: [scaled(recall[seed][k], chance[seed][k]) for k in recall[seed] if k > BEYOND and k in chance[seed]]
        for seed in sorted(recall.keys() & chance.keys())
    }
    if not any(found.values()):
        raise NotMeasured(f"{arm} has no chance with more than {BEYOND} labels")
    return {seed: float(np.mean(values)) for seed, values in found.items() if values}


def with_one(table: Table, arm: str) -> dict[int, float]:
    """Recall of each seed with one label."""
    return {seed: curve[1] for seed, curve in recall_by_count(table, arm).items() if 1 in curve}


def with_many(table: Table, arm: str) -> dict[int, float]:
    """Recall of each seed with MANY labels, where it was measured."""
    return {seed: curve[MANY] for seed, curve in recall_by_count(table, arm).items() if MANY in curve}


def scaled(recall: float, chance: float) -> float:
    """0 at chance, 1 with an object at every label: the chance recall of an image grows with the objects it holds."""
    return (recall - chance) / (1 - chance) if chance < 1 else 0.0


def of(measure: Measure, arm: str) -> rules.Measure:
    """A measure of one arm, for the rules."""
    return lambda table: measure(table, arm)


def learnt(measure: Measure) -> Measure:
    """The measure, refused for networks that do not draw single labels: what they do with many says nothing."""

    def measured(table: Table, arm: str) -> Mapping[int, float]:
        must_have_learnt(table, arm)
        return measure(table, arm)

    return measured


def must_have_learnt(table: Table, *arms: str) -> None:
    """Refuse networks whose recall of single labels is too low for any comparison."""
    for arm in arms:
        singles = mean(with_one(table, arm))
        if not singles >= LEARNT:
            raise NotMeasured(f"recall of single labels of {arm} is {singles:.2f}: not trained long enough to compare")


K_MAX, RECALLED = learnt(longest), learnt(beyond_chance)  # of networks that learnt single labels


def means(measure: Measure, *arms: str) -> Callable[[Table], str]:
    """A note: the means over seeds of these arms."""
    return lambda table: " and ".join(f"{mean(measure(table, arm)):.2f}" for arm in arms)


def more(measure: Measure, one: str, other: str, bound: float = 0.0) -> Rule:
    """A measure of one arm less that of another, seed by seed, is above a bound."""
    return above(difference(of(measure, one), of(measure, other)), bound, means(measure, one, other))


def values_of(table: Table, arm: str, measure: Measure) -> list[float]:
    """A measure of an arm, one value a seed; none if it was not measured."""
    try:
        return list(measure(table, arm).values())
    except NotMeasured:
        return []


def numbers(table: Table) -> dict[str, Callable[..., float]]:
    """For findings: means over seeds of an arm's measures, and recall at one number of labels."""
    measures = {"beyond": beyond, "chance": chance_beyond, "scaled": beyond_chance, "singles": with_one}

    def at_labels(arm: str, labels: int, instrument: str = RECALL) -> float:
        return mean({s: curve[labels] for s, curve in recall_by_count(table, arm, instrument).items()})

    def reach(arm: str, instrument: str = RECALL, least: float = LEAST) -> float:
        return mean(longest(table, arm, instrument, least))

    named = {name: lambda arm, measure=measure: mean(measure(table, arm)) for name, measure in measures.items()}
    return {**named, "recall_at": at_labels, "k_max": reach}
