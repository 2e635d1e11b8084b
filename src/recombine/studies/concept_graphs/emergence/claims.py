"""Claims of Okawa et al. 2023 on emergence (Figs 5 and 6): which class comes when, and what holds the farthest back."""

import numpy as np

from recombine.instruments.shapes.curves import rise, smooth
from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, average, below, between, largest
from recombine.lab.table import Table
from recombine.studies.concept_graphs._shared.times import (
    HEADLINE,
    LEARNED,
    by_distance,
    curves_of,
    ratio_of_times,
    reaches,
    seeds_left_out,
    the_last_of,
)

FARTHEST = "111"  # small blue triangles
BLUE_AT_DISTANCE_1 = ("011", "110")  # small blue circles, large blue triangles
SMOOTHED = 10  # evaluations that the released plots average over
LEAST = 0.5  # product accuracy at the end below which a class has no rise to speak of
TOLERANCE = 0.05  # of a difference that should be nothing: about the sampling error of an accuracy over 50 images


def learned(concept: str, node: str = FARTHEST) -> Measure:
    """Images seen when a concept of a class is learned."""
    return reaches(LEARNED, "reader.accuracy", concept=concept, node=node, **HEADLINE)


def sharpness(smoothing: int) -> Measure:
    """The rise of the product accuracy of the farthest class from 10% to 90% of its level, in images, over that of its
    additive accuracy; of the seeds that have learned it.
    """

    def measure(table: Table) -> dict[int, float]:
        product, additive = (curves_of(table, f"reader.{m}", node=FARTHEST, **HEADLINE)
                             for m in ("product", "additive"))  # fmt: skip
        ratios = {}
        for (seed, node), (seen, values) in product.items():
            sharp, smoothed = (rise(seen, smooth(v, smoothing)) for v in (values, additive[seed, node][1]))
            if values[-1] >= LEAST and sharp is not None and smoothed:
                ratios[seed] = sharp / smoothed
        if not ratios:
            raise NotMeasured(f"{FARTHEST} does not reach {LEAST:g} in any seed: there is no rise to measure")
        return ratios

    return measure


def dependence(table: Table) -> dict[int, float]:
    """Given one object, the product accuracy less the product of the concepts' accuracies, where neither is settled."""
    concepts = table["concept"].drop_nulls().unique().sort().to_list()
    parts = {name: curves_of(table, f"reader.{name}", **HEADLINE) for name in ("product", "none", "several")}
    each = [curves_of(table, "reader.accuracy", concept=concept, **HEADLINE) for concept in concepts]
    gaps: dict[int, list[float]] = {}
    for place, (_, product) in parts["product"].items():
        one = 1 - parts["none"][place][1] - parts["several"][place][1]
        usable = one > 0.5  # enough images with one object to speak of
        marginals = np.prod([found[place][1][usable] / one[usable] for found in each], axis=0)
        unsettled = (marginals > 0.05) & (marginals < 0.95)
        gaps.setdefault(place[0], []).extend((product[usable] / one[usable] - marginals)[unsettled].tolist())
    if not any(gaps.values()):
        raise NotMeasured("no evaluation that was measured lies between 0.05 and 0.95")
    return {seed: float(np.mean(gap)) for seed, gap in gaps.items() if gap}


COLOR_OVER_REST = ratio_of_times(learned("color"), largest(learned("shape"), learned("size")))
FAR_OVER_NEAR = ratio_of_times(learned("color"), average(*(learned("color", node) for node in BLUE_AT_DISTANCE_1)))
_NEVER = "not reached by the end of training"

CLAIMS = (
    Claim("O1", "classes emerge in the order of their distance from training: d0, then d1, then d2 (share of seeds)",
          "so in the one run shown", by_distance("reader.product"), general=True),
    Claim("O2", "colour is the last concept of 111 to be learned (share of seeds)", "colour after shape and size",
          the_last_of("color", {concept: learned(concept) for concept in ("shape", "color", "size")})),
    Claim("O2b", "colour of 111 takes about eight times as long as its shape and size (ratio)",
          "40 / 5 epochs = 8 (4 to 12)", between(COLOR_OVER_REST, 4, 12, seeds_left_out(COLOR_OVER_REST, _NEVER))),
    Claim("O3", "blue at distance 2 takes about twice as long as at distance 1 (ratio)", "40 / 20 epochs = 2 (1 to 3)",
          between(FAR_OVER_NEAR, 1, 3, seeds_left_out(FAR_OVER_NEAR, _NEVER))),
    Claim("O4", "product accuracy of 111 rises faster than additive (ratio of rises)", "below 1",
          below(sharpness(1), 1, seeds_left_out(sharpness(1), f"{FARTHEST} ends below {LEAST:g}"))),
    Claim("O4s", "the same on curves smoothed as in the released plots", "below 1",
          below(sharpness(SMOOTHED), 1, seeds_left_out(sharpness(SMOOTHED), f"{FARTHEST} ends below {LEAST:g}"))),
    Claim("O5", "given one object, product accuracy is the product of the concepts' accuracies (difference)",
          "0 within sampling error (0.05)", between(dependence, -TOLERANCE, TOLERANCE), general=True, check=True),
)  # fmt: skip
