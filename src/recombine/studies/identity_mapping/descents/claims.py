"""The claims of the descents (Yang et al. 2025, Figs 8 and 9)."""

from recombine.lab.claims import Claim, Judgement, NotMeasured, verdict_above
from recombine.lab.shares import Share, as_before, share_above, share_below, share_rises
from recombine.lab.table import Table, select
from recombine.runs.identity.descents import Way
from recombine.studies.identity_mapping._shared.starts import count

BEFORE = {
    "triple A2": 70, "triple A": 22, "triple script A2": 38, "triple script A": 2, "quadruple script A2": 13,
    "quadruple script A": 2,
}  # fmt: skip
"""Of 200 Euler runs; 35, 11, 19, 1, 6 to 7 and 1%."""

SAYS = {
    "triple A2": "the loss falls three times (the text's signals, A^2",
    "triple A": "the loss falls three times (the text's signals, A",
    "triple script A2": "the loss falls three times (the script's signals, A^2",
    "triple script A": "the loss falls three times (the script's signals, A",
    "quadruple script A2": "the loss falls four times (the script's signals, A^2",
    "quadruple script A": "the loss falls four times (the script's signals, A",
}  # fmt: skip
LONG = 100  # the scripts' time, which the paper's figures show


def often(arm: str, way: Way) -> Share:
    """How many starts fall once a concept, of how many."""

    def share(table: Table) -> tuple[int, int]:
        if (followed := count(table, "followed", arm=arm)) < LONG:
            raise NotMeasured(f"followed to t = {followed}: descents are counted up to {LONG}")
        falls = int(select(table, "followed", arm=arm)["concepts"][0])
        return count(table, "fallen", arm=arm, way=way, falls=falls), count(table, "starts", arm=arm, way=way)

    return share


def euler_loses_them(table: Table) -> Judgement:
    """By how much likelier Euler is to lose a start whose flow falls three times (arm triple A2)."""
    arm = "triple A2"
    often(arm, "euler")(table)
    starts, stayed, falls, both = (
        count(table, name, arm=arm, way="euler") for name in ("starts", "stayed", "flow often", "flow often, cut")
    )
    if not 0 < falls < starts:
        return Judgement(None, None, starts, "undecided", "all flows are alike")
    cut = starts - stayed
    more, interval = share_rises((cut - both, starts - falls), (both, falls))
    note = f"{both} of {falls} against {cut - both} of {starts - falls} are cut"
    return Judgement(more, interval, starts, verdict_above(interval, 0, starts), note)


def _share_text(table: Table, arm: str, way: Way) -> str:
    k, n = often(arm, way)(table)
    return f"{k / n:.3f}"


def _as_often(letter: str, arm: str) -> Claim:
    """The share of Euler runs is the one found before."""
    return Claim(
        f"S8{letter}", f"In Euler runs on W {SAYS[arm]}; share of starts).",
        f"paper shows one start; earlier replication of ours: {100 * BEFORE[arm] / 200:g}% of 200",
        as_before(often(arm, "euler"), (BEFORE[arm], 200), lambda table: (
            f"{count(table, 'stayed', arm=arm, way='euler')} stayed; flow on U {_share_text(table, arm, 'flow')}"
        )), check=arm != "quadruple script A2",  # Fig 9 as released
    )  # fmt: skip


def _rare(letter: str, arm: str) -> Claim:
    """The share of exact flows is a minority."""
    return Claim(
        f"S8{letter}", f"In fewer than half of the exact flows {SAYS[arm]}; share of starts).",
        "not in the paper (below 0.5)",
        share_below(often(arm, "flow"), 0.5, lambda table: f"Euler on W {_share_text(table, arm, 'euler')}"),
        check=True,
    )  # fmt: skip


CLAIMS = (
    Claim("S8", "In the exact flow there are starts whose loss falls three times (share of starts).", "above 0 (Fig 8)",
          share_above(often("triple A", "flow"), 0, "triple, A")),
    *(_as_often(*each) for each in zip("abcdef", BEFORE, strict=True)),
    _rare("g", "triple A"),
    _rare("h", "triple A2"),
    _rare("i", "quadruple script A"),
    _rare("j", "quadruple script A2"),
    Claim("S8k", "Euler on W loses the starts that would fall three times rather than the others (difference of "
          "shares, A^2).", "not in the paper (above 0)", euler_loses_them, check=True),
)  # fmt: skip
