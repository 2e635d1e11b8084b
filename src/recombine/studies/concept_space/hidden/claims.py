"""Hidden capabilities (Park et al. 2024): the rules, with the best of several tries corrected for its choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.shapes.curves import emergence_time
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every
from recombine.lab.table import Curve, curves

if TYPE_CHECKING:
    import polars as pl

TARGET = "11"
WEAK = "c0.2"
WAYS = {
    "naive": "asked plainly",
    "over": "over-prompted",
    "steer": "steered",
    "over-random": "colours in random directions",
    "over-shuffled": "green for blue",
    "steer-random": "steered at random",
}


def capability(table: pl.DataFrame, arm: str, way: str) -> dict[int, Curve]:
    """For each seed: accuracy over training by the best try of this way.

    It is chosen on one half of its samples and scored on the other, both ways round: no sample chooses its own score.
    """
    halves: dict[str, dict[int, list[Curve]]] = {"a": {}, "b": {}}
    for number in range(_tries(table, way)):
        for half, by_seed in halves.items():
            for (seed, _), curve in curves(table, f"{way}.{number}.{half}", arm, TARGET).items():
                by_seed.setdefault(seed, []).append(curve)
    if not halves["a"]:
        raise NotMeasured(f"nothing of arm {arm} was {WAYS.get(way, way)}")
    return {seed: (halves["a"][seed][0][0], _best(halves, seed)) for seed in halves["a"]}


def _tries(table: pl.DataFrame, way: str) -> int:
    """How many different tries of this way the table has."""
    return sum(i.startswith(f"{way}.") and i.endswith(".a") for i in table["instrument"].unique())


def _best(halves: dict[str, dict[int, list[Curve]]], seed: int) -> NDArray[np.float64]:
    a, b = (np.stack([values for _, values in halves[half][seed]]) for half in "ab")  # [tries, moments]
    moments = np.arange(a.shape[1])
    scores: NDArray[np.float64] = (b[a.argmax(0), moments] + a[b.argmax(0), moments]) / 2
    return scores


def capable_before_asked(table: pl.DataFrame) -> Judgement:
    """P5: over-prompting reaches 0.9 before plain prompts reach 0.5, in every seed where over-prompting does."""
    over, naive = (capability(table, WEAK, way) for way in ("over", "naive"))
    verdicts, times = [], []
    for seed, curve in over.items():
        capable, asked = _time(curve, 0.9), _time(naive[seed], 0.5)
        if math.isfinite(capable) or math.isfinite(asked):
            verdicts.append(capable < asked)
            times.append((capable, asked))
    medians = [float(np.median(each)) for each in zip(*times, strict=True)] if times else []
    words = ["never" if math.isinf(time) else f"{time:,.0f}" for time in medians]
    silent = len(over) - len(verdicts)
    note = f"median images: {' and '.join(words)}" if words else ""
    return judge_every(sum(verdicts), len(verdicts), note + (f"; {silent} seeds reach neither" if silent else ""))


def better(way: str, than: str, arms: tuple[str, ...] = ("c0.2", "c0.3")) -> Callable[[pl.DataFrame], Judgement]:
    """How much more accurate one way of asking is than another, averaged over training and arms; one value a seed."""

    def judge(table: pl.DataFrame) -> Judgement:
        present = set(table["arm"].unique())
        gains: dict[int, list[float]] = {}
        for arm in (arm for arm in arms if arm in present):
            one, other = capability(table, arm, way), capability(table, arm, than)
            for seed in one:
                if seed in other:
                    gains.setdefault(seed, []).append(float((one[seed][1] - other[seed][1]).mean()))
        if not gains:
            raise NotMeasured(f"{WAYS[way]} was not measured beside {WAYS[than]}")
        return judge_above([float(np.mean(each)) for each in gains.values()], 0.0)

    return judge


def steadier(table: pl.DataFrame) -> Judgement:
    """P6: how much farther a seed's plain accuracy is from the mean of all seeds than its over-prompted accuracy, where
    plain accuracy differs most; one value a seed.
    """
    over, naive = (capability(table, WEAK, way) for way in ("over", "naive"))
    a, b = (np.stack([found[seed][1] for seed in sorted(found)]) for found in (over, naive))  # [seeds, moments]
    at = int(b.std(0).argmax())
    if b[:, at].std() == 0:
        raise NotMeasured("plain accuracy does not differ between seeds")
    farther = np.abs(b[:, at] - b[:, at].mean()) - np.abs(a[:, at] - a[:, at].mean())
    seen, spreads = int(next(iter(over.values()))[0][at]), (a[:, at].std(), b[:, at].std())
    note = f"standard deviations at {seen:,} images: {{:.2f}} over-prompted, {{:.2f}} plain".format(*spreads)
    return judge_above(farther, 0.0, note)


def _time(curve: Curve, level: float) -> float:
    time = emergence_time(*curve, level)
    return math.inf if time is None else time


HIDDEN = (
    Claim(
        "P5",
        "with colours 0.2 apart over-prompting reaches 0.9 before plain prompts reach 0.5 (share of seeds)",
        "0.9 by 6k steps; plain 0.55 at 15k",
        capable_before_asked,
    ),
    Claim(
        "P5a",
        "over-prompting draws the held-out class better than plain prompts (gain, over training)",
        "above 0",
        better("over", "naive"),
    ),
    Claim(
        "P5b",
        "and better than as many colours in random directions (gain, over training)",
        "beyond (above 0)",
        better("over", "over-random"),
    ),
    Claim(
        "P5c",
        "and better than the same strengths in another channel (gain, over training)",
        "beyond (above 0)",
        better("over", "over-shuffled"),
    ),
    Claim(
        "P5d",
        "steering the condition's signal draws it better than plain prompts (gain, over training)",
        "above 0",
        better("steer", "naive"),
    ),
    Claim(
        "P5e",
        "and better than steering along random directions (gain, over training)",
        "beyond (above 0)",
        better("steer", "steer-random"),
    ),
    Claim(
        "P6",
        "capability differs less between seeds than plain accuracy does (difference in distance from the mean)",
        "far smaller spread (above 0)",
        steadier,
    ),
)
