"""Swing-by and slowing down in diffusion models (Yang et al. 2025, Sec 5): the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recombine.instruments.shapes.concept_space import (
    Curve,
    Path,
    blurred,
    corner_error,
    setback,
    setback_by_chance,
    slowing,
    speeds,
)
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, verdict_above
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import curves
from recombine.studies.concept_space.speed.claims import HELD_OUT, real_images_are_read

if TYPE_CHECKING:
    import polars as pl

WEAK = 0.3  # colours up to so far apart count as weak
CHANCE = 0.05
DRAWS = 2_000
BLUR, BLUR_SPEED = 2.0, 1.5  # evaluations, as in the released code
LATE = 0.25  # the last share of the evaluations, over which the last speed is taken
BUMP = 0.01  # of the largest error, as for networks in swing-by


def separation(arm: str) -> float:
    """The separation of the colours that an arm's name says: "c0.247"."""
    try:
        return float(arm.removeprefix("c"))
    except ValueError:
        raise NotMeasured(f"arm '{arm}' does not name its separation as c0.2 does") from None


def paths(table: pl.DataFrame, arm: str) -> dict[int, tuple[Curve, Path]]:
    """For each seed: images seen, and where the held-out class lies: P(blue), P(small).  # [moments], [moments, 2]"""
    blue, small = (curves(table, f"classifier.{axis}", arm, HELD_OUT) for axis in ("color=blue", "size=small"))
    return {
        seed: (np.asarray(seen, dtype=np.float64), np.stack([value, small[seed, node][1]], 1))
        for (seed, node), (seen, value) in blue.items()
        if (seed, node) in small
    }


def mean_path(ways: Sequence[tuple[Curve, Path]], blur: float) -> tuple[Curve, Path]:
    """The mean over seeds, as far as all have gone, smoothed."""
    length = min(len(seen) for seen, _ in ways)
    return ways[0][0][:length], blurred(np.mean([way[:length] for _, way in ways], axis=0), blur)


def weak_arms(table: pl.DataFrame) -> list[str]:
    """Arms whose colours are weak, with a path."""
    arms = [arm for arm in dict.fromkeys(table["arm"].to_list()) if separation(arm) <= WEAK and paths(table, arm)]
    if not arms:
        raise NotMeasured(f"no arm has colours up to {WEAK:g} apart and a path of {HELD_OUT}")
    return arms


def images_behind(table: pl.DataFrame) -> int:
    """How many images a coordinate is the mean of: the smallest n of which every share the reader gives is a part."""
    import polars as pl

    rows = table.filter((pl.col("node") == HELD_OUT) & pl.col("instrument").is_in(["reader.none", "reader.color"]))
    shares = rows["value"].to_numpy()
    for n in range(2, 1_001):
        if len(shares) and np.allclose(shares * n, np.round(shares * n), atol=1e-4):
            return n
    raise NotMeasured("how many images were drawn for each evaluation cannot be read off the table")


def runs_swing_by(table: pl.DataFrame) -> Judgement:
    """S13: the share of runs with weak colour whose error rises more than noise alone would make it."""
    beyond, images = [], images_behind(table)
    for arm in weak_arms(table):
        for seed, (_, way) in paths(table, arm).items():
            by_chance = setback_by_chance(way, images, DRAWS, seed)
            beyond.append(setback(corner_error(way)) > np.quantile(by_chance, 1 - CHANCE))
    k, n = int(np.sum(beyond)), len(beyond)
    interval = proportion_interval(k, n)
    return Judgement(k / n, interval, n, verdict_above(interval, CHANCE, n), f"{k} of {n} runs, {images} images each")


def weak_swings_more(table: pl.DataFrame) -> Judgement:
    """S13w: the rise of a run's error with weak colour less that with stronger colours, means over arms; one value a
    seed. Whatever shakes a run in training shakes both.
    """
    weak = weak_arms(table)
    strong = [arm for arm in dict.fromkeys(table["arm"].to_list()) if arm not in weak]
    rises = [
        [{seed: setback(corner_error(way)) for seed, (_, way) in paths(table, arm).items()} for arm in arms]
        for arms in (weak, strong)
    ]
    seeds = sorted(set.intersection(*(set(each) for side in rises for each in side))) if strong else []
    if not seeds:
        raise NotMeasured("no seed has arms with weak and with stronger colour")
    above, below = ([float(np.mean([each[seed] for each in side])) for seed in seeds] for side in rises)
    return judge_above([a - b for a, b in zip(above, below, strict=True)], 0.0, f"{len(weak)} arms and {len(strong)}")


def mean_swings_by(table: pl.DataFrame) -> Judgement:
    """S13m: the rise of the smoothed mean's error as a share of its largest, the mean over arms with weak colour; the
    interval is over seeds drawn again.
    """
    found = [paths(table, arm) for arm in weak_arms(table)]
    seeds = sorted(set.intersection(*(set(each) for each in found)))
    if not seeds:
        raise NotMeasured("no seed has every arm with weak colour")
    generator = np.random.default_rng(0)
    drawn = [_mean_rise(found, generator.choice(seeds, len(seeds)).tolist()) for _ in range(DRAWS)]
    interval = tuple(float(end) for end in np.quantile(drawn, [0.025, 0.975])) if len(seeds) > 1 else None
    estimate, n = _mean_rise(found, seeds), len(seeds)
    return Judgement(estimate, interval, n, verdict_above(interval, BUMP, n))  # type: ignore[arg-type]


def _mean_rise(found: list[dict[int, tuple[Curve, Path]]], seeds: list[int]) -> float:
    errors = [corner_error(mean_path([each[seed] for seed in seeds], BLUR)[1]) for each in found]
    return float(np.mean([setback(error) / error.max() for error in errors]))


def slows_down(table: pl.DataFrame) -> Judgement:
    """S13s: largest speed over that at the end, of each run's smoothed path, the mean over arms; one value a seed."""
    ratios: dict[int, list[float]] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        for seed, (seen, way) in paths(table, arm).items():
            _, speed = speeds(seen, blurred(way, BLUR_SPEED))
            if len(speed):
                last = speed[-max(1, round(LATE * len(speed))) :].mean()
                ratios.setdefault(seed, []).append(float(np.log10(speed.max() / max(last, 1e-6))))
    if not ratios:
        raise NotMeasured(f"the path of {HELD_OUT} was not measured")
    return judge_above([float(np.mean(each)) for each in ratios.values()], 1.0)


def power_law(table: pl.DataFrame) -> Judgement:
    """S13e: held-out log-likelihood of the power law less that of the exponential, a point; the mean over arms, one
    value a seed left out.
    """
    gains: dict[int, list[float]] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        found = paths(table, arm)
        if len(found) < 2:
            continue
        moved = {seed: speeds(seen, blurred(way, BLUR_SPEED)) for seed, (seen, way) in found.items()}
        laws = slowing([_slowing_part(*run) for run in moved.values()])
        for seed, gain in zip(moved, laws.power - laws.exponential, strict=True):
            gains.setdefault(seed, []).append(float(gain))
    if not gains:
        raise NotMeasured("leaving one run out needs two seeds of an arm")
    return judge_above([float(np.mean(each)) for each in gains.values()], 0.0)


def _slowing_part(times: Curve, speed: Curve) -> tuple[Curve, Curve]:
    """From the largest speed on: before it a run gains speed, and no law of slowing applies."""
    start = int(speed.argmax())
    return times[start:], speed[start:]


DIFFUSION = (
    Claim(
        "S13",
        "with weak colour the error of single runs rises again, beyond noise (share of runs; by chance 0.05)",
        "beyond: the paper shows the mean (above 0.05)",
        runs_swing_by,
    ),
    Claim(
        "S13w",
        "that rise is larger than with stronger colours (difference of the error)",
        "beyond: what noise of training alone would not give (above 0)",
        weak_swings_more,
    ),
    Claim(
        "S13m",
        "with weak colour the error of the smoothed mean path rises again (share of its largest)",
        "a bump up to 0.3 (above 0.01)",
        mean_swings_by,
    ),
    Claim(
        "S13s",
        "speed in concept space falls more than tenfold over training (log10 of the ratio)",
        "more than 10x (above 1)",
        slows_down,
    ),
    Claim(
        "S13e",
        "a power law describes the slowing better than an exponential (held-out log-likelihood a point)",
        "the paper: exponential; Park et al.'s fit: power law (above 0)",
        power_law,
    ),
    Claim("P7", "the classifier is right on fresh real images of every class (accuracy)", "1.0", real_images_are_read),
)
