"""The claims on Swing-by and slowing down in diffusion models (Yang et al. 2025, Sec 5)."""

from collections.abc import Iterable

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
from recombine.lab.claims import Claim, Judgement, NotMeasured, verdict_above
from recombine.lab.rules import BySeed, above, between
from recombine.lab.shares import share_above
from recombine.lab.table import Table, curves, select
from recombine.studies.concept_space.speed.claims import HELD_OUT, lowest_on_real_images

WEAK = 0.3  # colours up to so far apart count as weak
CHANCE = 0.05
DRAWS = 2_000
BLUR, BLUR_SPEED = 2.0, 1.5  # evaluations, as in the released code
LATE = 0.25  # the last share of the evaluations, over which the last speed is taken
BUMP = 0.01  # of the largest error, as for networks in swing-by

Runs = dict[int, tuple[Curve, Path]]
"""{seed: images seen, and where the held-out class lies: P(blue), P(small)}  # [moments], [moments, 2]"""


def paths(table: Table) -> dict[float, Runs]:
    """{separation of the colours, ascending: its runs}"""
    blue, small = (
        curves(
            table, "classifier.answer", "color_separation", node=HELD_OUT, sampler=None, concept=concept, answer=answer
        )
        for concept, answer in (("color", "blue"), ("size", "small"))
    )
    found: dict[float, Runs] = {}
    for (seed, color), (seen, value) in sorted(blue.items(), key=lambda item: item[0][1]):
        if (seed, color) in small:
            way = np.stack([value, small[seed, color][1]], 1)
            found.setdefault(color, {})[seed] = np.asarray(seen, dtype=np.float64), way
    if not found:
        raise NotMeasured(f"the path of {HELD_OUT} was not measured")
    return found


def weak_and_strong(table: Table) -> tuple[list[Runs], list[Runs]]:
    """The runs of each separation that counts as weak, and of each other one."""
    found = paths(table)
    sides = [runs for color, runs in found.items() if color <= WEAK], [r for c, r in found.items() if c > WEAK]
    if not sides[0]:
        raise NotMeasured(f"no arm has colours up to {WEAK:g} apart and a path of {HELD_OUT}")
    return sides


def images_behind(table: Table) -> int:
    """How many images a coordinate is the mean of: the smallest n of which every share the reader gives is a part."""
    none = select(table, "reader.none", node=HELD_OUT)["value"]
    shares = none.append(select(table, "reader.accuracy", node=HELD_OUT, concept="color")["value"]).to_numpy()
    for n in range(2, 1_001):
        if len(shares) and np.allclose(shares * n, np.round(shares * n), atol=1e-4):
            return n
    raise NotMeasured("how many images were drawn for each evaluation does not follow from the table")


def rise(run: tuple[Curve, Path]) -> float:
    """How far the error of a run climbs above its lowest value so far."""
    return setback(corner_error(run[1]))


def rise_by_chance(run: tuple[Curve, Path], images: int, seed: int) -> float:
    """The rise that the number of images alone explains in 95 of 100 runs whose coordinates only rise."""
    return float(np.quantile(setback_by_chance(run[1], images, DRAWS, seed), 1 - CHANCE))


def _beyond_chance(table: Table) -> tuple[int, int]:
    images = images_behind(table)
    runs = [(seed, run) for each in weak_and_strong(table)[0] for seed, run in each.items()]
    return sum(rise(run) > rise_by_chance(run, images, seed) for seed, run in runs), len(runs)


def _weak_less_strong(table: Table) -> BySeed:
    """The rise of a run's error with weak colour less that with stronger ones, means over arms. Whatever shakes a run
    in training shakes both.
    """
    weak, strong = weak_and_strong(table)
    seeds = _shared([*weak, *strong]) if strong else []
    if not seeds:
        raise NotMeasured("no seed has arms with weak and with stronger colour")
    return {s: float(np.mean([rise(r[s]) for r in weak]) - np.mean([rise(r[s]) for r in strong])) for s in seeds}


def mean_path(runs: Iterable[tuple[Curve, Path]], blur: float) -> tuple[Curve, Path]:
    """The mean over runs, as far as all have gone, smoothed."""
    ways = list(runs)
    length = min(len(seen) for seen, _ in ways)
    return ways[0][0][:length], blurred(np.mean([way[:length] for _, way in ways], axis=0), blur)


def mean_rise(found: list[Runs], seeds: list[int]) -> float:
    """The rise of the smoothed mean's error as a share of its largest, the mean over arms."""
    errors = [corner_error(mean_path([runs[seed] for seed in seeds], BLUR)[1]) for runs in found]
    return float(np.mean([setback(error) / error.max() for error in errors]))


def _mean_swings_by(table: Table) -> Judgement:
    """With weak colour, by more than a hundredth; the interval is over seeds drawn with replacement."""
    found = weak_and_strong(table)[0]
    seeds = _shared(found)
    if not seeds:
        raise NotMeasured("no seed has every arm with weak colour")
    generator = np.random.default_rng(0)
    drawn = [mean_rise(found, generator.choice(seeds, len(seeds)).tolist()) for _ in range(DRAWS)]
    low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    interval, n = (low, high) if len(seeds) > 1 else None, len(seeds)
    return Judgement(mean_rise(found, seeds), interval, n, verdict_above(interval, BUMP, n))


def slow_down(table: Table) -> BySeed:
    """log10 of the largest speed over that at the end, of each run's smoothed path, the mean over arms."""
    ratios: dict[int, list[float]] = {}
    for runs in paths(table).values():
        for seed, (seen, way) in runs.items():
            _, speed = speeds(seen, blurred(way, BLUR_SPEED))
            if len(speed):
                last = speed[-max(1, round(LATE * len(speed))) :].mean()
                ratios.setdefault(seed, []).append(float(np.log10(speed.max() / max(last, 1e-6))))
    return {seed: float(np.mean(each)) for seed, each in ratios.items()}


def _power_gain(table: Table) -> BySeed:
    """Held-out log-likelihood of the power law less that of the exponential, a point; the mean over arms, one value a
    seed left out.
    """
    gains: dict[int, list[float]] = {}
    for runs in paths(table).values():
        if len(runs) > 1:
            moved = [speeds(seen, blurred(way, BLUR_SPEED)) for seen, way in runs.values()]
            laws = slowing([(times[s.argmax() :], s[s.argmax() :]) for times, s in moved])  # before, a run gains speed
            for seed, gain in zip(runs, laws.power - laws.exponential, strict=True):
                gains.setdefault(seed, []).append(float(gain))
    if not gains:
        raise NotMeasured("leaving one run out needs two seeds of an arm")
    return {seed: float(np.mean(each)) for seed, each in gains.items()}


def _shared(found: list[Runs]) -> list[int]:
    return sorted(set.intersection(*(set(runs) for runs in found)))


CLAIMS = (
    Claim("S13", "With weak colour the error of single runs rises again, beyond noise (share of runs; by chance "
          "0.05).",
          "not in the paper, which shows the mean (above 0.05)",
          share_above(_beyond_chance, CHANCE, lambda table: f"{images_behind(table)} images each"), check=True),
    Claim("S13w", "With weak colour the error of single runs rises more than with stronger colours, so not by the "
          "noise of training alone (difference of the error).",
          "not in the paper (above 0)",
          above(_weak_less_strong, 0.0), check=True),
    Claim("S13m", "With weak colour the error of the smoothed mean path rises again (share of its largest).",
          "a bump up to 0.3 (above 0.01)",
          _mean_swings_by),
    Claim("S13s", "Speed in concept space falls more than tenfold over training (log10 of the ratio).",
          "more than 10x (above 1)",
          above(slow_down, 1.0)),
    Claim("S13e", "A power law describes the slowing better than an exponential (held-out log-likelihood a point).",
          "paper: exponential; Park et al.'s fit: power law (above 0)",
          above(_power_gain, 0.0), check=True),
    Claim("S13r", "The classifier is right on fresh real images of every class (accuracy).",
          "1.0",
          between(lowest_on_real_images("classifier"), 0.999, 1), check=True),
)  # fmt: skip
