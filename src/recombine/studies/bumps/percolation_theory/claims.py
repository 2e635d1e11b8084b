"""The claims about percolation among bumps (Liang et al. 2024, Sec. 3.3 and App. D).

A seed is a random order of the sites. A share of the lattice percolates if its largest linked component holds half of
the sites taken; the critical share lambda is the one from which on it does.
"""

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, verdict_within
from recombine.lab.rules import Measure, Rule, above, difference, final, in_every_seed, least, less, mean
from recombine.lab.table import Curve, Table, curves, select
from recombine.theory.percolation.lattice import Critical, critical, critical_interval

ON, BETWEEN = "on-pixels", "between-pixels"
Cell = tuple[float, float]
"""Width and threshold."""

CHOSEN = 0.005  # the paper's threshold
NARROWEST = 0.1
SITE_PERCOLATION = {4: 0.593, 8: 0.407, 12: 0.29, 20: 0.196, 36: 0.115}
"""Thresholds of the infinite square lattice, by neighbours z: the nearest shell of them, two, three, four, seven."""
DISKS = 4.512  # z lambda_c of overlapping disks in the plane, which the paper takes its bumps for
FINITE = 0.03  # how far half of a lattice of 32 x 32 may be from that


def critical_shares(table: Table, arm: str = ON) -> dict[Cell, dict[int, float]]:
    """{cell: {order: critical lambda}}, ascending; infinite if half is never held, 0 if always from 3 sites on."""
    found: dict[Cell, dict[int, float]] = {}
    rows = select(table, ["percolates", "critical"], arm=arm).drop_nulls("value").sort("width", "threshold", "seed")
    for width, threshold, seed, instrument, value in rows.select(
        "width", "threshold", "seed", "instrument", "value"
    ).iter_rows():
        own = found.setdefault((width, threshold), {})
        if instrument == "critical":
            own[seed] = value
        else:
            own.setdefault(seed, 0.0 if value else math.inf)
    return found


def neighbours_of(table: Table, arm: str = ON) -> dict[Cell, int]:
    """{cell: z, how many others a bump in the middle of the lattice is linked to}"""
    rows = select(table, "linked neighbours", arm=arm).select("width", "threshold", "value").unique(maintain_order=True)
    return {(width, threshold): round(z) for width, threshold, z in rows.iter_rows()}


def curves_of(table: Table, cell: Cell) -> list[Curve]:
    """The largest component over lambda, a curve for every order."""
    return list(curves(table, "largest", over="share", arm=ON, width=cell[0], threshold=cell[1]).values())


def critical_of_mean(table: Table, cell: Cell) -> tuple[Critical, tuple[float, float], int]:
    """The critical lambda of the mean curve over orders, its bootstrap interval, and how many orders those are."""
    found = curves_of(table, cell)
    if not found:
        raise NotMeasured(f"no components were counted at width {cell[0]:g}, threshold {cell[1]:g}")
    lams, largest = found[0][0], np.stack([values for _, values in found])
    return critical(lams, largest.mean(0)), critical_interval(lams, largest), len(largest)


def wider_earlier(table: Table) -> Judgement:
    """How much earlier the next wider bump percolates, at the step between two widths where that is least."""
    halves = {
        width: {seed: min(value, 1.0) for seed, value in own.items()}  # never counts as 1
        for (width, threshold), own in critical_shares(table).items()
        if threshold == CHOSEN
    }
    if len(halves) < 2:
        raise NotMeasured(f"two widths at threshold {CHOSEN:g} are needed")
    steps = {f"{narrow:g} to {wide:g}": less(halves[narrow], halves[wide]) for narrow, wide in pairwise(halves)}
    step = least(steps)
    means = ", ".join(f"{width:g}: {mean(values):.3f}" for width, values in halves.items())
    return judge_above(list(steps[step].values()), 0, f"from {step}; all, on average: {means}")


def later_with_threshold(table: Table) -> dict[int, float]:
    """{order: whether no larger threshold is earlier at any width, and the largest is later than the smallest}"""
    widths, thresholds, orders = _by_order(table)
    if len(thresholds) < 2:
        raise NotMeasured("two thresholds are needed")

    def later(own: Mapping[Cell, float]) -> bool:
        along = [[own[width, threshold] for threshold in thresholds] for width in widths]
        able = [series for series in along if math.isfinite(series[0])]
        return all(a <= b for series in along for a, b in pairwise(series)) and all(s[0] < s[-1] for s in able)

    return {seed: later(own) for seed, own in orders.items()}


def lost_with_threshold(table: Table) -> dict[int, float]:
    """{order: whether widths 0.2 and 0.3 percolate at the smallest threshold and not at the largest}"""
    _, thresholds, orders = _by_order(table)
    needed = [(width, threshold) for width in (0.2, 0.3) for threshold in (thresholds[:1] + thresholds[-1:])]
    if len(thresholds) < 2 or any(cell not in own for own in orders.values() for cell in needed):
        raise NotMeasured("widths 0.2 and 0.3 at two thresholds are needed")
    return {
        seed: all(math.isfinite(own[needed[i]]) and own[needed[i + 1]] == math.inf for i in (0, 2))
        for seed, own in orders.items()
    }


def never(width: float, arm: str) -> Rule:
    """This width percolates in no order, at any threshold."""

    def found(table: Table) -> dict[int, float]:
        own = [values for cell, values in critical_shares(table, arm).items() if cell[0] == width]
        if not own:
            raise NotMeasured(f"width {width:g} was not counted {arm}")
        return {seed: all(values.get(seed) == math.inf for values in own) for seed in set().union(*own)}

    def neighbours(table: Table) -> str:
        counts = {z for cell, z in neighbours_of(table, arm).items() if cell[0] == width}
        return f"neighbours: {', '.join(map(str, sorted(counts)))}"

    return in_every_seed(found, neighbours)


def half_at(width: float, threshold: float) -> Measure:
    """The critical lambda of every order at this width and threshold."""
    return lambda table: critical_shares(table).get((width, threshold), {})


def half_of_mean(cell: Cell, low: float, high: float) -> Rule:
    """The mean curve over orders reaches one half between these two lambdas."""

    def judge(table: Table) -> Judgement:
        found, interval, n = critical_of_mean(table, cell)
        why = {"never": ": half is never held", "below": ": half is held from the first lambda on", "crosses": ""}
        note = f"width {cell[0]:g}, threshold {cell[1]:g}{why[found.outcome]}"
        estimate = found.value if found.outcome == "crosses" else None
        return Judgement(estimate, interval, n, verdict_within(interval, low, high, n), note)

    return judge


def site_percolation(z: int) -> Rule:
    """With z neighbours half hangs together where an infinite lattice percolates."""

    def judge(table: Table) -> Judgement:
        cells = [cell for cell, count in neighbours_of(table).items() if count == z]
        if not cells:
            raise NotMeasured(f"no width and threshold has {z} neighbours")
        return half_of_mean(cells[0], SITE_PERCOLATION[z] - FINITE, SITE_PERCOLATION[z] + FINITE)(table)

    return judge


def overlap_beyond_one(arm: str) -> Rule:
    """A bump overlaps one half a pixel away more than itself, sigma = 0.3, the reference on this lattice."""
    return above(final("overlap", arm=arm, width=0.3, offset=0.5), 1, "nothing is random here: all seeds agree")


def _by_order(table: Table) -> tuple[list[float], list[float], dict[int, dict[Cell, float]]]:
    """Widths, thresholds, and {order: {cell: critical lambda}}."""
    found = critical_shares(table)
    orders: dict[int, dict[Cell, float]] = {}
    for cell, own in found.items():
        for seed, value in own.items():
            orders.setdefault(seed, {})[cell] = value
    return sorted({width for width, _ in found}), sorted({threshold for _, threshold in found}), orders


NO_NUMBER = "Fig 6c, no number in the text"
CLAIMS = (
    Claim("PT1", "The wider the bumps, the smaller the share lambda from which on half hang together (threshold "
          "0.005; smallest step)", "Fig 6c: ordered in sigma", wider_earlier),
    Claim("PT2", "A larger threshold of the overlap delays percolation at every width (share of orders)",
          "Fig 13: delayed", in_every_seed(later_with_threshold, "at every width")),
    Claim("PT2b", "From threshold 0.005 to 0.05 percolation at sigma = 0.3 is delayed (difference in lambda)",
          "Fig 13: delayed, no number", above(difference(half_at(0.3, 0.05), half_at(0.3, CHOSEN)), 0)),
    Claim("PT3", "Bumps of sigma = 0.1 never percolate, at any threshold (share of orders)", "never",
          never(NARROWEST, ON)),
    Claim("PT3b", "Nor do they with sites between the pixels (share of orders)",
          "not asked; bumps lie on pixels in Fig 6d", never(NARROWEST, BETWEEN), check=True),
    Claim("PT4", "With a large enough threshold narrow bumps never percolate: 0.2 and 0.3 do at 0.005, not at 0.5 "
          "(share of orders)", "Fig 13: some datasets with small sigma never do", in_every_seed(lost_with_threshold)),
    Claim("PT5", "At sigma = 0.3 and threshold 0.005 half hangs together from lambda = 0.18 on (within 0.02)",
          f"{NO_NUMBER}; an independent computation: 0.183", half_of_mean((0.3, CHOSEN), 0.163, 0.203), check=True),
    Claim("PT5b", "At sigma = 0.5 and threshold 0.005 from lambda = 0.05 on (within 0.01)",
          f"{NO_NUMBER}; an independent computation: 0.052", half_of_mean((0.5, CHOSEN), 0.042, 0.062), check=True),
    *(Claim(f"PT6-{z}", f"With {z} linked neighbours half hangs together within {FINITE:g} of where an infinite "
            "lattice percolates", f"not compared there; infinite lattice {known:g}", site_percolation(z), check=True)
      for z, known in SITE_PERCOLATION.items()),
    Claim("PT7", "The overlap with a bump half a pixel away goes beyond 1, for a bump between pixels (sigma = 0.3)",
          "Fig 6b: temporarily beyond 1", overlap_beyond_one(BETWEEN)),
    Claim("PT7b", "So it does for a bump on a pixel, as those of the lattice are",
          "Fig 6b does not say which it is", overlap_beyond_one(ON), check=True),
)  # fmt: skip
