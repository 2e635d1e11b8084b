"""What the tests of composition share: a family of laws, one whose blocks are tied without conditions, points."""

import torch
from torch import Tensor

from recombine import seeds
from recombine.theory.composition.families import Composition, random_composition
from recombine.theory.composition.laws import Law

ALL = (2, 1, 4)  # a condition for every block


def exact(seed: int = 0) -> Composition:
    return random_composition((2, 2, 2), 1, 4, 3, seed)


def tied(seed: int = 0) -> Composition:
    return random_composition((2, 2, 2), 1, 4, 3, seed, null="joint")


def keys(count: int, name: str = "test") -> Tensor:
    return seeds.keys(0, name, torch.arange(count))


def points(law: Law, count: int, sigma: float, name: str = "test") -> Tensor:
    clean = law.sample(keys(count, name))
    return clean + sigma * seeds.normal(keys(count, f"{name}.noise"), clean.shape[1:]).double()
