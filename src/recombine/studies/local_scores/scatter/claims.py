"""Length generalization against conditional locality (Bradley 2026, Fig 2 right): points, rank correlation, rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.scenes.counting import CHANCE as RECALL_CHANCE
from recombine.instruments.scenes.counting import RECALL, k_max
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, verdict_above
from recombine.lab.statistics import Interval, bootstrap_interval
from recombine.lab.table import curves
from recombine.studies.local_scores.length.claims import CONTROLS, scaled
from recombine.studies.local_scores.locality.claims import ALL, GRADIENT, REMOVED

if TYPE_CHECKING:
    import polars as pl

READINGS = ("labels", "objects", "recall")
"""How far a model goes: K_max less the labels of an image, in Exps 2 and 2L always one, or less its objects; or the
recall of more labels than any of them has objects, on a scale from what labels of other images meet, 0, to 1.
"""
LARGEST = 5  # objects of a training image of any set: recall is compared with more labels than that
STRONG = 0.5  # a rank correlation above it counts as strong
DRAWS = 2000  # of seeds

Rule = Callable[["pl.DataFrame"], Judgement]


@dataclass(frozen=True)
class Point:
    """One model at one checkpoint."""

    arm: str
    seed: int
    seen: int
    longest: int  # K_max
    c: float
    last: bool
    beyond: float = math.nan  # recall, from chance 0 to 1, with more labels than any training image has objects

    @property
    def experiment(self) -> str:
        return self.arm.rsplit(" ", 1)[0]

    @property
    def objects(self) -> str:
        """The training set: "1-3"."""
        return self.arm.rsplit(" ", 1)[1]

    @property
    def most(self) -> int:
        """Objects that a training image holds at most."""
        return int(self.objects.rsplit("-", 1)[-1])

    def gain(self, reading: str) -> float:
        """K_max less the number trained on, or recall beyond it."""
        if reading == "recall":
            return self.beyond
        one = reading == "labels" and self.experiment.startswith("2")
        return self.longest - (1 if one else self.most)


def points(table: pl.DataFrame, instrument: str = REMOVED) -> list[Point]:
    """Every model at every checkpoint at which both K_max and C were read."""
    found = []
    for arm in dict.fromkeys(table["arm"].to_list()):
        recall, chance = _by_checkpoint(table, arm, RECALL), _by_checkpoint(table, arm, RECALL_CHANCE)
        for (seed, _), (at, values) in curves(table, instrument, arm, ALL).items():
            both = [(seen, c) for seen, c in zip(at.tolist(), values.tolist(), strict=True) if (seed, seen) in recall]
            found += [_point(arm, seed, seen, recall[seed, seen], chance.get((seed, seen), {}), c, seen == both[-1][0])
                      for seen, c in both]  # fmt: skip
    if not found:
        raise NotMeasured("no model has both K_max and C")
    return found


def _by_checkpoint(table: pl.DataFrame, arm: str, instrument: str) -> dict[tuple[int, int], dict[int, float]]:
    """{(seed, images seen): {labels: value}}"""
    found: dict[tuple[int, int], dict[int, float]] = {}
    for (seed, node), (at, values) in curves(table, instrument, arm).items():
        for seen, value in zip(at.tolist(), values.tolist(), strict=True):
            found.setdefault((seed, seen), {})[int(node)] = value
    return found


def _point(
    arm: str, seed: int, seen: int, recall: Mapping[int, float], chance: Mapping[int, float], c: float, last: bool
) -> Point:
    point = Point(arm, seed, seen, k_max(recall).steady, c, last)
    more = [scaled(value, chance[count]) for count, value in recall.items() if count > LARGEST and count in chance]
    return replace(point, beyond=float(np.mean(more))) if more else point


def rank_correlation(chosen: Sequence[Point], reading: str) -> float:
    """Spearman's rho of how far models go and C; 0 where either is the same for all."""
    return _rho(_numbers(chosen, reading))


def seed_interval(chosen: Sequence[Point], reading: str) -> Interval | None:
    """The bootstrap interval of the rank correlation over seeds: all points of a seed are drawn together, or none.

    Checkpoints of a run are not independent, and runs of a seed share their training images; seeds are.
    """
    seeds = sorted({point.seed for point in chosen})
    numbers = [_numbers([point for point in chosen if point.seed == seed], reading) for seed in seeds]

    @cache
    def together(drawn: tuple[int, ...]) -> float:
        return _rho(np.concatenate([numbers[index] for index in drawn]))

    def of(drawn: NDArray[np.float64]) -> float:
        return together(tuple(sorted(int(index) for index in drawn)))  # five seeds can be drawn in 126 ways only

    return bootstrap_interval(np.arange(len(seeds)), of, draws=DRAWS)


def correlates(
    reading: str = "labels", instrument: str = REMOVED, keep: Callable[[Point], bool] = lambda point: True
) -> Rule:
    """The rank correlation over the points that are kept is strong."""

    def judge(table: pl.DataFrame) -> Judgement:
        chosen = [point for point in points(table, instrument) if keep(point) and not math.isnan(point.gain(reading))]
        arms = sorted({point.arm for point in chosen})
        if len(arms) < 3:
            raise NotMeasured(f"{len(arms)} models say nothing about a correlation: at least 3 are needed")
        interval, n = seed_interval(chosen, reading), len({point.seed for point in chosen})
        left_out = _without_each(chosen, reading)
        note = (
            f"{len(chosen)} points of {len(arms)} models; without any one experiment "
            f"{min(left_out.values()):.2f} to {max(left_out.values()):.2f}"
        )
        verdict = verdict_above(interval, STRONG, n)
        return Judgement(rank_correlation(chosen, reading), interval, n, verdict, note)

    return judge


def gain_together(table: pl.DataFrame) -> Judgement:
    """C at the last checkpoint less at the first, over models whose K_max rises between them; a mean for each seed."""
    runs: dict[tuple[str, int], list[Point]] = {}
    for point in points(table):
        runs.setdefault((point.arm, point.seed), []).append(point)
    gains: dict[int, list[float]] = {}
    still: list[float] = []
    for (arm, seed), own in runs.items():
        first, last = min(own, key=lambda p: p.seen), max(own, key=lambda p: p.seen)
        if first.seen == last.seen or by_construction(arm):
            continue
        if last.longest > first.longest:
            gains.setdefault(seed, []).append(last.c - first.c)
        else:
            still.append(last.c - first.c)
    other = f"; where K_max does not rise {np.mean(still):+.2f}" if still else ""
    note = f"{sum(map(len, gains.values()))} runs, none local by construction{other}"
    return judge_above([float(np.mean(own)) for own in gains.values()], 0.0, note)


def by_construction(arm: str) -> bool:
    """Whether these networks cannot but have C = 1."""
    return arm not in CONTROLS and arm.split(" ", 1)[0].endswith("L")


def _without_each(chosen: Sequence[Point], reading: str) -> Mapping[str, float]:
    """The rank correlation without the points of each experiment."""
    return {
        name: rank_correlation([point for point in chosen if point.experiment != name], reading)
        for name in dict.fromkeys(point.experiment for point in chosen)
    }


def _numbers(chosen: Sequence[Point], reading: str) -> NDArray[np.float64]:
    return np.array([[point.gain(reading), point.c] for point in chosen]).reshape(-1, 2)  # [points, 2]


def _rho(numbers: NDArray[np.float64]) -> float:
    from scipy.stats import rankdata

    numbers = np.round(numbers, 9)  # C = 1 but for the last digit is a tie
    if len(numbers) < 2 or not np.ptp(numbers, axis=0).all():
        return 0.0
    ranks = rankdata(numbers, axis=0)
    return float(np.corrcoef(ranks.T)[0, 1])


CAVEAT = "strong, by eye (rank correlation above 0.5)"
SCATTER = (
    Claim("SC1a", "models and checkpoints with a higher C go further beyond what they were trained on, in labels "
          "(removed)", CAVEAT, correlates()),
    Claim("SC1b", "the same, in objects of a training image", CAVEAT, correlates("objects")),
    Claim("SC1c", "the same, in labels, C by the gradient", "beyond (above 0.5)", correlates(instrument=GRADIENT)),
    Claim("SC1d", "the same, in objects, C by the gradient", "beyond (above 0.5)", correlates("objects", GRADIENT)),
    Claim("SC2", "also at the end of training alone (in labels, removed)", "beyond (above 0.5)",
          correlates(keep=lambda point: point.last)),
    Claim("SC3", "also among networks that are not local by construction (in labels, removed)", "beyond (above 0.5)",
          correlates(keep=lambda point: not by_construction(point.arm))),
    Claim("SC4", "models that come to draw more labels during training gain C (last less first checkpoint)",
          "three models gain both (above 0)", gain_together),
    Claim("SC5a", "models and checkpoints with a higher C meet more of the labels that are beyond training (mean "
          "recall, scale from chance 0 to 1, removed)", "beyond (above 0.5)", correlates("recall")),
    Claim("SC5b", "also at the end of training alone", "beyond (above 0.5)",
          correlates("recall", keep=lambda point: point.last)),
    Claim("SC5c", "also among networks that are not local by construction", "beyond (above 0.5)",
          correlates("recall", keep=lambda point: not by_construction(point.arm))),
)  # fmt: skip
