"""Length generalization against conditional locality (Bradley 2026, Fig 2 right): points, rank correlation, rules."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.scenes.counting import CHANCE, RECALL, k_max
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, verdict_above
from recombine.lab.rules import Rule
from recombine.lab.rules import rank_correlation as spearman
from recombine.lab.statistics import Interval, bootstrap_interval
from recombine.lab.table import Table, select
from recombine.studies.local_scores._shared.label_recall import arm_of, scaled
from recombine.studies.local_scores.locality.claims import GRADIENT, REMOVED

GAINS = ("labels", "objects", "recall")
"""How far a model goes: K_max less the labels of a training image, in Exps 2 and 2L always one, or less its objects; or
the recall of more labels than any training image has objects, on a scale from chance 0 to 1.
"""
LARGEST = 5  # objects of a training image of any set: recall is compared with more labels than that
STRONG = 0.5  # a rank correlation above it counts as strong
DRAWS = 2000  # of seeds
SETS = ("1", "1-3", "1-5")  # objects of a training image
MODELS = {name: {o: arm_of(name, o) for o in SETS} for name in ("1", "2", "3", "2L", "3L", "2L far", "2L whole")}


@dataclass(frozen=True)
class Point:
    """One model at one checkpoint."""

    arm: str
    seed: int
    seen: int
    longest: int  # K_max
    c: float
    last: bool
    trained_labels: int
    trained_objects: int
    by_construction: bool = False  # C = 1 whatever is learnt
    beyond: float = math.nan  # recall, from chance 0 to 1, with more labels than any training image has objects

    def gain(self, kind: str) -> float:
        """K_max less the number trained on, or recall beyond it."""
        if kind == "recall":
            return self.beyond
        return self.longest - (self.trained_labels if kind == "labels" else self.trained_objects)


def points(table: Table, instrument: str = REMOVED) -> list[Point]:
    """Every model at every checkpoint at which both K_max and C were measured."""
    recall, chance = _by_checkpoint(table, RECALL), _by_checkpoint(table, CHANCE)
    rows = select(table, instrument, sigma=None).drop_nulls("value").sort("seed", "images_seen")
    found = []
    for arm in dict.fromkeys(table["arm"].to_list()):
        both = [row for row in select(rows, arm=arm).to_dicts() if (arm, row["seed"], row["images_seen"]) in recall]
        last = {row["seed"]: row["images_seen"] for row in both}
        for row in both:
            at = arm, row["seed"], row["images_seen"]
            curve, by_chance = recall[at], chance.get(at, {})
            more = [scaled(value, by_chance[k]) for k, value in curve.items() if k > LARGEST and k in by_chance]
            trained = row["trained_labels"], row["trained_objects"], row["local_by_construction"]
            beyond = float(np.mean(more)) if more else math.nan
            found.append(Point(*at, k_max(curve).steady, row["value"], at[2] == last[at[1]], *trained, beyond))
    if not found:
        raise NotMeasured("no model has both K_max and C")
    return found


def _by_checkpoint(table: Table, instrument: str) -> dict[tuple[str, int, int], dict[int, float]]:
    """{(arm, seed, images seen): {labels: value}}"""
    found: dict[tuple[str, int, int], dict[int, float]] = {}
    rows = select(table, instrument).drop_nulls("value").select("arm", "seed", "images_seen", "labels", "value")
    for *at, labels, value in rows.iter_rows():
        found.setdefault((at[0], at[1], at[2]), {})[labels] = value
    return found


def rank_correlation(chosen: Sequence[Point], kind: str) -> float:
    """Spearman's rho of how far models go and C; 0 where either is the same for all."""
    return _rho(_numbers(chosen, kind))


def seed_interval(chosen: Sequence[Point], kind: str) -> Interval | None:
    """The bootstrap interval of the rank correlation over seeds: all points of a seed are drawn together, or none.

    Checkpoints of a run are not independent, and runs of a seed share their training images; seeds are.
    """
    seeds = sorted({point.seed for point in chosen})
    numbers = [_numbers([point for point in chosen if point.seed == seed], kind) for seed in seeds]

    @cache
    def together(drawn: tuple[int, ...]) -> float:
        return _rho(np.concatenate([numbers[index] for index in drawn]))

    def of(drawn: NDArray[np.float64]) -> float:
        return together(tuple(sorted(int(index) for index in drawn)))  # five seeds can be drawn in 126 ways only

    return bootstrap_interval(np.arange(len(seeds)), of, draws=DRAWS)


def correlates(
    kind: str = "labels", instrument: str = REMOVED, keep: Callable[[Point], bool] = lambda point: True
) -> Rule:
    """The rank correlation over the points that are kept is strong."""

    def judge(table: Table) -> Judgement:
        chosen = [point for point in points(table, instrument) if keep(point) and not math.isnan(point.gain(kind))]
        arms = sorted({point.arm for point in chosen})
        if len(arms) < 3:
            raise NotMeasured(f"{len(arms)} models say nothing about a correlation: at least 3 are needed")
        interval, n = seed_interval(chosen, kind), len({point.seed for point in chosen})
        left_out = without_each(chosen, kind).values()
        note = (
            f"{len(chosen)} points of {len(arms)} models; without any one experiment "
            f"{min(left_out):.2f} to {max(left_out):.2f}"
        )
        return Judgement(rank_correlation(chosen, kind), interval, n, verdict_above(interval, STRONG, n), note)

    return judge


def gain_together(table: Table) -> Judgement:
    """C at the last checkpoint less at the first, over models whose K_max rises between them; a mean for each seed."""
    runs: dict[tuple[str, int], list[Point]] = {}
    for point in points(table):
        runs.setdefault((point.arm, point.seed), []).append(point)
    gains: dict[int, list[float]] = {}
    still: list[float] = []
    for (_, seed), own in runs.items():
        first, last = min(own, key=lambda p: p.seen), max(own, key=lambda p: p.seen)
        if first.seen == last.seen or first.by_construction:
            continue
        if last.longest > first.longest:
            gains.setdefault(seed, []).append(last.c - first.c)
        else:
            still.append(last.c - first.c)
    other = f"; where K_max does not rise {np.mean(still):+.2f}" if still else ""
    note = f"{sum(map(len, gains.values()))} runs, none local by construction{other}"
    return judge_above([float(np.mean(own)) for own in gains.values()], 0.0, note)


def without_each(chosen: Sequence[Point], kind: str) -> Mapping[str, float]:
    """The rank correlation without the points of each experiment (its models on all training sets)."""
    own = {arm: name for name, arms in MODELS.items() for arm in arms.values()}
    return {
        name: rank_correlation([point for point in chosen if own.get(point.arm, point.arm) != name], kind)
        for name in dict.fromkeys(own.get(point.arm, point.arm) for point in chosen)
    }


def _numbers(chosen: Sequence[Point], kind: str) -> NDArray[np.float64]:
    return np.array([[point.gain(kind), point.c] for point in chosen]).reshape(-1, 2)  # [points, 2]


def _rho(numbers: NDArray[np.float64]) -> float:
    return spearman(*np.round(numbers, 9).T)  # C = 1 but for the last digit is a tie


PAPER = "strong, by eye (rank correlation above 0.5)"
CLAIMS = (
    Claim("SC1a", "Models and checkpoints with a higher C go further beyond what they were trained on (in labels, "
          "label removed).",
          PAPER,
          correlates()),
    Claim("SC1b", "Models and checkpoints with a higher C go further beyond what they were trained on (in objects "
          "of a training image, label removed).",
          PAPER,
          correlates("objects"), check=True),
    Claim("SC1c", "Models and checkpoints with a higher C go further beyond what they were trained on (in labels, C "
          "by the gradient).",
          "not in the paper (above 0.5)",
          correlates(instrument=GRADIENT),
          check=True),
    Claim("SC1d", "Models and checkpoints with a higher C go further beyond what they were trained on (in objects "
          "of a training image, C by the gradient).",
          "not in the paper (above 0.5)",
          correlates("objects", GRADIENT),
          check=True),
    Claim("SC2", "At the end of training alone, models with a higher C go further beyond what they were trained on "
          "(in labels, label removed).",
          "not in the paper (above 0.5)",
          correlates(keep=lambda point: point.last), check=True),
    Claim("SC3", "Among networks that are not local by construction, those with a higher C go further beyond what "
          "they were trained on (in labels, label removed).",
          "not in the paper (above 0.5)",
          correlates(keep=lambda point: not point.by_construction), check=True),
    Claim("SC4", "Models that come to draw more labels during training gain C (last less first checkpoint).",
          "three models gain both (above 0)",
          gain_together),
    Claim("SC5a", "Models and checkpoints with a higher C draw more of the labels that are beyond training (mean "
          "recall, scale from chance 0 to 1, label removed).",
          "not in the paper (above 0.5)",
          correlates("recall"), check=True),
    Claim("SC5b", "At the end of training alone, models with a higher C draw more of the labels that are beyond "
          "training (the same recall).",
          "not in the paper (above 0.5)",
          correlates("recall", keep=lambda point: point.last), check=True),
    Claim("SC5c", "Among networks that are not local by construction, those with a higher C draw more of the labels "
          "that are beyond training (the same recall).",
          "not in the paper (above 0.5)",
          correlates("recall", keep=lambda point: not point.by_construction), check=True),
)  # fmt: skip
