"""The claims of the concept-graphs study: what the paper says, and how a table of ours is asked about it.

Every judge is a pure function of the tidy table. Times are images seen; a class that has not emerged by the end of
training emerges later than one that has, and is left out where a number is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.shapes.curves import emergence_time, rise, smooth
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_below, judge_every, judge_within
from recombine.lab.table import Curve, curves, distances

if TYPE_CHECKING:
    import polars as pl

ARM = "continuous"
FARTHEST = "111"
BLUE_AT_ONE = ("011", "110")  # held-out blue classes at distance 1: small blue circle, large blue triangle
SMOOTHING = 10  # evaluations, as in the released plots
TOLERANCE = 0.05  # of a difference that should be nothing: about the sampling error of an accuracy over 50 images


def order_of_emergence(instrument: str = "reader.product") -> Callable[[pl.DataFrame], Judgement]:
    """O1: in every seed the mean curve of distance 0 emerges before that of distance 1, and that before distance 2."""

    def judge(table: pl.DataFrame) -> Judgement:
        far = distances(table, ARM)
        by_seed: dict[int, dict[int, list[Curve]]] = {}
        for (seed, node), curve in _curves(table, instrument).items():
            by_seed.setdefault(seed, {}).setdefault(far[node], []).append(curve)
        if len(set(far.values())) < 2:
            raise NotMeasured("every class is at the same distance: there is no order")
        times = [[_time(_mean(group[d])) for d in sorted(group)] for group in by_seed.values()]
        each = {f"d{d}": t for d, t in enumerate(zip(*times, strict=True))}
        return _judge_orders([list(pairwise(t)) for t in times], f"median images seen at emergence: {_medians(each)}")

    return judge


def color_is_last(table: pl.DataFrame) -> Judgement:
    """O2: in the farthest class, colour reaches 0.9 after shape and after size."""
    times = {c: _times(table, f"reader.{c}", FARTHEST, 0.9) for c in ("shape", "color", "size")}
    pairs = [[(times[c][s], times["color"][s]) for c in ("shape", "size")] for s in times["color"]]
    note = f"median images seen at 0.9 in {FARTHEST}: " + _medians({c: tuple(t.values()) for c, t in times.items()})
    return _judge_orders(pairs, note)


def color_time(table: pl.DataFrame) -> Judgement:
    """O2b: the time of colour in the farthest class over the time of the later of shape and size; paper about 40/5."""
    color, shape, size = (_times(table, f"reader.{c}", FARTHEST, 0.9) for c in ("color", "shape", "size"))
    return _ratio(color, {s: max(shape[s], size[s]) for s in shape}, 4.0, 12.0)


def far_over_near(table: pl.DataFrame) -> Judgement:
    """O3: the time of blue at distance 2 over the time of blue at distance 1; paper about 40/20."""
    far = _times(table, "reader.color", FARTHEST, 0.9)
    near = [_times(table, "reader.color", node, 0.9) for node in BLUE_AT_ONE]
    return _ratio(far, {s: float(np.mean([n[s] for n in near])) for s in far}, 1.0, 3.0)


def sudden(smoothing: int) -> Callable[[pl.DataFrame], Judgement]:
    """O4: the 10-90% rise of the product over that of the additive measure, for the farthest class; below 1."""

    def judge(table: pl.DataFrame) -> Judgement:
        product, additive = (_curves(table, f"reader.{m}", FARTHEST) for m in ("product", "additive"))
        ratios = []
        for place, (seen, value) in product.items():
            if value[-1] < 0.5:
                continue  # a class that was not learned has no rise
            both = [rise(seen, smooth(v, smoothing)) for v in (value, additive[place][1])]
            if both[0] is not None and both[1]:
                ratios.append(both[0] / both[1])
        if not ratios:
            raise NotMeasured(f"{FARTHEST} does not reach 0.5 in any seed: there is no rise to measure")
        note = f"rise from 10% to 90% of its own level, in images; {len(product) - len(ratios)} seeds without a rise"
        return judge_below(ratios, 1.0, note)

    return judge


def independent(table: pl.DataFrame) -> Judgement:
    """O5: given one object, the product accuracy less the product of per-concept accuracies; within 0.05."""
    values = [i.removeprefix("reader.") for i in table["instrument"].unique() if i.startswith("reader.") and "=" in i]
    concepts = sorted({value.partition("=")[0] for value in values}) or ("shape", "color", "size")
    parts = {i: _curves(table, f"reader.{i}") for i in ("product", "none", "several", *concepts)}
    gaps: dict[int, list[float]] = {}
    for place, (_, product) in parts["product"].items():
        one = 1 - parts["none"][place][1] - parts["several"][place][1]
        usable = one > 0.5  # enough images with one object to speak of
        marginals = np.prod([parts[c][place][1][usable] / one[usable] for c in concepts], axis=0)
        between = (marginals > 0.05) & (marginals < 0.95)
        if between.any():
            gaps.setdefault(place[0], []).extend((product[usable] / one[usable] - marginals)[between].tolist())
    if not gaps:
        raise NotMeasured("no evaluation lies between 0.05 and 0.95")
    note = f"over {sum(map(len, gaps.values()))} evaluations between 0.05 and 0.95"
    return judge_within([float(np.mean(gap)) for gap in gaps.values()], -TOLERANCE, TOLERANCE, note)


def female_first(table: pl.DataFrame) -> Judgement:
    """O12b: the mean gender accuracy of the four female classes reaches 0.9 before that of the four male ones."""
    by_seed: dict[int, dict[str, list[Curve]]] = {}
    for (seed, node), curve in _curves(table, "classifier.gender").items():
        by_seed.setdefault(seed, {}).setdefault(node[0], []).append(curve)
    times = [tuple(_time(_mean(groups[gender]), 0.9) for gender in "01") for groups in by_seed.values()]
    note = _medians({name: tuple(t[i] for t in times) for i, name in enumerate(("female", "male"))})
    return _judge_orders([[(female, male)] for female, male in times], f"median images seen at 0.9: {note}")


def sampler_agrees(table: pl.DataFrame) -> Judgement:
    """S1: the default sampler's product accuracy less that of 500-step ancestral sampling; within 0.05."""
    import polars as pl

    cells, name = audited_cells(table)
    means = cells.group_by("seed").agg(pl.col("gap").mean()).sort("seed")["gap"].to_list()
    same = cells.filter((pl.col("fast") >= 0.8) == (pl.col("slow") >= 0.8)).height
    size = float(np.abs(cells["gap"].to_numpy()).mean())
    note = f"{name}: {same} of {cells.height} cells on the same side of 0.8; mean size of a difference {size:.3f}"
    return judge_within(means, -TOLERANCE, TOLERANCE, note)


def audited_cells(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Product accuracy by the default sampler (fast) and the audit's (slow) where both were read; the audit's name."""
    import polars as pl

    audited = sorted({i for i in table["instrument"].unique() if i.startswith("reader.product@")})
    if not audited:
        raise NotMeasured("no evaluation was audited with a slower sampler")
    place = ("arm", "seed", "images_seen", "node", "distance")
    slow = table.filter(pl.col("instrument") == audited[0]).select(*place, slow="value")
    fast = table.filter(pl.col("instrument") == "reader.product").select(*place, fast="value")
    cells = slow.join(fast, on=place).with_columns(gap=pl.col("fast") - pl.col("slow")).sort(*place)
    if not cells.height:
        raise NotMeasured("the audited evaluations have no reading of the default sampler")
    return cells, audited[0].partition("@")[2]


EMERGENCE = (
    Claim(
        "O1",
        "classes emerge in the order of their distance from training: d0, then d1, then d2 (share of seeds)",
        "so in the one run shown",
        order_of_emergence(),
        general=True,
    ),
    Claim(
        "O2",
        "colour is the last concept of 111 to be learned (share of seeds)",
        "colour after shape and size",
        color_is_last,
    ),
    Claim(
        "O2b",
        "colour of 111 takes about eight times as long as its shape and size (ratio)",
        "40 / 5 epochs = 8 (4 to 12)",
        color_time,
    ),
    Claim(
        "O3",
        "blue at distance 2 takes about twice as long as at distance 1 (ratio)",
        "40 / 20 epochs = 2 (1 to 3)",
        far_over_near,
    ),
    Claim("O4", "product accuracy of 111 rises faster than additive (ratio of rises)", "below 1", sudden(1)),
    Claim("O4s", "the same on curves smoothed as in the released plots", "below 1", sudden(SMOOTHING)),
    Claim(
        "O5",
        "given one object, product accuracy is the product of the concepts' accuracies (difference)",
        "0 within sampling error (0.05)",
        independent,
        general=True,
    ),
)

FOUR_VARIABLES = (
    Claim(
        "O11",
        "with four concepts too, classes emerge in the order of their distance: d0, d1, d2, d3 (share of seeds)",
        "d1, d2, d3 in order",
        order_of_emergence(),
    ),
)

FACES = (
    Claim(
        "O12",
        "faces too emerge in the order of their distance: d0, then d1, then d2 (share of seeds)",
        "d1, then d2",
        order_of_emergence("classifier.product"),
    ),
    Claim(
        "O12b",
        "the gender of female classes converges before that of male classes (share of seeds)",
        "Female before Male",
        female_first,
    ),
)

SAMPLER = (
    Claim(
        "S1",
        "few-step sampling reads the same as 500-step ancestral sampling (difference)",
        "0 (within 0.05)",
        sampler_agrees,
        general=True,
    ),
)


def _curves(table: pl.DataFrame, instrument: str, node: str | None = None) -> dict[tuple[int, str], Curve]:
    found = curves(table, instrument, ARM, node)
    if not found:
        raise NotMeasured(f"{instrument} of arm {ARM} was not measured")
    return found


def _times(table: pl.DataFrame, instrument: str, node: str, threshold: float) -> dict[int, float]:
    return {seed: _time(curve, threshold) for (seed, _), curve in _curves(table, instrument, node).items()}


def _time(curve: Curve, threshold: float = 0.8) -> float:
    time = emergence_time(*curve, threshold)
    return math.inf if time is None else time


def _mean(group: list[Curve]) -> Curve:
    values: NDArray[np.float64] = np.mean([value for _, value in group], axis=0)
    return group[0][0], values


def _ratio(above: Mapping[int, float], below: Mapping[int, float], low: float, high: float) -> Judgement:
    ratios = [above[s] / below[s] for s in above if math.isfinite(above[s]) and math.isfinite(below[s])]
    if not ratios:
        raise NotMeasured("in no seed were both reached by the end of training")
    missing = len(above) - len(ratios)
    note = f"{missing} seeds left out: not reached by the end of training" if missing else ""
    return judge_within(ratios, low, high, note)


def _judge_orders(seeds: list[list[tuple[float, float]]], note: str) -> Judgement:
    """For "the first of each pair comes before the second, in every seed"; where neither came, the seed is silent."""
    verdicts = []
    for pairs in seeds:
        if any(second < first or (second == first and math.isfinite(first)) for first, second in pairs):
            verdicts.append(False)  # after, or at the same evaluation: not before
        elif all(first < second for first, second in pairs):
            verdicts.append(True)
    silent = len(seeds) - len(verdicts)
    return judge_every(
        sum(verdicts), len(verdicts), note + (f"; {silent} seeds say nothing: never reached" if silent else "")
    )


def _medians(times: Mapping[str, tuple[float, ...]]) -> str:
    return ", ".join(f"{name} {_images(float(np.median(each)))}" for name, each in times.items())


def _images(time: float) -> str:
    return "never" if math.isinf(time) else f"{time:,.0f}"
