"""Lemma 1 of Bradley 2026 for a family of laws: what its score depends on, and what follows from local scores alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from recombine.theory.composition.families import Condition, Family
from recombine.theory.composition.laws import Law, Pixels

if TYPE_CHECKING:
    from torch import Tensor

PANELS, NODES = 24, 16  # of the quadrature along a line


# What a score depends on


def conditioned_block(blocks: tuple[Pixels, ...], condition: Condition, size: int) -> Tensor:
    """The number of the conditioned block that each of `size` pixels is in; -1 for none.  # [D]"""
    owner = torch.full((size,), -1)
    for number, (block, value) in enumerate(zip(blocks, condition, strict=True)):
        if value:
            owner[list(block)] = number
    return owner


def neighbourhoods(blocks: tuple[Pixels, ...], condition: Condition, size: int) -> Tensor:
    """Whether pixel k is in N_i, which a local score may depend on.  # [D i, D k] bool"""
    owner = conditioned_block(blocks, condition, size)
    return owner[:, None] == owner[None, :]


def pixel_changes(law: Law, x: Tensor, sigma: float, step: float) -> Tensor:
    """How much s_i changes when pixel k alone moves by a step.  # [n, D i, D k]"""
    size = x.shape[1]
    moved = x[:, None] + step * torch.eye(size, dtype=x.dtype)  # [n, D k, D]
    scores = law.score(moved.flatten(0, 1), sigma).reshape(len(x), size, size)
    return (scores - law.score(x, sigma)[:, None]).mT


def largest_changes(
    family: Family, condition: Condition, x: Tensor, sigma: float, step: float, values: int
) -> dict[str, float]:
    """The largest change of any s_i when something inside or outside of N_i or L_i changes; and |s_i|, for scale.

    pixel: one pixel moves by a step. condition: a block gets another value. dropped: a block loses its condition, so
    that J changes; measured on the other conditioned blocks, whose N_i and L_i stay what they are.
    """
    owner = conditioned_block(family.blocks, condition, x.shape[1])
    near = neighbourhoods(family.blocks, condition, x.shape[1])
    score = family.at(condition).score(x, sigma)
    pixel = pixel_changes(family.at(condition), x, sigma, step).abs()
    found = {
        "score": float(score.abs().max()),
        "pixel.inside": _largest(pixel[:, near]),
        "pixel.outside": _largest(pixel[:, ~near]),
        "condition.inside": 0.0,
        "condition.outside": 0.0,
        "dropped.outside": 0.0,
    }
    for slot in (slot for slot, value in enumerate(condition) if value):
        inside, others = owner == slot, (owner != slot) & (owner >= 0)
        for value in range(values + 1):
            other = (*condition[:slot], value, *condition[slot + 1 :])
            change = (family.at(other).score(x, sigma) - score).abs()
            if value:
                found["condition.inside"] = max(found["condition.inside"], _largest(change[:, inside]))
                found["condition.outside"] = max(found["condition.outside"], _largest(change[:, ~inside]))
            else:
                found["dropped.outside"] = max(found["dropped.outside"], _largest(change[:, others]))
    return found


def _largest(values: Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


# From local scores back to the law, and to other conditions


def rebuilt(family: Family, condition: Condition, start: Tensor, end: Tensor, sigma: float, junk: Tensor) -> Tensor:
    """log p(end | c_J) - log p(start | c_J), from models of one condition at most.  # [n]

    The line integral of the score from start to end [n, D], where s_i on block j is that of the model with c_j alone,
    which receives junk [D] on all other pixels; outside the blocks of J it is that of the unconditional model. It is
    right if one f_i serves every J, and if the law without conditions has independent blocks.
    """
    given = {slot: block for slot, (block, value) in enumerate(zip(family.blocks, condition, strict=True)) if value}
    inside = {pixel for block in given.values() for pixel in block}
    singles = [(block, _only(condition, slot)) for slot, block in given.items()]
    rest = tuple(pixel for pixel in range(start.shape[1]) if pixel not in inside)
    total = torch.zeros_like(start[:, 0])
    for pixels, single in [*singles, (rest, _only(condition))]:
        if pixels:
            total += _along_line(family.at(single), list(pixels), start, end, sigma, junk)
    return total


def _along_line(law: Law, pixels: list[int], start: Tensor, end: Tensor, sigma: float, junk: Tensor) -> Tensor:
    """The integral of the score over these pixels, all others junk, by Gauss and Legendre on panels.  # [n]"""
    node, weight = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(NODES))
    place = ((torch.arange(PANELS)[:, None] + (node + 1) / 2) / PANELS).flatten()  # [m], in (0, 1)
    way = (end - start)[:, pixels]
    x = junk.expand(len(start), len(place), -1).clone()  # [n, m, D]
    x[..., pixels] = start[:, None, pixels] + place[:, None] * way[:, None]
    slope = law.score(x.flatten(0, 1), sigma)[:, pixels].reshape(len(start), len(place), -1)
    return (slope * way[:, None]).sum(2) @ (weight / (2 * PANELS)).repeat(PANELS)


def linear_composition(family: Family, condition: Condition, x: Tensor, sigma: float) -> Tensor:
    """s_b + sum_j (s_j - s_b): to the unconditional score, what each condition alone adds to it.  # [n, D]

    For a CPC family this is the score of c_J if the law without conditions has independent blocks.
    """
    base = family.at(_only(condition)).score(x, sigma)
    score = base.clone()
    for slot, value in enumerate(condition):
        if value:
            score += family.at(_only(condition, slot)).score(x, sigma) - base
    return score


def _only(condition: Condition, slot: int | None = None) -> Condition:
    """The condition with one slot kept, or none."""
    return tuple(value if number == slot else 0 for number, value in enumerate(condition))
