"""A network that is asked to be local (beyond Bradley 2026): the rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above
from recombine.lab.rules import less, mean, rank_correlation
from recombine.studies.local_scores.length.claims import (
    HEADLINE,
    Measure,
    arm_of,
    beyond,
    beyond_chance,
    longest,
    with_one,
)
from recombine.studies.local_scores.locality.claims import GRADIENT, REMOVED, excess

if TYPE_CHECKING:
    import polars as pl

FEWEST = 3  # weights that a rank correlation needs
LOCAL = arm_of("2L", HEADLINE)  # beside: local by construction

Rule = Callable[["pl.DataFrame"], Judgement]


def soft_arm(weight: float) -> str:
    """How arms are called by the weight of their penalty: "weight 0.1"."""
    return f"weight {weight:g}"


def weight_of(arm: str) -> float | None:
    """The weight of the penalty of an arm that is called by it."""
    found = re.fullmatch(r"weight ([\d.e-]+)", arm)
    return None if found is None else float(found[1])


def weights(table: pl.DataFrame) -> list[float]:
    """Those that were measured, ascending."""
    return sorted(w for arm in table["arm"].unique().to_list() if (w := weight_of(arm)) is not None)


def locality(instrument: str = REMOVED) -> Measure:
    """C on a scale from chance 0 to 1."""
    return lambda table, arm: excess(table, arm, instrument)


def rises(measure: Measure, bound: float) -> Rule:
    """Rank correlation of a measure with the weight, for each seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        swept = weights(table)
        if len(swept) < FEWEST:
            raise NotMeasured(f"{len(swept)} weights say nothing about a trend: at least {FEWEST} are needed")
        found = [measure(table, soft_arm(weight)) for weight in swept]
        seeds = sorted(set.intersection(*(set(each) for each in found)))
        values = {seed: [each[seed] for each in found] for seed in seeds}
        ranks = [rank_correlation(swept, own) for own in values.values()]
        means = ", ".join(f"{w:g}: {np.mean(list(each.values())):.2f}" for w, each in zip(swept, found, strict=True))
        return judge_above(ranks, bound, f"means by weight {means}")

    return judge


def gains(measure: Measure, bound: float) -> Rule:
    """The measure at the largest weight less that without a penalty, a value a seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        plain, soft = _ends(table, measure)
        return judge_above(list(less(soft, plain).values()), bound, f"{mean(soft):.2f} and {mean(plain):.2f}")

    return judge


def goes_half_way(table: pl.DataFrame) -> Judgement:
    """What is met beyond training at the largest weight less the middle between no penalty and a local network."""
    plain, soft = _ends(table, beyond_chance)
    local = beyond_chance(table, LOCAL)
    seeds = sorted(plain.keys() & soft.keys() & local.keys())
    note = f"local by construction {np.mean(list(local.values())):.2f}"
    return judge_above([soft[s] - (plain[s] + local[s]) / 2 for s in seeds], 0.0, note)


def _ends(table: pl.DataFrame, measure: Measure) -> tuple[Mapping[int, float], Mapping[int, float]]:
    swept = weights(table)
    if len(swept) < 2 or swept[0] != 0:
        raise NotMeasured("no penalty, or no network without one, was measured")
    return measure(table, soft_arm(swept[0])), measure(table, soft_arm(swept[-1]))


SOFT = (
    Claim("SF1", "conditional locality rises with the weight (rank correlation over weights, C removed)",
          "not asked (above 0.5)", rises(locality(), 0.5)),
    Claim("SF1b", "C at the largest weight less without a penalty (removed, scale from chance 0 to 1)",
          "not asked (above 0.1)", gains(locality(), 0.1)),
    Claim("SF1c", "the same by the gradient to the label", "not asked (above 0.1)", gains(locality(GRADIENT), 0.1)),
    Claim("SF2", "recall beyond the training number rises with the weight (rank correlation, 4 labels or more)",
          "not asked (above 0.5)", rises(beyond, 0.5)),
    Claim("SF2b", "recall with 4 labels or more at the largest weight less without a penalty",
          "not asked (above 0.1)", gains(beyond, 0.1)),
    Claim("SF2c", "also on a scale from what labels of other images meet, 0, to 1", "not asked (above 0.1)",
          gains(beyond_chance, 0.1)),
    Claim("SF2d", "K_max at the largest weight less without a penalty", "not asked (above 1)", gains(longest, 1.0)),
    Claim("SF3", "it is not paid for with what was trained (recall with one label, the same difference)",
          "not asked (above -0.05)", gains(with_one, -0.05)),
    Claim("SF4", "the largest weight goes half the way to a network that is local by construction (recall with 4 "
          "labels or more, scale from chance 0 to 1, less the middle of 2 and 2L)", "not asked (above 0)",
          goes_half_way),
)  # fmt: skip
