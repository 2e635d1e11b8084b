"""The claims of the failure that is none (Yang et al. 2025, Fig 10)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every, verdict_above
from recombine.lab.statistics import bootstrap_interval
from recombine.studies.identity_mapping._shared.flow_claims import count, share_like, share_rises, values

if TYPE_CHECKING:
    import polars as pl

PLOTTED = 100.0
LONG = 400  # the scripts' time after which nothing is left to wait for
ETAS = ("0.01", "0.001")


def seen(table: pl.DataFrame, arm: str, node: str, instrument: str) -> int:
    """A number of starts, if they were followed long enough to tell."""
    if (followed := count(table, arm, "all", "followed")) < LONG:
        raise NotMeasured(f"followed to t = {followed}: whether a start recovers is seen by {LONG}")
    return count(table, arm, node, instrument)


def recovers(table: pl.DataFrame, arm: str) -> Judgement:
    """S12, S12b: how many starts of the exact flow learn the weakest concept."""
    late = seen(table, arm, "flow", "late")
    return judge_every(
        seen(table, arm, "flow", "recovered"), seen(table, arm, "flow", "starts"), f"{late} of them after t = 100"
    )


def unfinished(table: pl.DataFrame) -> Judgement:
    """S12c: the share of flows that have not escaped where the paper's figure ends, with A^2."""
    return share_like(seen(table, "A2", "flow", "late"), seen(table, "A2", "flow", "starts"), (57, 60))


def escape(table: pl.DataFrame) -> Judgement:
    """S12d: the median time of escape with A^2, against the end of the paper's figure."""
    seen(table, "A2", "flow", "recovered")
    times = values(table, "A2", "escape")
    if not len(times):
        raise NotMeasured("no start escaped")
    interval, (low, high) = bootstrap_interval(times, np.median), np.quantile(times, [0.05, 0.95])
    note = f"nine in ten from {low:.0f} to {high:.0f}"
    return Judgement(float(np.median(times)), interval, len(times), verdict_above(interval, PLOTTED, len(times)), note)


def coincide(table: pl.DataFrame, arm: str) -> Judgement:
    """S12e, S12f: in how many Euler runs failing in the end and losing semidefiniteness are the same thing."""
    same = total = 0
    said = []
    for eta in ETAS:
        node = f"euler {eta}"
        failed, lost, both, neither, n = (
            seen(table, arm, node, name) for name in ("failed.end", "lost.end", "both.end", "neither.end", "starts")
        )
        same, total = same + both + neither, total + n
        said.append(f"step {eta}: {failed} of {n} fail, {lost} are lost, {both} both")
    return judge_every(same, total, "; ".join(said))


def fewer_with_small_steps(table: pl.DataFrame, arm: str) -> Judgement:
    """S12g, S12h: by how much fewer runs fail with a tenth of the step."""
    small, large = (
        (seen(table, arm, f"euler {eta}", "failed.end"), seen(table, arm, f"euler {eta}", "starts"))
        for eta in reversed(ETAS)
    )
    fewer, interval = share_rises(small, large)
    n = min(small[1], large[1])
    note = f"{large[0]} of {large[1]} at 0.01, {small[0]} of {small[1]} at 0.001"
    return Judgement(fewer, interval, n, verdict_above(interval, 0, n), note)


def euler_fails(table: pl.DataFrame, arm: str, before: tuple[int, int]) -> Judgement:
    """S12i, S12j: the share of Euler runs that fail, at the scripts' step."""
    return share_like(seen(table, arm, "euler 0.01", "failed.end"), seen(table, arm, "euler 0.01", "starts"), before)


FAILURE = (
    Claim(
        "S12",
        "followed past the figure, every start of the flow recovers, A^2 (share of starts)",
        "failure in one start; 60 of 60 recover",
        partial(recovers, arm="A2"),
    ),
    Claim("S12b", "the same with A (share of starts)", "60 of 60 recover", partial(recovers, arm="A")),
    Claim("S12c", "most have not escaped where the figure ends, A^2 (share of starts)", "57 of 60", unfinished),
    Claim(
        "S12d", "the typical escape comes after the figure's end, A^2 (median time)", "118 to 121 (above 100)", escape
    ),
    Claim(
        "S12e",
        "an Euler run fails for good if and only if W stops being semidefinite, A^2 (share of runs)",
        "1",
        partial(coincide, arm="A2"),
    ),
    Claim("S12f", "the same with A (share of runs)", "1", partial(coincide, arm="A")),
    Claim(
        "S12g",
        "fewer fail with a tenth of the step, A^2 (difference of shares)",
        "above 0",
        partial(fewer_with_small_steps, arm="A2"),
    ),
    Claim("S12h", "the same with A (difference of shares)", "above 0", partial(fewer_with_small_steps, arm="A")),
    Claim(
        "S12i",
        "Euler runs fail as often as found before, A^2 (share of runs)",
        "47 of 60",
        partial(euler_fails, arm="A2", before=(47, 60)),
    ),
    Claim("S12j", "the same with A (share of runs)", "29 of 60", partial(euler_fails, arm="A", before=(29, 60))),
)
