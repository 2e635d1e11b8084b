"""Learning times over concept signals (Park et al. 2024): the rules."""

from typing import Any

import numpy as np

from recombine.instruments.shapes.curves import time_until
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_within
from recombine.lab.rules import BySeed, Measure, Rule, between, in_every_seed, shared_seeds
from recombine.lab.table import Table, curves, select

HELD_OUT = "11"
THRESHOLD = 0.8
SCARCE = 0.1  # share of images with an object below which nothing is said about them
Pair = tuple[float, float]
"""Separations of colour and of size."""


def learning_times(table: Table, concept: str, objects: bool = False) -> dict[Pair, dict[int, float]]:
    """{(D_c, D_s): {seed: images seen until the concept of the held-out class is learned}}.

    Infinite where it is not by the end of training. With `objects`, among the images that hold exactly one object, as a
    classifier that cannot answer "none" would judge them; where fewer than a tenth do, nothing is learned.
    """
    pair = ("color_separation", "size_separation")
    where: dict[str, Any] = {"node": HELD_OUT, "sampler": None}
    lost = [curves(table, f"reader.{what}", *pair, **where) for what in ("none", "several")] if objects else []
    times: dict[Pair, dict[int, float]] = {}
    for place, (seen, value) in curves(table, "reader.accuracy", *pair, concept=concept, **where).items():
        if objects:
            if not all(place in found for found in lost):
                raise NotMeasured("which images hold an object was not measured")
            there = 1 - sum(found[place][1] for found in lost)
            value = np.where(there >= SCARCE, value / np.maximum(there, SCARCE), 0.0)
        seed, color, size = place
        times.setdefault((color, size), {})[seed] = time_until(seen, value, THRESHOLD)
    if not times:
        raise NotMeasured(f"{concept} of {HELD_OUT} was not measured")
    return times


def compared(table: Table, concept: str, slow: Pair, fast: Pair, objects: bool) -> tuple[list[float], str]:
    """The time of a concept at one pair of separations over that at another, one ratio a seed; the medians in words.

    What is not learned counts with the end of training, and not at all in a seed that learns it at neither.
    """
    times, end = learning_times(table, concept, objects), _end(table)
    if slow not in times or fast not in times or slow == fast:
        raise NotMeasured(f"needs separations {slow} and {fast}")
    both = np.array([(times[slow][seed], times[fast][seed]) for seed in shared_seeds(times[slow], times[fast])])
    both = both.reshape(-1, 2)[np.isfinite(both).any(-1)]  # [seeds, 2]
    if not len(both):
        raise NotMeasured(f"{concept} is not learned by the end of training at {slow} or at {fast} in any seed")
    medians, never = np.median(np.minimum(both, end), axis=0), np.isinf(both).sum()
    note = f"; {never} runs have not learned it and count with the end of training" if never else ""
    ratios = [min(a, end) / min(b, end) for a, b in both.tolist()]
    return ratios, f"median images: {medians[0]:,.0f} and {medians[1]:,.0f}{note}"


def slower(concept: str, slow: Pair, fast: Pair, low: float, high: float, objects: bool = False) -> Rule:
    """The time of a concept at one pair of separations over that at another lies between bounds."""

    def judge(table: Table) -> Judgement:
        ratios, note = compared(table, concept, slow, fast, objects)
        return judge_within(ratios, low, high, note)

    return judge


def competes(objects: bool = False) -> Rule:
    """At the weakest colour, log2 of the time of colour with the strongest size signal over the weakest is above 0."""

    def judge(table: Table) -> Judgement:
        times = learning_times(table, "color", objects)
        weak, sizes = min(c for c, _ in times), sorted({s for _, s in times})
        ratios, note = compared(table, "color", (weak, sizes[-1]), (weak, sizes[0]), objects)
        return judge_above([float(np.log2(ratio)) for ratio in ratios], 0, note)

    return judge


def color_falls(table: Table) -> BySeed:
    """Whether the time of colour falls or stays from each of its separations to the next, on average over sizes."""
    times, end = learning_times(table, "color"), _end(table)
    steps = sorted({color for color, _ in times})
    if len(steps) < 2:
        raise NotMeasured("a single separation of color: there is no trend")
    falling = {}
    for seed in shared_seeds(*times.values()):
        means = [np.mean([min(t[seed], end) for (color, _), t in times.items() if color == step]) for step in steps]
        falling[seed] = float(bool(np.all(np.diff(means) <= 0)) and means[-1] < means[0])
    return falling


def lowest_on_real_images(judge: str) -> Measure:
    """Accuracy of a judge on fresh real images, the lowest of any class and concept."""

    def measure(table: Table) -> BySeed:
        rows = select(table, f"calibration.{judge}.accuracy").select("seed", "value")
        if not rows.height:
            raise NotMeasured(f"the {judge} was not measured on real images")
        return dict(rows.group_by("seed").min().sort("seed").iter_rows())

    return measure


def _end(table: Table) -> float:
    """Of training, in images seen."""
    return float(table["images_seen"].max())  # type: ignore[arg-type]


CLAIMS = (
    Claim("P1", "colours 0.8 apart are learned about five times as fast as colours 0.2 apart, radii 0.4 apart (ratio "
          "of times)", "15.7k / 3.3k steps = 4.8 (2.5 to 10)", slower("color", (0.2, 0.4), (0.8, 0.4), 2.5, 10)),
    Claim("P1m", "the time of colour falls with every step of its signal (share of seeds)", "it does",
          in_every_seed(color_falls)),
    Claim("P2", "radii 0.4 apart are learned faster than radii 0.2 apart, colours 0.8 apart (ratio of times)",
          "9.6k / 6.1k steps = 1.6 (1.1 to 3)", slower("size", (0.8, 0.2), (0.8, 0.4), 1.1, 3)),
    Claim("P3", "concepts compete: a stronger size signal slows a weak colour (log2 of the ratio of times)",
          "9.0k to 15.7k steps, log2 = 0.8 (above 0)", competes()),
    Claim("P1o", "P1 among the images that hold one object (ratio of times)", "4.8 (2.5 to 10)",
          slower("color", (0.2, 0.4), (0.8, 0.4), 2.5, 10, objects=True)),
    Claim("P2o", "P2 among the images that hold one object (ratio of times)", "1.6 (1.1 to 3)",
          slower("size", (0.8, 0.2), (0.8, 0.4), 1.1, 3, objects=True)),
    Claim("P3o", "P3 among the images that hold one object (log2)", "0.8 (above 0)", competes(objects=True)),
    Claim("P7r", "the reader is right on fresh real images of every class (accuracy)", "1.0",
          between(lowest_on_real_images("reader"), 0.999, 1), check=True),
)  # fmt: skip
