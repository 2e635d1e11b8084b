"""The claims of scenes conditioned on colours (the feature-space case of Bradley 2026)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from recombine.instruments.scenes.colour_evaluation import BOTTLENECK, COSINE, DATA, LINEAR, PAIR, PIXELS
from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, Note, Rule, above, below, difference, mean, rank_correlation
from recombine.lab.table import Table, select
from recombine.studies.local_scores._shared.label_recall import longest, recall_by_count

RECALL, EXTRAS, CHANCE = "colour.recall", "colour.extras", "colour.chance"
ALL, ONE, SINGLE = "all 1-3", "one 1-3", "all 1"  # which colours are labelled, and how many objects an image has
ARMS = (ALL, ONE, SINGLE)
TRAINED = 3  # objects of a training image at most
GOOD, BAD = ("blue", "yellow"), ("red", "yellow")  # pairs of the preceding paper: one composes, one fails

Pair = tuple[str, str]


def by_pair(table: Table, arm: str, instrument: str, **where: Any) -> dict[int, dict[Pair, float]]:
    """{seed: {pair of colours: value at the end}}."""
    found: dict[int, dict[Pair, float]] = {}
    rows = select(table, instrument, arm=arm, **where).drop_nulls("value").sort("seed", "images_seen")
    for seed, one, other, value in rows.select("seed", "colour", "other", "value").iter_rows():
        found.setdefault(seed, {})[one, other] = value
    if not found:
        raise NotMeasured(f"{instrument} of {arm} was not measured")
    return found


def interference(arm: str, representation: str) -> Measure:
    """The mean |cosine| over pairs."""
    return lambda table: {
        seed: float(np.mean(np.abs(list(own.values()))))
        for seed, own in by_pair(table, arm, COSINE, representation=representation).items()
    }


def calibrated(instrument: str, worst: Callable[[float, float], float]) -> Measure:
    """The reader on rendered scenes: the worst over numbers of colours and arms."""

    def measure(table: Table) -> dict[int, float]:
        found: dict[int, float] = {}
        rows = select(table, f"calibration.{instrument}").drop_nulls(["labels", "value"])
        for seed, value in rows.select("seed", "value").iter_rows():
            found[seed] = worst(found.get(seed, value), value)
        return dict(sorted(found.items()))

    return measure


def k_max(arm: str) -> Measure:
    """The number of colours up to which recall is high enough, from one colour on without a gap."""
    return lambda table: longest(table, arm, RECALL)


def lowest_trained(table: Table) -> dict[int, float]:
    """The lowest recall with as many colours as in training."""
    found = recall_by_count(table, ALL, RECALL)
    return {seed: min(value for k, value in own.items() if k <= TRAINED) for seed, own in found.items()}


def ranks(arm: str, recall: str, representation: str) -> Measure:
    """The rank correlation over pairs of |cosine| and recall."""
    return lambda table: _ranks(
        {seed: {pair: abs(value) for pair, value in own.items()}
         for seed, own in by_pair(table, arm, COSINE, representation=representation).items()},
        by_pair(table, arm, recall),
    )  # fmt: skip


def as_in_data(table: Table) -> dict[int, float]:
    """The rank correlation over pairs of the cosines of the model's pixels and of rendered images."""
    return _ranks(*(by_pair(table, ALL, COSINE, representation=name) for name in (PIXELS, DATA)))


def better_pair(table: Table) -> dict[int, float]:
    """Recall of yellow and blue minus that of yellow and red, by linear composition."""
    found = by_pair(table, SINGLE, LINEAR)
    return {seed: own[GOOD] - own[BAD] for seed, own in found.items() if GOOD in own and BAD in own}


def _ranks(one: dict[int, dict[Pair, float]], other: dict[int, dict[Pair, float]]) -> dict[int, float]:
    found = {}
    for seed in sorted(one.keys() & other.keys()):
        pairs = sorted(one[seed].keys() & other[seed].keys())
        if len(pairs) >= 3:
            found[seed] = rank_correlation(*([own[seed][pair] for pair in pairs] for own in (one, other)))
    if not found:
        raise NotMeasured("no seed has three pairs of both")
    return found


def _beside_chance(arm: str) -> Note:
    def note(table: Table) -> str:
        found = {name: recall_by_count(table, arm, name) for name in (RECALL, CHANCE)}
        most = max(next(iter(found[RECALL].values())))
        recall, chance = (mean({seed: own[most] for seed, own in each.items()}) for each in found.values())
        return f"with {most} colours recall {recall:.2f}, chance {chance:.2f}"

    return note


def _spread_of(arm: str, instrument: str) -> Note:
    def note(table: Table) -> str:
        recall = [value for own in by_pair(table, arm, instrument).values() for value in own.values()]
        return f"recall of pairs {min(recall):.2f} to {max(recall):.2f}, mean {np.mean(recall):.2f}"

    return note


def _disentangled(arm: str) -> Rule:
    pixels, features = interference(arm, PIXELS), interference(arm, BOTTLENECK)
    return above(difference(pixels, features), 0.1,
                 lambda t: f"{mean(pixels(t)):.2f} in pixels, {mean(features(t)):.2f} in the bottleneck")  # fmt: skip


CLAIMS = (
    Claim("CO0", "The image reader finds the colours of rendered scenes (lowest recall over 1 to 6 colours).",
          "not in the paper (above 0.95)",
          above(calibrated(RECALL, min), 0.95), check=True),
    Claim("CO0b", "The image reader finds hardly any other colours in rendered scenes (most extras over 1 to 6 "
          "colours).",
          "not in the paper (below 0.2)",
          below(calibrated(EXTRAS, max), 0.2), check=True),
    Claim("CO1", "With all colours labelled, the model draws 1 to 3 colours, as trained (lowest recall).",
          "not in the paper (above 0.9)",
          above(lowest_trained, 0.9), check=True),
    Claim("CO2", "With all of 1 to 3 colours labelled, the model draws more colours than in training (K_max).",
          "not in the paper (at least 4)",
          above(k_max(ALL), 3.5, _beside_chance(ALL)), check=True),
    Claim("CO2b", "With one of 1 to 3 colours labelled in training, the model draws two or more (K_max).",
          "not in the paper (at least 2)",
          above(k_max(ONE), 1.5, _beside_chance(ONE)), check=True),
    Claim("CO2c", "Trained on single objects, the model draws two or more colours (K_max).",
          "not in the paper (at least 2)",
          above(k_max(SINGLE), 1.5, _beside_chance(SINGLE)), check=True),
    Claim("CO3", "Colours are closer to orthogonal in the bottleneck than in pixels (mean |cosine|, difference).",
          "of SDXL: clearer in feature space (above 0.1)", _disentangled(ALL), check=True),
    Claim("CO3b", "Colours are closer to orthogonal in the bottleneck than in pixels also in the model trained on "
          "single objects.",
          "not in the paper (above 0.1)",
          _disentangled(SINGLE),
          check=True),
    Claim("CO3c", "Cosines of the model's pixels are those of the data (rank correlation over pairs).",
          "not in the paper (known answer, above 0.8)",
          above(as_in_data, 0.8), check=True),
    Claim("CO4", "Pairs that interfere in pixels are drawn worse by adding scores (rank correlation, single objects).",
          "preceding paper: some pairs fail (below -0.3)",
          below(ranks(SINGLE, LINEAR, PIXELS), -0.3, _spread_of(SINGLE, LINEAR)), check=True),
    Claim("CO4b", "Pairs that interfere in pixels are also drawn worse by the same model with both colours in the "
          "label.",
          "not in the paper (below -0.3)",
          below(ranks(SINGLE, PAIR, PIXELS), -0.3, _spread_of(SINGLE, PAIR)), check=True),
    Claim("CO4c", "Pairs that interfere in the bottleneck are drawn worse, too (both colours in the label).",
          "not in the paper (below -0.3)",
          below(ranks(SINGLE, PAIR, BOTTLENECK), -0.3, _spread_of(SINGLE, PAIR)), check=True),
    Claim("CO4d", "Yellow and blue compose better than yellow and red (recall by adding scores, difference).",
          "preceding paper: one composes, the other fails (above 0.1)", above(better_pair, 0.1), check=True),
)  # fmt: skip
