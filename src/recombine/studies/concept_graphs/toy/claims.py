"""The claims of the toy (Okawa et al. 2023, Fig 7)."""

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import between
from recombine.lab.table import Table, curves, select

CHANCE = 0.01
KNOWN = {0.5: {1: 69, 2: 123, 3: 158, 4: 183, 8: 248, 16: 315, 32: 383},
         0.9: {1: 230, 2: 296, 3: 335, 4: 364, 8: 432, 16: 501, 32: 569}}  # fmt: skip
"""t*(n) at that chance, worked out without this code."""
ENOUGH_ATOMS = 4  # from here on log n describes t*: exactly, t* is log(n / -log P*) / -log(1 - p) for large n


def times(table: Table, way: str, level: float) -> dict[int, dict[int, float]]:
    """{seed: {n: t*}} by the closed form or by simulation."""
    found = curves(table, "time", over="atoms", way=way, level=level)
    return {seed: dict(zip(n.tolist(), t.tolist(), strict=True)) for (seed,), (n, t) in found.items()}


def closed_form(table: Table) -> Judgement:
    """O6: in how many (level, n) the computed t* is the known one."""
    if set(table["chance"].drop_nulls().unique()) != {CHANCE}:
        raise NotMeasured(f"the known cases are for p = {CHANCE:g}")
    found = {level: times(table, "closed", level).get(0, {}) for level in KNOWN}
    hits = [found[level][n] == known for level, column in KNOWN.items() for n, known in column.items()
            if n in found[level]]  # fmt: skip
    if not hits:
        raise NotMeasured("no t* of the known cases (p = 0.01, levels 0.5 and 0.9) was computed")
    return judge_every(sum(hits), len(hits), "one case a level and n; p = 0.01")


def mismatch(table: Table) -> dict[int, float]:
    """Simulated over closed t*, less one, the mean over n and levels."""
    gaps: dict[int, list[float]] = {}
    for level in select(table, "time")["level"].unique().sort():
        closed = times(table, "closed", level)
        for seed, drawn in times(table, "simulated", level).items():
            gaps.setdefault(seed, []).extend(drawn[n] / closed[seed][n] - 1 for n in drawn if seed in closed)
    if not any(gaps.values()):
        raise NotMeasured("nothing was simulated beside the closed form")
    return {seed: float(np.mean(each)) for seed, each in gaps.items()}


def slope_over_its_limit(table: Table) -> dict[int, float]:
    """The slope of simulated t* over log n, as a multiple of 1 / -log(1 - p), its limit for many atoms."""
    slopes, closed = {}, times(table, "closed", 0.5)
    for seed, drawn in times(table, "simulated", 0.5).items():
        many = {n: t for n, t in drawn.items() if n >= ENOUGH_ATOMS}
        if len(many) > 1 and (single := closed.get(seed, {}).get(1)):
            slope = np.polyfit(np.log(list(many)), list(many.values()), 1)[0]
            slopes[seed] = float(slope) * np.log(2) / single  # t*(1) at one half is log 2 / -log(1 - p)
    if not slopes:
        raise NotMeasured("t* at level 0.5 is needed for one atom and for several numbers of many")
    return slopes


CLAIMS = (
    Claim("O6", "the step at which n atoms are all learned is ceil(log(1 - P*^(1/n)) / log(1 - p)) (share of known "
          "cases)", "69, 123, 158, 183 for n = 1 to 4, P* = 0.5, p = 0.01", closed_form),
    Claim("O6s", "simulated Bernoulli atoms agree with it (relative difference)", "0 (within 0.02)",
          between(mismatch, -0.02, 0.02), check=True),
    Claim("O6l", "it grows like log n (slope over its limit)", "grows as log n (0.9 to 1.1)",
          between(slope_over_its_limit, 0.9, 1.1, f"slope fitted for n of {ENOUGH_ATOMS} and more")),
)  # fmt: skip
