"""The claims of the lattice of concepts (Yang et al. 2025, Fig 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, NotMeasured, judge_above, judge_every
from recombine.lab.rules import Rule
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import select
from recombine.runs.identity.hierarchy import EPOCHS, pairs

if TYPE_CHECKING:
    import polars as pl

    from recombine.lab.claims import Judgement

ENOUGH = 0.95
NEAR = 0.1  # epochs: an error is that of an epoch if it was observed so close to it


def shares_in_order(table: pl.DataFrame, arm: str, which: str = "all") -> dict[float, list[float]]:
    """{epoch: share of pairs in order, one value a start}"""
    chosen = select(table, "ordered.by_start", arm=arm, pairs=which, epoch=EPOCHS).sort("epoch", "start")
    return {part["epoch"][0]: part["value"].to_list() for part in chosen.partition_by("epoch", maintain_order=True)}


def in_order(arm: str, which: str = "all") -> Rule:
    """The share of pairs in order is above 0.95: for each start that of the worst of the three epochs."""

    def judge(table: pl.DataFrame) -> Judgement:
        found = shares_in_order(table, arm, which)
        if set(EPOCHS) != set(found):
            raise NotMeasured(f"needs pairs at epochs {EPOCHS} in {arm}")
        worst = [min(shares) for shares in zip(*found.values(), strict=True)]
        n, whole = len(worst), sum(share == 1 for share in worst)
        low, high = proportion_interval(whole, n)
        means = ", ".join(f"{sum(shares) / n:.3f}" for shares in found.values())
        note = f"epochs 1, 3, 5: {means}; all pairs in {whole} of {n} starts ({low:.2f} to {high:.2f})"
        return judge_above(worst, ENOUGH, note)

    return judge


def medians_in_order(table: pl.DataFrame) -> Judgement:
    """In how many pairs, of both nets at the three epochs, the smaller combination has no larger median error."""
    hits, wrong = [], set()
    for arm in ("linear", "relu"):
        errors = median_errors(table, arm)
        if not set(EPOCHS) <= set(errors):
            raise NotMeasured(f"needs errors at epochs {EPOCHS} in {arm}")
        for found in errors.values():
            for u, v in pairs(list(found)):
                hits.append(found[u] <= found[v])
                wrong |= set() if hits[-1] else {f"{u}<{v}"}
    return judge_every(sum(hits), len(hits), f"out of order: {', '.join(sorted(wrong))}" if wrong else "")


def median_errors(table: pl.DataFrame, arm: str) -> dict[float, dict[str, float]]:
    """{epoch: {combination: median squared error over starts}}, from the observation nearest to each epoch."""
    rows, found = select(table, "error", arm=arm), {}
    for epoch in EPOCHS:
        away = (rows["epoch"] - epoch).abs()
        if len(rows) and away.min() <= NEAR:  # type: ignore[operator]
            found[epoch] = dict(rows.filter(away == away.min()).select("combination", "value").iter_rows())
    return found


PAPER = "all (0.95 and more)"

CLAIMS = (
    Claim("S10", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer (share of "
          "pairs in order, a start).",
          PAPER,
          in_order("linear")),
    Claim("S10r", "At epochs 1, 3 and 5 no combination has less error than its parts in two layers with ReLU (share "
          "of pairs in order, a start).",
          PAPER,
          in_order("relu")),
    Claim("S10o", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer with a "
          "cluster at the origin (share of pairs in order, a start).",
          PAPER,
          in_order("linear origin")),
    Claim("S10p", "At epochs 1, 3 and 5 no combination has less error than its parts in two layers with ReLU and a "
          "cluster at the origin (share of pairs in order, a start).",
          PAPER,
          in_order("relu origin")),
    Claim("S10b", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer without a "
          "bias (share of pairs in order, a start).",
          PAPER,
          in_order("linear no bias"), check=True),
    Claim("S10c", "At epochs 1, 3 and 5 no combination has less error than its parts in two layers with ReLU "
          "without biases (share of pairs in order, a start).",
          PAPER,
          in_order("relu no bias"), check=True),
    Claim("S10e", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer, counting "
          "combinations that are not empty (share of pairs in order, a start).",
          PAPER,
          in_order("linear", "not empty"), check=True),
    Claim("S10f", "At epochs 1, 3 and 5 no combination has less error than its parts in two layers with ReLU, "
          "counting combinations that are not empty (share of pairs in order, a start).",
          PAPER,
          in_order("relu", "not empty"), check=True),
    Claim("S10g", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer without a "
          "bias, errors within 1% of the largest counted as ties (share of pairs in order, a start).",
          PAPER,
          in_order("linear no bias", "ties allowed"), check=True),
    Claim("S10h", "At epochs 1, 3 and 5 no combination has less error than its parts in one linear layer with its "
          "bias, errors within 1% of the largest counted as ties (share of pairs in order, a start).",
          PAPER,
          in_order("linear", "ties allowed"), check=True),
    Claim("S10m", "In both networks the median errors over starts are in the order of the lattice (share of pairs).",
          "all, as drawn in Fig 7",
          medians_in_order),
)  # fmt: skip
