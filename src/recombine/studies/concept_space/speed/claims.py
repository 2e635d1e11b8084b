"""Learning times over concept signals (Park et al. 2024): the rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.instruments.shapes.curves import emergence_time
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every, judge_within
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

HELD_OUT = "11"
THRESHOLD = 0.8
SCARCE = 0.1  # share of images with an object below which nothing is said about them


def separations(arm: str) -> tuple[float, float]:
    """The separations of colour and size that an arm's name says."""
    found = re.fullmatch(r"c([\d.]+)-s([\d.]+)", arm)
    if found is None:
        raise NotMeasured(f"arm '{arm}' does not name its separations as c0.2-s0.4 does")
    return float(found[1]), float(found[2])


def learning_times(
    table: pl.DataFrame, concept: str, objects: bool = False
) -> dict[tuple[float, float], dict[int, float]]:
    """{(D_c, D_s): {seed: images seen until the concept of the held-out class is learned}}.

    Infinite where it is not by the end of training. With `objects`, among the images that hold exactly one object, as a
    classifier that cannot say "none" would see them; where fewer than a tenth do, nothing is learned.
    """
    times: dict[tuple[float, float], dict[int, float]] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        lost = [curves(table, f"reader.{what}", arm, HELD_OUT) for what in ("none", "several")] if objects else []
        for (seed, node), (seen, value) in curves(table, f"reader.{concept}", arm, HELD_OUT).items():
            if objects:
                if not all((seed, node) in found for found in lost):
                    raise NotMeasured("which images hold an object was not measured")
                there = 1 - sum(found[seed, node][1] for found in lost)
                value = np.where(there >= SCARCE, value / np.maximum(there, SCARCE), 0.0)
            time = emergence_time(seen, value, THRESHOLD)
            times.setdefault(separations(arm), {})[seed] = math.inf if time is None else time
    if not times:
        raise NotMeasured(f"{concept} of {HELD_OUT} was not measured")
    return times


def slower(
    concept: str, slow: tuple[float, float], fast: tuple[float, float], low: float, high: float, objects: bool = False
) -> Callable[[pl.DataFrame], Judgement]:
    """The time of a concept at one pair of separations over that at another, between bounds; one value a seed."""

    def judge(table: pl.DataFrame) -> Judgement:
        ratios, note = _ratios(table, concept, slow, fast, objects)
        return judge_within(ratios, low, high, note)

    return judge


def competes(objects: bool = False) -> Callable[[pl.DataFrame], Judgement]:
    """At the weakest colour, log2 of the time of colour with the strongest size signal over the weakest."""

    def judge(table: pl.DataFrame) -> Judgement:
        times = learning_times(table, "color", objects)
        colors, sizes = sorted({c for c, _ in times}), sorted({s for _, s in times})
        ratios, note = _ratios(table, "color", (colors[0], sizes[-1]), (colors[0], sizes[0]), objects)
        return judge_above(np.log2(ratios), 0.0, note)

    return judge


def falls(concept: str) -> Callable[[pl.DataFrame], Judgement]:
    """In how many seeds the time of a concept falls or stays from each of its separations to the next, on average over
    those of the other concept.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        times = learning_times(table, concept)
        own = 0 if concept == "color" else 1
        steps = sorted({place[own] for place in times})
        if len(steps) < 2:
            raise NotMeasured(f"a single separation of {concept}: there is no trend")
        seeds = set.intersection(*(set(found) for found in times.values()))
        falling, end = 0, float(table["images_seen"].max())  # type: ignore[arg-type]
        for seed in seeds:
            means = [np.mean([min(t[seed], end) for place, t in times.items() if place[own] == step]) for step in steps]
            falling += bool(np.all(np.diff(means) <= 0)) and means[-1] < means[0]
        return judge_every(falling, len(seeds))

    return judge


def real_images_are_read(table: pl.DataFrame) -> Judgement:
    """P7: accuracy of the judge on fresh real images of every class, the lowest of any class and concept in a seed."""
    import polars as pl

    judge = "classifier" if table["instrument"].str.starts_with("calibration.classifier.").any() else "reader"
    rows = table.filter(pl.col("instrument").is_in([f"calibration.{judge}.{c}" for c in ("color", "size")]))
    if not rows.height:
        raise NotMeasured("no judge was checked on real images")
    lowest = rows.group_by("seed").agg(pl.col("value").min()).sort("seed")["value"].to_list()
    return judge_within(lowest, 0.999, 1.0, f"by the {judge}")


def _ratios(
    table: pl.DataFrame, concept: str, slow: tuple[float, float], fast: tuple[float, float], objects: bool
) -> tuple[list[float], str]:
    times, end = learning_times(table, concept, objects), float(table["images_seen"].max())  # type: ignore[arg-type]
    if slow not in times or fast not in times or slow == fast:
        raise NotMeasured(f"needs separations {slow} and {fast}")
    shared = [s for s in times[slow] if s in times[fast] and math.isfinite(min(times[slow][s], times[fast][s]))]
    if not shared:
        raise NotMeasured(f"{concept} is not learned by the end of training at {slow} or at {fast} in any seed")
    slows, fasts = ([min(times[place][seed], end) for seed in shared] for place in (slow, fast))
    medians = f"median images: {np.median(slows):,.0f} and {np.median(fasts):,.0f}"
    never = sum(math.isinf(times[place][seed]) for place in (slow, fast) for seed in shared)
    note = f"; {never} runs have not learned it and count with the end of training" if never else ""
    return [a / b for a, b in zip(slows, fasts, strict=True)], medians + note


SPEED = (
    Claim(
        "P1",
        "colours 0.8 apart are learned about five times as fast as colours 0.2 apart, radii 0.4 apart (ratio of times)",
        "15.7k / 3.3k steps = 4.8 (2.5 to 10)",
        slower("color", (0.2, 0.4), (0.8, 0.4), 2.5, 10.0),
    ),
    Claim("P1m", "the time of colour falls with every step of its signal (share of seeds)", "it does", falls("color")),
    Claim(
        "P2",
        "radii 0.4 apart are learned faster than radii 0.2 apart, colours 0.8 apart (ratio of times)",
        "9.6k / 6.1k steps = 1.6 (1.1 to 3)",
        slower("size", (0.8, 0.2), (0.8, 0.4), 1.1, 3.0),
    ),
    Claim(
        "P3",
        "concepts compete: a stronger size signal slows a weak colour (log2 of the ratio of times)",
        "9.0k to 15.7k steps, log2 = 0.8 (above 0)",
        competes(),
    ),
    Claim(
        "P1o",
        "P1 among the images that hold one object (ratio of times)",
        "4.8 (2.5 to 10)",
        slower("color", (0.2, 0.4), (0.8, 0.4), 2.5, 10.0, objects=True),
    ),
    Claim(
        "P2o",
        "P2 among the images that hold one object (ratio of times)",
        "1.6 (1.1 to 3)",
        slower("size", (0.8, 0.2), (0.8, 0.4), 1.1, 3.0, objects=True),
    ),
    Claim("P3o", "P3 among the images that hold one object (log2)", "0.8 (above 0)", competes(objects=True)),
    Claim("P7", "the judge is right on fresh real images of every class (accuracy)", "1.0", real_images_are_read),
)
