"""Rules that judge claims: a measure gives one value a seed, a rule says what a verdict is made of.

    Claim("O3", "blue at distance 2 takes about twice as long as at distance 1", "40 / 20 epochs = 2 (1 to 3)",
          between(ratio(far, near), 1, 3))

A verdict looks at the interval over seeds, never at a point; see `recombine.lab.claims`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recombine.lab.claims import Judgement, NotMeasured, judge_above, judge_below, judge_every, judge_within
from recombine.lab.table import at_end, mean_curves

if TYPE_CHECKING:
    import polars as pl

BySeed: TypeAlias = "Mapping[int, float]"
Measure: TypeAlias = "Callable[[pl.DataFrame], BySeed]"
"""From a table, one value a seed."""
Rule: TypeAlias = "Callable[[pl.DataFrame], Judgement]"
Note: TypeAlias = "str | Callable[[pl.DataFrame], str]"
Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


# Rules: what must be so.


def above(measure: Measure, bound: float, note: Note = "") -> Rule:
    """The mean over seeds is more than `bound`."""
    return lambda table: judge_above(_values(measure(table)), bound, _said(note, table))


def below(measure: Measure, bound: float, note: Note = "") -> Rule:
    """The mean over seeds is less than `bound`."""
    return lambda table: judge_below(_values(measure(table)), bound, _said(note, table))


def between(measure: Measure, low: float, high: float, note: Note = "") -> Rule:
    """The mean over seeds lies between `low` and `high`, ends included."""
    return lambda table: judge_within(_values(measure(table)), low, high, _said(note, table))


def in_every_seed(condition: Measure, note: Note = "") -> Rule:
    """The condition is true (not zero) in every seed; the estimate is the share of seeds."""

    def judge(table: pl.DataFrame) -> Judgement:
        seeds = condition(table)
        if not seeds:
            raise NotMeasured("no seed has what is compared")
        return judge_every(sum(map(bool, seeds.values())), len(seeds), _said(note, table))

    return judge


def ordered(*measures: Measure, note: Note = "") -> Rule:
    """In every seed that has all of them, each measure is less than the next."""
    return in_every_seed(rising(*measures), note)


def above_where_least(
    found: Callable[[pl.DataFrame], Mapping[Name, BySeed]],
    bound: float,
    where: str = "least for {}",
    missing: str = "no arm was measured",
    note: Note = "",
) -> Rule:
    """Even the lowest of these means over seeds is more than `bound`; the note begins with its name."""

    def judge(table: pl.DataFrame) -> Judgement:
        each = found(table)
        name = least(each, missing)
        return judge_above(_values(each[name]), bound, where.format(name) + _said(note, table))

    return judge


# Measures: one value a seed, from a table or from other measures.


def final(instrument: str, **where: Any) -> Measure:
    """What an instrument reads at the end of training, the mean over the rows in which columns have these values."""
    return lambda table: at_end(table, instrument, **where)


def of_curve(
    summary: Callable[[NDArray[Any], NDArray[np.float64]], float], instrument: str, *by: str, **where: Any
) -> Measure:
    """What `summary(images seen, values)` says of each seed's curve, the mean of its curves by these columns."""

    def measure(table: pl.DataFrame) -> dict[int, float]:
        found = mean_curves(table, instrument, *by, **where)
        if not found:
            raise NotMeasured(f"{named(instrument, where)} was not measured")
        return {seed: summary(*curve) for seed, curve in found.items()}

    return measure


def named(instrument: str, where: Mapping[str, Any]) -> str:
    """The rows of an instrument in words: "reader.accuracy concept color node 111"."""
    return " ".join([instrument, *(f"{name} {value}" for name, value in where.items() if value is not None)])


def noted(text: str, *measures: Measure) -> Callable[[pl.DataFrame], str]:
    """A note with the means of these measures over seeds in a text: "before fine-tuning {:.2f}"."""
    return lambda table: text.format(*(mean(measure(table)) for measure in measures))


def fixed(measure: Measure, missing: str) -> Measure:
    """What the first seed has, for any seed."""

    def values(table: pl.DataFrame) -> BySeed:
        found = measure(table)
        if not found:
            raise NotMeasured(missing)
        return dict.fromkeys(table["seed"].unique().to_list(), found[min(found)])

    return values


def difference(one: Measure, other: Measure) -> Measure:
    """One less the other, of the seeds that have both."""
    return lambda table: less(one(table), other(table))


def ratio(one: Measure, other: Measure) -> Measure:
    """One over the other, of the seeds that have both; infinite where the other is nothing."""
    return lambda table: {s: a / b if b else float("inf") for s, (a, b) in _paired(one(table), other(table)).items()}


def rising(*measures: Measure) -> Measure:
    """Whether each measure is less than the next, for the seeds that have all of them."""

    return _over(lambda values: float(all(a < b for a, b in pairwise(values))), measures)


def smallest(*measures: Measure) -> Measure:
    """Seed by seed the smallest of several, of the seeds that have all."""
    return _over(min, measures)


def largest(*measures: Measure) -> Measure:
    """Seed by seed the largest of several, of the seeds that have all."""
    return _over(max, measures)


def average(*measures: Measure) -> Measure:
    """Seed by seed the mean of several, of the seeds that have all."""
    return _over(lambda values: sum(values) / len(values), measures)


def lowest_of(measures: Mapping[Name, Measure]) -> Measure:
    """The measure with the lowest mean over seeds: for "even where it is least"."""

    def measure(table: pl.DataFrame) -> BySeed:
        found = {name: each(table) for name, each in measures.items()}
        return found[least(found)]

    return measure


def highest_of(measures: Mapping[Name, Measure]) -> Measure:
    """The measure with the highest mean over seeds: for "even where it is most"."""

    def measure(table: pl.DataFrame) -> BySeed:
        found = {name: each(table) for name, each in measures.items()}
        return found[most(found)]

    return measure


# Values by seed: {seed: value}.


def mean(values: BySeed) -> float:
    """The mean over seeds; not a number if there is none."""
    return float(np.mean(list(values.values()))) if values else float("nan")


def median(values: BySeed) -> float:
    """The median over seeds."""
    return float(np.median(list(values.values())))


def shared_seeds(*found: Mapping[int, Any]) -> list[int]:
    """The seeds that all of these have, ascending."""
    return sorted(set.intersection(*map(set, found)))


def correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Pearson's; 0 where either is the same throughout."""
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(np.corrcoef(first, second)[0, 1]) if np.ptp(first) and np.ptp(second) else 0.0


def combined(found: Iterable[BySeed], combine: Callable[[list[float]], Value]) -> dict[int, Value]:
    """{seed: what `combine` makes of its values in all of these}, of the seeds that all have."""
    values = list(found)
    return {seed: combine([each[seed] for each in values]) for seed in (shared_seeds(*values) if values else ())}


def less(one: BySeed, other: BySeed, what: str = "what is compared") -> dict[int, float]:
    """One less the other, of the seeds that have both."""
    return {seed: a - b for seed, (a, b) in _paired(one, other, what).items()}


def least(found: Mapping[Name, BySeed], otherwise: str = "no arm was measured") -> Name:
    """The name of the lowest mean; names without a seed do not count."""
    return min(_measured(found, otherwise), key=lambda name: mean(found[name]))


def most(found: Mapping[Name, BySeed], otherwise: str = "no arm was measured") -> Name:
    """The name of the highest mean; names without a seed do not count."""
    return max(_measured(found, otherwise), key=lambda name: mean(found[name]))


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's; 0 where either is the same throughout: there is nothing to rank."""
    from scipy.stats import spearmanr

    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(spearmanr(first, second).statistic) if np.ptp(first) and np.ptp(second) else 0.0


def _over(combine: Callable[[list[float]], float], measures: tuple[Measure, ...]) -> Measure:
    return lambda table: combined((each(table) for each in measures), combine)


def _measured(found: Mapping[Name, BySeed], otherwise: str) -> list[Name]:
    measured = [name for name, values in found.items() if values]
    if not measured:
        raise NotMeasured(otherwise)
    return measured


def _paired(one: BySeed, other: BySeed, what: str = "what is compared") -> dict[int, tuple[float, float]]:
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        raise NotMeasured(f"no seed has both of {what}")
    return {seed: (one[seed], other[seed]) for seed in seeds}


def _values(by_seed: BySeed) -> list[float]:
    return [float(by_seed[seed]) for seed in sorted(by_seed)]


def _said(note: Note, table: pl.DataFrame) -> str:
    return note if isinstance(note, str) else note(table)
