"""How many images of a class are needed: thresholds over the number of images (Okawa et al. 2023, Fig 8)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import BySeed, Measure, above, between
from recombine.lab.table import at_end, select

if TYPE_CHECKING:
    import polars as pl

ITSELF = {"color": ("010",), "shape": ("100",)}  # the class that brings the concept
UNSEEN = {"color": ("011", "110"), "shape": ("101", "110")}  # held-out classes at distance 1 that need its concept
LEVEL = 0.8


def responses(
    table: pl.DataFrame, concept: str, nodes: tuple[str, ...], rare: bool = True
) -> dict[int, dict[int, float]]:
    """{seed: {images of the class: accuracy of the concept at the end, the mean over these nodes}}, ascending."""
    found: dict[int, dict[int, float]] = {}
    arms: dict[str, Any] = {"brings": concept, "rare": rare}
    for images in select(table, **arms)["images"].unique().sort():
        asked = {**arms, "images": images, "concept": concept, "node": nodes, "sampler": None}
        for seed, value in at_end(table, "reader.accuracy", **asked).items():
            found.setdefault(seed, {})[images] = value
    return found


def threshold(response: dict[int, float], level: float = LEVEL) -> float:
    """The number of images at which accuracy first reaches the level for good, between numbers tried by a straight line
    over log(1 + number); infinite if it never does.
    """
    numbers, values = list(response), list(response.values())
    under = [i for i, value in enumerate(values) if value < level]
    if not under:
        return float(numbers[0])
    last = under[-1]
    if last + 1 == len(values):
        return math.inf
    share = (level - values[last]) / (values[last + 1] - values[last])
    low, high = math.log1p(numbers[last]), math.log1p(numbers[last + 1])
    return math.expm1(low + share * (high - low))


def thresholds(table: pl.DataFrame, concept: str, nodes: tuple[str, ...]) -> dict[int, float]:
    """{seed: the number of images from which the concept is right in these classes}."""
    found = responses(table, concept, nodes)
    if not found:
        raise NotMeasured(f"{concept} was not measured over the number of images")
    return {seed: threshold(response) for seed, response in found.items()}


def needed_in_itself(table: pl.DataFrame) -> BySeed:
    """O7: blue images from which blue is right in the class itself; never counts as the largest number tried."""
    return {seed: min(number, _most(table, "color")) for seed, number in
            thresholds(table, "color", ITSELF["color"]).items()}  # fmt: skip


def unseen_needs_more(table: pl.DataFrame) -> Judgement:
    """O7b: the held-out blue classes need more images of the blue class than the class itself, in every seed."""
    itself, other = (thresholds(table, "color", nodes["color"]) for nodes in (ITSELF, UNSEEN))
    later = [other[seed] > itself[seed] for seed in itself if math.isfinite(itself[seed])]
    note = f"median number of images: {_median(itself)} in the class itself, {_median(other)} at distance 1"
    return judge_every(sum(later), len(later), note)


def shape_over_color(table: pl.DataFrame) -> BySeed:
    """O8: log10 of the number of images for shape over that for colour, at distance 1."""
    color, shape = (thresholds(table, concept, UNSEEN[concept]) for concept in ("color", "shape"))
    most = min(_most(table, "color"), _most(table, "shape"))  # never counts as the largest number tried
    ratios = {
        seed: math.log10((1 + min(shape[seed], most)) / (1 + min(color[seed], most)))
        for seed in color
        if seed in shape and math.isfinite(min(color[seed], shape[seed]))
    }
    if not ratios:
        raise NotMeasured("no seed reaches 0.8 with colour or shape")
    return ratios


def gain_by_frequency(concept: str) -> Measure:
    """F1, F2: what few images gain at distance 1 by a fixed frequency; the mean over the numbers tried both ways."""

    def measure(table: pl.DataFrame) -> BySeed:
        rare, even = (responses(table, concept, UNSEEN[concept], rare) for rare in (True, False))
        both = {seed: [n for n in even[seed] if n in rare.get(seed, {})] for seed in even}
        gains = {s: float(np.mean([even[s][n] - rare[s][n] for n in shared])) for s, shared in both.items() if shared}
        if not gains:
            raise NotMeasured("no number of images was tried both ways")
        return gains

    return measure


def _most(table: pl.DataFrame, concept: str) -> int:
    """The largest number of images that was tried in any seed."""
    return max(max(each) for each in responses(table, concept, ITSELF[concept]).values())


def _median(numbers: BySeed) -> str:
    middle = float(np.median(list(numbers.values())))
    return "never" if math.isinf(middle) else f"{middle:.0f}"


def _medians(table: pl.DataFrame) -> str:
    color, shape = (_median(thresholds(table, concept, UNSEEN[concept])) for concept in ("color", "shape"))
    return f"median number of images: {color} for colour, {shape} for shape"


CLAIMS = (
    Claim("O7", "blue is learned from about ten images of the blue class (number of images at which its colour reaches "
          "0.8)", "about 10 (0 to 30)", between(needed_in_itself, 0, 30)),
    Claim("O7b", "held-out blue classes need more images of the blue class than the class itself does (share of seeds)",
          "ID before OOD", unseen_needs_more),
    Claim("O8", "shape needs clearly more images than colour to be recombined (log10 of the ratio of numbers)",
          "above 0; threshold in 30 to 300", above(shape_over_color, 0, _medians)),
    Claim("F1", "blue comes out more often from few images if they are not drawn rarely too (gain of the colour at "
          "distance 1)", "beyond: the paper varies both at once (above 0)", above(gain_by_frequency("color"), 0),
          check=True),
    Claim("F2", "the same for the triangle", "beyond (above 0)", above(gain_by_frequency("shape"), 0), check=True),
)  # fmt: skip
