"""Near ones, or the same row and column: the rules, which say what is expected if what is near decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.instruments.bump_subject import KNOWN, NEW
from recombine.instruments.place_evaluation import LINES, NEAR
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above
from recombine.lab.table import at_end, curves
from recombine.worlds.holdouts import HELD_OUT, SEEN

if TYPE_CHECKING:
    import polars as pl

RANDOM, BLOCKS, GRID = ARMS = ("random", "blocks", "grid")
PER_ROW = 3  # labels seen in each row and column, on the mean

Rule = Callable[["pl.DataFrame"], Judgement]


def unseen(table: pl.DataFrame, arm: str, how: str = "fine") -> dict[int, float]:
    """{seed: share of the places never seen that are right at the end}"""
    return at_end(table, f"{how}.both", arm, [NEW if arm == RANDOM else HELD_OUT])


def known(table: pl.DataFrame, arm: str) -> dict[int, float]:
    """{seed: share of the places seen that are right at the end}"""
    return at_end(table, "fine.both", arm, [KNOWN if arm == RANDOM else SEEN])


def grouped(table: pl.DataFrame, arm: str, name: str, how: str = "fine") -> dict[int, dict[int, float]]:
    """{seed: {distance, or number in line: share of the places never seen that are right}}, ascending."""
    found: dict[int, dict[int, float]] = {}
    for (seed, node), (_, values) in curves(table, f"{name}.{how}", arm).items():
        found.setdefault(seed, {})[int(node)] = float(values[-1])
    return {seed: dict(sorted(own.items())) for seed, own in found.items()}


def all_seen(table: pl.DataFrame) -> Judgement:
    """What was seen is right, in the arm where that is least."""
    found = {arm: values for arm in ARMS if (values := known(table, arm))}
    if not found:
        raise NotMeasured("no arm was measured")
    least = min(found, key=lambda arm: sum(found[arm].values()) / len(found[arm]))
    return judge_above(list(found[least].values()), 0.9, f"least for {least}")


def more_in(more: str, less: str) -> Rule:
    """More of what was never seen is right in one arm than in the other, the same seed of both."""

    def judge(table: pl.DataFrame) -> Judgement:
        high, low = unseen(table, more), unseen(table, less)
        seeds = sorted(high.keys() & low.keys())
        if not seeds:
            raise NotMeasured(f"{more} and {less} share no seed")
        beside = ", ".join(
            f"{arm} {_mean(unseen(table, arm)):.2f} (darkest {_mean(unseen(table, arm, 'darkest')):.2f})"
            for arm in (more, less)
        )
        return judge_above([high[seed] - low[seed] for seed in seeds], 0.0, beside)

    return judge


def beyond_recall(table: pl.DataFrame) -> Judgement:
    """RW1: off the blocks, where the nearest label is wrong by a pixel or more."""
    values = unseen(table, BLOCKS)
    if not values:
        raise NotMeasured("blocks were not measured")
    return judge_above(list(values.values()), 0.0, "recall: 0")


def within_random(name: str, first: Callable[[int], bool], last: Callable[[int], bool]) -> Rule:
    """In the arm `random`: the mean over groups at one end less that at the other."""

    def judge(table: pl.DataFrame) -> Judgement:
        differences = []
        for own in grouped(table, RANDOM, name).values():
            ends = [[value for group, value in own.items() if is_end(group)] for is_end in (first, last)]
            if all(ends):
                differences.append(sum(ends[0]) / len(ends[0]) - sum(ends[1]) / len(ends[1]))
        if not differences:
            raise NotMeasured("no seed has both groups")
        return judge_above(differences, 0.0)

    return judge


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values) if values else float("nan")


_IF_NEAR = "not asked (above 0 if what is near decides)"

ROWS = (
    Claim("RW0", "What was seen is right in every arm (the lowest)",
          "not asked (above 0.9); without it the others say little", all_seen),
    Claim("RW1", "Blocks: where no block is, in rows and columns that were all seen, bumps are right more often than "
          "recall gives", "not asked (above 0)", beyond_recall),
    Claim("RW2", "More is right if labels are scattered than if as many are clumped into blocks, as many to each row "
          "and column (difference)", f"{_IF_NEAR}; about 0 if rows and columns do", more_in(RANDOM, BLOCKS)),
    Claim("RW3", "More is right on a grid, whose labels are all near and leave most rows and columns unseen, than if "
          "they are scattered (difference)", f"{_IF_NEAR}; below 0 if rows and columns do", more_in(GRID, RANDOM)),
    Claim("RW4", "Scattered: places beside one that was seen are right more often than those 3 px away or more "
          "(difference)", _IF_NEAR, within_random(NEAR, lambda apart: apart <= 1, lambda apart: apart >= 3)),
    Claim("RW5", "Scattered: places whose row and column were seen three times or more are right more often than those "
          "where one of them was never seen (difference)", "not asked (above 0 if rows and columns decide)",
          within_random(LINES, lambda number: number >= PER_ROW, lambda number: number == 0)),
)  # fmt: skip
