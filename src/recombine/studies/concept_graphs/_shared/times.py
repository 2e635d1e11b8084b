"""When classes and concepts emerge: measures and rules in images seen, shared by the experiments on concept graphs.

A time is infinite where something has not come by the end of training: later than whatever has come, and left out
where a number is needed.
"""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from recombine.instruments.shapes.curves import time_until
from recombine.lab.claims import Judgement, NotMeasured, judge_every
from recombine.lab.rules import Measure, Rule, median, named, of_curve, shared_seeds
from recombine.lab.table import Curve, Table, curves, distances, select

EMERGED = 0.8
"""Product accuracy at which a class counts as emerged, held for three evaluations or to the end of training."""
LEARNED = 0.9
"""Accuracy at which a single concept counts as learned, held likewise."""
HEADLINE: dict[str, Any] = {"arm": "continuous", "sampler": None}
"""The rows that claims are about: the released code's conditions, drawn by the run's first sampler."""


def curves_of(table: Table, instrument: str, **where: Any) -> dict[tuple[int, str], Curve]:
    """{(seed, node): curve over images seen}; a table without the instrument is refused by name."""
    found = curves(table, instrument, "node", **where)
    if not found:
        raise NotMeasured(f"{named(instrument, where)} was not measured")
    return found


def reaches(level: float, instrument: str, **where: Any) -> Measure:
    """Images seen when the mean over these rows first stays at the level, for three evaluations or to the end."""
    return of_curve(lambda seen, value: time_until(seen, value, level), instrument, "node", **where)


def emerges(instrument: str = "reader.product", **where: Any) -> Measure:
    """Images seen when these classes of the headline arm, or of another, have emerged."""
    return reaches(EMERGED, instrument, **(where | HEADLINE | where))


def each_before_the_next(times: Mapping[str, Measure], level: float = EMERGED) -> Rule:
    """In every seed each comes before the next."""
    return _ordered(times, list(pairwise(times)), level)


def the_last_of(last: str, times: Mapping[str, Measure], level: float = LEARNED) -> Rule:
    """In every seed one comes after each of the others."""
    return _ordered(times, [(name, last) for name in times if name != last], level)


def by_distance(instrument: str) -> Rule:
    """In every seed the mean curve of distance 0 emerges before that of distance 1, and that before the next."""

    def judge(table: Table) -> Judgement:
        found = sorted(set(distances(table, **HEADLINE).values()))
        if len(found) < 2:
            raise NotMeasured("classes at two distances or more were not measured: there is no order")
        return each_before_the_next({f"d{d}": emerges(instrument, distance=d) for d in found})(table)

    return judge


def ratio_of_times(one: Measure, other: Measure) -> Measure:
    """One time over the other, of the seeds in which both came."""

    def measure(table: Table) -> dict[int, float]:
        above, below = one(table), other(table)
        came = [seed for seed in shared_seeds(above, below) if math.isfinite(max(above[seed], below[seed]))]
        if not came:
            raise NotMeasured("in no seed were both reached by the end of training")
        return {seed: above[seed] / below[seed] for seed in came}

    return measure


def seeds_left_out(measure: Measure, why: str) -> Callable[[Table], str]:
    """The note that so many seeds of the headline arm have no value."""

    def note(table: Table) -> str:
        missing = select(table, **HEADLINE)["seed"].n_unique() - len(measure(table))
        return f"{missing} seeds left out: {why}" if missing else ""

    return note


def time_words(time: float) -> str:
    """A time in words: "15,488", or "never"."""
    return "never" if math.isinf(time) else f"{time:,.0f}"


def _ordered(times: Mapping[str, Measure], pairs: list[tuple[str, str]], level: float) -> Rule:
    """In every seed the first of each pair comes before the second; a seed says nothing where neither came."""

    def judge(table: Table) -> Judgement:
        found = {name: measure(table) for name, measure in times.items()}
        verdicts, seeds = [], shared_seeds(*found.values())
        for seed in seeds:
            each = [(found[one][seed], found[other][seed]) for one, other in pairs]
            if any(late < early or (late == early and math.isfinite(early)) for early, late in each):
                verdicts.append(False)  # after, or at the same evaluation: not before
            elif all(early < late for early, late in each):
                verdicts.append(True)
        medians = ", ".join(f"{name} {time_words(median(times))}" for name, times in found.items())
        note = f"median images seen at {level:g}: {medians}"
        if silent := len(seeds) - len(verdicts):
            note += f"; {silent} seeds say nothing: never reached"
        return judge_every(sum(verdicts), len(verdicts), note)

    return judge
