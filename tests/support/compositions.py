"""What the tests of composition share: a family of laws, one whose blocks hang together, points of a law in noise."""

import torch
from torch import Tensor

from recombine import seeds
from recombine.theory.composition.laws import Law
from recombine.theory.composition.scores_of import Composition, random_composition

ALL = (2, 1, 4)  # a condition that tells every block


def exact(seed: int = 0) -> Composition:
    return random_composition((2, 2, 2), 1, 4, 3, seed)


def tied(seed: int = 0) -> Composition:
    return random_composition((2, 2, 2), 1, 4, 3, seed, null="together")


def keys(count: int, name: str = "test") -> Tensor:
    return seeds.keys(0, name, torch.arange(count))


def points(law: Law, count: int, sigma: float, name: str = "test") -> Tensor:
    clean = law.sample(keys(count, name))
    return clean + sigma * seeds.normal(keys(count, f"{name}.noise"), clean.shape[1:]).double()
