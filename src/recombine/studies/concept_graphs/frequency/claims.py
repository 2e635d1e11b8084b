"""How many images of a class are needed: thresholds over the number of images (Okawa et al. 2023, Fig 8)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import BySeed, Measure, above, between, median, shared_seeds
from recombine.lab.table import Table, at_end, select

ITSELF = {"color": ("010",), "shape": ("100",)}  # the class that brings the concept
UNSEEN = {"color": ("011", "110"), "shape": ("101", "110")}  # held-out classes at distance 1 that need its concept
LEVEL = 0.8
Response = dict[int, float]
"""{images of the class: accuracy}, ascending."""


def responses(table: Table, concept: str, nodes: tuple[str, ...], rare: bool = True) -> dict[int, Response]:
    """{seed: accuracy of the concept at the end over images of the class, the mean over these nodes}."""
    found: dict[int, Response] = {}
    arms: dict[str, Any] = {"brings": concept, "rare": rare}
    for images in select(table, **arms)["images"].unique().sort():
        asked = {**arms, "images": images, "concept": concept, "node": nodes, "sampler": None}
        for seed, value in at_end(table, "reader.accuracy", **asked).items():
            found.setdefault(seed, {})[images] = value
    return found


def threshold(response: Response, level: float = LEVEL) -> float:
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


def thresholds(concept: str, nodes: Mapping[str, tuple[str, ...]]) -> Measure:
    """The number of images from which the concept is right in these of its classes."""

    def measure(table: Table) -> BySeed:
        found = responses(table, concept, nodes[concept])
        if not found:
            raise NotMeasured(f"{concept} was not measured over the number of images")
        return {seed: threshold(response) for seed, response in found.items()}

    return measure


def needed_in_itself(table: Table) -> BySeed:
    """O7: blue images from which blue is right in the class itself; never counts as the largest number tried."""
    found = thresholds("color", ITSELF)(table)
    return {seed: min(number, _most(table, "color")) for seed, number in found.items()}


def unseen_needs_more(table: Table) -> Judgement:
    """O7b: the held-out blue classes need more images of the blue class than the class itself, in every seed."""
    itself, other = (thresholds("color", nodes)(table) for nodes in (ITSELF, UNSEEN))
    later = [other[seed] > itself[seed] for seed in itself if math.isfinite(itself[seed])]
    note = f"median number of images: {_median(itself)} in the class itself, {_median(other)} at distance 1"
    return judge_every(sum(later), len(later), note)


def shape_over_color(table: Table) -> BySeed:
    """O8: log10 of the number of images for shape over that for colour, at distance 1."""
    color, shape = (thresholds(concept, UNSEEN)(table) for concept in UNSEEN)
    most = min(_most(table, concept) for concept in UNSEEN)  # never counts as the largest number tried
    came = [seed for seed in shared_seeds(color, shape) if math.isfinite(min(color[seed], shape[seed]))]
    if not came:
        raise NotMeasured("no seed reaches 0.8 with colour or shape")
    return {seed: math.log10((1 + min(shape[seed], most)) / (1 + min(color[seed], most))) for seed in came}


def gain_by_frequency(concept: str) -> Measure:
    """F1, F2: what few images gain at distance 1 by a fixed frequency; the mean over the numbers tried both ways."""

    def measure(table: Table) -> BySeed:
        rare, even = (responses(table, concept, UNSEEN[concept], rare) for rare in (True, False))
        both = {seed: [n for n in even[seed] if n in rare.get(seed, {})] for seed in even}
        gains = {s: float(np.mean([even[s][n] - rare[s][n] for n in shared])) for s, shared in both.items() if shared}
        if not gains:
            raise NotMeasured("no number of images was tried both ways")
        return gains

    return measure


def _most(table: Table, concept: str) -> int:
    """The largest number of images that was tried in any seed."""
    return max(max(each) for each in responses(table, concept, ITSELF[concept]).values())


def _median(numbers: BySeed) -> str:
    middle = median(numbers)
    return "never" if math.isinf(middle) else f"{middle:.0f}"


def _medians(table: Table) -> str:
    color, shape = (_median(thresholds(concept, UNSEEN)(table)) for concept in UNSEEN)
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
