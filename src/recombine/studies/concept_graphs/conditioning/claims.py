"""Whether the way a condition enters decides what composes: questions put as rules, all on held-out classes."""

from collections.abc import Callable
from itertools import product
from typing import Any

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, Measure, Rule, above, shared_seeds
from recombine.lab.table import Table, at_end, select

FACTORS = ("conditions", "entry", "attention")  # of an arm


def held_out(table: Table, distance: int = 1, **arm: Any) -> dict[int, float]:
    """{seed: product accuracy at the end, the mean over the classes at this distance}."""
    return at_end(table, "reader.product", distance=distance, sampler=None, **arm)


def pairs(factor: str, one: Any, other: Any) -> Callable[[Table], list[tuple[BySeed, BySeed]]]:
    """Accuracy of held-out classes in every pair of arms that differ in this factor alone."""

    def measure(table: Table) -> list[tuple[BySeed, BySeed]]:
        rest = {name: table[name].drop_nulls().unique().sort() for name in FACTORS if name != factor}
        arms = [dict(zip(rest, values, strict=True)) for values in product(*rest.values())]
        both = [({**arm, factor: one}, {**arm, factor: other}) for arm in arms]
        there = [pair for pair in both if all(select(table, **arm).height for arm in pair)]
        return [(held_out(table, **a), held_out(table, **b)) for a, b in there]

    return measure


def gain(factor: str, one: Any, other: Any) -> Measure:
    """How much more accurate arms of the one kind are on held-out classes than those of the other, over all pairs."""

    def measure(table: Table) -> dict[int, float]:
        found = pairs(factor, one, other)(table)
        if not found:
            raise NotMeasured(f"needs {factor} {one} beside {other}")
        if not all(above and below for above, below in found):
            raise NotMeasured("an arm was not measured")
        seeds = shared_seeds(*(values for pair in found for values in pair))
        if not seeds:
            raise NotMeasured("no seed has all the arms that are compared")
        return {seed: sum(a[seed] - b[seed] for a, b in found) / len(found) for seed in seeds}

    return measure


def better(factor: str, one: Any, other: Any) -> Rule:
    """Arms of the one kind draw held-out classes better than those of the other."""
    each = pairs(factor, one, other)
    return above(gain(factor, one, other), 0, lambda table: f"over {len(each(table))} pairs of arms")


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
