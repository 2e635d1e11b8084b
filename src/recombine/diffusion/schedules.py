"""Noise schedules in one coordinate, sigma: x = x0 + sigma * noise.

DDPM's variance-preserving state is x / sqrt(1 + sigma^2) and its alpha_bar is 1 / (1 + sigma^2), so a DDPM schedule is
a table of sigmas. A schedule says which sigmas training draws, which sigmas a sampler visits and how wide the start is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

import torch
from pydantic import Field, model_validator

from recombine.errors import UserError
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

Spacing = Literal["steps", "rho"]
Drawer: TypeAlias = "Callable[[Tensor], Tensor]"

_KARRAS_RHO = 7.0  # Karras et al. 2022, Sec. 3 and Table 1


class DiscreteSchedule(Settings, ABC):
    """A DDPM schedule: T steps, each with its beta. Step 1 is the cleanest, step T the noisiest."""

    steps: int = Field(ge=1)

    @abstractmethod
    def betas(self) -> Tensor:
        """The variance that each step adds to the variance-preserving state, float64.  # [T]"""

    def table(self) -> Tensor:
        """The sigmas of step 1..T, ascending, float64.  # [T]"""
        # sigma^2 = 1 / alpha_bar - 1, through logarithms so that the cleanest steps keep all their digits.
        return torch.log1p(-self.betas()).cumsum(0).neg().expm1().sqrt()

    def drawer(self, device: torch.device | str) -> Drawer:
        """A function from uniforms in (0, 1) to training sigmas, each step equally likely.  # [n] -> [n]"""
        table, steps = self.table().float().to(device), self.steps

        def draw(u: Tensor) -> Tensor:
            # u * T can round up to T in float32
            return table[(u * steps).long().clamp(max=steps - 1)]

        return draw

    def sigmas(self, count: int, spacing: Spacing = "steps") -> Tensor:
        """The sigmas a sampler of `count` steps visits, descending to 0, float64.  # [count + 1]"""
        _check_grid(count, spacing)
        table = self.table()
        if spacing == "rho":
            return _rho_grid(count, float(table[0]), float(table[-1]), _KARRAS_RHO)
        if count > self.steps:
            raise UserError(f"{count} sampler steps of a {self.steps}-step schedule: ask for {self.steps} or fewer")
        # Evenly spread over the steps, both ends included, halves rounded up; gaps of one or more keep them distinct.
        gaps = max(count - 1, 1)
        rank = torch.arange(gaps, gaps - count, -1)
        picked = (2 * rank * (self.steps - 1) + gaps) // (2 * gaps)
        return torch.cat([table[picked], table.new_zeros(1)])

    @property
    def start_scale(self) -> float:
        """Standard deviation of the x that sampling starts from: DDPM starts its VP state at N(0, 1)."""
        return math.sqrt(1.0 + float(self.table()[-1]) ** 2)


class LinearSchedule(DiscreteSchedule):
    """Betas that grow linearly (Ho et al. 2020)."""

    kind: Literal["ddpm-linear"] = "ddpm-linear"
    steps: int = Field(default=500, ge=1)
    beta_start: float = Field(default=1e-4, gt=0)
    beta_end: float = Field(default=0.02, lt=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.beta_start >= self.beta_end:
            raise ValueError(f"beta_start {self.beta_start} must be below beta_end {self.beta_end}")
        return self

    def betas(self) -> Tensor:
        return torch.linspace(self.beta_start, self.beta_end, self.steps, dtype=torch.float64)


class CosineSchedule(DiscreteSchedule):
    """alpha_bar that follows a squared cosine (Nichol and Dhariwal 2021, Eq. 17)."""

    kind: Literal["ddpm-cosine"] = "ddpm-cosine"
    steps: int = Field(default=1000, ge=1)
    offset: float = Field(default=0.008, ge=0)
    max_beta: float = Field(default=0.999, gt=0, lt=1)

    def betas(self) -> Tensor:
        time = torch.linspace(0, 1, self.steps + 1, dtype=torch.float64)
        alpha_bar = torch.cos((time + self.offset) / (1 + self.offset) * (math.pi / 2)).square()
        return (1 - alpha_bar[1:] / alpha_bar[:-1]).clamp(max=self.max_beta)


class EDMSchedule(Settings):
    """Log-normal training noise and a rho grid for sampling (Karras et al. 2022, Table 1)."""

    kind: Literal["edm"] = "edm"
    sigma_min: float = Field(default=0.002, gt=0)
    sigma_max: float = 80.0
    rho: float = Field(default=7.0, gt=0)
    p_mean: float = -1.2
    p_std: float = Field(default=1.2, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.sigma_min >= self.sigma_max:
            raise ValueError(f"sigma_min {self.sigma_min} must be below sigma_max {self.sigma_max}")
        return self

    def drawer(self, device: torch.device | str) -> Drawer:
        """A function from uniforms in (0, 1) to log-normal training sigmas, by inverse CDF.  # [n] -> [n]"""
        mean, std, edge = self.p_mean, self.p_std, 2.0**-24

        def draw(u: Tensor) -> Tensor:
            # float32 rounds uniforms next to 1 up to 1, whose quantile is infinite
            return torch.exp(mean + std * torch.special.ndtri(u.float().clamp(edge, 1 - edge)))

        return draw

    def sigmas(self, count: int, spacing: Spacing = "rho") -> Tensor:
        """The sigmas a sampler of `count` steps visits, descending to 0, float64; both spacings are this rho grid."""
        _check_grid(count, spacing)
        return _rho_grid(count, self.sigma_min, self.sigma_max, self.rho)

    @property
    def start_scale(self) -> float:
        """Standard deviation of the x that sampling starts from."""
        return self.sigma_max


Schedule = Annotated[LinearSchedule | CosineSchedule | EDMSchedule, Field(discriminator="kind")]


def _rho_grid(count: int, sigma_min: float, sigma_max: float, rho: float) -> Tensor:
    """Even steps in sigma^(1/rho) from the largest to the smallest sigma, then 0 (Karras et al. 2022, Eq. 5)."""
    root = torch.linspace(sigma_max ** (1 / rho), sigma_min ** (1 / rho), count, dtype=torch.float64)
    return torch.cat([root**rho, root.new_zeros(1)])


def _check_grid(count: int, spacing: str) -> None:
    if count < 1:
        raise UserError(f"{count} sampler steps: ask for at least 1")
    if spacing not in ("steps", "rho"):
        raise UserError(f"no spacing '{spacing}' of sampler steps; there are: steps, rho")
