"""The claims of Swing-by (Yang et al. 2025, Figs 3, 13, 14, 17)."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import (
    Claim,
    Judgement,
    NotMeasured,
    judge_every,
    verdict_above,
    verdict_below,
    verdict_within,
)
from recombine.lab.statistics import bootstrap_interval, proportion_interval
from recombine.studies.identity_mapping._shared.flow_claims import (
    count,
    share_above,
    share_below,
    share_like,
    share_rises,
    values,
)

if TYPE_CHECKING:
    import polars as pl

GAPS = (1.1, 1.5, 2.0, 3.0, 4.0)
FLOWS_BEFORE = {1.1: 1, 1.5: 37, 2.0: 84, 3.0: 98, 4.0: 98}  # of 100, with A
NETS_BEFORE = {
    "run 29": (81, 6), "run 26": (64, 57), "run 27": (76, 18), "run 27 small": (169, 131), "two layers": (27, 0),
    "ReLU": (9, 0),
}  # fmt: skip
"""Bumps among 200 networks, seen at every step and once an epoch."""
DEEP = ("run 29", "run 26", "run 27")
NONE = ("one layer d 64", "ReLU d 64", "run 28")
LEVELS = ("step", "epoch")
ENOUGH = 100  # networks a run, below which no count differs from another


def rate(table: pl.DataFrame, arm: str, gap: float, kind: str = "positive") -> tuple[int, int]:
    """How many flows bump, of how many."""
    node = f"mu2={gap:g} {kind}"
    return count(table, arm, node, "bumps"), count(table, arm, node, "starts")


def nets(table: pl.DataFrame, arm: str, level: str) -> tuple[int, int]:
    """How many networks bump, of how many."""
    return count(table, arm, "all", f"bumps.{level}"), count(table, arm, "all", "nets")


def flow_rate(table: pl.DataFrame, arm: str, kind: str, before: tuple[int, int]) -> Judgement:
    """S6, S6b, S7, S7w: the share of flows with a bump at mu = (1, 1.5)."""
    return share_like(*rate(table, arm, 1.5, kind), before)


def rises_with_the_gap(table: pl.DataFrame) -> Judgement:
    """S6c: the smallest rise of that share from one gap to the next, from 1.1 to 3."""
    shares = [rate(table, "A", gap) for gap in GAPS[:4]]
    rise, interval = min(share_rises(first, second) for first, second in pairwise(shares))
    n = min(n for _, n in shares)
    said = ", ".join(f"{k / n:.3f}" for k, n in shares)
    return Judgement(rise, interval, n, verdict_above(interval, 0, n), f"{said} at mu_2 = 1.1, 1.5, 2, 3")


def all_gaps(table: pl.DataFrame) -> Judgement:
    """S6d: at how many gaps our interval lies inside that of the share found before."""
    shares = {gap: rate(table, "A", gap) for gap in GAPS}
    inside = sum(
        verdict_within(proportion_interval(*shares[gap]), *proportion_interval(before, 100), shares[gap][1]) == "holds"
        for gap, before in FLOWS_BEFORE.items()
    )
    said = ", ".join(f"{k / n:.3f}" for k, n in shares.values())
    return judge_every(inside, len(GAPS), f"{said}; n counts gaps")


def training_falls(table: pl.DataFrame) -> Judgement:
    """S6m: in how many flows of all kinds the training loss never rises."""
    falling = np.concatenate([values(table, arm, "monotone") for arm in ("A", "A2")])
    starts = np.concatenate([values(table, arm, "starts") for arm in ("A", "A2")])
    if not len(starts):
        raise NotMeasured("no flows")
    return judge_every(int(falling.sum()), int(starts.sum()), "all gaps, starts and both arms")


def predicted(table: pl.DataFrame) -> Judgement:
    """S6p: in what share of positive flows the analytic prediction says rightly whether there is a bump."""
    agree = np.concatenate([values(table, arm, "agree") for arm in ("A", "A2")])
    nodes = sorted({node for node in table["node"].unique() if node.endswith(" positive")})
    starts = [count(table, arm, node, "starts") for arm in ("A", "A2") for node in nodes]
    if not starts or len(agree) != len(starts):
        raise NotMeasured("no prediction for every gap and arm")
    return share_above(int(agree.sum()), sum(starts), 0.95, "positive starts, all gaps, A and A^2")


def prediction_error(table: pl.DataFrame, what: str, bound: float) -> Judgement:
    """S6t, S6h: the median relative error of the predicted peak, where both have one."""
    errors = np.abs(np.concatenate([values(table, arm, f"error.{what}") for arm in ("A", "A2")]))
    if not len(errors):
        raise NotMeasured("no flow has a bump that was predicted")
    interval = bootstrap_interval(errors, np.median)
    note = f"nine in ten below {np.quantile(errors, 0.9):.3f}"
    return Judgement(float(np.median(errors)), interval, len(errors), verdict_below(interval, bound, len(errors)), note)


def positive_more_often(table: pl.DataFrame) -> Judgement:
    """S7p: by how much more often positive starts bump than Gaussian ones, the smallest over gaps from 1.5 and arms."""
    pairs = [
        (rate(table, arm, gap, "gaussian"), rate(table, arm, gap)) for arm in ("A", "A2") for gap in GAPS[1:4]
    ]  # fmt: skip
    more, interval = min(share_rises(*pair) for pair in pairs)
    n = min(n for _, (_, n) in pairs)
    return Judgement(more, interval, n, verdict_above(interval, 0, n), "smallest over mu_2 = 1.5, 2, 3 and both arms")


def pooled(table: pl.DataFrame, arms: tuple[str, ...], level: str) -> tuple[int, int, str]:
    """Bumps and nets of these runs together, and how many in each."""
    found = {arm: nets(table, arm, level) for arm in arms}
    said = ", ".join(f"{arm} {k} of {n}" for arm, (k, n) in found.items())
    return sum(k for k, _ in found.values()), sum(n for _, n in found.values()), said


def none_where_none_is_said(table: pl.DataFrame) -> Judgement:
    """S9a: one layer and 64 dimensions, seen once an epoch as before; every second step in the note."""
    k, n, said = pooled(table, NONE, "epoch")
    return share_below(k, n, 0.05, f"{said}; every second step: {pooled(table, NONE, 'step')[2]}")


def deep_and_small(table: pl.DataFrame) -> Judgement:
    """S9b: deep linear nets of two and three dimensions, seen at every step."""
    k, n, said = pooled(table, DEEP, "step")
    return share_above(k, n, 0.3, said)


def small_start(table: pl.DataFrame) -> Judgement:
    """S9c: run 27 with 0.3 of the start, seen at every step."""
    return share_above(*nets(table, "run 27 small", "step"), 0.8)


def minority_once_an_epoch(table: pl.DataFrame) -> Judgement:
    """S9d: the same nets as S9b at the resolution of the paper's plots."""
    k, n, said = pooled(table, DEEP, "epoch")
    return share_below(k, n, 0.5, said)


def same_counts(table: pl.DataFrame) -> Judgement:
    """S9r: how many of twelve counts a test cannot tell from those found before, at 0.05 for all twelve together."""
    from scipy.stats import fisher_exact

    same, inside, said = 0, 0, []
    for arm, before in NETS_BEFORE.items():
        for level, earlier in zip(LEVELS, before, strict=True):
            k, n = nets(table, arm, level)
            if n < ENOUGH:
                raise NotMeasured(f"{n} networks tell nothing about a count: {ENOUGH} or more are needed")
            chance = float(fisher_exact([[k, n - k], [earlier, 200 - earlier]])[1])
            same += chance >= 0.05 / (2 * len(NETS_BEFORE))
            low, high = proportion_interval(k, n)
            inside += low <= earlier / 200 <= high
        said.append(f"{arm} {nets(table, arm, 'step')[0]} ({nets(table, arm, 'epoch')[0]})")
    total = 2 * len(NETS_BEFORE)
    note = (
        f"{inside} of {total} earlier shares lie inside our own intervals; {', '.join(said)}; n counts runs and levels"
    )
    return judge_every(same, total, note)


SWING_BY = (
    Claim(
        "S6",
        "at mu = (1, 1.5) the loss at the probe rises again (share of flows, A, positive starts)",
        "shown for one start; 37 of 100",
        partial(flow_rate, arm="A", kind="positive", before=(37, 100)),
    ),
    Claim(
        "S6b",
        "the same with the scripts' A^2 (share of flows)",
        "shown for one start; 89 of 100",
        partial(flow_rate, arm="A2", kind="positive", before=(89, 100)),
    ),
    Claim("S6c", "more often with a larger gap (smallest rise of the share)", "above 0", rises_with_the_gap),
    Claim("S6d", "as often as found before (gaps that agree)", "1, 37, 84, 98, 98 of 100 at five gaps", all_gaps),
    Claim("S6m", "the training loss falls all the while (share of flows)", "always (Fig 17)", training_falls),
    Claim("S6p", "the analytic prediction says which flows bump (share of flows)", "none; above 0.95", predicted),
    Claim(
        "S6t",
        "and when the peak comes (median relative error)",
        "none; below 0.05",
        partial(prediction_error, what="time", bound=0.05),
    ),
    Claim(
        "S6h",
        "and how high it is (median relative error)",
        "none; below 0.1",
        partial(prediction_error, what="height", bound=0.1),
    ),
    Claim(
        "S7",
        "from a Gaussian start it is rare (share of flows, A, mu = (1, 1.5))",
        "10 of 100",
        partial(flow_rate, arm="A", kind="gaussian", before=(10, 100)),
    ),
    Claim(
        "S7w",
        "from a wide Gaussian start it does not happen (share of flows, A, mu = (1, 1.5))",
        "0 of 100",
        partial(flow_rate, arm="A", kind="wide", before=(0, 100)),
    ),
    Claim("S7p", "positive starts bump more often than Gaussian ones (difference)", "above 0", positive_more_often),
    Claim(
        "S9a",
        "one layer and 64 dimensions do not swing by, once an epoch (share of nets)",
        "0 of 100 (below 0.05)",
        none_where_none_is_said,
    ),
    Claim(
        "S9b",
        "deep linear nets of 2 and 3 dimensions do, at every step (share of nets)",
        "shown for single nets; at least 0.3",
        deep_and_small,
    ),
    Claim("S9c", "with 0.3 of the start it is the rule (share of nets)", "at least 0.8", small_start),
    Claim(
        "S9d",
        "seen once an epoch, as plotted, it is a minority at the released settings (share of nets)",
        "81 of 600 (below 0.5)",
        minority_once_an_epoch,
    ),
    Claim(
        "S9r",
        "networks swing by as often as found before (runs and levels that agree)",
        "81 (6), 64 (57), 76 (18), 169 (131), 27 (0), 9 (0) of 200, at steps (epochs)",
        same_counts,
    ),
)
