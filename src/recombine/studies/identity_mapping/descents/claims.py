"""The claims of the descents (Yang et al. 2025, Figs 8 and 9)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, verdict_above
from recombine.lab.statistics import proportion_interval
from recombine.studies.identity_mapping._shared.flow_claims import count, share_below, share_like, share_rises

if TYPE_CHECKING:
    import polars as pl

BEFORE = {
    "triple A2": 70, "triple A": 22, "triple script A2": 38, "triple script A": 2, "quadruple script A2": 13,
    "quadruple script A": 2,
}  # fmt: skip
"""Of 200 Euler runs; 35, 11, 19, 1, 6 to 7 and 1%."""

LONG = 100  # the scripts' time, which the paper's figures show


def often(table: pl.DataFrame, arm: str, way: str) -> tuple[int, int]:
    """How many starts fall once a concept, of how many."""
    if (followed := count(table, arm, "all", "followed")) < LONG:
        raise NotMeasured(f"followed to t = {followed}: descents are counted up to {LONG}")
    falls = 3 if arm.startswith("triple") else 4
    return count(table, arm, way, f"falls.{falls}"), count(table, arm, way, "starts")


def as_often(table: pl.DataFrame, arm: str) -> Judgement:
    """S8a to S8f: the share of Euler runs."""
    stayed = count(table, arm, "euler", "stayed")
    k, n = often(table, arm, "flow")
    return share_like(*often(table, arm, "euler"), (BEFORE[arm], 200), f"{stayed} stayed; flow on U {k / n:.3f}")


def rare(table: pl.DataFrame, arm: str) -> Judgement:
    """S8g to S8j: the share of exact flows."""
    k, n = often(table, arm, "euler")
    return share_below(*often(table, arm, "flow"), 0.5, f"Euler on W {k / n:.3f}")


def euler_loses_them(table: pl.DataFrame) -> Judgement:
    """S8k: by how much likelier Euler is to lose a start whose flow falls three times (arm triple A2)."""
    arm = "triple A2"
    often(table, arm, "euler")
    starts, stayed = (count(table, arm, "euler", name) for name in ("starts", "stayed"))
    falls, both = (count(table, arm, "euler", name) for name in ("flow often", "flow often, cut"))
    if not 0 < falls < starts:
        return Judgement(None, None, starts, "undecided", "all flows are alike")
    cut = starts - stayed
    more, interval = share_rises((cut - both, starts - falls), (both, falls))
    note = f"{both} of {falls} against {cut - both} of {starts - falls} are cut"
    return Judgement(more, interval, starts, verdict_above(interval, 0, starts), note)


def exists(table: pl.DataFrame) -> Judgement:
    """S8: the share of exact flows with A that fall three times, told that it is not nothing."""
    k, n = often(table, "triple A", "flow")
    interval = proportion_interval(k, n)
    return Judgement(k / n, interval, n, verdict_above(interval, 0, n), "triple, A")


_SAYS = {
    "triple A2": "three falls, told signals, A^2", "triple A": "three falls, told signals, A",
    "triple script A2": "three falls, the script's signals, A^2", "triple script A": "three falls, the script's, A",
    "quadruple script A2": "four falls, the script's signals, A^2", "quadruple script A": "four falls, the script's, A",
}  # fmt: skip
_FLOWS = ("triple A", "triple A2", "quadruple script A", "quadruple script A2")

DESCENTS = (
    Claim("S8", "a loss that falls three times exists in the exact flow (share of starts)", "above 0 (Fig 8)", exists),
    *(
        Claim(
            f"S8{letter}",
            f"{_SAYS[arm]}, Euler on W (share of starts)",
            f"shown for one start; {100 * BEFORE[arm] / 200:g}% of 200",
            partial(as_often, arm=arm),
        )
        for letter, arm in zip("abcdef", BEFORE, strict=True)
    ),
    *(
        Claim(
            f"S8{letter}",
            f"{_SAYS[arm]}, exact flow: a minority (share of starts)",
            "below 0.5",
            partial(rare, arm=arm),
        )
        for letter, arm in zip("ghij", _FLOWS, strict=True)
    ),
    Claim(
        "S8k",
        "Euler on W loses the starts that would fall three times rather than the others (difference of shares, A^2)",
        "not discussed; above 0",
        euler_loses_them,
    ),
)
