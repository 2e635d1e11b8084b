"""How many images of a class are needed: the rules, and thresholds with intervals (Okawa et al. 2023, Fig 8)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every, judge_within
from recombine.lab.table import at_end

if TYPE_CHECKING:
    import polars as pl

SEEN = {"color": ("010",), "shape": ("100",)}  # the class itself
UNSEEN = {"color": ("011", "110"), "shape": ("101", "110")}  # held-out classes at distance 1 that need its concept
LEVEL = 0.8


def dose_response(
    table: pl.DataFrame, concept: str, nodes: tuple[str, ...], even: bool = False
) -> dict[int, dict[int, float]]:
    """{seed: {number of images: accuracy of the concept at the end, the mean over these nodes}}, numbers ascending."""
    found: dict[int, dict[int, float]] = {}
    suffix = "-even" if even else ""
    numbers = {arm: int(arm.split("-")[1]) for arm in table["arm"].unique() if arm.startswith(f"{concept}-")}
    for arm, number in sorted(numbers.items(), key=lambda item: item[1]):
        if arm == f"{concept}-{number}{suffix}":
            for seed, value in at_end(table, f"reader.{concept}", arm, nodes).items():
                found.setdefault(seed, {})[number] = value
    return found


def threshold(response: dict[int, float], level: float = LEVEL) -> float:
    """The number of images at which accuracy first reaches the level for good, between numbers tried by a straight line
    over log(1 + number); infinite if it never does.
    """
    numbers, values = list(response), list(response.values())
    below = [i for i, value in enumerate(values) if value < level]
    if not below:
        return float(numbers[0])
    last = below[-1]
    if last + 1 == len(values):
        return math.inf
    share = (level - values[last]) / (values[last + 1] - values[last])
    low, high = math.log1p(numbers[last]), math.log1p(numbers[last + 1])
    return math.expm1(low + share * (high - low))


def few_are_enough(table: pl.DataFrame) -> Judgement:
    """O7: the number of blue images from which blue is right in the class itself; paper about 10 to 30."""
    return _thresholds(table, "color", SEEN["color"])


def unseen_needs_more(table: pl.DataFrame) -> Judgement:
    """O7b: the held-out blue classes need more images of the blue class than the class itself, in every seed."""
    own, other = (_each(table, "color", nodes["color"]) for nodes in (SEEN, UNSEEN))
    later = [other[seed] > own[seed] for seed in own if math.isfinite(own[seed])]
    note = f"median number of images: {_median(own)} in the class itself, {_median(other)} at distance 1"
    return judge_every(sum(later), len(later), note)


def shape_needs_more(table: pl.DataFrame) -> Judgement:
    """O8: the logarithm (base 10) of the number for shape over that for colour, at distance 1."""
    color, shape = (_each(table, concept, UNSEEN[concept]) for concept in ("color", "shape"))
    most = min(
        _most(table, "color"), _most(table, "shape")
    )  # what is never reached counts with the largest number tried
    ratios = [
        math.log10((1 + min(shape[seed], most)) / (1 + min(color[seed], most)))
        for seed in color
        if seed in shape and math.isfinite(min(color[seed], shape[seed]))
    ]
    if not ratios:
        raise NotMeasured("no seed reaches 0.8 with colour or shape")
    note = f"median number of images: {_median(color)} for colour, {_median(shape)} for shape"
    return judge_above(ratios, 0.0, note)


def count_or_frequency(concept: str) -> Callable[[pl.DataFrame], Judgement]:
    """F1, F2: what few images gain at distance 1 by a fixed frequency; the mean over the numbers tried both ways."""

    def judge(table: pl.DataFrame) -> Judgement:
        rare, even = (dose_response(table, concept, UNSEEN[concept], even) for even in (False, True))
        gains = [
            float(np.mean([even[seed][n] - rare[seed][n] for n in even[seed] if n in rare[seed]]))
            for seed in even
            if seed in rare and any(n in rare[seed] for n in even[seed])
        ]
        if not gains:
            raise NotMeasured("no number of images was tried both ways")
        return judge_above(gains, 0.0, f"numbers {', '.join(map(str, next(iter(even.values()))))}")

    return judge


def _each(table: pl.DataFrame, concept: str, nodes: tuple[str, ...]) -> dict[int, float]:
    responses = dose_response(table, concept, nodes)
    if not responses:
        raise NotMeasured(f"{concept} was not measured over the number of images")
    return {seed: threshold(response) for seed, response in responses.items()}


def _most(table: pl.DataFrame, concept: str) -> int:
    """The largest number of images that was tried in any seed."""
    return max(max(each) for each in dose_response(table, concept, SEEN[concept]).values())


def _thresholds(table: pl.DataFrame, concept: str, nodes: tuple[str, ...]) -> Judgement:
    each, most = _each(table, concept, nodes), _most(table, concept)
    missing = sum(math.isinf(number) for number in each.values())
    note = f"{missing} seeds never reach it and count with the largest number tried" if missing else ""
    return judge_within([min(number, most) for number in each.values()], 0.0, 30.0, note)


def _median(numbers: dict[int, float]) -> str:
    middle = float(np.median(list(numbers.values())))
    return "never" if math.isinf(middle) else f"{middle:.0f}"


FREQUENCY = (
    Claim(
        "O7",
        "blue is learned from about ten images of the blue class (number of images at which its colour reaches 0.8)",
        "about 10 (0 to 30)",
        few_are_enough,
    ),
    Claim(
        "O7b",
        "held-out blue classes need more images of the blue class than the class itself does (share of seeds)",
        "ID before OOD",
        unseen_needs_more,
    ),
    Claim(
        "O8",
        "shape needs clearly more images than colour to be recombined (log10 of the ratio of numbers)",
        "above 0; threshold in 30 to 300",
        shape_needs_more,
    ),
    Claim(
        "F1",
        "blue comes out more often from few images if they are not drawn rarely too (gain of the colour at distance 1)",
        "beyond: the paper varies both at once (above 0)",
        count_or_frequency("color"),
    ),
    Claim("F2", "the same for the triangle", "beyond (above 0)", count_or_frequency("shape")),
)
