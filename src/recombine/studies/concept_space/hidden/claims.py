"""Hidden capabilities (Park et al. 2024): the rules, with the best of several tries corrected for its choice."""

import math
from typing import Any

import numpy as np

from recombine.instruments.shapes.curves import time_until
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import BySeed, Measure, above, shared_seeds
from recombine.lab.table import Curve, Table, curves, select

TARGET = "11"
WEAK = 0.2  # separation of the colours
WAYS = {
    "plain": "asked plainly",
    "over": "over-prompted",
    "steer": "steered",
    "over-random": "colours in random directions",
    "over-shuffled": "green for blue",
    "steer-random": "steered at random",
}


def capability(table: Table, color_separation: float, way: str) -> dict[int, Curve]:
    """For each seed: accuracy over training by the best try of this way.

    It is chosen on one half of its samples and scored on the other, both ways round: no sample chooses its own score.
    """
    asked: dict[str, Any] = {"way": way, "color_separation": color_separation, "node": TARGET}
    tries = {half: curves(table, "prompted.product", "strength", half=half, **asked) for half in "ab"}
    if not tries["a"]:
        raise NotMeasured(f"colours {color_separation:g} apart, {WAYS[way]}: not measured")
    best: dict[int, Curve] = {}
    for seed, seen in {seed: seen for (seed, _), (seen, _) in tries["a"].items()}.items():
        a, b = (np.stack([v for (s, _), (_, v) in half.items() if s == seed]) for half in tries.values())
        moments = np.arange(len(seen))  # a, b [tries, moments]
        best[seed] = seen, (b[a.argmax(0), moments] + a[b.argmax(0), moments]) / 2
    return best


def capable_before_asked(table: Table) -> Judgement:
    """P5: over-prompting reaches 0.9 before plain prompts reach 0.5, in every seed where either comes."""
    over, plain = (capability(table, WEAK, way) for way in ("over", "plain"))
    times = [(time_until(*over[seed], 0.9), time_until(*plain[seed], 0.5)) for seed in over]
    came = [pair for pair in times if math.isfinite(min(pair))]
    words = ["never" if math.isinf(time) else f"{time:,.0f}" for time in np.median(came, axis=0)] if came else []
    silent = len(times) - len(came)
    note = f"median images: {' and '.join(words)}" if words else ""
    note += f"; {silent} seeds reach neither" if silent else ""
    return judge_every(sum(capable < asked for capable, asked in came), len(came), note)


def gain(way: str, than: str) -> Measure:
    """How much more accurate one way of asking is than another, averaged over training and arms."""

    def measure(table: Table) -> BySeed:
        gains: dict[int, list[float]] = {}
        for color in select(table, way=[way, than])["color_separation"].unique().sort():
            one, other = capability(table, color, way), capability(table, color, than)
            for seed in shared_seeds(one, other):
                gains.setdefault(seed, []).append(float((one[seed][1] - other[seed][1]).mean()))
        if not gains:
            raise NotMeasured(f"{WAYS[way]} was not measured beside {WAYS[than]}")
        return {seed: float(np.mean(each)) for seed, each in sorted(gains.items())}

    return measure


def _where_plain_differs_most(table: Table) -> tuple[int, dict[int, tuple[float, float]]]:
    """The moment, and {seed: over-prompted and plain accuracy there}."""
    over, plain = (capability(table, WEAK, way) for way in ("over", "plain"))
    at = int(np.std([plain[seed][1] for seed in sorted(plain)], axis=0).argmax())
    return int(over[min(over)][0][at]), {s: (float(over[s][1][at]), float(plain[s][1][at])) for s in sorted(over)}


def steadier(table: Table) -> BySeed:
    """P6: how much farther a seed's plain accuracy is from the mean of all seeds than its over-prompted accuracy, where
    plain accuracy differs most.
    """
    found = _where_plain_differs_most(table)[1]
    over, plain = np.array(list(found.values())).T
    if plain.std() == 0:
        raise NotMeasured("plain accuracy does not differ between the seeds that were measured")
    farther = np.abs(plain - plain.mean()) - np.abs(over - over.mean())
    return dict(zip(found, farther.tolist(), strict=True))


def _spreads(table: Table) -> str:
    seen, found = _where_plain_differs_most(table)
    over, plain = np.std(list(found.values()), axis=0)
    return f"standard deviations at {seen:,} images: {over:.2f} over-prompted, {plain:.2f} plain"


CLAIMS = (
    Claim("P5", "with colours 0.2 apart over-prompting reaches 0.9 before plain prompts reach 0.5 (share of seeds)",
          "0.9 by 6k steps; plain 0.55 at 15k", capable_before_asked),
    Claim("P5a", "over-prompting draws the held-out class better than plain prompts (gain, over training)", "above 0",
          above(gain("over", "plain"), 0)),
    Claim("P5b", "and better than as many colours in random directions (gain, over training)", "beyond (above 0)",
          above(gain("over", "over-random"), 0), check=True),
    Claim("P5c", "and better than the same strengths in another channel (gain, over training)", "beyond (above 0)",
          above(gain("over", "over-shuffled"), 0), check=True),
    Claim("P5d", "steering the condition's signal draws it better than plain prompts (gain, over training)", "above 0",
          above(gain("steer", "plain"), 0)),
    Claim("P5e", "and better than steering along random directions (gain, over training)", "beyond (above 0)",
          above(gain("steer", "steer-random"), 0), check=True),
    Claim("P6", "capability differs less between seeds than plain accuracy does (difference in distance from the mean)",
          "far smaller spread (above 0)", above(steadier, 0, _spreads)),
)  # fmt: skip
