"""Tori in networks (Liang et al. 2024, Figs. 2 and 3): the rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.instruments.bumps.evaluation import ALL
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every, judge_within
from recombine.lab.table import at_end, curves

if TYPE_CHECKING:
    import polars as pl

TRAINED, NULLS = "trained", "nulls"
HEADLINE = "up.0"
RATIO, ADDITIVE = "geometry.participation ratio", "geometry.additive fraction"
MARGIN = 0.05  # noise alone lifts a blurred picture above its line by about a hundredth
CONJUNCTIVE = ("pixels", "pooled by 4", "random layer", f"untrained {HEADLINE}")
"""Nulls that hold x and y in one: what a trained block must be told apart from."""


def ends(table: pl.DataFrame, instrument: str, node: str = HEADLINE, arm: str = TRAINED) -> dict[int, float]:
    """For each seed: the value at the end of training."""
    found = at_end(table, instrument, arm, [node])
    if not found:
        raise NotMeasured(f"{instrument} of {node} was not measured")
    return found


def between(instrument: str, low: float, high: float) -> Callable[[pl.DataFrame], Judgement]:
    """The value at the end lies between bounds."""

    def judge(table: pl.DataFrame) -> Judgement:
        return judge_within(list(ends(table, instrument).values()), low, high, _nulls(table, instrument))

    return judge


def is_learned(table: pl.DataFrame) -> Judgement:
    """Accuracy at the end, by the darkest pixel, all labels."""
    fine = ends(table, "fine.both", ALL)
    note = f"by the fine estimate {np.mean(list(fine.values())):.3f}"
    return judge_above(list(ends(table, "darkest.both", ALL).values()), 0.95, note)


def rises_and_falls(table: pl.DataFrame) -> Judgement:
    """In every seed: from the second look on the participation ratio is largest at neither end. At the first look
    samples are noise, and the dimensions are the noise's.
    """
    found = [values[1:] for _, values in curves(table, RATIO, TRAINED, HEADLINE).values() if len(values) > 3]
    if not found:
        raise NotMeasured(f"the participation ratio of {HEADLINE} was not measured often enough")
    means = ", ".join(f"{np.mean([each[at] for each in found if at < len(each)]):.1f}" for at in range(len(found[0])))
    right = sum(0 < int(values.argmax()) < len(values) - 1 for values in found)
    return judge_every(right, len(found), f"on the mean over seeds {means}")


def has_holes_of_a_torus(table: pl.DataFrame) -> Judgement:
    """In every seed: one part, two loops, one hollow."""
    numbers = [at_end(table, f"homology.b{d}", TRAINED, [HEADLINE]) for d in range(3)]
    seeds = sorted(numbers[0])
    if not seeds:
        raise NotMeasured("holes were not counted")
    right = sum(tuple(each.get(seed) for each in numbers) == (1.0, 2.0, 1.0) for seed in seeds)
    same = [name for name in CONJUNCTIVE if _torus_of_null(table, name)]
    return judge_every(right, len(seeds), f"so have {', '.join(same)}" if same else "")


def more_additive_than_nulls(table: pl.DataFrame) -> Judgement:
    """The additive fraction less the largest among the nulls that hold x and y in one."""
    return judge_above(*_beyond(table, [ends(table, ADDITIVE, name, NULLS) for name in CONJUNCTIVE]))


def more_additive_than_blur(table: pl.DataFrame) -> Judgement:
    """The additive fraction less that of the blurred bump with the same participation ratio."""
    from recombine.instruments.representations.geometry import bump_additive_fraction

    width, side = ends(table, "geometry.width by ratio"), _side(table)
    additive = ends(table, ADDITIVE)
    gains = [additive[seed] - bump_additive_fraction(width[seed], side, side) for seed in width]
    return judge_above(gains, MARGIN, f"that bump is {np.mean(list(width.values())):.2f} px wide")


def _beyond(table: pl.DataFrame, nulls: list[dict[int, float]]) -> tuple[list[float], float, str]:
    highest = max(float(np.mean(list(null.values()))) for null in nulls)
    values = [value - highest for value in ends(table, ADDITIVE).values()]
    return values, 0.0, f"the largest null: {highest:.3f}"


def _nulls(table: pl.DataFrame, instrument: str) -> str:
    """What the nulls have of the same, in words."""
    found = {name: at_end(table, instrument, NULLS, [name]) for name in CONJUNCTIVE}
    said = [f"{name} {np.mean(list(values.values())):.2f}" for name, values in found.items() if values]
    return ", ".join(said)


def _torus_of_null(table: pl.DataFrame, name: str) -> bool:
    numbers = [at_end(table, f"homology.b{d}", NULLS, [name]) for d in range(3)]
    return all(bool(each) and set(each.values()) == {want} for each, want in zip(numbers, (1.0, 2.0, 1.0), strict=True))


def _side(table: pl.DataFrame) -> int:
    """Places along an axis."""
    found = at_end(table, "places", NULLS, ["pixels"])
    if not found:
        raise NotMeasured("the nulls were not measured")
    return math.isqrt(round(next(iter(found.values()))))


TORUS = (
    Claim("T1", "bumps are drawn where they are asked for (accuracy)", "learned (above 0.95)", is_learned),
    Claim(
        "T2",
        "the first block on the way up ends with few dimensions (participation ratio)",
        "about 7 (5 to 10)",
        between(RATIO, 5, 10),
    ),
    Claim(
        "T2b",
        "and has most of them on the way, from the second look on (share of seeds)",
        "rises, then falls",
        rises_and_falls,
    ),
    Claim(
        "T3", "it has the holes of a torus: 1, 2, 1 (share of seeds)", "1, 2, 1 in the one run", has_holes_of_a_torus
    ),
    Claim(
        "T4",
        "rings of x and rings of y lie in orthogonal planes (share r of a ring outside of the other's plane)",
        "near the Clifford torus, 1 (above 0.9)",
        between("geometry.x on y.residual", 0.9, 1.0),
    ),
    Claim(
        "T5",
        "rings of x at different x are neither parallel nor orthogonal (r)",
        "as x on y of the 3D torus, 0.5 (0.3 to 0.8)",
        between("geometry.x on x.residual", 0.3, 0.8),
    ),
    Claim(
        "T5b",
        "nor are rings of y (r)",
        "as x on y of the 3D torus, 0.5 (0.3 to 0.8)",
        between("geometry.y on y.residual", 0.3, 0.8),
    ),
    Claim(
        "T6",
        "x and y are held apart more than in anything untrained (additive fraction, less that of the nulls)",
        "factorised (above 0)",
        more_additive_than_nulls,
    ),
    Claim(
        "T6b",
        "and more than in a blurred picture of as many dimensions (additive fraction, difference)",
        "factorised (above 0.05)",
        more_additive_than_blur,
    ),
)
