"""Tori in networks (Liang et al. 2024, Figs 2 and 3): the claims."""

import math
from typing import Any

import numpy as np

from recombine.instruments.bumps.evaluation import ALL
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_every
from recombine.lab.rules import BySeed, Note, Rule, above, between, final, mean
from recombine.lab.table import Table, at_end, curves

TRAINED, NULLS = "trained", "nulls"
HEADLINE = "up.0"
BLOCK: dict[str, Any] = {"block": HEADLINE, "trained": True}
RATIO, ADDITIVE = "geometry.participation ratio", "geometry.additive fraction"
MARGIN = 0.05  # noise alone lifts a blurred picture above its line by about a hundredth
CONJUNCTIVE: dict[str, dict[str, Any]] = {
    "pixels": {"block": "pixels"},
    "pooled by 4": {"block": "pooled by 4"},
    "random layer": {"block": "random layer"},
    f"untrained {HEADLINE}": {"block": HEADLINE, "trained": False},
}
"""Representations that were not learned and code x and y jointly: what a trained block must differ from."""
TORUS = (1.0, 2.0, 1.0)  # parts, loops and hollows


def rises_and_falls(table: Table) -> Judgement:
    """In every seed: from the second measurement on the participation ratio is largest at neither end. At the first
    one samples are noise, and the dimensions are the noise's.
    """
    found = [values[1:] for _, values in curves(table, RATIO, **BLOCK).values() if len(values) > 3]
    if not found:
        raise NotMeasured(f"the participation ratio of {HEADLINE} was not measured often enough")
    means = ", ".join(f"{np.mean([each[at] for each in found if at < len(each)]):.1f}" for at in range(len(found[0])))
    right = sum(0 < int(values.argmax()) < len(values) - 1 for values in found)
    return judge_every(right, len(found), f"on the mean over seeds {means}")


def has_holes_of_a_torus(table: Table) -> Judgement:
    """In every seed: one part, two loops, one hollow."""
    found = holes(table, **BLOCK)
    if not found:
        raise NotMeasured("holes were not counted")
    same = [name for name, of in CONJUNCTIVE.items() if set(holes(table, **of).values()) == {TORUS}]
    right = sum(own == TORUS for own in found.values())
    return judge_every(right, len(found), f"so have {', '.join(same)}" if same else "")


def holes(table: Table, **of: Any) -> dict[int, tuple[float | None, ...]]:
    """{seed: Betti numbers}, None where the rule cannot decide."""
    numbers = [at_end(table, "homology.betti", dimension=dimension, **of) for dimension in range(3)]
    return {seed: tuple(each.get(seed) for each in numbers) for seed in numbers[0]}


def beyond_nulls(table: Table) -> BySeed:
    """The additive fraction less the largest mean among the nulls that code x and y jointly."""
    highest = _largest_null(table)
    return {seed: value - highest for seed, value in at_end(table, ADDITIVE, **BLOCK).items()}


def beyond_blur(table: Table) -> BySeed:
    """The additive fraction less that of the blurred bump with the same participation ratio."""
    from recombine.instruments.representations.geometry import bump_additive_fraction

    side = _side(table)
    additive = at_end(table, ADDITIVE, **BLOCK)
    return {
        seed: additive[seed] - bump_additive_fraction(width, side, side)
        for seed, width in at_end(table, "geometry.width by ratio", **BLOCK).items()
    }


def of_block(instrument: str, low: float, high: float, **where: Any) -> Rule:
    """The number of the headline block lies between bounds at the end; the note has that of the nulls."""
    return between(final(instrument, **BLOCK, **where), low, high, nulls_note(instrument, **where))


def nulls_note(instrument: str, **where: Any) -> Note:
    """What the nulls have of the same, in words."""

    def note(table: Table) -> str:
        found = {name: at_end(table, instrument, **of, **where) for name, of in CONJUNCTIVE.items()}
        return ", ".join(f"{name} {mean(values):.2f}" for name, values in found.items() if values)

    return note


def _largest_null(table: Table) -> float:
    found = {name: at_end(table, ADDITIVE, **of) for name, of in CONJUNCTIVE.items()}
    if missing := [name for name, values in found.items() if not values]:
        raise NotMeasured(f"{ADDITIVE} of {missing[0]} was not measured")
    return max(map(mean, found.values()))


def _side(table: Table) -> int:
    """Places along an axis."""
    found = at_end(table, "places")
    if not found:
        raise NotMeasured("the nulls were not measured")
    return math.isqrt(round(next(iter(found.values()))))


RINGS = "as x on y of the 3D torus, 0.5 (0.3 to 0.8)"
CLAIMS = (
    Claim("T1", "Bumps are drawn where they are asked for (accuracy)", "learned (above 0.95)",
          above(final("darkest.both", arm=TRAINED, region=ALL), 0.95,
                lambda table: f"by the fine estimate {mean(at_end(table, 'fine.both', arm=TRAINED, region=ALL)):.3f}")),
    Claim("T2", "The first block on the way up ends with few dimensions (participation ratio)", "about 7 (5 to 10)",
          of_block(RATIO, 5, 10)),
    Claim("T2b", "It has most of them on the way, from the second measurement on (share of seeds)",
          "rises, then falls", rises_and_falls),
    Claim("T3", "It has the holes of a torus: 1, 2, 1 (share of seeds)", "1, 2, 1 in the one run",
          has_holes_of_a_torus),
    Claim("T4", "Rings of x and rings of y lie in orthogonal planes (share r of a ring outside of the other's plane)",
          "near the Clifford torus, 1 (above 0.9)", of_block("geometry.residual", 0.9, 1.0, rings="x on y")),
    Claim("T5", "Rings of x at different x are neither parallel nor orthogonal (r)", RINGS,
          of_block("geometry.residual", 0.3, 0.8, rings="x on x")),
    Claim("T5b", "Rings of y at different y are neither parallel nor orthogonal (r)", RINGS,
          of_block("geometry.residual", 0.3, 0.8, rings="y on y")),
    Claim("T6", "The code is more additive in x and y than anything untrained that codes them jointly (additive "
          "fraction, less the largest mean of these)", "factorised (above 0)",
          above(beyond_nulls, 0.0, lambda table: f"the largest null: {_largest_null(table):.3f}"), check=True),
    Claim("T6b", "It is more additive than a blurred picture of as many dimensions (additive fraction, difference)",
          "factorised (above 0.05)",
          above(beyond_blur, MARGIN, lambda table:
                f"that bump is {mean(at_end(table, 'geometry.width by ratio', **BLOCK)):.2f} px wide"), check=True),
)  # fmt: skip
