"""A toy of emergence (Okawa et al. 2023, Fig 7): a composition is there once each of its n atoms is.

Every atom is learned with probability p at each step and stays; the composition needs all n of them. A single atom
comes smoothly, the product of many suddenly and late, though nothing in the dynamics is sudden.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


def composed_by(steps: Tensor, atoms: int, chance: float) -> Tensor:
    """The probability that all atoms are there after so many steps: (1 - (1 - p)^t)^n, float64.  # as steps"""
    _check(atoms, chance)
    one = -torch.expm1(steps.double() * math.log1p(-chance))  # 1 - (1 - p)^t without cancellation at small p
    return one**atoms


def time_to_compose(atoms: int, chance: float, level: float) -> int:
    """The first step at which that probability reaches `level`: ceil(log(1 - level^(1/n)) / log(1 - p))."""
    _check(atoms, chance)
    if not 0 < level < 1:
        raise UserError(f"level {level:g}: a probability strictly between 0 and 1 is needed")
    guess = math.ceil(math.log(-math.expm1(math.log(level) / atoms)) / math.log1p(-chance))
    nearby = torch.arange(max(0, guess - 1), guess + 2)  # rounding may put the guess one beside the step
    reached = composed_by(nearby, atoms, chance) >= level
    return int(nearby[reached.int().argmax()])


def learned_at(atoms: int, chance: float, trials: int, seed: int) -> Tensor:
    """Simulated steps at which the last of n Bernoulli atoms is learned, in each trial.  # [trials]"""
    _check(atoms, chance)
    drawn = seeds.uniform(seeds.keys(seed, "toy", torch.arange(trials)), (atoms,)).double()  # [trials, atoms]
    first = torch.ceil(torch.log(drawn) / math.log1p(-chance)).clamp(min=1)  # geometric: the first success
    return first.amax(1)


def _check(atoms: int, chance: float) -> None:
    if atoms < 1:
        raise UserError(f"{atoms} atoms: a composition needs at least one")
    if not 0 < chance < 1:
        raise UserError(f"chance {chance:g}: a probability strictly between 0 and 1 is needed")
