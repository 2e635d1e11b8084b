"""The same number of labels, arranged in five ways: the rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import least, less, mean
from recombine.lab.table import at_end
from recombine.studies.bumps._shared.accounts import ACCOUNTS, GRAPH, LINES, NEAR, OVERLAP
from recombine.worlds.holdouts import HELD_OUT, SEEN

if TYPE_CHECKING:
    import polars as pl

RANDOM, APART, JOINED, BLOCKS, GRID = ARMS = ("random", "apart", "joined", "blocks", "grid")
PER_ROW = 3  # labels seen in each row and column
TOLD = "accounts"  # the arm that says what each account expects
CLOSE = 0.1

Rule = Callable[["pl.DataFrame"], Judgement]


def unseen(table: pl.DataFrame, arm: str, how: str = "fine") -> dict[int, float]:
    """{seed: share of the places never seen that are right at the end}"""
    return at_end(table, f"{how}.both", arm, [NEW]) or at_end(table, f"{how}.both", arm, [HELD_OUT])


def told(table: pl.DataFrame, account: str, name: str) -> dict[int, float]:
    """{seed: what the account expects of a set}"""
    return at_end(table, f"account.{account}", TOLD, [name])


def sets_of(table: pl.DataFrame) -> list[str]:
    """The other training sets that were drawn at random, of `percolation` and `efficiency`."""
    return [arm for arm in dict.fromkeys(table["arm"].to_list()) if arm not in (*ARMS, TOLD)]


def all_seen(table: pl.DataFrame) -> Judgement:
    """What was seen is right, in the arm where that is least."""
    found = {arm: at_end(table, "fine.both", arm, [KNOWN]) or at_end(table, "fine.both", arm, [SEEN]) for arm in ARMS}
    arm = least(found)
    return judge_above(list(found[arm].values()), 0.9, f"least for {arm}")


def more_in(more: str, fewer: str) -> Rule:
    """More of what was never seen is right in one arm than in the other, the same seed of both."""

    def judge(table: pl.DataFrame) -> Judgement:
        values = less(unseen(table, more), unseen(table, fewer), f"{more} and {fewer}")
        beside = ", ".join(
            f"{arm} {mean(unseen(table, arm)):.2f} (darkest {mean(unseen(table, arm, 'darkest')):.2f})"
            for arm in (more, fewer)
        )
        return judge_above(list(values.values()), 0.0, beside)

    return judge


def tells(account: str, other_sets: bool = False) -> Rule:
    """The account is right: what it expects is off by less than a tenth, the mean over sets, a value a seed."""

    def judge(table: pl.DataFrame) -> Judgement:
        names = sets_of(table) if other_sets else ARMS
        errors = errors_of(table, account, names)
        if not errors:
            raise NotMeasured("no seed has all of the sets and what is expected of them")
        beside = "" if other_sets else ", ".join(
            f"{arm} {mean(told(table, account, arm)):.2f} ({mean(unseen(table, arm)):.2f})" for arm in ARMS
        )  # fmt: skip
        return judge_below(list(errors.values()), CLOSE, beside and f"expected (found): {beside}")

    return judge


def errors_of(table: pl.DataFrame, account: str, names: Collection[str]) -> dict[int, float]:
    """{seed: how far the account is off, the mean over these sets}, of seeds that have all of them."""
    pairs = [(told(table, account, name), unseen(table, name)) for name in names]
    if not pairs:
        return {}
    seeds = set.intersection(*(set(expected) & set(found) for expected, found in pairs))
    return {
        seed: sum(abs(expected[seed] - found[seed]) for expected, found in pairs) / len(pairs)
        for seed in sorted(seeds)
    }  # fmt: skip


_NAMES = {
    OVERLAP: "bumps that overlap the largest cluster are learnt",
    NEAR: "bumps within 2 px of one that was seen are learnt",
    LINES: "bumps whose row and column were seen are learnt",
    GRAPH: "bumps whose row and column are joined by what was seen are learnt",
}

ARRANGEMENTS = (
    Claim("AR0", "What was seen is right in every arm (the lowest)",
          "not asked (above 0.9); without it the others say little", all_seen),
    *(Claim(f"AR1-{account}", f"Five arrangements: {_NAMES[account]} (mean error)",
            f"{'its account' if account == OVERLAP else 'not asked'} (below {CLOSE:g})", tells(account))
      for account in ACCOUNTS),
    Claim("AR2", "Scattered labels: more is right if rows and columns are joined than if they fall into pieces, as "
          "many labels to each (difference)", "not asked (above 0 if the graph decides)", more_in(JOINED, APART)),
    Claim("AR3", "More is right if pieces are scattered over the image than if they are blocks (difference)",
          "not asked (0 if the graph, or rows and columns, decide)", more_in(APART, BLOCKS)),
    Claim("AR4", "More is right with scattered labels than on a grid, where all are near (difference)",
          "not asked (below 0 if what is near, or overlaps, decides)", more_in(RANDOM, GRID)),
    *(Claim(f"AR5-{account}", f"Random sets of all sizes, shares and widths: {_NAMES[account]} (mean error)",
            f"{'its account' if account == OVERLAP else 'not asked'} (below {CLOSE:g})", tells(account, True))
      for account in ACCOUNTS),
)  # fmt: skip
