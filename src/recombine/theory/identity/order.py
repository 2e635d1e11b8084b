"""Which of two concepts one layer learns first (Yang et al. 2025, Fig 2): closed forms from rest, and where they flip.

Beside the closed forms an integration that shares no line with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from recombine.seeds import keys, uniform
from recombine.theory.identity.curves import first_times
from recombine.theory.identity.flow import affine, answer, augmented

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.worlds.mixture import MixtureWorld

EXACT = 1e-10  # the largest difference between a closed form and its integration
LEARNED = 0.8  # of its target: the level at which a concept counts as learned


def closed_forms(world: MixtureWorld, times: Tensor) -> dict[str, Tensor]:
    """The answer to the probe from rest, all weights 0, with a bias ("affine") and without ("plain").  # [T, 2] each"""
    flat = world.replace(dimensions=world.concepts)
    d, probe = flat.dimensions, flat.probe()
    with_one = affine(augmented(flat), probe.new_zeros(1, d, d + 1), times) @ torch.cat([probe, probe.new_ones(1)])
    return {
        "affine": with_one[:, 0],
        "plain": answer(flat.second_moment(), probe.new_zeros(1, d, d), times, probe)[:, 0],
    }


def integrated(world: MixtureWorld, start: Tensor, times: Tensor) -> Tensor:
    """Gradient flow on 1/2 E|f(x) - x|^2, summed cluster by cluster, by Dormand and Prince (8th order).  # [T, n, d, .]

    start [n, d, d], or [n, d, d + 1] with a bias behind the weights.
    """
    from scipy.integrate import solve_ivp

    shape, d = tuple(start.shape), world.dimensions
    centres, spread = world.centres().numpy(), np.zeros(d)
    spread[: world.concepts] = world.variances.numpy()
    inputs = np.concatenate([centres, np.ones((len(centres), 1))], 1)[:, : shape[2]]  # what the weights multiply

    def velocity(_: float, flat: NDArray[np.float64]) -> NDArray[np.float64]:
        theta = flat.reshape(shape)
        error = np.einsum("nij,pj->npi", theta, inputs) - centres  # at the middle of each cluster
        slope = np.einsum("npi,pj->nij", error, inputs) / len(centres)
        slope[..., :d] += (theta[..., :d] - np.eye(d)) * spread  # from the spread about it
        fall: NDArray[np.float64] = -slope.reshape(-1)
        return fall

    found = solve_ivp(
        velocity, (0.0, float(times[-1])), start.numpy().reshape(-1), "DOP853", times.numpy(), rtol=1e-13, atol=1e-14
    )
    return torch.from_numpy(found.y.T.reshape(len(times), *shape))


def located_flips(number: int, like: MixtureWorld, seed: int) -> dict[str, list[float]]:
    """In drawn worlds, the var_1 at which both concepts are learned at once by each closed form, over the rule's.

    mu_1 in (0.5, 2), mu_2 larger by 0.1 to 2, var_2 in (0.01, 0.5). Bisection knows the order only, not the rule.
    """
    found: dict[str, list[float]] = {"affine": [], "plain": []}
    drawn = uniform(keys(seed, "identity flips", torch.arange(number)), (3,)).double().tolist()
    for first, gap, spread in drawn:
        weak = 0.5 + 1.5 * first
        strong, other = weak + 0.1 + 1.9 * gap, 0.01 + 0.49 * spread
        rule = (strong**2 - weak**2) / like.clusters + other
        for form, ratios in found.items():
            low, high = 0.0, 4 * (strong**2 + other)  # where concept 2 is first, and where concept 1 is
            for _ in range(24):
                middle = (low + high) / 2
                world = like.replace(dimensions=2, signals=(weak, strong), spreads=(middle, other))
                slowest = float(torch.linalg.eigvalsh(augmented(world))[0])
                times = torch.linspace(0, 8 / slowest, 800, dtype=torch.float64)
                one, two = first_times(times, closed_forms(world, times)[form], LEARNED * world.probe()).tolist()
                low, high = (middle, high) if one > two else (low, middle)
            ratios.append((low + high) / 2 / rule)
    return found
