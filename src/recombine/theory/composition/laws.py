"""Laws of x0 in R^D whose log density and score are exact at every noise level: mixtures, products of mixtures, and
products that a latent ties together.

All are asked about x = x0 + sigma * noise, in float64; sigma is a number or one for each x.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

Pixels = tuple[int, ...]


class Law(ABC):
    """The distribution of x0 in R^D, asked about x = x0 + sigma * noise."""

    @abstractmethod
    def evaluate(self, x: Tensor, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
        """The log density of x [n, D] in nats, and its gradient in x, the score.  # [n], [n, D]"""

    @abstractmethod
    def sample(self, key: Tensor) -> Tensor:
        """One clean x0 for each key.  # [n, D]"""

    def log_density(self, x: Tensor, sigma: float | Tensor) -> Tensor:
        """The log density of x, in nats.  # [n]"""
        return self.evaluate(x, sigma)[0]

    def score(self, x: Tensor, sigma: float | Tensor) -> Tensor:
        """The gradient of the log density in x.  # [n, D]"""
        return self.evaluate(x, sigma)[1]


@dataclass(frozen=True)
class Mixture(Law):
    """x0 ~ sum_k weight_k N(mean_k, covariance_k)."""

    weights: Tensor  # [K]
    means: Tensor  # [K, D]
    covariances: Tensor  # [K, D, D]

    def __post_init__(self) -> None:
        count, size = self.means.shape
        if self.weights.shape != (count,) or self.covariances.shape != (count, size, size):
            raise UserError(
                f"{count} means in {size} pixels need {count} weights and {size} x {size} covariances, "
                f"not {tuple(self.weights.shape)} and {tuple(self.covariances.shape)}"
            )
        if not bool((self.weights > 0).all()) or abs(float(self.weights.sum()) - 1) > 1e-9:
            raise UserError("the weights of a mixture must be positive and add up to 1")
        if not bool((self._axes[0] > 0).all()):
            raise UserError("the covariances of a mixture must be positive definite")

    @cached_property
    def _axes(self) -> tuple[Tensor, Tensor]:
        """Variances along the principal axes, which any noise shares, and the axes.  # [K, D], [K, D, D]"""
        values, vectors = torch.linalg.eigh(self.covariances)
        return values, vectors

    def evaluate(self, x: Tensor, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
        """The log density of x [n, D] and the score, in closed form.  # [n], [n, D]"""
        values, vectors = self._axes
        away = vectors.mT @ (x.T - self.means[:, :, None])  # [K, D, n], along the axes
        spread = values[:, :, None] + torch.as_tensor(sigma, dtype=x.dtype).square()  # [K, D, 1 or n]
        pull = away / spread
        distance = (away * pull).sum(1) + (2 * math.pi * spread).log().sum(1)
        logs = self.weights.log()[:, None] - distance / 2  # [K, n]
        score = (logs.softmax(0)[:, None] * (vectors @ pull)).sum(0).neg()  # [D, n]
        return logs.logsumexp(0), score.T

    def sample(self, key: Tensor, lane: int = 0) -> Tensor:
        """One clean x0 for each key; takes this lane and the next.  # [n, D]"""
        u = seeds.uniform(key, (1,), lane).double()
        component = (u > self.weights.cumsum(0)[:-1]).sum(1)
        values, vectors = self._axes
        noise = seeds.normal(key, (self.means.shape[1],), lane + 1).double() * values.sqrt()[component]
        return self.means[component] + (vectors[component] @ noise[:, :, None])[..., 0]

    def mean(self) -> Tensor:
        """The mean of x0.  # [D]"""
        return self.weights @ self.means

    def marginal(self, places: Sequence[int]) -> Mixture:
        """The law of some of its coordinates, in this order."""
        keep = torch.tensor(places)
        return Mixture(self.weights, self.means[:, keep], self.covariances[:, keep[:, None], keep])

    def moved(self, by: Tensor | float) -> Mixture:
        """The law of x0 + by."""
        return Mixture(self.weights, self.means + by, self.covariances)

    def mapped(self, matrix: Tensor) -> Mixture:
        """The law of matrix @ x0."""
        return Mixture(self.weights, self.means @ matrix.T, matrix @ self.covariances @ matrix.T)


def gaussian(covariance: Tensor) -> Mixture:
    """The centred Gaussian of this covariance [D, D]."""
    return Mixture(torch.ones(1, dtype=torch.float64), torch.zeros_like(covariance[:1]), covariance[None])


def mix(weights: Tensor, mixtures: Sequence[Mixture]) -> Mixture:
    """One of these mixtures, picked by weight, is a mixture again."""
    shares = [weight * mixture.weights for weight, mixture in zip(weights, mixtures, strict=True)]
    return Mixture(
        torch.cat(shares), torch.cat([m.means for m in mixtures]), torch.cat([m.covariances for m in mixtures])
    )


@dataclass(frozen=True)
class Product(Law):
    """Independent mixtures, each on its own pixels; together they have all D pixels."""

    parts: tuple[tuple[Pixels, Mixture], ...]

    def __post_init__(self) -> None:
        pixels = sorted(pixel for part, _ in self.parts for pixel in part)
        if pixels != list(range(len(pixels))):
            raise UserError("the parts of a product must have every pixel 0, 1, 2, ... in just one part")

    def evaluate(self, x: Tensor, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the log densities of the parts, and their scores side by side.  # [n], [n, D]"""
        log_density, score = torch.zeros_like(x[:, 0]), torch.empty_like(x)
        for pixels, mixture in self.parts:
            log_part, score[:, list(pixels)] = mixture.evaluate(x[:, list(pixels)], sigma)
            log_density += log_part
        return log_density, score

    def sample(self, key: Tensor, lane: int = 0) -> Tensor:
        """One clean x0 for each key; takes two lanes a part.  # [n, D]"""
        x = torch.empty(len(key), sum(len(pixels) for pixels, _ in self.parts), dtype=torch.float64)
        for number, (pixels, mixture) in enumerate(self.parts):
            x[:, list(pixels)] = mixture.sample(key, lane + 2 * number)
        return x

    def mean(self) -> Tensor:
        """The mean of x0.  # [D]"""
        order = torch.tensor([pixel for pixels, _ in self.parts for pixel in pixels])
        return torch.cat([mixture.mean() for _, mixture in self.parts])[order.argsort()]

    def joint(self) -> Mixture:
        """The same law as one mixture over all pixels, a component for each choice of components."""
        size = sum(len(pixels) for pixels, _ in self.parts)
        weights = torch.ones(1, dtype=torch.float64)
        means, covariances = weights.new_zeros(1, size), weights.new_zeros(1, size, size)
        for pixels, mixture in self.parts:
            before, more = len(weights), len(mixture.weights)
            place = torch.tensor(pixels)
            weights = (weights[:, None] * mixture.weights).flatten()
            means, covariances = (values.repeat_interleave(more, 0) for values in (means, covariances))
            means[:, place] = mixture.means.repeat(before, 1)
            covariances[:, place[:, None], place] = mixture.covariances.repeat(before, 1, 1)
        return Mixture(weights, means, covariances)


@dataclass(frozen=True)
class Tied(Law):
    """A latent picks one of several products: given it the parts are independent, without it they are not."""

    weights: Tensor  # [H]
    members: tuple[Product, ...]

    def evaluate(self, x: Tensor, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
        """The log density of the mixture of members, and its score.  # [n], [n, D]"""
        answers = [member.evaluate(x, sigma) for member in self.members]
        logs = self.weights.log()[:, None] + torch.stack([log for log, _ in answers])  # [H, n]
        score = (logs.softmax(0)[..., None] * torch.stack([score for _, score in answers])).sum(0)
        return logs.logsumexp(0), score

    def sample(self, key: Tensor) -> Tensor:
        """One clean x0 for each key.  # [n, D]"""
        u = seeds.uniform(key, (1,), lane=0).double()
        picked = (u > self.weights.cumsum(0)[:-1]).sum(1)
        drawn = torch.stack([member.sample(key, lane=1) for member in self.members])  # [H, n, D]
        return drawn[picked, torch.arange(len(key))]

    def joint(self) -> Mixture:
        """The same law as one mixture over all pixels."""
        return mix(self.weights, [member.joint() for member in self.members])
