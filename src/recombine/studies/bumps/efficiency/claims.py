"""How many images a model of bumps needs as the canvas grows (Liang et al. 2024, Fig 5): the claims.

A fifth of the labels in the image is held out as a square. Overall accuracy is four fifths that of labels outside of it
and one fifth that of labels inside: the share of pixels that the square holds differs a little from canvas to canvas.
By place, as in the paper, the darkest pixel decides, and crossing stripes count as a bump; as a bump they do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_within
from recombine.lab.rules import (
    BySeed,
    Measure,
    Rule,
    above,
    above_where_least,
    below,
    combined,
    difference,
    mean,
    median,
)
from recombine.lab.statistics import mean_text
from recombine.lab.table import Table, at_ends
from recombine.lab.trends import log_crossing, log_slope
from recombine.runs.bump_sets import HELD, WITH, WITHOUT, bumps, stripes
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.worlds.holdouts import HELD_OUT, SEEN

LEVEL = 0.6
FEWEST_SIZES = 4
NO_WHOLE = "no training set has all bumps outside of the square"
NOT_APART = "what is drawn was not measured apart from where it is drawn"

Needed = Mapping[int, Mapping[int, float]]
"""{seed: {pixels: images needed}}; 0 and infinite where it cannot be read."""


@dataclass(frozen=True)
class Accuracy:
    """Which accuracy, and of which images the number is asked."""

    kind: str
    labels: Literal["all", "held out"] = "all"
    judged: Literal["place", "bump"] = "place"  # by where the darkest pixel is, or also by what is drawn there
    counted: Literal["2D", "all"] = "2D"  # images of bumps alone, or stripes too
    model: str = TRAINED

    @property
    def nearest(self) -> Accuracy:
        """That of the nearest-label baseline, which shows what was trained on: a bump if it is in place."""
        return replace(self, model=NEAREST, judged="place")


def accuracies(table: Table, of: Accuracy) -> Mapping[tuple[int, float], BySeed]:
    """{(pixels, share of the bumps): accuracy at the end}, ascending; share 0 is stripes alone."""
    instrument = f"darkest.{'both' if of.judged == 'place' else 'bump'}"
    where = {"model": of.model, "kind": of.kind}
    held = at_ends(table, instrument, "pixels", "share", region=HELD_OUT, **where)
    if of.labels == "held out":
        return held
    seen = at_ends(table, instrument, "pixels", "share", region=SEEN, **where)
    return {  # the two regions weighed alike on every canvas
        cell: found
        for cell, own in held.items()
        if (found := combined((seen.get(cell, {}), own), lambda pair: (1 - HELD) * pair[0] + HELD * pair[1]))
    }


def responses(table: Table, of: Accuracy) -> dict[int, dict[int, dict[int, float]]]:
    """{pixels: {seed: {images of bumps: accuracy at the end}}}, of training sets with bumps."""
    found: dict[int, dict[int, dict[int, float]]] = {}
    for (pixels, share), values in accuracies(table, of).items():
        for seed, value in sorted(values.items()):
            if share:
                found.setdefault(pixels, {}).setdefault(seed, {})[bumps(pixels, share)] = value
    return found


def stripes_alone(table: Table, of: Accuracy) -> dict[int, BySeed]:
    """{pixels: accuracy} of models that were trained on no bump."""
    return {pixels: values for (pixels, share), values in accuracies(table, of).items() if not share}


def images_needed(table: Table, of: Accuracy) -> Needed:
    """The number of images from which on this accuracy is at the level, for every seed and size."""
    found: dict[int, dict[int, float]] = {}
    for pixels, by_seed in responses(table, of).items():
        for seed, response in by_seed.items():
            number = log_crossing(response, LEVEL)
            extra = stripes(pixels) if of.counted == "all" and of.kind == WITH and number else 0
            found.setdefault(seed, {})[pixels] = number + extra
    return found


def slopes(found: Needed) -> dict[int, float]:
    """{seed: slope of log(images needed) over log(N)}, of the seeds where every size has a number."""
    sizes = {pixels for own in found.values() for pixels in own}
    if len(sizes) < FEWEST_SIZES:
        raise NotMeasured(f"a slope needs {FEWEST_SIZES} sizes of the canvas")
    whole = {seed: own for seed, own in readable(found).items() if set(own) == sizes}
    return {seed: log_slope(own) for seed, own in whole.items()}


def readable(found: Needed) -> dict[int, dict[int, float]]:
    """{seed: {pixels: number}}, where there is one."""
    return {seed: {n: number for n, number in own.items() if 0 < number < math.inf} for seed, own in found.items()}


def slope_of(of: Accuracy) -> Measure:
    """The slope of every seed."""
    return lambda table: slopes(images_needed(table, of))


def trained_bumps(table: Table) -> dict[str, BySeed]:
    """Accuracy outside of the square where all bumps there were trained on, by kind and size."""
    found = at_ends(table, "darkest.both", "kind", "pixels", model=TRAINED, region=SEEN, share=1.0)
    return {f"{kind}, N = {pixels}": values for (kind, pixels), values in found.items()}


def right_are_bumps(table: Table) -> dict[str, BySeed]:
    """Of the samples whose darkest pixel is right, those that show a bump, by training set."""
    place, bump = accuracies(table, Accuracy(WITH)), accuracies(table, Accuracy(WITH, judged="bump"))
    return {
        f"N = {of[0]}, {bumps(*of)} bumps": {s: drawn[s] / place[of][s] for s in drawn if place[of].get(s)}
        for of, drawn in bump.items()
        if of[1] and of in place
    }


def right_without_bumps(of: Accuracy) -> Rule:
    """Models that were trained on no bump are right, over all labels and canvases."""

    def over_canvases(table: Table) -> BySeed:
        found = stripes_alone(table, of).values()
        if not found:
            raise NotMeasured("no model was trained on stripes alone")
        return combined(found, lambda values: float(np.mean(values)))

    def by_canvas(table: Table) -> str:
        return ", ".join(f"N = {n}: {mean(values):.2f}" for n, values in stripes_alone(table, of).items())

    return above(over_canvases, LEVEL, by_canvas)


def slope_within(of: Accuracy, low: float, high: float) -> Rule:
    """The images needed grow with this power of N."""

    def judge(table: Table) -> Judgement:
        found = images_needed(table, of)
        fits = slopes(found)
        if not fits:
            raise NotMeasured(f"no seed passes {LEVEL:g} between the numbers tried at every size: {_medians(found)}")
        return judge_within(list(fits.values()), low, high, f"{_medians(found)}{_baseline(table, of)}")

    return judge


def stripes_save(of: Accuracy) -> Rule:
    """On the largest canvas fewer images are needed with stripes than without: factors of two."""

    def judge(table: Table) -> Judgement:
        own, other = images_needed(table, replace(of, counted="2D")), images_needed(table, Accuracy(WITHOUT))
        largest = max((pixels for found in own.values() for pixels in found), default=0)
        tried = [number for by_seed in responses(table, Accuracy(WITH)).get(largest, {}).values() for number in by_seed]
        pairs = combined((_at(own, largest), _at(other, largest)), tuple).values()
        beyond = (0.0, math.inf)  # at once, or never: taken for the least or the largest number tried, but not for both
        numbers = [
            np.clip(pair, min(tried), max(tried)) for pair in pairs if pair[0] != pair[1] or pair[0] not in beyond
        ]
        if not numbers:
            raise NotMeasured("no seed has both numbers on the largest canvas")
        few, many = np.median(numbers, axis=0)
        extra = stripes(largest) if of.counted == "all" else 0
        note = f"N = {largest}: {few + extra:.0f} with, {many:.0f} without (medians of {len(numbers)} seeds)"
        return judge_above([math.log2(many / (few + extra)) for few, many in numbers], 0.0, note)

    return judge


def slope_text(found: Needed) -> str:
    """ "slope 1.02 (0.95 to 1.10)", or why there is none."""
    try:
        fits = list(slopes(found).values())
    except NotMeasured:
        return "no slope: too few sizes"
    if not fits:
        return "no slope"
    return f"slope {mean_text(fits)}"


def medians(found: Needed) -> dict[int, float]:
    """{pixels: the median number over seeds}"""
    sizes = sorted({pixels for own in found.values() for pixels in own})
    return {pixels: median(_at(found, pixels)) for pixels in sizes}


def _at(found: Needed, pixels: int) -> dict[int, float]:
    """{seed: the number at one size}"""
    return {seed: own[pixels] for seed, own in found.items() if pixels in own}


def _medians(found: Needed) -> str:
    """The median number at each size, and how many seeds have none."""
    words = {0.0: "at once", math.inf: "never"}
    text = ", ".join(f"N = {n}: {words.get(number, f'{number:.0f}')}" for n, number in medians(found).items())
    left = sum(len(readable(found)[seed]) < len(own) for seed, own in found.items())
    return f"{text}; {left} seeds without a number left out" if left else text


def _baseline(table: Table, of: Accuracy) -> str:
    try:
        null = slopes(images_needed(table, of.nearest))
    except NotMeasured:
        return ""
    return f"; nearest label: slope {mean(null):.2f}" if null else "; the nearest label never gets there"


CLAIMS = (
    Claim("DE0", "Bumps are drawn where they were asked for if all of them were trained on (accuracy where it is "
          "least)", "not asked (above 0.9); without it the others say little",
          above_where_least(trained_bumps, 0.9, missing=NO_WHOLE), check=True),
    Claim("DE0b", "With stripes, what is in the right place is a bump, not two stripes that cross (share where least)",
          "not asked (above 0.9); without it DE1 and DE3 count crossings as bumps",
          above_where_least(right_are_bumps, 0.9, missing=NOT_APART), check=True),
    Claim("DE1", "With stripes the images of bumps that 60% of all labels need grow as N (slope of logarithms)",
          "about 1 (0.7 to 1.3)", slope_within(Accuracy(WITH), 0.7, 1.3)),
    Claim("DE1t", "With stripes all images that 60% of all labels need, 24 N of them stripes by design, grow as N",
          "about 1 (0.7 to 1.3)", slope_within(Accuracy(WITH, counted="all"), 0.7, 1.3)),
    Claim("DE1b", "With stripes, if only bumps count and crossing stripes do not, the images of bumps grow as N",
          "not asked (0.7 to 1.3)", slope_within(Accuracy(WITH, judged="bump"), 0.7, 1.3), check=True),
    Claim("DE1h", "With stripes the images of bumps that 60% of the held-out labels need grow as N",
          "about 1 (0.7 to 1.3), if this accuracy is meant", slope_within(Accuracy(WITH, "held out"), 0.7, 1.3)),
    Claim("DE1n", "With stripes the slope is below that of the nearest-label baseline of the same sets (difference)",
          "not asked (below 0)", below(difference(slope_of(Accuracy(WITH)), slope_of(Accuracy(WITH).nearest)), 0.0),
          check=True),
    Claim("DE2", "Without stripes the images of bumps that 60% of all labels need grow as N^2",
          "about 2 (1.7 to 2.3); the nearest-label baseline has 2 by counting",
          slope_within(Accuracy(WITHOUT), 1.7, 2.3)),
    Claim("DE3", "On the largest canvas stripes save images of bumps (log2 of the ratio)", "fewer (above 0)",
          stripes_save(Accuracy(WITH))),
    Claim("DE3b", "They do so if only bumps count, not crossing stripes (without stripes by place: there are none)",
          "not asked (above 0)", stripes_save(Accuracy(WITH, judged="bump")), check=True),
    Claim("DE3t", "They save images altogether, stripes counted too", "not asked (above 0)",
          stripes_save(Accuracy(WITH, counted="all")), check=True),
    Claim("DE4", "Models trained on stripes and no bump have 60% of all labels right by place (mean over canvases)",
          "not asked (above 0.6); if so, stripes save all images of bumps", right_without_bumps(Accuracy(WITH)),
          check=True),
    Claim("DE4b", "They do so if only bumps count", "not asked (above 0.6)",
          right_without_bumps(Accuracy(WITH, judged="bump")), check=True),
)  # fmt: skip
