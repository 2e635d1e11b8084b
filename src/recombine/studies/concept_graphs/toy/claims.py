"""The claims of the toy (Okawa et al. 2023, Fig 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, judge_within
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

ARM = "toy"
CHANCE = 0.01
KNOWN = {0.5: {1: 69, 2: 123, 3: 158, 4: 183, 8: 248, 16: 315, 32: 383},
         0.9: {1: 230, 2: 296, 3: 335, 4: 364, 8: 432, 16: 501, 32: 569}}  # fmt: skip
"""t*(n) at that chance, worked out apart from this code."""
ENOUGH_ATOMS = 4  # from here on log n describes t*: exactly, t* is log(n / -log P*) / -log(1 - p) for large n


def closed_form(table: pl.DataFrame) -> Judgement:
    """O6: in how many (level, n) the computed t* is the known one."""
    chances = {float(values[0]) for _, values in curves(table, "chance", ARM).values()}
    if chances != {CHANCE}:
        raise NotMeasured(f"the known cases are for p = {CHANCE:g}")
    hits = [
        times[n] == known
        for level, column in KNOWN.items()
        for n, known in column.items()
        for times in [_times(table, f"time.closed@{level:g}").get(0, {})]
        if n in times
    ]
    if not hits:
        raise NotMeasured("no t* of the known cases (p = 0.01, levels 0.5 and 0.9) was computed")
    return judge_every(sum(hits), len(hits), "one case a level and n; p = 0.01")


def simulation_agrees(table: pl.DataFrame) -> Judgement:
    """O6s: simulated over closed t*, less one, the mean over n and levels, one value a seed."""
    levels = [i.partition("@")[2] for i in table["instrument"].unique().sort() if i.startswith("time.closed@")]
    gaps: dict[int, list[float]] = {}
    for level in levels:
        closed, drawn = _times(table, f"time.closed@{level}"), _times(table, f"time.simulated@{level}")
        for seed, times in drawn.items():
            gaps.setdefault(seed, []).extend(times[n] / closed[seed][n] - 1 for n in times)
    if not gaps:
        raise NotMeasured("nothing was simulated")
    worst = max(abs(gap) for each in gaps.values() for gap in each)
    return judge_within([float(np.mean(each)) for each in gaps.values()], -0.02, 0.02, f"largest {worst:.3f}")


def grows_like_log(table: pl.DataFrame) -> Judgement:
    """O6l: the slope of simulated t* over log n, as a multiple of 1 / -log(1 - p), its limit for many atoms."""
    slopes = []
    for seed, times in _times(table, "time.simulated@0.5").items():
        many = {n: t for n, t in times.items() if n >= ENOUGH_ATOMS}
        single = _times(table, "time.closed@0.5").get(seed, {}).get(1)
        if len(many) > 1 and single:
            slope = np.polyfit(np.log(list(many)), list(many.values()), 1)[0]
            slopes.append(float(slope) * np.log(2) / single)  # t*(1) at one half is log 2 / -log(1 - p)
    if not slopes:
        raise NotMeasured("t* at level 0.5 is needed for one atom and for several numbers of many")
    return judge_within(slopes, 0.9, 1.1, f"slope fitted for n of {ENOUGH_ATOMS} and more")


def _times(table: pl.DataFrame, instrument: str) -> dict[int, dict[int, float]]:
    """{seed: {n: t*}}"""
    found: dict[int, dict[int, float]] = {}
    for (seed, node), (_, values) in curves(table, instrument, ARM).items():
        found.setdefault(seed, {})[int(node.removeprefix("n="))] = float(values[0])
    return found


TOY = (
    Claim(
        "O6",
        "the step at which n atoms are all learned is ceil(log(1 - P*^(1/n)) / log(1 - p)) (share of known cases)",
        "69, 123, 158, 183 for n = 1 to 4, P* = 0.5, p = 0.01",
        closed_form,
    ),
    Claim("O6s", "simulated Bernoulli atoms agree with it (relative difference)", "0 (within 0.02)", simulation_agrees),
    Claim("O6l", "it grows like log n (slope over its limit)", "grows as log n (0.9 to 1.1)", grows_like_log),
)
