"""Scenes told by colour (the feature-space case of Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.instruments.scenes.colour_evaluation import BOTTLENECK, DATA, LINEAR, PAIR, PIXELS
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import less, mean, rank_correlation
from recombine.lab.table import curves
from recombine.studies.local_scores.length.claims import longest, recall_by_count

if TYPE_CHECKING:
    import polars as pl

RECALL, EXTRAS, CHANCE = "colour.recall", "colour.extras", "colour.chance"
ALL, ONE, SINGLE = "all 1-3", "one 1-3", "all 1"  # which colours are told, and how many objects an image holds at most
ARMS = (ALL, ONE, SINGLE)
GOOD, BAD = "blue+yellow", "red+yellow"  # pairs of the parent paper

Rule = Callable[["pl.DataFrame"], Judgement]


def by_pair(table: pl.DataFrame, arm: str, instrument: str) -> dict[int, dict[str, float]]:
    """For each seed: the last reading of every pair of colours."""
    found: dict[int, dict[str, float]] = {}
    for (seed, pair), (_, values) in curves(table, instrument, arm).items():
        found.setdefault(seed, {})[pair] = float(values[-1])
    if not found:
        raise NotMeasured(f"{instrument} of {arm} was not measured")
    return found


def cosine(representation: str) -> str:
    """The instrument of the cosines of a representation."""
    return f"cosine.{representation}"


def interference(table: pl.DataFrame, arm: str, representation: str) -> dict[int, float]:
    """For each seed: the mean |cosine| over pairs."""
    found = by_pair(table, arm, cosine(representation))
    return {seed: float(np.mean(np.abs(list(own.values())))) for seed, own in found.items()}


def reader_meets(table: pl.DataFrame) -> Judgement:
    """Recall of the reader on rendered scenes, the lowest over the numbers of colours."""
    return judge_above(list(_calibrated(table, RECALL, min).values()), 0.95)


def reader_invents(table: pl.DataFrame) -> Judgement:
    """Colours that the reader sees in rendered scenes and that are not there, the most over the numbers of colours."""
    return judge_below(list(_calibrated(table, EXTRAS, max).values()), 0.2)


def draws_what_it_was_told(table: pl.DataFrame) -> Judgement:
    """The lowest recall with 1 to 3 colours."""
    found = recall_by_count(table, ALL, RECALL)
    return judge_above([min(value for k, value in curve.items() if k <= 3) for curve in found.values()], 0.9)


def reaches(arm: str, bound: int) -> Rule:
    """K_max is this or more, a value a seed."""
    return lambda table: judge_above(list(longest(table, arm, RECALL).values()), bound - 0.5, _chance_note(table, arm))


def nearer_to_zero(arm: str, bound: float) -> Rule:
    """Mean |cosine| in the model's pixels less that in its bottleneck is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        pixels, features = interference(table, arm, PIXELS), interference(table, arm, BOTTLENECK)
        note = f"{mean(pixels):.2f} in pixels, {mean(features):.2f} in the bottleneck"
        return judge_above(list(less(pixels, features).values()), bound, note)

    return judge


def as_in_data(table: pl.DataFrame) -> Judgement:
    """Rank correlation over pairs of the cosines of the model's pixels and of rendered images."""
    return judge_above(list(_ranks(table, ALL, cosine(PIXELS), cosine(DATA), absolute=False).values()), 0.8)


def spoils(arm: str, instrument: str, representation: str, bound: float) -> Rule:
    """Rank correlation over pairs of |cosine| and recall is below a bound: what interferes is drawn worse."""

    def judge(table: pl.DataFrame) -> Judgement:
        recall = [value for own in by_pair(table, arm, instrument).values() for value in own.values()]
        ranks = _ranks(table, arm, cosine(representation), instrument, absolute=True)
        note = f"recall of pairs {min(recall):.2f} to {max(recall):.2f}, mean {np.mean(recall):.2f}"
        return judge_below(list(ranks.values()), bound, note)

    return judge


def as_the_parent_says(table: pl.DataFrame) -> Judgement:
    """Recall of yellow and blue less that of yellow and red, by linear composition."""
    found = by_pair(table, SINGLE, LINEAR)
    both = [own for own in found.values() if GOOD in own and BAD in own]
    return judge_above([own[GOOD] - own[BAD] for own in both], 0.1)


def _ranks(table: pl.DataFrame, arm: str, one: str, other: str, absolute: bool) -> dict[int, float]:
    """For each seed: Spearman's correlation over pairs of two readings; 0 where either is the same for all."""
    first, second, ranks = by_pair(table, arm, one), by_pair(table, arm, other), dict[int, float]()
    for seed in sorted(first.keys() & second.keys()):
        pairs = sorted(first[seed].keys() & second[seed].keys())
        values = np.array([[first[seed][pair], second[seed][pair]] for pair in pairs]).reshape(-1, 2)
        if absolute:
            values[:, 0] = np.abs(values[:, 0])
        if len(pairs) >= 3:
            ranks[seed] = rank_correlation(*values.T)
    if not ranks:
        raise NotMeasured(f"no seed of {arm} has three pairs of both {one} and {other}")
    return ranks


def _calibrated(table: pl.DataFrame, instrument: str, worst: Callable[[float, float], float]) -> dict[int, float]:
    """For each seed: the worst calibration over the numbers of colours."""
    found: dict[int, float] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        for (seed, node), (_, values) in curves(table, f"calibration.{instrument}", arm).items():
            if node.isdigit():  # other nodes are single colours
                found[seed] = worst(found.get(seed, float(values[0])), float(values[0]))
    if not found:
        raise NotMeasured("the reader was not calibrated")
    return found


def _chance_note(table: pl.DataFrame, arm: str) -> str:
    """Recall and chance at the largest number of colours."""
    recall, chance = recall_by_count(table, arm, RECALL), recall_by_count(table, arm, CHANCE)
    most = max(next(iter(recall.values())))
    shown = {name: np.mean([own[most] for own in found.values()]) for name, found in
             (("recall", recall), ("chance", chance))}  # fmt: skip
    return f"with {most} colours recall {shown['recall']:.2f}, by chance {shown['chance']:.2f}"


COLOURS = (
    Claim("CO0", "the reader meets the colours of rendered scenes (lowest recall over 1 to 6)", "beyond (above 0.95)",
          reader_meets),
    Claim("CO0b", "and sees hardly any others (most extras over 1 to 6)", "beyond (below 0.2)", reader_invents),
    Claim("CO1", "told all colours, the model draws 1 to 3, as trained (lowest recall)", "not asked (above 0.9)",
          draws_what_it_was_told),
    Claim("CO2", "does it draw more colours than it was trained on? (K_max, told all of 1 to 3)",
          "not asked (at least 4)", reaches(ALL, 4)),
    Claim("CO2b", "told one of 1 to 3 in training, does it draw two or more? (K_max)", "not asked (at least 2)",
          reaches(ONE, 2)),
    Claim("CO2c", "trained on single objects, does it draw two or more? (K_max)", "not asked (at least 2)",
          reaches(SINGLE, 2)),
    Claim("CO3", "colours are nearer to orthogonal in the bottleneck than in pixels (mean |cosine|, difference)",
          "feature space is clearer (above 0.1)", nearer_to_zero(ALL, 0.1)),
    Claim("CO3b", "also in the model trained on single objects", "not asked (above 0.1)", nearer_to_zero(SINGLE, 0.1)),
    Claim("CO3c", "cosines of the model's pixels are those of the data (rank correlation over pairs)",
          "beyond: known answer (above 0.8)", as_in_data),
    Claim("CO4", "pairs that interfere in pixels are drawn worse by adding scores (rank correlation, single objects)",
          "parent: some pairs fail (below -0.3)", spoils(SINGLE, LINEAR, PIXELS, -0.3)),
    Claim("CO4b", "and by the same model told both colours", "not asked (below -0.3)",
          spoils(SINGLE, PAIR, PIXELS, -0.3)),
    Claim("CO4c", "interference in the bottleneck says it too (told both)", "not asked (below -0.3)",
          spoils(SINGLE, PAIR, BOTTLENECK, -0.3)),
    Claim("CO4d", "yellow and blue compose better than yellow and red (recall by adding scores, difference)",
          "parent: one composes, the other fails (above 0.1)", as_the_parent_says),
)  # fmt: skip
