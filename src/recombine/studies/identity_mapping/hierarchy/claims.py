"""The lattice of concepts (Yang et al. 2025, Fig 7): the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

EPOCHS = (1, 3, 5)
ENOUGH = 0.95
MARGIN = 0.01  # of a start's largest error: pairs that differ by less are ties in S10g and S10h


def starts_in_order(table: pl.DataFrame, arm: str, instrument: str = "ordered") -> dict[int, list[float]]:
    """{epoch: share of pairs in order, one value a start}"""
    found: dict[int, list[float]] = {}
    for (_, node), (seen, shares) in curves(table, instrument, arm).items():
        if node.startswith("start "):
            for at, share in zip(seen.tolist(), shares.tolist(), strict=True):
                found.setdefault(at // 1_000, []).append(share)
    return found


def in_order(arm: str, instrument: str = "ordered") -> Callable[[pl.DataFrame], Judgement]:
    """S10: the share of pairs in order, for each start that of the worst of the three epochs."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = starts_in_order(table, arm, instrument)
        if not set(EPOCHS) <= set(found):
            raise NotMeasured(f"needs pairs at epochs {EPOCHS} in {arm}")
        shares = np.array([found[epoch] for epoch in EPOCHS])  # [epochs, n]
        n, whole = shares.shape[1], int((shares == 1).all(axis=0).sum())
        low, high = proportion_interval(whole, n)
        means = ", ".join(f"{mean:.3f}" for mean in shares.mean(axis=1))
        note = f"epochs 1, 3, 5: {means}; all pairs in {whole} of {n} starts ({low:.2f} to {high:.2f})"
        return judge_above(shares.min(axis=0), ENOUGH, note)

    return judge


def edges_in_order(arms: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """S10m: in how many pairs, at the three epochs, the median error of the smaller combination is no larger."""

    def judge(table: pl.DataFrame) -> Judgement:
        hits, wrong = [], set()
        for arm in arms:
            errors = median_errors(table, arm)
            if not set(EPOCHS) <= set(errors):
                raise NotMeasured(f"needs errors at epochs {EPOCHS} in {arm}")
            for epoch in EPOCHS:
                for u, v in pairs_of(errors[epoch]):
                    hits.append(errors[epoch][u] <= errors[epoch][v])
                    wrong |= set() if hits[-1] else {f"{u}<{v}"}
        return judge_every(sum(hits), len(hits), f"out of order: {', '.join(sorted(wrong))}" if wrong else "")

    return judge


def median_errors(table: pl.DataFrame, arm: str) -> dict[int, dict[str, float]]:
    """{epoch: {probe: median squared error over starts}}, at the epochs that were observed to the thousandth."""
    found: dict[int, dict[str, float]] = {}
    for (_, node), (seen, values) in curves(table, "error", arm).items():
        for epoch in (0, *EPOCHS):
            near = int(np.abs(seen - 1_000 * epoch).argmin())
            if abs(int(seen[near]) - 1_000 * epoch) <= 100:
                found.setdefault(epoch, {})[node] = float(values[near])
    return found


def pairs_of(errors: dict[str, float]) -> list[tuple[str, str]]:
    """Every u < v among the probes: all concepts of u are in v, and more."""
    return [(u, v) for u in errors for v in errors if u != v and all(a <= b for a, b in zip(u, v, strict=True))]


PAPER = "all (0.95 and more)"

HIERARCHY = (
    Claim(
        "S10",
        "one linear layer: no combination has less error than its parts at epochs 1, 3, 5 (share of pairs, a start)",
        PAPER,
        in_order("linear"),
    ),
    Claim("S10r", "two layers with ReLU: the same", PAPER, in_order("relu")),
    Claim("S10o", "one linear layer with a cluster at the origin: the same", PAPER, in_order("linear origin")),
    Claim("S10p", "two layers with ReLU and a cluster at the origin: the same", PAPER, in_order("relu origin")),
    Claim("S10b", "one linear layer without a bias: the same", PAPER, in_order("linear no bias")),
    Claim("S10c", "two layers with ReLU without biases: the same", PAPER, in_order("relu no bias")),
    Claim("S10e", "one linear layer: the same, of combinations that are not empty", PAPER,
          in_order("linear", "ordered.parts")),
    Claim("S10f", "two layers with ReLU: the same, of combinations that are not empty", PAPER,
          in_order("relu", "ordered.parts")),
    Claim("S10g", "one linear layer without a bias: the same, errors within 1% of the largest counted as ties", PAPER,
          in_order("linear no bias", "ordered.clear")),
    Claim("S10h", "one linear layer with its bias: the same, with such ties", PAPER,
          in_order("linear", "ordered.clear")),
    Claim("S10m", "the median errors over starts are in the order of the lattice, both nets (share of pairs)",
          "all, as drawn in Fig 7", edges_in_order(("linear", "relu"))),
)  # fmt: skip
