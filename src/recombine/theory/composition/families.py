"""Conditional Projective Composition (Bradley 2026, Defs 1 and 2, Lemma 1): families of laws that compose exactly.

Blocks M_j of pixels are disjoint. A family is CPC if the law of x under the conditions of a set J is
    p(x | c_J) = p(x outside the blocks of J | no condition) * product over j in J of p(x_{M_j} | c_j).
Lemma 1: this holds if and only if the score is local, s_i = f_i(x_{N_i}, c_{L_i}), with N_i = M_j and L_i = {j} for i
in a block M_j that has a condition; elsewhere N_i is everything outside those blocks, and L_i is empty. Blocks are
Gaussian mixtures here, so all is exact. A condition is a tuple: the value of each block, 1, 2, ..., or 0 for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.theory.composition.laws import Law, Mixture, Pixels, Product, Tied, mix

if TYPE_CHECKING:
    from torch import Tensor

Condition = tuple[int, ...]
Null = Literal["independent", "joint"]


class Family(Protocol):
    """A law for every condition."""

    @property
    def blocks(self) -> tuple[Pixels, ...]:
        """M_j, the pixels of each block."""
        ...

    def at(self, condition: Condition) -> Law:
        """p(x | c_J)"""
        ...


@dataclass(frozen=True)
class Composition:
    """An exact CPC family. `null` is the law without conditions, of independent parts, which may span several blocks;
    `conditional[j][v - 1]` is the law of block j under its value v.
    """

    blocks: tuple[Pixels, ...]
    conditional: tuple[tuple[Mixture, ...], ...]
    null: Product

    def __post_init__(self) -> None:
        inside = [pixel for block in self.blocks for pixel in block]
        pixels = {pixel for part, _ in self.null.parts for pixel in part}
        if len(set(inside)) < len(inside) or not set(inside) <= pixels:
            raise UserError("the blocks of a composition must be disjoint, and of pixels of the law without conditions")
        sizes = [{law.means.shape[1] for law in laws} for laws in self.conditional]
        if sizes != [{len(block)} for block in self.blocks]:
            raise UserError("each block needs at least one conditional law, on as many pixels as it has")

    def at(self, condition: Condition) -> Product:
        """p(x | c_J)."""
        if len(condition) != len(self.blocks):
            raise UserError(f"a condition of {len(condition)} values was given; there are {len(self.blocks)} blocks")
        for value, laws in zip(condition, self.conditional, strict=True):
            if not 0 <= value <= len(laws):
                raise UserError(f"a block has condition {value}: give 1 to {len(laws)}, or 0 for none")
        each = zip(self.blocks, self.conditional, condition, strict=True)
        parts = [(block, laws[value - 1]) for block, laws, value in each if value]
        taken = {pixel for block, _ in parts for pixel in block}
        for pixels, mixture in self.null.parts:
            left = [place for place, pixel in enumerate(pixels) if pixel not in taken]
            if left:
                parts.append((tuple(pixels[place] for place in left), mixture.marginal(left)))
        return Product(tuple(parts))

    def moved(self, by: Tensor) -> Composition:
        """Every law of the family, moved by this vector [D]."""
        conditional = tuple(
            tuple(law.moved(by[list(block)]) for law in laws)
            for block, laws in zip(self.blocks, self.conditional, strict=True)
        )
        null = tuple((pixels, law.moved(by[list(pixels)])) for pixels, law in self.null.parts)
        return Composition(self.blocks, conditional, Product(null))


@dataclass(frozen=True)
class Coupled:
    """The control: a latent that all blocks share picks one of several compositions. It is not CPC."""

    weights: Tensor  # [H]
    members: tuple[Composition, ...]

    @property
    def blocks(self) -> tuple[Pixels, ...]:
        """Those of its members."""
        return self.members[0].blocks

    def at(self, condition: Condition) -> Tied:
        """p(x | c_J)."""
        return Tied(self.weights, tuple(member.at(condition) for member in self.members))

    def marginals(self) -> Composition:
        """The CPC family with this one's laws of every part by itself: its score is the best local one."""
        first = self.members[0]
        conditional = tuple(
            tuple(mix(self.weights, [m.conditional[j][v] for m in self.members]) for v in range(len(laws)))
            for j, laws in enumerate(first.conditional)
        )
        null = tuple(
            (pixels, mix(self.weights, [member.null.parts[number][1] for member in self.members]))
            for number, (pixels, _) in enumerate(first.null.parts)
        )
        return Composition(first.blocks, conditional, Product(null))


@dataclass(frozen=True)
class Crowded:
    """A composition whose conditioned blocks move by `step` for every further condition. For each J by itself its score
    is local, but f_i differs from J to J: not CPC, though it agrees with one where there is a single condition.
    """

    base: Composition
    step: float

    @property
    def blocks(self) -> tuple[Pixels, ...]:
        """Those of its base."""
        return self.base.blocks

    def at(self, condition: Condition) -> Product:
        """p(x | c_J)."""
        more = self.step * (sum(value > 0 for value in condition) - 1)
        moved = {block for block, value in zip(self.blocks, condition, strict=True) if value}
        parts = self.base.at(condition).parts
        return Product(tuple((pixels, law.moved(more) if pixels in moved else law) for pixels, law in parts))


class Unfolded:
    """A family whose laws are each one mixture over all pixels: it knows of no blocks, so what is local in its score
    was not put there. Laws are kept.
    """

    def __init__(self, family: Composition | Coupled | Crowded) -> None:
        self.family = family
        self.blocks = family.blocks
        self._known: dict[Condition, Mixture] = {}

    def at(self, condition: Condition) -> Mixture:
        """p(x | c_J) as one mixture."""
        if condition not in self._known:
            self._known[condition] = self.family.at(condition).joint()
        return self._known[condition]


# Random families


def random_composition(
    sizes: Sequence[int], rest: int, values: int, components: int, seed: int, null: Null = "independent"
) -> Composition:
    """Blocks of these sizes, `rest` pixels in none, so many values and components; without conditions the
    blocks are independent or one mixture over all pixels (joint).
    """
    if min([*sizes, values, components], default=0) < 1 or rest < 0:
        raise UserError("a composition needs blocks of 1 pixel or more, a value and a component at least")
    ends = np.cumsum([0, *sizes]).tolist()
    blocks = tuple(tuple(range(low, high)) for low, high in pairwise(ends))
    outside = tuple(range(ends[-1], ends[-1] + rest))
    conditional = tuple(
        tuple(_random_mixture(len(block), components, seed, f"told.{slot}.{value}") for value in range(values))
        for slot, block in enumerate(blocks)
    )
    groups = (
        [block for block in (*blocks, outside) if block] if null == "independent" else [tuple(range(ends[-1] + rest))]
    )
    parts = [(pixels, _random_mixture(len(pixels), components, seed, f"null.{pixels}")) for pixels in groups]
    return Composition(blocks, conditional, Product(tuple(parts)))


def random_coupled(composition: Composition, seed: int) -> Coupled:
    """The control: a fair coin moves all pixels along one random vector, N(0, 1 / 4) in each, or back."""
    size = len(composition.null.mean())
    way = seeds.normal(seeds.keys(seed, "latent", torch.arange(1)), (size,)).double()[0] / 2
    half = torch.full((2,), 0.5, dtype=torch.float64)
    return Coupled(half, (composition.moved(way), composition.moved(-way)))


def _random_mixture(size: int, components: int, seed: int, name: str) -> Mixture:
    """Means N(0, 1) in every pixel, variances in (0.05, 0.5) along random axes."""
    key = seeds.keys(seed, f"composition.{name}", torch.arange(components))
    weights = 0.5 + seeds.uniform(key, lane=0).double()
    axes, _ = torch.linalg.qr(seeds.normal(key, (size, size), lane=1).double())
    variances = 0.05 + 0.45 * seeds.uniform(key, (size,), lane=2).double()
    covariances = (axes * variances[:, None]) @ axes.mT
    return Mixture(weights / weights.sum(), seeds.normal(key, (size,), lane=3).double(), covariances)
