"""When classes and concepts emerge: measures and rules in images seen, shared by the experiments on concept graphs.

A time is infinite where something has not come by the end of training: later than whatever has come, and left out
where a number is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from recombine.instruments.shapes.curves import emergence_time
from recombine.lab.claims import Judgement, NotMeasured, judge_every
from recombine.lab.rules import Measure, Rule
from recombine.lab.table import Curve, curves, distances, mean_curves, select

if TYPE_CHECKING:
    import polars as pl

EMERGED = 0.8
"""Product accuracy at which a class counts as emerged, held for three evaluations or to the end of training."""
LEARNED = 0.9
"""Accuracy at which a single concept counts as learned, held likewise."""
HEADLINE: dict[str, Any] = {"arm": "continuous", "sampler": None}
"""The rows that claims are about: the released code's conditions, drawn by the run's first sampler."""


def curves_of(table: pl.DataFrame, instrument: str, **where: Any) -> dict[tuple[int, str], Curve]:
    """{(seed, node): curve over images seen}; a table without the instrument is refused by name."""
    found = curves(table, instrument, "node", **where)
    if not found:
        raise NotMeasured(f"{_named(instrument, where)} was not measured")
    return found


def reaches(level: float, instrument: str, **where: Any) -> Measure:
    """Images seen when the mean over these rows first stays at the level, for three evaluations or to the end."""

    def measure(table: pl.DataFrame) -> dict[int, float]:
        found = mean_curves(table, instrument, "node", **where)
        if not found:
            raise NotMeasured(f"{_named(instrument, where)} was not measured")
        times = {seed: emergence_time(*curve, level) for seed, curve in found.items()}
        return {seed: math.inf if time is None else time for seed, time in times.items()}

    return measure


def each_before_the_next(times: Mapping[str, Measure], level: float = EMERGED) -> Rule:
    """In every seed each comes before the next."""
    return _ordered(times, list(pairwise(times)), level)


def the_last_of(last: str, times: Mapping[str, Measure], level: float = LEARNED) -> Rule:
    """In every seed one comes after each of the others."""
    return _ordered(times, [(name, last) for name in times if name != last], level)


def by_distance(instrument: str) -> Rule:
    """In every seed the mean curve of distance 0 emerges before that of distance 1, and that before the next."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = sorted(set(distances(table, **HEADLINE).values()))
        if len(found) < 2:
            raise NotMeasured("classes at two distances or more were not measured: there is no order")
        times = {f"d{distance}": reaches(EMERGED, instrument, distance=distance, **HEADLINE) for distance in found}
        return each_before_the_next(times)(table)

    return judge


def ratio_of_times(one: Measure, other: Measure) -> Measure:
    """One time over the other, of the seeds in which both came."""

    def measure(table: pl.DataFrame) -> dict[int, float]:
        above, below = one(table), other(table)
        came = [s for s in above if s in below and math.isfinite(above[s]) and math.isfinite(below[s])]
        if not came:
            raise NotMeasured("in no seed were both reached by the end of training")
        return {seed: above[seed] / below[seed] for seed in came}

    return measure


def seeds_left_out(measure: Measure, why: str) -> Callable[[pl.DataFrame], str]:
    """The note that so many seeds of the headline arm have no value."""

    def note(table: pl.DataFrame) -> str:
        missing = select(table, **HEADLINE)["seed"].n_unique() - len(measure(table))
        return f"{missing} seeds left out: {why}" if missing else ""

    return note


def medians(times: Mapping[str, Mapping[int, float]]) -> str:
    """Median times in words: "d0 15,488, d1 never"."""
    middles = {name: float(np.median(list(found.values()))) for name, found in times.items()}
    return ", ".join(f"{name} {'never' if math.isinf(at) else f'{at:,.0f}'}" for name, at in middles.items())


def _ordered(times: Mapping[str, Measure], pairs: list[tuple[str, str]], level: float) -> Rule:
    """In every seed the first of each pair comes before the second; a seed says nothing where neither came."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = {name: measure(table) for name, measure in times.items()}
        verdicts = []
        seeds = set.intersection(*(set(each) for each in found.values()))
        for seed in seeds:
            each = [(found[one][seed], found[other][seed]) for one, other in pairs]
            if any(late < early or (late == early and math.isfinite(early)) for early, late in each):
                verdicts.append(False)  # after, or at the same evaluation: not before
            elif all(early < late for early, late in each):
                verdicts.append(True)
        note = f"median images seen at {level:g}: {medians(found)}"
        if silent := len(seeds) - len(verdicts):
            note += f"; {silent} seeds say nothing: never reached"
        return judge_every(sum(verdicts), len(verdicts), note)

    return judge


def _named(instrument: str, where: Mapping[str, Any]) -> str:
    return " ".join([instrument, *(f"{name} {value}" for name, value in where.items() if value is not None)])
