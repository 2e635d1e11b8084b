"""How wrong the best local score is where a law does not compose exactly (in place of Bradley 2026, Def 3 and Lemma 3).

The constant of the paper is not available; these identities are tested in its place. *Best local score.* Among
functions of x_{N_i}, the score of the marginal law of x_{N_i} is closest to s_i in mean square, and its error is a gap
of Fisher information, E(s_i - s_loc,i)^2 = E s_i^2 - E s_loc,i^2. *Over noise.* With q the product of p's marginals on
its groups of pixels,
    KL(p_a || q_a) - KL(p_b || q_b) = integral from a^2 to b^2 of 1/2 E|s_p - s_q|^2 d(sigma^2),
so all errors over noise together are at most KL(p || q), the total correlation of the groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from recombine.errors import UserError
from recombine.theory.composition.laws import Law, Pixels

if TYPE_CHECKING:
    from torch import Tensor

Groups = Sequence[Pixels]


# Gaussians, by formula


def equicoupled(rho: float, size: int = 3, within: float = 0.5) -> Tensor:
    """The covariance of two blocks of unit variance, correlated by `within` inside, by rho times that across."""
    block = torch.full((size, size), within, dtype=torch.float64).fill_diagonal_(1.0)
    across = torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64)
    covariance = torch.kron(across, block)
    if not bool((torch.linalg.eigvalsh(covariance) > 0).all()):
        raise UserError(f"rho {rho:g} and a correlation of {within:g} within: no such blocks, take smaller ones")
    return covariance


def fisher(covariance: Tensor, sigmas: Tensor) -> Tensor:
    """E s_i^2 of a Gaussian with noise: the diagonal of the inverse covariance.  # [S, D]"""
    precision: Tensor = torch.linalg.inv(_noised(covariance, sigmas))
    return precision.diagonal(dim1=-2, dim2=-1)


def local_fisher(covariance: Tensor, groups: Groups, sigmas: Tensor) -> Tensor:
    """E s_loc,i^2, each group of pixels on its own.  # [S, D]"""
    found = torch.empty(len(sigmas), len(covariance), dtype=torch.float64)
    for group in groups:
        place = torch.tensor(group)
        found[:, place] = fisher(covariance[place[:, None], place], sigmas)
    return found


def local_errors(covariance: Tensor, groups: Groups, sigmas: Tensor) -> Tensor:
    """E(s_i - s_loc,i)^2, the gap of the two.  # [S, D]"""
    return fisher(covariance, sigmas) - local_fisher(covariance, groups, sigmas)


def total_correlation(covariance: Tensor, groups: Groups, sigmas: Tensor) -> Tensor:
    """KL(p || q) with noise, in nats.  # [S]"""
    blockwise = torch.zeros(len(sigmas), dtype=torch.float64)
    for group in groups:
        place = torch.tensor(group)
        blockwise += torch.logdet(_noised(covariance[place[:, None], place], sigmas))
    return (blockwise - torch.logdet(_noised(covariance, sigmas))) / 2


def error_over_noise(covariance: Tensor, groups: Groups, low: float, high: float) -> float:
    """The integral of 1/2 E|s_p - s_q|^2 over sigma^2 from one noise level to another."""
    sigmas, weights = noise_quadrature(low, high, float(torch.linalg.eigvalsh(covariance)[0]))
    return float(weights @ local_errors(covariance, groups, sigmas).sum(1)) / 2


def _noised(covariance: Tensor, sigmas: Tensor) -> Tensor:
    identity = torch.eye(len(covariance), dtype=torch.float64)
    return covariance + sigmas.double().square()[:, None, None] * identity


# Any laws, from samples


def noise_quadrature(low: float, high: float, scale: float, nodes: int = 100) -> tuple[Tensor, Tensor]:
    """Noise levels and weights such that sum w f(sigma) is the integral of f over sigma^2.  # [nodes] each

    Gauss and Legendre in log(scale + sigma^2), with `scale` the smallest variance of the data.
    """
    if not 0 <= low < high < math.inf or not scale > 0:
        raise UserError(f"noise from {low:g} to {high:g}, scale {scale:g}: give 0 or more, something larger, above 0")
    node, weight = np.polynomial.legendre.leggauss(nodes)
    first, last = math.log(scale + low**2), math.log(scale + high**2)
    shifted = np.exp(first + (last - first) * (node + 1) / 2)  # scale + sigma^2
    sigmas = np.sqrt(np.maximum(shifted - scale, 0.0))
    return torch.from_numpy(sigmas), torch.from_numpy(weight * shifted * (last - first) / 2)


class Compared(NamedTuple):
    """A law p and a local one q at points x."""

    errors: Tensor  # (s_p - s_q)^2 in every pixel  # [n, D]
    gaps: Tensor  # s_p^2 - s_q^2: over p the same in the mean, if q has p's marginals  # [n, D]
    log_ratios: Tensor  # log p - log q: over p, KL(p || q) in the mean  # [n]


def compare(law: Law, local: Law, x: Tensor, sigma: float) -> Compared:
    """Both at the same points, which have the noise in them."""
    log_p, score = law.evaluate(x, sigma)
    log_q, local_score = local.evaluate(x, sigma)
    return Compared((score - local_score).square(), score.square() - local_score.square(), log_p - log_q)
