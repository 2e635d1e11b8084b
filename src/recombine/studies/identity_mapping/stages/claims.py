"""The claims of the stages (Yang et al. 2025, Sec. 4.2 and Figs 5, 17, 18)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, judge_every, judge_within
from recombine.studies.identity_mapping._shared.flow_claims import every_start, share_above

if TYPE_CHECKING:
    import polars as pl

ARMS = ("A", "A2")
EXACT = 1e-10
MOST = 0.95  # of all starts: what "the stages come in this order" has to mean


def twice_the_terms(table: pl.DataFrame) -> Judgement:
    """S4: in how many starts, of both arms, every entry of W' is 2 (G - S - N) to 1e-10."""
    errors = np.array([error for arm in ARMS for error in every_start(table, arm, "error").values()])
    return judge_every(int((errors <= EXACT).sum()), len(errors), f"largest error {errors.max():.1e}")


def as_printed(table: pl.DataFrame) -> Judgement:
    """S4b: what G - S - N has to be multiplied with to be W', a start."""
    factors = [factor for arm in ARMS for factor in every_start(table, arm, "factor").values()]
    return judge_within(factors, 0.99, 1.01, f"{min(factors):.6f} to {max(factors):.6f}")


def in_order(table: pl.DataFrame, arm: str) -> Judgement:
    """S5a, S5b: in what share of starts the first major comes before its minor's fall, and that before the second."""
    first, fallen, second = (
        every_start(table, arm, f"time.{name}") for name in ("first major", "minor suppressed", "second major")
    )
    ordered = sum(first[node] < fallen.get(node, np.nan) < second.get(node, np.nan) for node in first)
    medians = ", ".join(f"{np.median(list(each.values())):.2f}" for each in (first, fallen, second))
    return share_above(int(ordered), len(first), MOST, f"median times {medians}")


STAGES = (
    Claim("S4", "W' = 2 (G - S - N), by automatic differentiation (share of starts)", "1 (to 1e-10)", twice_the_terms),
    Claim("S4b", "W' = G - S - N, as printed (factor between them)", "1", as_printed),
    Claim(
        "S5a",
        "the stronger concept is learned, then its minor falls, then the weaker concept is learned (share of starts)",
        "always, shown for one start (above 0.95)",
        partial(in_order, arm="A"),
    ),
    Claim(
        "S5b",
        "the same with the scripts' A^2 (share of starts)",
        "always, shown for one start (above 0.95)",
        partial(in_order, arm="A2"),
    ),
)
