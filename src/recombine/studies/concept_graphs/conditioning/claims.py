"""Whether the way a condition enters decides what composes: questions put as rules, all on held-out classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above
from recombine.lab.table import at_end, distances

if TYPE_CHECKING:
    import polars as pl


def held_out(table: pl.DataFrame, arm: str, distance: int = 1) -> dict[int, float]:
    """For each seed: product accuracy at the end, the mean over the classes at this distance."""
    nodes = [node for node, far in distances(table, arm).items() if far == distance]
    found = at_end(table, "reader.product", arm, nodes)
    if not found:
        raise NotMeasured(f"arm {arm} was not measured")
    return found


def better(one: tuple[str, ...], other: tuple[str, ...]) -> Callable[[pl.DataFrame], Judgement]:
    """How much more accurate arms of the first kind are at distance 1 than those of the second: their mean difference,
    one value a seed.
    """

    def judge(table: pl.DataFrame) -> Judgement:
        present = set(table["arm"].unique())
        pairs = [(a, b) for a, b in zip(one, other, strict=True) if a in present and b in present]
        if not pairs:
            raise NotMeasured(f"needs {one[0]} beside {other[0]}")
        above, below = ([held_out(table, pair[i]) for pair in pairs] for i in (0, 1))
        seeds = set.intersection(*(set(found) for found in above + below))
        gains = [sum(a[s] - b[s] for a, b in zip(above, below, strict=True)) / len(pairs) for s in sorted(seeds)]
        if not gains:
            raise NotMeasured("no seed has all the arms that are compared")
        return judge_above(gains, 0.0, f"over {len(pairs)} pairs of arms")

    return judge


_MARKS = ("", "-plain")
_TOLD = ("continuous", "binary", "masked")
_ENTRIES = ("sum", "added", "joint")


def _entry(entry: str) -> tuple[str, ...]:
    return tuple(f"{told}-{entry}{mark}" for told in _TOLD for mark in _MARKS)


def _told(told: str) -> tuple[str, ...]:
    return tuple(f"{told}-{entry}{mark}" for entry in _ENTRIES for mark in _MARKS)


def _mark(mark: str) -> tuple[str, ...]:
    return tuple(f"{told}-{entry}{mark}" for told in _TOLD for entry in _ENTRIES)


CONDITIONING = (
    Claim(
        "C1",
        "an embedding summed over concepts composes better than a joint one (gain at distance 1)",
        "beyond (above 0)",
        better(_entry("sum"), _entry("joint")),
    ),
    Claim(
        "C2",
        "it composes better if it multiplies the features than if it is added (gain at distance 1)",
        "beyond (above 0)",
        better(_entry("sum"), _entry("added")),
    ),
    Claim(
        "C3",
        "the image's own values compose better than the tuple (gain at distance 1)",
        "Farid et al. 2025: discrete conditions harm (above 0)",
        better(_told("continuous"), _told("binary")),
    ),
    Claim(
        "C4",
        "complete conditions compose better than partly masked ones (gain at distance 1)",
        "Farid et al. 2025: dropped conditions harm (above 0)",
        better(_told("continuous"), _told("masked")),
    ),
    Claim(
        "C5",
        "attention helps to compose (gain at distance 1)",
        "beyond (above 0)",
        better(_mark(""), _mark("-plain")),
    ),
)
