"""What a linear conditional denoiser generates, exactly: an Euler sampler is one affine map of its start and condition.

The denoisers are those of `theory.identity.linear_denoiser`; the mean and covariance of samples follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.theory.identity.linear_denoiser import Levels


@dataclass(frozen=True)
class Affine:
    """(x, c) -> of_x x + of_condition c + constant: a denoiser at each level, or a whole sampler."""

    of_x: Tensor  # [*, d, d]
    of_condition: Tensor  # [*, d, d]
    constant: Tensor  # [*, d]

    def mean(self, condition: Tensor, x: Tensor | None = None) -> Tensor:
        """The mean answer to a condition [d], for x of mean [d] (0 if not given).  # [*, d]"""
        answer = self.of_condition @ condition.double() + self.constant
        return answer if x is None else answer + self.of_x @ x.double()

    def covariance(self, deviation: float) -> Tensor:
        """The covariance of the answers to one condition, for x = N(., deviation^2 I).  # [*, d, d]"""
        return deviation**2 * self.of_x @ self.of_x.mT


def denoiser(theta: Tensor, at: Levels) -> Affine:
    """D at each level, from a Theta for each [*, L, d, F], or a shared one given that axis: theta[..., None, :, :]."""
    d = theta.shape[-2]
    c_in, c_skip, c_out = (scale[:, None, None] for scale in (at.c_in, at.c_skip, at.c_out))
    of_x = c_skip * torch.eye(d, dtype=torch.float64) + c_out * c_in * theta[..., :d]
    constant = c_out * theta[..., 2 * d :]  # [*, L, d, 1 or 0]
    return Affine(of_x, c_out * theta[..., d : 2 * d], constant.sum(-1))


def affine_sampler(model: Affine, sigmas: Tensor) -> Affine:
    """All of `diffusion.samplers.euler` down sigmas [L + 1] as one map of (start, condition).  # [*, d, d]

    A step is x' = r x + (1 - r) D(x, c) with r = sigma' / sigma. The model's levels are sigmas[:-1]. The mean of
    samples is `.mean(condition)`, their covariance `.covariance(start_scale)`.
    """
    if float(sigmas[-1]) < 0 or bool((sigmas.diff() >= 0).any()):
        raise UserError("the sigmas of a sampler must fall strictly, from the first to a last one of 0 or more")
    if model.of_x.shape[-3] != len(sigmas) - 1:
        raise UserError(
            f"a denoiser of {model.of_x.shape[-3]} levels for {len(sigmas) - 1} steps: give it their sigmas"
        )
    one = torch.eye(model.of_x.shape[-1], dtype=torch.float64)
    of_x, of_condition, constant = one, torch.zeros_like(one), torch.zeros_like(one[0])
    for level, r in enumerate((sigmas[1:].double() / sigmas[:-1].double()).tolist()):
        step = r * one + (1 - r) * model.of_x[..., level, :, :]
        of_x = step @ of_x
        of_condition = step @ of_condition + (1 - r) * model.of_condition[..., level, :, :]
        constant = (step @ constant[..., None])[..., 0] + (1 - r) * model.constant[..., level, :]
    return Affine(of_x, of_condition, constant)


def as_denoise(model: Affine, at: Levels) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
    """A denoiser [L, d, d] as the samplers call it; a sigma is answered by the level nearest in log sigma."""

    def denoise(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        if condition is None:
            raise UserError("a linear conditional denoiser needs a condition: give one for each sample")
        level = (sigma.double().log()[:, None] - at.sigma.log()).abs().argmin(1)  # [n]
        answer = model.of_x[level] @ x.double()[..., None] + model.of_condition[level] @ condition.double()[..., None]
        return (answer[..., 0] + model.constant[level]).to(x.dtype)

    return denoise
