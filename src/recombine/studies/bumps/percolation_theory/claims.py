"""The claims of percolation among bumps (Liang et al. 2024, Sec. 3.3 and App. D)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every, verdict_within
from recombine.lab.table import curves
from recombine.theory.percolation.lattice import Critical, critical, critical_interval

if TYPE_CHECKING:
    import polars as pl

ON, BETWEEN = "on-pixels", "between-pixels"
Cell = tuple[float, float]
"""Width and threshold."""

CHOSEN = 0.005  # the paper's threshold
NARROWEST = 0.1
SITE_PERCOLATION = {4: 0.593, 8: 0.407, 12: 0.29, 20: 0.196, 36: 0.115}
"""Thresholds of the infinite square lattice, by neighbours z: the nearest shell of them, two, three, four, seven."""
FINITE = 0.03  # how far half of a lattice of 32 x 32 may be from that


def cell(node: str) -> Cell:
    """ "s=0.3,threshold=0.005" -> (0.3, 0.005)"""
    width, threshold = (float(part.partition("=")[2]) for part in node.split(","))
    return width, threshold


def named(width: float, threshold: float) -> str:
    """(0.3, 0.005) -> "s=0.3,threshold=0.005" """
    return f"s={width:g},threshold={threshold:g}"


def moments(table: pl.DataFrame, arm: str) -> dict[int, dict[Cell, float]]:
    """{seed: {cell: critical lambda}} of each order; infinite if half is never held, 0 if always from 3 sites on."""
    import polars as pl

    found: dict[int, dict[Cell, float]] = {}
    chosen = table.filter((pl.col("arm") == arm) & pl.col("instrument").is_in(["percolates", "critical"]))
    for seed, node, instrument, value in chosen.select("seed", "node", "instrument", "value").iter_rows():
        own = found.setdefault(seed, {})
        if instrument == "critical" and value is not None:
            own[cell(node)] = value
        elif instrument == "percolates":
            own.setdefault(cell(node), 0.0 if value else math.inf)
    return found


def spread(table: pl.DataFrame, node: str, arm: str = ON) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lambdas, and the largest component of each order.  # [lambdas], [orders, lambdas]"""
    found = list(curves(table, "largest", arm, node).values())
    if not found:
        return np.zeros(0), np.zeros((0, 0))
    _, sites = next(iter(curves(table, "sites", arm).values()))
    return found[0][0] / sites[0], np.stack([values for _, values in found])


def critical_of(table: pl.DataFrame, node: str, arm: str = ON) -> tuple[Critical, tuple[float, float], int]:
    """The critical lambda of the mean curve, its interval over orders, and how many those are."""
    lams, largest = spread(table, node, arm)
    if not len(largest):
        raise NotMeasured(f"no components were counted at {node}")
    return critical(lams, largest.mean(0)), critical_interval(lams, largest), len(largest)


def neighbours_of(table: pl.DataFrame, arm: str = ON) -> dict[str, int]:
    """{node: z}"""
    return {node: round(float(values[0])) for (_, node), (_, values) in curves(table, "neighbours", arm).items()}


def judge_midpoint(table: pl.DataFrame, node: str, low: float, high: float) -> Judgement:
    """The judgement of "the mean curve reaches one half between two lambdas"."""
    found, interval, n = critical_of(table, node)
    if found.outcome != "crosses":
        reason = {"never": "half is never held", "below": "half is held from the first lambda on"}[found.outcome]
        return Judgement(None, interval, n, verdict_within(interval, low, high, n), f"{node}: {reason}")
    return Judgement(found.value, interval, n, verdict_within(interval, low, high, n), node)


def wider_earlier(table: pl.DataFrame) -> Judgement:
    """PT1: how much earlier the next wider bump is, at the step between two widths where that is least; never is 1."""
    found = moments(table, ON)
    widths = sorted({key[0] for own in found.values() for key in own if key[1] == CHOSEN})
    if len(widths) < 2:
        raise NotMeasured(f"two widths at threshold {CHOSEN:g} are needed")
    capped = {width: np.array([min(own[width, CHOSEN], 1.0) for own in found.values()]) for width in widths}
    steps = {f"{narrow:g} to {wide:g}": capped[narrow] - capped[wide] for narrow, wide in pairwise(widths)}
    least = min(steps, key=lambda step: float(steps[step].mean()))
    means = ", ".join(f"{width:g}: {values.mean():.3f}" for width, values in capped.items())
    return judge_above(steps[least], 0, f"from {least}; all, on average: {means}")


def threshold_delays(table: pl.DataFrame) -> Judgement:
    """PT2: in how many orders no larger threshold is earlier, at any width, and the largest is later than the least."""
    found = moments(table, ON)
    thresholds = sorted({key[1] for own in found.values() for key in own})
    if len(thresholds) < 2:
        raise NotMeasured("two thresholds are needed")
    good = 0
    for own in found.values():
        along = [[own[width, t] for t in thresholds] for width in sorted({key[0] for key in own})]
        able = [series for series in along if math.isfinite(series[0])]
        good += all(a <= b for series in along for a, b in pairwise(series)) and all(s[0] < s[-1] for s in able)
    return judge_every(good, len(found), f"thresholds {', '.join(f'{t:g}' for t in thresholds)}, every width")


def delay(table: pl.DataFrame) -> Judgement:
    """PT2b: how much later half is held at 0.05 than at 0.005, sigma = 0.3."""
    late, early = (0.3, 0.05), (0.3, CHOSEN)
    both = [own[late] - own[early] for own in moments(table, ON).values() if {late, early} <= set(own)]
    return judge_above([gap for gap in both if math.isfinite(gap)], 0)


def never(width: float, least: float, arm: str) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "this width percolates in no order, at any threshold from `least` on"."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = {
            seed: [value for (s, threshold), value in own.items() if s == width and threshold >= least]
            for seed, own in moments(table, arm).items()
        }
        if not found or not all(found.values()):
            raise NotMeasured(f"width {width:g} at thresholds from {least:g} on was not counted {arm}")
        return judge_every(sum(min(own) == math.inf for own in found.values()), len(found), _zs(table, width, arm))

    return judge


def lost(table: pl.DataFrame) -> Judgement:
    """PT4: in how many orders 0.2 and 0.3 percolate at the smallest threshold and not at the largest."""
    found = moments(table, ON)
    thresholds = sorted({key[1] for own in found.values() for key in own})
    needed = {(width, threshold) for width in (0.2, 0.3) for threshold in (thresholds[:1] + thresholds[-1:])}
    if len(thresholds) < 2 or not all(needed <= set(own) for own in found.values()):
        raise NotMeasured("widths 0.2 and 0.3 at two thresholds are needed")
    good = sum(
        all(math.isfinite(own[w, thresholds[0]]) and own[w, thresholds[-1]] == math.inf for w in (0.2, 0.3))
        for own in found.values()
    )
    return judge_every(good, len(found), f"thresholds {thresholds[0]:g} and {thresholds[-1]:g}")


def midpoint(width: float, low: float, high: float) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "at the paper's threshold half is held from here on"."""
    return lambda table: judge_midpoint(table, named(width, CHOSEN), low, high)


def site_percolation(z: int) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "with z neighbours half is held where an infinite lattice percolates"."""

    def judge(table: pl.DataFrame) -> Judgement:
        nodes = [node for node, count in neighbours_of(table).items() if count == z]
        if not nodes:
            raise NotMeasured(f"no width and threshold has {z} neighbours")
        return judge_midpoint(table, nodes[0], SITE_PERCOLATION[z] - FINITE, SITE_PERCOLATION[z] + FINITE)

    return judge


def beyond_one(arm: str) -> Callable[[pl.DataFrame], Judgement]:
    """The rule of "a bump overlaps one half a pixel away more than itself", sigma = 0.3, reference on this lattice."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = curves(table, "overlap", arm, "s=0.3,distance=0.5")
        return judge_above([values[0] for _, values in found.values()], 1, "no chance in it: all seeds agree")

    return judge


def _zs(table: pl.DataFrame, width: float, arm: str) -> str:
    counts = {z for node, z in neighbours_of(table, arm).items() if cell(node)[0] == width}
    return f"neighbours: {', '.join(map(str, sorted(counts)))}"


NO_NUMBER = "Fig 6c, no number in the text"
PERCOLATION = (
    Claim("PT1", "the wider the bump, the smaller the lambda from which half hangs together (threshold 0.005; smallest "
          "step)", "Fig 6c: ordered in sigma", wider_earlier),
    Claim("PT2", "a larger threshold delays percolation, at every width (share of orders)", "Fig 13: delayed",
          threshold_delays),
    Claim("PT2b", "from threshold 0.005 to 0.05 by some lambda, at sigma = 0.3", "Fig 13: delayed, no number", delay),
    Claim("PT3", "sigma = 0.1 never percolates, at any threshold (share of orders)", "never",
          never(NARROWEST, 0, ON)),
    Claim("PT3b", "nor does it with sites between the pixels (share of orders)",
          "not asked; bumps lie on pixels in Fig 6d", never(NARROWEST, 0, BETWEEN)),
    Claim("PT4", "with a large enough threshold small widths never percolate: 0.2 and 0.3 do at 0.005, not at 0.5",
          "Fig 13: some datasets with small sigma never do", lost),
    Claim("PT5", "at sigma = 0.3 and threshold 0.005 half hangs together from lambda 0.18 on (within 0.02)",
          f"{NO_NUMBER}; worked out apart: 0.183", midpoint(0.3, 0.163, 0.203)),
    Claim("PT5b", "at sigma = 0.5 from 0.05 on (within 0.01)", f"{NO_NUMBER}; worked out apart: 0.052",
          midpoint(0.5, 0.042, 0.062)),
    *(Claim(f"PT6-{z}", f"with {z} neighbours half hangs together within {FINITE:g} of where an infinite lattice "
            "percolates", f"not compared there; infinite lattice {known:g}", site_percolation(z))
      for z, known in SITE_PERCOLATION.items()),
    Claim("PT7", "the overlap with a bump half a pixel away goes beyond 1, for a bump between pixels (sigma = 0.3)",
          "Fig 6b: temporarily beyond 1", beyond_one(BETWEEN)),
    Claim("PT7b", "so it does for a bump on a pixel, as those of the lattice are", "Fig 6b does not say which it is",
          beyond_one(ON)),
)  # fmt: skip
