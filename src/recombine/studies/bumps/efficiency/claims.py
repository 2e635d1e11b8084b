"""How many images a model of bumps needs as the canvas grows (Liang et al. 2024, Fig 5): the rules.

A fifth of the labels in the image is held out as a square. Overall accuracy is four fifths that of labels outside of it
and one fifth that of labels inside: the share of pixels that the square holds differs a little from canvas to canvas.
By place, the paper's reading, the darkest pixel decides, and crossing stripes count as a bump; as a bump they do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below, judge_within
from recombine.lab.rules import BySeed, least
from recombine.lab.statistics import mean_interval
from recombine.worlds.holdouts import HELD_OUT, SEEN

if TYPE_CHECKING:
    import polars as pl

WITH, WITHOUT, RECALL = "stripes", "bumps", "recall"
Labels = Literal["all", "held out"]
Counted = Literal["2D", "all"]  # images of bumps alone, or stripes too
Judged = Literal["place", "bump"]  # by where the darkest pixel is, or also by what is drawn there
INSTRUMENTS: dict[Judged, str] = {"place": "darkest.both", "bump": "darkest.bump"}

MARGIN = 6  # px of labels beyond each side of the image
HELD = 0.2
LEVEL = 0.6
FEWEST_SIZES = 4


def named(kind: str, pixels: int, share: float) -> str:
    """("stripes", 24, 0.2) -> "stripes-24-0.2", the arm."""
    return f"{kind}-{pixels}-{share:g}"


def bumps(pixels: int, share: float) -> int:
    """How many images of bumps this share of the labels outside of the square is, labels one pixel apart."""
    reach = math.sqrt(HELD) * pixels / 2
    side = sum(abs(place - (pixels + 1) / 2) < reach for place in range(1, pixels + 1))
    return round(share * (pixels**2 - side**2))


def stripes(pixels: int) -> int:
    """How many images of one stripe there are: as many on each side of the image as the margin is wide."""
    return 4 * MARGIN * pixels


def cells(table: pl.DataFrame) -> dict[str, dict[int, list[float]]]:
    """{kind: {pixels: shares of bumps that were trained on}}, ascending; stripes alone are not among them."""
    found: dict[str, dict[int, list[float]]] = {}
    for arm in table["arm"].unique():
        kind, *rest = arm.split("-")
        if rest and float(rest[1]):
            found.setdefault(kind, {}).setdefault(int(rest[0]), []).append(float(rest[1]))
    return {kind: {n: sorted(shares) for n, shares in sorted(own.items())} for kind, own in found.items()}


def responses(
    table: pl.DataFrame, kind: str, labels: Labels = "all", recall: bool = False, judged: Judged = "place"
) -> dict[int, dict[int, dict[int, float]]]:
    """{pixels: {seed: {images of bumps: accuracy at the end}}}, of the models or of nearest-label recall."""
    found: dict[int, dict[int, dict[int, float]]] = {}
    ends = _recalled(table) if recall else _ends(table, judged)
    for pixels, shares in cells(table).get(kind, {}).items():
        for share in shares:
            arm = named(kind, pixels, share)
            values = _overall(ends, arm) if labels == "all" else ends.get((arm, HELD_OUT), {})
            for seed, value in sorted(values.items()):
                found.setdefault(pixels, {}).setdefault(seed, {})[bumps(pixels, share)] = value
    return found


def stripes_alone(table: pl.DataFrame, labels: Labels = "all", judged: Judged = "place") -> dict[int, dict[int, float]]:
    """{pixels: {seed: accuracy}} of models that saw no bump."""
    ends = _ends(table, judged)
    sizes = sorted({int(arm.split("-")[1]) for arm, _ in ends if arm.startswith(f"{WITH}-") and arm.endswith("-0")})
    arms = {pixels: named(WITH, pixels, 0.0) for pixels in sizes}
    return {n: _overall(ends, arm) if labels == "all" else ends.get((arm, HELD_OUT), {}) for n, arm in arms.items()}


def needed(response: Mapping[int, float], level: float = LEVEL) -> float:
    """Images of bumps from which on accuracy is at the level, between two numbers tried by a straight line over their
    logarithm; infinite if it never is, 0 if it is at the least number tried.
    """
    numbers, values = list(response), list(response.values())
    below = [place for place, value in enumerate(values) if value < level]
    if not below:
        return 0.0
    last = below[-1]
    if last + 1 == len(values):
        return math.inf
    rise = (level - values[last]) / (values[last + 1] - values[last])
    return float(numbers[last] * (numbers[last + 1] / numbers[last]) ** rise)


def sizes_needed(
    table: pl.DataFrame,
    kind: str,
    labels: Labels = "all",
    counted: Counted = "2D",
    recall: bool = False,
    judged: Judged = "place",
) -> dict[int, dict[int, float]]:
    """{seed: {pixels: images needed}}; 0 and infinite where it cannot be read."""
    found: dict[int, dict[int, float]] = {}
    for pixels, by_seed in responses(table, kind, labels, recall, judged).items():
        for seed, response in by_seed.items():
            number = needed(response)
            extra = stripes(pixels) if counted == "all" and kind == WITH and number else 0
            found.setdefault(seed, {})[pixels] = number + extra
    return found


def slopes(found: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """{seed: slope of log(images needed) over log(N)}, of the seeds where every size has a number."""
    sizes = {pixels for own in found.values() for pixels in own}
    if len(sizes) < FEWEST_SIZES:
        raise NotMeasured(f"a slope needs {FEWEST_SIZES} sizes of the canvas")
    fits = {}
    for seed, own in found.items():
        if set(own) == sizes and all(0 < number < math.inf for number in own.values()):
            across, up = np.log(list(own)), np.log(list(own.values()))
            fits[seed] = float(np.polyfit(across, up, 1)[0])
    return fits


def seen_are_drawn(table: pl.DataFrame) -> Judgement:
    """DE0: accuracy outside of the square where all bumps there were seen, at the kind and size where it is least."""
    whole = {arm: values for (arm, region), values in _ends(table).items() if region == SEEN and arm.endswith("-1")}
    arm = least(whole, "no arm has seen all bumps outside of the square")
    return judge_above(list(whole[arm].values()), 0.9, f"least for {arm}")


def judge_bumps(found: Mapping[str, tuple[BySeed, BySeed]]) -> Judgement:
    """Of what is right, what is a bump: (bumps, right) of each arm, judged where the share is least."""
    shares = {
        arm: {seed: drawn[seed] / right[seed] for seed in drawn if right.get(seed)}
        for arm, (drawn, right) in found.items()
    }
    lowest = least(shares, "what is drawn was not told from where it is drawn")
    return judge_above(list(shares[lowest].values()), 0.9, f"least for {lowest}")


def right_are_bumps(table: pl.DataFrame) -> Judgement:
    """DE0b: of the samples whose darkest pixel is right, those that show a bump, in the arm where it is least."""
    place, bump = _ends(table), _ends(table, "bump")
    found: dict[str, tuple[BySeed, BySeed]] = {}
    for arm, region in bump:
        if region == HELD_OUT and arm.startswith(WITH) and not arm.endswith("-0"):
            found[arm] = _overall(bump, arm), _overall(place, arm)
    return judge_bumps(found)


def right_without_bumps(judged: Judged) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "models that never saw a bump are right", over all labels and canvases."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = {n: values for n, values in stripes_alone(table, judged=judged).items() if values}
        if not found:
            raise NotMeasured("no model saw stripes alone")
        seeds = sorted(set.intersection(*map(set, found.values())))
        beside = ", ".join(f"N = {n}: {np.mean(list(values.values())):.2f}" for n, values in found.items())
        means = [float(np.mean([values[seed] for values in found.values()])) for seed in seeds]
        return judge_above(means, LEVEL, beside)

    return judge


def slope_within(
    kind: str, low: float, high: float, labels: Labels = "all", counted: Counted = "2D", judged: Judged = "place"
) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "images needed grow with this power of N"."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = sizes_needed(table, kind, labels, counted, judged=judged)
        fits = slopes(found)
        if not fits:
            raise NotMeasured(f"no seed passes {LEVEL:g} between the numbers tried at every size: {_reading(found)}")
        beside = _beside(table, kind, labels, counted)  # recall shows what was seen: a bump if it is in place
        return judge_within(list(fits.values()), low, high, f"{_reading(found)}{beside}")

    return judge


def slower_than_recall(table: pl.DataFrame) -> Judgement:
    """DE1n: the slope with stripes less that of recalling the same sets, images of bumps."""
    own, null = (slopes(sizes_needed(table, WITH, recall=recall)) for recall in (False, True))
    return judge_below([own[seed] - null[seed] for seed in own if seed in null], 0.0)


def stripes_save(counted: Counted, judged: Judged = "place") -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "on the largest canvas fewer images are needed with stripes than without": factors of two."""

    def judge(table: pl.DataFrame) -> Judgement:
        own, other = sizes_needed(table, WITH, judged=judged), sizes_needed(table, WITHOUT)  # no stripes, no crossings
        largest = max((pixels for found in own.values() for pixels in found), default=0)
        tried = [bumps(largest, share) for share in cells(table).get(WITH, {}).get(largest, [])]
        pairs = [
            (own[seed][largest], other[seed][largest])
            for seed in own
            if seed in other and largest in own[seed] and largest in other[seed]
        ]
        beyond = (0.0, math.inf)  # at once, or never: taken for the least or the largest number tried, but not for both
        told = [
            [min(max(each, min(tried)), max(tried)) for each in pair]
            for pair in pairs
            if pair[0] != pair[1] or pair[0] not in beyond
        ]
        if not told:
            raise NotMeasured("no seed has both numbers on the largest canvas")
        few, many = np.median(told, axis=0)
        extra = stripes(largest) if counted == "all" else 0
        note = f"N = {largest}: {few + extra:.0f} with, {many:.0f} without (medians of {len(told)} seeds)"
        return judge_above([math.log2(many / (few + extra)) for few, many in told], 0.0, note)

    return judge


def slope_text(found: Mapping[int, Mapping[int, float]]) -> str:
    """ "slope 1.02 (0.95 to 1.10)", or why there is none."""
    try:
        fits = list(slopes(found).values())
    except NotMeasured:
        return "no slope: too few sizes"
    if not fits:
        return "no slope"
    interval = mean_interval(fits)
    spread = "" if interval is None or interval[0] == interval[1] else f" ({interval[0]:.2f} to {interval[1]:.2f})"
    return f"slope {np.mean(fits):.2f}{spread}"


def _ends(table: pl.DataFrame, judged: Judged = "place") -> dict[tuple[str, str], dict[int, float]]:
    """{(arm, region): {seed: accuracy of the model at the end}}, in one pass: there are many arms."""
    import polars as pl

    found: dict[tuple[str, str], dict[int, float]] = {}
    rows = table.filter(pl.col("instrument") == INSTRUMENTS[judged]).drop_nulls("value").sort("images_seen")
    for arm, seed, region, value in rows.select("arm", "seed", "node", "value").iter_rows():
        found.setdefault((arm, region), {})[seed] = value  # the last one stays
    return found


def _overall(ends: Mapping[tuple[str, str], Mapping[int, float]], arm: str) -> dict[int, float]:
    """{seed: accuracy over all labels}, the two regions weighed alike on every canvas."""
    seen, held = ends.get((arm, SEEN), {}), ends.get((arm, HELD_OUT), {})
    return {seed: (1 - HELD) * seen[seed] + HELD * held[seed] for seed in seen if seed in held}


def _recalled(table: pl.DataFrame) -> dict[tuple[str, str], dict[int, float]]:
    """The same of nearest-label recall."""
    import polars as pl

    found: dict[tuple[str, str], dict[int, float]] = {}
    rows = table.filter((pl.col("arm") == RECALL) & pl.col("instrument").str.starts_with("recall."))
    for arm, seed, instrument, value in rows.select("node", "seed", "instrument", "value").iter_rows():
        found.setdefault((arm, instrument.removeprefix("recall.")), {})[seed] = value
    return found


def _reading(found: Mapping[int, Mapping[int, float]]) -> str:
    """The median number at each size, and how many seeds have none."""
    sizes = sorted({pixels for own in found.values() for pixels in own})
    medians = {n: float(np.median([own[n] for own in found.values() if n in own])) for n in sizes}
    words = {0.0: "at once", math.inf: "never"}
    text = ", ".join(f"N = {n}: {words.get(number, f'{number:.0f}')}" for n, number in medians.items())
    left = sum(not all(0 < number < math.inf for number in own.values()) for own in found.values())
    return f"{text}; {left} seeds without a number left out" if left else text


def _beside(table: pl.DataFrame, kind: str, labels: Labels, counted: Counted) -> str:
    try:
        null = list(slopes(sizes_needed(table, kind, labels, counted, recall=True)).values())
    except NotMeasured:
        return ""
    return f"; recall: slope {np.mean(null):.2f}" if null else "; recall never gets there"


EFFICIENCY = (
    Claim("DE0", "bumps are drawn where they were asked for if all of them were seen (accuracy where it is least)",
          "not asked (above 0.9); without it the others say little", seen_are_drawn),
    Claim("DE0b", "with stripes, what is in the right place is a bump, not two stripes that cross (share where least)",
          "not asked (above 0.9); without it DE1 and DE3 count crossings as bumps", right_are_bumps),
    Claim("DE1", "with stripes the images of bumps that 60% of all labels need grow as N (slope of logarithms)",
          "about 1 (0.7 to 1.3)", slope_within(WITH, 0.7, 1.3)),
    Claim("DE1t", "the same, stripes counted too, whose number is 24 N by design", "about 1 (0.7 to 1.3)",
          slope_within(WITH, 0.7, 1.3, counted="all")),
    Claim("DE1b", "with stripes, if only bumps count and crossing stripes do not, they grow as N",
          "not asked (0.7 to 1.3)", slope_within(WITH, 0.7, 1.3, judged="bump")),
    Claim("DE1h", "with stripes the images of bumps that 60% of the held-out labels need grow as N",
          "about 1 (0.7 to 1.3), if this accuracy is meant", slope_within(WITH, 0.7, 1.3, "held out")),
    Claim("DE1n", "with stripes the slope is below that of recall from the same sets (difference)",
          "not asked (below 0)", slower_than_recall),
    Claim("DE2", "without stripes they grow as N^2", "about 2 (1.7 to 2.3); recall has 2 by counting",
          slope_within(WITHOUT, 1.7, 2.3)),
    Claim("DE3", "on the largest canvas stripes save images of bumps (log2 of the ratio)", "fewer (above 0)",
          stripes_save("2D")),
    Claim("DE3b", "and do so if only bumps count, not crossing stripes (without stripes by place: none were seen)",
          "not asked (above 0)", stripes_save("2D", "bump")),
    Claim("DE3t", "and save images altogether, stripes counted too", "not asked (above 0)", stripes_save("all")),
    Claim("DE4", "models that saw stripes and no bump have 60% of all labels right by place (mean over canvases)",
          "not asked (above 0.6); if so, stripes save all images of bumps", right_without_bumps("place")),
    Claim("DE4b", "and do so if only bumps count", "not asked (above 0.6)", right_without_bumps("bump")),
)  # fmt: skip
