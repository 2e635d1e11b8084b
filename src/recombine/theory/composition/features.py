"""Composition in features z = A x (Bradley 2026, Corollary 1 and Lemma 2), for linear invertible A.

A law that is CPC in z has a local score in z; but noise is added to pixels, so in z it is sigma^2 A A^T, and the blocks
stay independent only if A A^T is block diagonal, as for orthogonal A. Lemma 2: under one condition the mean of z moves
by d_i = E[z | c_i] - E[z], within block i, so that these shifts are orthogonal; in x they are only if A is orthogonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.theory.composition.families import Composition
from recombine.theory.composition.laws import Law, Mixture

if TYPE_CHECKING:
    from torch import Tensor


def orthogonal_map(size: int, seed: int, name: str = "orthogonal") -> Tensor:
    """A random orthogonal matrix, uniformly distributed.  # [D, D]"""
    drawn = seeds.normal(seeds.keys(seed, f"map.{name}", torch.arange(size)), (size,)).double()
    axes, triangle = torch.linalg.qr(drawn)
    rotation: Tensor = axes * triangle.diagonal().sign()
    return rotation


def generic_map(size: int, seed: int, stretch: float = 2.0) -> Tensor:
    """A random matrix that stretches random directions by 1 / stretch to stretch, evenly in the logarithm.  # [D, D]"""
    if not stretch >= 1:
        raise UserError(f"stretch {stretch:g}: 1 (nothing) or more is needed")
    left, right = (orthogonal_map(size, seed, side) for side in ("left", "right"))
    values = stretch ** torch.linspace(-1, 1, size, dtype=torch.float64)
    return left * values @ right


class Featured(Law):
    """The law of z = A x where noise is added to x, given that of clean z."""

    def __init__(self, clean: Mixture, matrix: Tensor) -> None:
        self.clean = clean
        self.back: Tensor = torch.linalg.inv(matrix)
        self.pixels = clean.mapped(self.back)

    def evaluate(self, z: Tensor, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
        """The log density of z [n, D] and its gradient in z.  # [n], [n, D]"""
        log_density, score = self.pixels.evaluate(z @ self.back.T, sigma)
        return log_density + self.back.det().abs().log(), score @ self.back

    def sample(self, key: Tensor) -> Tensor:
        """One clean z for each key.  # [n, D]"""
        return self.clean.sample(key)


def partial_correlations(covariance: Tensor, matrix: Tensor, sigmas: Tensor) -> Tensor:
    """Of a Gaussian z with pixel noise: -P_ij / sqrt(P_ii P_jj), P the inverse covariance.  # [S, D, D]"""
    noise = sigmas.double().square()[:, None, None] * (matrix @ matrix.T)
    precision: Tensor = torch.linalg.inv(covariance + noise)
    scale = precision.diagonal(dim1=-2, dim2=-1).rsqrt()  # [S, D]
    return -precision * scale[:, :, None] * scale[:, None, :]


def shifts(composition: Composition) -> Tensor:
    """d_i of every block under its first value.  # [blocks, D]"""
    count = len(composition.blocks)
    background = composition.at((0,) * count).mean()
    singles = (tuple(int(slot == one) for slot in range(count)) for one in range(count))
    return torch.stack([composition.at(single).mean() - background for single in singles])


def cosines(vectors: Tensor) -> Tensor:
    """Of every pair of rows, each pair once.  # [m, D] -> [m (m - 1) / 2]"""
    unit = torch.nn.functional.normalize(vectors, dim=1)
    first, second = torch.triu_indices(len(vectors), len(vectors), 1)
    return (unit[first] * unit[second]).sum(1)


# Cosines from a few samples


def expected_cosine(samples: int, size: int, squared: float) -> float:
    """The cosine that two orthogonal shifts of this squared length appear to have, about, with noise of variance 1 in
    each of `size` dimensions, if the same mean of background samples is subtracted for both.
    """
    return (size / samples) / (squared + 2 * size / samples)


def sampled_cosines(samples: int, size: int, squared: float, draws: int, seed: int, split: bool) -> Tensor:
    """Cosines of two orthogonal shifts, each a mean of samples minus a mean of the background: one mean of as many
    samples for both, or (split) the mean of one half of them for each.  # [draws]
    """
    if samples < 2 or size < 2 or not squared > 0:
        raise UserError("a cosine needs at least two samples, two dimensions and a positive length")
    key = seeds.keys(seed, f"cosines.{samples}", torch.arange(draws))
    first, second, one, other = (seeds.normal(key, (size,), lane).double() / samples**0.5 for lane in range(4))
    first[:, 0] += squared**0.5
    second[:, 1] += squared**0.5
    # the means of two halves have twice the variance of the mean of all, which is their mean
    halves = one + other, one - other
    whole = (halves[0] + halves[1]) / 2
    away = (first - halves[0], second - halves[1]) if split else (first - whole, second - whole)
    return torch.nn.functional.cosine_similarity(*away, dim=1)
