"""Denoisers whose answer is known exactly: the posterior mean of a Gaussian mixture and of a stored training set.

Every sampler, instrument and figure can be run on these first, where the truth is a closed form. Both work in float64
inside, in log space, and answer in the precision of x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.denoisers.contract import per_image
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


class MixtureDenoiser:
    """x0 ~ sum_k weight_k N(mean_k, variance_k I), observed at x = x0 + sigma * noise.

    A condition [n, L] multiplies the prior: component k counts weight_k * sum_l condition_l labels_kl. Without `labels`
    a condition is one weight for each component (one-hot picks a component, soft mixes); with labels [K, L] (one-hot
    rows, say) it is one weight for each label. Scale does not matter; some component must keep a positive weight.
    """

    def __init__(
        self,
        means: Tensor,  # [K, D] or [K, C, H, W]
        variances: Tensor,  # [K], 0 is a point mass
        weights: Tensor | None = None,  # [K], uniform if not given
        labels: Tensor | None = None,  # [K, L]
    ) -> None:
        count = len(means)
        weights = torch.ones(count) if weights is None else weights
        labels = torch.eye(count) if labels is None else labels
        if variances.shape != (count,) or weights.shape != (count,) or labels.dim() != 2 or len(labels) != count:
            raise UserError(f"a mixture of {count} means needs {count} variances, {count} weights and {count} labels")
        if (
            bool((variances < 0).any())
            or bool((weights < 0).any())
            or bool((labels < 0).any())
            or not weights.sum() > 0
        ):
            raise UserError("variances, weights and labels of a mixture must not be negative, nor all weights 0")
        self.shape: Sequence[int] = means.shape[1:]
        self.means = means.double().flatten(1)  # [K, D]
        self.variances = variances.to(self.means)
        self.weights = (weights / weights.sum()).to(self.means)
        self.labels = labels.to(self.means)

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The posterior mean of x0: components' own posterior means, weighted by responsibility.  # [n, *shape]"""
        logits, away, spread = self._components(x, sigma, condition)
        share = logits.softmax(1)  # [n, K]
        # mean_k + variance_k / (variance_k + sigma^2) * (x - mean_k)
        guess = self.means + (self.variances / spread)[..., None] * away  # [n, K, D]
        return (share[..., None] * guess).sum(1).to(x.dtype).reshape(x.shape)

    def score(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The gradient of `log_density` in x, without dividing by sigma^2: it holds at sigma = 0.  # [n, *shape]"""
        logits, away, spread = self._components(x, sigma, condition)
        pull = (logits.softmax(1) / spread)[..., None] * away  # [n, K, D]
        return pull.sum(1).neg().to(x.dtype).reshape(x.shape)

    def log_density(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The log density of the noised x, in nats.  # [n]"""
        logits, _, _ = self._components(x, sigma, condition)
        constant = self.means.shape[1] / 2 * math.log(2 * math.pi)
        return (logits.logsumexp(1) - constant).to(x.dtype)

    def sample(self, key: Tensor, condition: Tensor | None = None) -> Tensor:
        """One clean x0 for each key, float32; use another stream of keys than the sampler's noise.  # [n, *shape]"""
        total = self._log_prior(len(key), condition).exp().cumsum(1)  # [n, K]
        # The first component whose cumulative weight reaches u: one of weight 0 is never picked.
        u = seeds.uniform(key, (1,), lane=0).double()
        component = (u > total / total[:, -1:]).sum(1)  # [n]
        noise = seeds.normal(key, (self.means.shape[1],), lane=1)  # [n, D]
        drawn = self.means[component] + self.variances[component].sqrt()[:, None] * noise
        return drawn.float().reshape(len(key), *self.shape)

    def _components(self, x: Tensor, sigma: Tensor, condition: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """log weight_k N(x; mean_k, spread_k) less the 2 pi, x - mean_k, spread_k.  # [n, K], [n, K, D], [n, K]"""
        if x.shape[1:] != self.shape:
            raise UserError(f"x has shape {tuple(x.shape[1:])}, the mixture {tuple(self.shape)}")
        away = x.double().flatten(1)[:, None] - self.means
        spread = self.variances + per_image(sigma.double(), x).reshape(-1, 1).square()
        log_normal = -(away.square().sum(2) / spread + away.shape[2] * spread.log()) / 2
        return self._log_prior(len(x), condition) + log_normal, away, spread

    def _log_prior(self, count: int, condition: Tensor | None) -> Tensor:
        """The logarithm of the prior weights, normalised.  # [n, K]"""
        if condition is None:
            return self.weights.log().expand(count, -1)
        if condition.shape != (count, self.labels.shape[1]):
            raise UserError(f"condition has shape {tuple(condition.shape)}, not {(count, self.labels.shape[1])}")
        prior = self.weights * (condition.to(self.labels) @ self.labels.T)
        total = prior.sum(1, keepdim=True)
        if bool((condition < 0).any()) or bool((total <= 0).any()):
            raise UserError("a condition must not be negative and must leave some component a positive weight")
        return (prior / total).log()


class EmpiricalDenoiser:
    """The posterior mean over a stored training set: what a network with unlimited memory would learn.

    With conditions, only training items with the same condition as the prompt count; with `kernel_width` > 0 an item
    counts exp(-|condition - prompt|^2 / (2 kernel_width^2)) instead, so that prompts outside of the training set have
    an answer too. The set is gone through `chunk` items at a time.
    """

    def __init__(
        self,
        images: Tensor,  # [N, C, H, W]
        conditions: Tensor | None = None,  # [N, K]
        kernel_width: float = 0.0,
        chunk: int = 1024,
    ) -> None:
        if len(images) == 0:
            raise UserError("an empirical denoiser needs at least one training image")
        if conditions is not None and (conditions.dim() != 2 or len(conditions) != len(images)):
            raise UserError(
                f"conditions have shape {tuple(conditions.shape)}; give one row for each of {len(images)} images"
            )
        if kernel_width < 0 or chunk < 1:
            raise UserError(f"kernel_width = {kernel_width} and chunk = {chunk}: need 0 or more, and 1 or more")
        self.images = images
        self.conditions = conditions
        self.kernel_width = kernel_width
        self.chunk = chunk

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The average training image, weighted by how likely it is to have become x.  # [n, C, H, W]"""
        if x.shape[1:] != self.images.shape[1:]:
            raise UserError(f"x has shape {tuple(x.shape[1:])}, the training images {tuple(self.images.shape[1:])}")
        flat = x.double().flatten(1)  # [n, D]
        noise = per_image(sigma.double(), x).reshape(-1, 1).square()  # [n, 1]
        lowest = torch.finfo(torch.float64).min  # finite, so that a chunk in which nothing counts leaves no nan
        highest = torch.full_like(noise, lowest)
        total, weighted = torch.zeros_like(noise), torch.zeros_like(flat)
        for start in range(0, len(self.images), self.chunk):
            item = self.images[start : start + self.chunk].double().flatten(1)  # [c, D]
            # -|x - item|^2 / (2 sigma^2), less |x|^2, which is common to all items
            logits = (flat @ item.T - item.square().sum(1) / 2) / noise  # [n, c]
            logits = logits + self._log_kernel(start, condition)
            now_highest = torch.maximum(highest, logits.amax(1, keepdim=True))
            share, rescale = (logits - now_highest).exp(), (highest - now_highest).exp()
            total = total * rescale + share.sum(1, keepdim=True)
            weighted = weighted * rescale + share @ item
            highest = now_highest
        if bool((total == 0).any()):
            raise UserError(
                "no training item has this condition: prompt with one of the training set, or set kernel_width"
            )
        return (weighted / total).to(x.dtype).reshape(x.shape)

    def _log_kernel(self, start: int, condition: Tensor | None) -> Tensor | float:
        """How much each item of the chunk counts for each prompt, as a logarithm.  # [n, c]"""
        if condition is None:
            return 0.0
        if self.conditions is None:
            raise UserError("this empirical denoiser has no conditions: give it those of its training images")
        if condition.dim() != 2 or condition.shape[1] != self.conditions.shape[1]:
            raise UserError(f"condition has shape {tuple(condition.shape)}, not (n, {self.conditions.shape[1]})")
        known = self.conditions[start : start + self.chunk].double()
        away = (condition.double()[:, None] - known).square().sum(2)  # [n, c]
        if self.kernel_width > 0:
            return away / (-2 * self.kernel_width**2)
        # A difference of 1e-6 is still the same condition: prompts are often computed in float32
        return torch.where(away <= 1e-12, 0.0, -math.inf)
