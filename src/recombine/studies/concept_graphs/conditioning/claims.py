"""Whether the way a condition enters decides what composes: questions put as rules, all on held-out classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Measure, Rule, above
from recombine.lab.table import at_end, select

if TYPE_CHECKING:
    import polars as pl

FACTORS = ("conditions", "entry", "attention")  # of an arm


def held_out(table: pl.DataFrame, distance: int = 1, **arm: Any) -> dict[int, float]:
    """{seed: product accuracy at the end, the mean over the classes at this distance}."""
    return at_end(table, "reader.product", distance=distance, sampler=None, **arm)


def pairs(factor: str, one: Any, other: Any) -> Callable[[pl.DataFrame], list[tuple[BySeed, BySeed]]]:
    """Accuracy of held-out classes in every pair of arms that differ in this factor alone."""

    def measure(table: pl.DataFrame) -> list[tuple[BySeed, BySeed]]:
        rest = {name: table[name].drop_nulls().unique().sort().to_list() for name in FACTORS if name != factor}
        found: list[tuple[BySeed, BySeed]] = []
        for values in product(*rest.values()):
            arm = dict(zip(rest, values, strict=True))
            both = [arm | {factor: value} for value in (one, other)]
            if all(select(table, **each).height for each in both):
                found.append((held_out(table, **both[0]), held_out(table, **both[1])))
        return found

    return measure


def gain(factor: str, one: Any, other: Any) -> Measure:
    """How much more accurate arms of the one kind are on held-out classes than those of the other, over all pairs."""

    def measure(table: pl.DataFrame) -> dict[int, float]:
        found = pairs(factor, one, other)(table)
        if not found:
            raise NotMeasured(f"needs {factor} {one} beside {other}")
        if not all(above and below for above, below in found):
            raise NotMeasured("an arm was not measured")
        seeds = sorted(set.intersection(*(set(a) & set(b) for a, b in found)))
        if not seeds:
            raise NotMeasured("no seed has all the arms that are compared")
        return {seed: sum(a[seed] - b[seed] for a, b in found) / len(found) for seed in seeds}

    return measure


def better(factor: str, one: Any, other: Any) -> Rule:
    """Arms of the one kind draw held-out classes better than those of the other."""
    note: Callable[[pl.DataFrame], str] = lambda table: f"over {len(pairs(factor, one, other)(table))} pairs of arms"  # noqa: E731
    return above(gain(factor, one, other), 0, note)


CLAIMS = (
    Claim("C1", "an embedding summed over concepts composes better than a joint one (gain at distance 1)",
          "beyond (above 0)", better("entry", "multiply", "joint"), check=True),
    Claim("C2", "it composes better if it multiplies the features than if it is added (gain at distance 1)",
          "beyond (above 0)", better("entry", "multiply", "add"), check=True),
    Claim("C3", "the image's own values compose better than the tuple (gain at distance 1)",
          "Farid et al. 2025: discrete conditions harm (above 0)", better("conditions", "continuous", "binary"),
          check=True),
    Claim("C4", "complete conditions compose better than partly masked ones (gain at distance 1)",
          "Farid et al. 2025: dropped conditions harm (above 0)", better("conditions", "continuous", "masked"),
          check=True),
    Claim("C5", "attention helps to compose (gain at distance 1)", "beyond (above 0)", better("attention", True, False),
          check=True),
)  # fmt: skip
