"""A network that is penalised for non-local conditions (beyond Bradley 2026): the rules."""

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Rule, above, less, mean, rank_correlation
from recombine.lab.table import Table
from recombine.studies.local_scores._shared.label_recall import (
    HEADLINE,
    Measure,
    arm_of,
    beyond,
    beyond_chance,
    longest,
    with_one,
)
from recombine.studies.local_scores.locality.claims import GRADIENT, REMOVED, excess

FEWEST = 3  # weights that a rank correlation needs
LOCAL = arm_of("2L", HEADLINE)  # for comparison: local by construction


def soft_arm(weight: float) -> str:
    """How arms are called by the weight of their penalty: "weight 0.1"."""
    return f"weight {weight:g}"


def weights(table: Table) -> list[float]:
    """Those that were measured, ascending."""
    return table["penalty"].drop_nulls().unique().sort().to_list()


def locality(instrument: str = REMOVED) -> Measure:
    """C on a scale from chance 0 to 1."""
    return lambda table, arm: excess(table, arm, instrument)


def _rises(measure: Measure) -> Rule:
    """Rank correlation of a measure with the weight, for each seed, is above a half."""

    def found(table: Table) -> dict[float, BySeed]:
        swept = weights(table)
        if len(swept) < FEWEST:
            raise NotMeasured(f"{len(swept)} weights say nothing about a trend: at least {FEWEST} are needed")
        return {weight: measure(table, soft_arm(weight)) for weight in swept}

    def ranks(table: Table) -> BySeed:
        by_weight = found(table)
        shared = sorted(set.intersection(*(set(each) for each in by_weight.values())))
        return {s: rank_correlation(list(by_weight), [each[s] for each in by_weight.values()]) for s in shared}

    def note(table: Table) -> str:
        return "means by weight " + ", ".join(f"{w:g}: {mean(each):.2f}" for w, each in found(table).items())

    return above(ranks, 0.5, note)


def _gains(measure: Measure, bound: float) -> Rule:
    """The measure at the largest weight less that without a penalty is above a bound."""

    def difference(table: Table) -> BySeed:
        plain, soft = _ends(table, measure)
        return less(soft, plain)

    return above(difference, bound, lambda t: "{1:.2f} and {0:.2f}".format(*map(mean, _ends(t, measure))))


def _half_way(table: Table) -> BySeed:
    """Recall beyond training at the largest weight less the middle between no penalty and a local network."""
    plain, soft = _ends(table, beyond_chance)
    local = beyond_chance(table, LOCAL)
    shared = sorted(plain.keys() & soft.keys() & local.keys())
    return {s: soft[s] - (plain[s] + local[s]) / 2 for s in shared}


def _ends(table: Table, measure: Measure) -> tuple[BySeed, BySeed]:
    swept = weights(table)
    if len(swept) < 2 or swept[0] != 0:
        raise NotMeasured("no penalty, or no network without one, was measured")
    return measure(table, soft_arm(swept[0])), measure(table, soft_arm(swept[-1]))


CLAIMS = (
    Claim("SF1", "Conditional locality rises with the weight (rank correlation over weights, C, label removed).",
          "not in the paper (above 0.5)",
          _rises(locality()), check=True),
    Claim("SF1b", "C is larger at the largest weight than without a penalty (label removed, scale from chance 0 to "
          "1, difference).",
          "not in the paper (above 0.1)",
          _gains(locality(), 0.1), check=True),
    Claim("SF1c", "C is larger at the largest weight than without a penalty also by the gradient to the label "
          "(difference).",
          "not in the paper (above 0.1)",
          _gains(locality(GRADIENT), 0.1),
          check=True),
    Claim("SF2", "Recall beyond the training number rises with the weight (rank correlation, 4 labels or more).",
          "not in the paper (above 0.5)",
          _rises(beyond), check=True),
    Claim("SF2b", "Recall with 4 labels or more is higher at the largest weight than without a penalty (difference).",
          "not in the paper (above 0.1)",
          _gains(beyond, 0.1), check=True),
    Claim("SF2c", "Recall with 4 labels or more is higher at the largest weight than without a penalty also on a "
          "scale from chance 0 to 1 (difference).",
          "not in the paper (above 0.1)",
          _gains(beyond_chance, 0.1),
          check=True),
    Claim("SF2d", "K_max is larger at the largest weight than without a penalty (difference).",
          "not in the paper (above 1)",
          _gains(longest, 1.0),
          check=True),
    Claim("SF3", "The penalty does not cost what was trained (recall with one label at the largest weight less "
          "without a penalty).",
          "not in the paper (above -0.05)",
          _gains(with_one, -0.05), check=True),
    Claim("SF4", "The largest weight goes half the way to a network that is local by construction (recall with 4 "
          "labels or more, scale from chance 0 to 1, less the middle of 2 and 2L).",
          "not in the paper (above 0)",
          above(_half_way, 0.0, lambda t: f"local by construction {mean(beyond_chance(t, LOCAL)):.2f}"),
          check=True),
)  # fmt: skip
