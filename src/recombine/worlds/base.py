"""The World contract: concepts with a few values each, factors in, images and conditions out.

A *concept* is something the model is asked for (shape, colour, size); a *node* of the concept graph names one value
of each concept as digits, `"010"`; its *prototype* is the factor vector that evaluation prompts with. Two nodes are
as far apart as the number of concepts in which they differ.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import torch

from recombine.errors import UserError
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


class Source(Settings, ABC):
    """Where images and conditions of a network come from."""

    @property
    @abstractmethod
    def image_shape(self) -> tuple[int, int, int]:
        """(C, H, W) of an image."""

    @property
    @abstractmethod
    def condition_widths(self) -> tuple[int, ...]:
        """How many numbers of the condition belong to each concept, in their order; they add up to its length."""

    def origin(self) -> dict[str, str]:
        """What says where the images come from, for a run's provenance; nothing where they are made."""
        return {}


class World(Source):
    """A data-generating process. Factors are tensors [n, F]; images are [n, C, H, W] in [-1, 1]."""

    @property
    @abstractmethod
    def concepts(self) -> dict[str, tuple[str, ...]]:
        """Each concept in digit order, with the names of its values: {"shape": ("circle", "triangle"), ...}."""

    @abstractmethod
    def prototype(self, nodes: Tensor) -> Tensor:
        """The factors that stand for each node (digits [n, number of concepts], int64).  # [n, F]"""

    @abstractmethod
    def vary(self, nodes: Tensor, key: Tensor) -> Tensor:
        """Factors of one random member of each node, drawn from the image's own key.  # [n, F]"""

    @abstractmethod
    def render(self, factors: Tensor) -> Tensor:
        """Images of these factors, batched, on the factors' device.  # [n, C, H, W]"""

    @abstractmethod
    def condition(self, factors: Tensor) -> Tensor:
        """What the network receives of these factors.  # [n, sum(condition_widths)]"""

    def held_back(self) -> World:
        """The world that instruments are checked on; another one where a world holds a part of its images back."""
        return self

    def available(self, node: str) -> int:
        """How many different images a node has; without end unless they come from a collection."""
        return sys.maxsize

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Every node of the concept graph, in counting order: "000", "001", ..."""
        return tuple("".join(map(str, digits)) for digits in product(*(range(len(v)) for v in self.concepts.values())))

    def digits(self, nodes: list[str] | tuple[str, ...] | str) -> Tensor:
        """Node names as digits.  # [n, number of concepts]"""
        names = [nodes] if isinstance(nodes, str) else list(nodes)
        for name in names:
            if name not in self.nodes:
                listing = ", ".join(f"{c}: {'/'.join(v)}" for c, v in self.concepts.items())
                raise UserError(f"no node '{name}' in this world; its concepts are {listing}; its nodes {self.nodes}")
        digits = [[int(digit) for digit in name] for name in names]
        return torch.tensor(digits, dtype=torch.int64).reshape(len(names), len(self.concepts))

    def describe(self, node: str) -> str:
        """A node in words: "circle red large"."""
        values = zip(self.concepts.values(), map(int, node), strict=True)
        return " ".join(names[digit] for names, digit in values)


def concept_distance(one: str, other: str) -> int:
    """In how many concepts two nodes differ (Hamming distance on the concept graph)."""
    return sum(a != b for a, b in zip(one, other, strict=True))
