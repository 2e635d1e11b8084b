"""The claims of Swing-by (Yang et al. 2025, Figs 3, 13, 14, 17)."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, verdict_above, verdict_below
from recombine.lab.claims import verdict_within as within
from recombine.lab.rules import Rule
from recombine.lab.shares import Share, all_of, as_before, judge_median, share_above, share_below, share_rises
from recombine.lab.statistics import proportion_interval
from recombine.lab.table import Table
from recombine.studies.identity_mapping._shared.starts import count, counted, summed, values

GAPS = (1.1, 1.5, 2.0, 3.0, 4.0)
FLOWS_BEFORE = {1.1: 1, 1.5: 37, 2.0: 84, 3.0: 98, 4.0: 98}  # of 100, with A
NETS_BEFORE = {
    "run 29": (81, 6), "run 26": (64, 57), "run 27": (76, 18), "run 27 small": (169, 131), "two layers": (27, 0),
    "ReLU": (9, 0),
}  # fmt: skip
"""Bumps among 200 networks, evaluated at every step and once an epoch."""
DEEP = ("run 29", "run 26", "run 27")
NONE = ("one layer d 64", "ReLU d 64", "run 28")
LEVELS = ("step", "epoch")
ENOUGH = 100  # networks a run, below which no count differs from another
ARMS = ("A", "A2")


def flows(arm: str, gap: float, start_law: str = "positive") -> Share:
    """How many flows bump, of how many."""
    return counted("bumps", arm=arm, gap=gap, start_law=start_law)


def nets(arm: str, level: str) -> Share:
    """How many networks bump, of how many."""
    return lambda table: (count(table, "bumps", arm=arm, level=level), count(table, "nets", arm=arm))


def together(arms: Iterable[str], level: str) -> Share:
    """How many networks of these runs bump, of how many."""

    def share(table: Table) -> tuple[int, int]:
        found = [nets(arm, level)(table) for arm in arms]
        return sum(k for k, _ in found), sum(n for _, n in found)

    return share


def each_run(table: Table, arms: Iterable[str], level: str) -> str:
    """The counts of these runs, in words."""
    found = {arm: nets(arm, level)(table) for arm in arms}
    return ", ".join(f"{arm} {k} of {n}" for arm, (k, n) in found.items())


def rises_with_the_gap(table: Table) -> Judgement:
    """The smallest rise of the share from one gap to the next, from 1.1 to 3."""
    shares = [flows("A", gap)(table) for gap in GAPS[:4]]
    rise, interval = min(share_rises(first, second) for first, second in pairwise(shares))
    n = min(n for _, n in shares)
    said = ", ".join(f"{k / n:.3f}" for k, n in shares)
    return Judgement(rise, interval, n, verdict_above(interval, 0, n), f"{said} at mu_2 = 1.1, 1.5, 2, 3")


def all_gaps(table: Table) -> Judgement:
    """At how many gaps our interval lies inside that of the share found before."""
    shares = {gap: flows("A", gap)(table) for gap in GAPS}
    inside = sum(
        within(proportion_interval(*shares[gap]), *proportion_interval(before, 100), shares[gap][1]) == "holds"
        for gap, before in FLOWS_BEFORE.items()
    )
    said = ", ".join(f"{k / n:.3f}" for k, n in shares.values())
    return judge_every(inside, len(GAPS), f"{said}; n counts gaps")


def prediction_error(what: str, bound: float) -> Rule:
    """The median relative error of the predicted peak, where both have one."""

    def judge(table: Table) -> Judgement:
        errors = np.abs(np.concatenate([values(table, f"error.{what}", arm=arm) for arm in ARMS]))
        if not len(errors):
            raise NotMeasured("no flow has a bump that was predicted")
        note = f"nine in ten below {np.quantile(errors, 0.9):.3f}"
        return judge_median(errors, lambda interval, n: verdict_below(interval, bound, n), note)

    return judge


def positive_more_often(table: Table) -> Judgement:
    """By how much more often positive starts bump than Gaussian ones, the smallest over gaps from 1.5 and arms."""
    pairs = [(flows(arm, gap, "gaussian")(table), flows(arm, gap)(table)) for arm in ARMS for gap in GAPS[1:4]]
    more, interval = min(share_rises(*pair) for pair in pairs)
    n = min(n for _, (_, n) in pairs)
    return Judgement(more, interval, n, verdict_above(interval, 0, n), "smallest over mu_2 = 1.5, 2, 3 and both arms")


def same_counts(table: Table) -> Judgement:
    """How many of twelve counts a test cannot distinguish from those found before, at 0.05 for all twelve together."""
    from scipy.stats import fisher_exact

    same, inside, total = 0, 0, 2 * len(NETS_BEFORE)
    for arm, before in NETS_BEFORE.items():
        for level, earlier in zip(LEVELS, before, strict=True):
            k, n = nets(arm, level)(table)
            if n < ENOUGH:
                raise NotMeasured(f"{n} networks are too few to compare counts: {ENOUGH} or more are needed")
            chance = float(fisher_exact([[k, n - k], [earlier, 200 - earlier]])[1])
            same += chance >= 0.05 / total
            low, high = proportion_interval(k, n)
            inside += low <= earlier / 200 <= high
    counts = ", ".join(f"{arm} {nets(arm, 'step')(table)[0]} ({nets(arm, 'epoch')(table)[0]})" for arm in NETS_BEFORE)
    note = f"{inside} of {total} earlier shares lie inside our intervals; {counts}; n counts runs and levels"
    return judge_every(same, total, note)


CLAIMS = (
    Claim("S6", "With signals (1, 1.5), positive starts and the moments A, the loss at the probe rises again (share "
          "of flows).",
          "paper shows single starts; earlier replication of ours: 37 of 100",
          as_before(flows("A", 1.5), (37, 100))),
    Claim("S6b", "With signals (1, 1.5), positive starts and the scripts' squared moments A^2, the loss at the "
          "probe rises again (share of flows).",
          "paper shows single starts; earlier replication of ours: 89 of 100",
          as_before(flows("A2", 1.5), (89, 100))),
    Claim("S6c", "Swing-by is more frequent at a larger signal ratio mu_2/mu_1 (smallest rise of the share from one "
          "ratio to the next).",
          "not in the paper (above 0)",
          rises_with_the_gap,
          check=True),
    Claim("S6d", "Flows swing by as often as in an earlier replication (signal ratios that agree).",
          "earlier replication of ours: 1, 37, 84, 98, 98 of 100 at five ratios",
          all_gaps,
          check=True),
    Claim("S6m", "The training loss falls from beginning to end (share of flows; in exact flow it must, so this "
          "tests the integrator).",
          "always (Fig 17)",
          all_of(summed("monotone", arm=ARMS), "all gaps, starts and both arms"), check=True),
    Claim("S6p", "The analytic prediction says which flows swing by (share of flows).",
          "not in the paper (above 0.95)",
          share_above(summed("agree", start_law="positive", arm=ARMS), 0.95, "positive starts, all gaps, A and A^2"),
          check=True),
    Claim("S6t", "The analytic prediction says when the peak of the loss comes (median relative error).",
          "not in the paper (below 0.05)",
          prediction_error("time", 0.05),
          check=True),
    Claim("S6h", "The analytic prediction says how high the peak of the loss is (median relative error).",
          "not in the paper (below 0.1)",
          prediction_error("height", 0.1),
          check=True),
    Claim("S7", "From a Gaussian start Swing-by is rare (share of flows, A, signals (1, 1.5)).",
          "earlier replication of ours: 10 of 100",
          as_before(flows("A", 1.5, "gaussian"), (10, 100)), check=True),
    Claim("S7w", "From a wide Gaussian start Swing-by does not happen (share of flows, A, signals (1, 1.5)).",
          "earlier replication of ours: 0 of 100",
          as_before(flows("A", 1.5, "wide"), (0, 100)), check=True),
    Claim("S7p", "More positive starts than Gaussian ones swing by (difference of shares).",
          "not in the paper (above 0)",
          positive_more_often,
          check=True),
    Claim("S9a", "Networks of one layer or of 64 dimensions do not swing by when they are evaluated once an epoch "
          "(share of networks).",
          "none (below 0.05); earlier replication of ours: 0 of 100",
          share_below(together(NONE, "epoch"), 0.05, lambda table: (
              f"{each_run(table, NONE, 'epoch')}; every second step: {each_run(table, NONE, 'step')}"))),
    Claim("S9b", "Deep linear networks of 2 and 3 dimensions swing by when they are evaluated at every step (share "
          "of networks).",
          "paper shows single networks (at least 0.3)",
          share_above(together(DEEP, "step"), 0.3, lambda table: each_run(table, DEEP, "step"))),
    Claim("S9c", "Most deep networks swing by if they start from weights of 0.3 times the size (share of networks).",
          "not in the paper (at least 0.8)",
          share_above(nets("run 27 small", "step"), 0.8), check=True),
    Claim("S9d", "At the released settings, evaluated once an epoch as the paper plots them, fewer than half of the "
          "deep networks swing by (share).",
          "earlier replication of ours: 81 of 600 (below 0.5)",
          share_below(together(DEEP, "epoch"), 0.5, lambda table: each_run(table, DEEP, "epoch")), check=True),
    Claim("S9r", "Networks swing by as often as in an earlier replication (configurations and levels that agree, by "
          "Fisher's exact test).",
          "earlier replication of ours: 81 (6), 64 (57), 76 (18), 169 (131), 27 (0), 9 (0) of 200, at steps (epochs)",
          same_counts, check=True),
)  # fmt: skip
