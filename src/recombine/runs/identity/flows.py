"""Flows of f = U U^T x as the released theory scripts of structured identity mapping set them up (Yang et al. 2025).

*Data.* Concepts with signals mu and spreads sigma, a_p = sigma_p^2 + mu_p^2 / s; `idle` further coordinates hold no
concept and have a = sigma^2 all the same. The scripts put A^2 (element by element) in the place of A: `power`. *Model.*
U is square with entries uniform between 0 and `scale`, so that every entry of W = U U^T is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.runs.work import Computation
from recombine.theory.identity.flow import REACH, positive_start

if TYPE_CHECKING:
    from torch import Tensor

FINEST = 0.02  # flows take no longer step, however slow they are
SHARE_OF_STABLE = 0.8  # nor one that comes closer to the limit of stability
SCRIPTS_TIME = 2  # the scripts step W by eta (G - S - N), half of W': their clock shows twice the time of the flow

Above = Annotated[float, Field(gt=0)]


class FlowsConfig(Computation):
    """Concepts, and starts."""

    signals: tuple[Above, ...] = Field(default=(1.0, 1.5), min_length=2)  # mu
    spreads: tuple[Annotated[float, Field(ge=0)], ...] = (0.05, 0.05)  # sigma
    idle: int = Field(default=0, ge=0, description="coordinates without a concept")
    idle_spread: float = Field(default=0.05, ge=0)
    power: Literal[1, 2] = 1
    scale: float = Field(default=0.2, gt=0, le=1)
    starts: int = Field(default=500, ge=1)

    @model_validator(mode="after")
    def _one_spread_a_signal(self) -> Self:
        if len(self.spreads) != len(self.signals):
            raise ValueError(f"{len(self.signals)} signals but {len(self.spreads)} spreads: give one spread a signal")
        return self

    def moments(self) -> Tensor:
        """The diagonal of A, or of A^2.  # [d]"""
        return moments(self.signals, self.spreads, self.idle, self.idle_spread) ** self.power

    def probe(self) -> Tensor:
        """All concepts at once.  # [d]"""
        return probe(self.signals, self.idle)

    def draw_starts(self) -> Tensor:
        """U of every start.  # [n, d, d]"""
        d = len(self.signals) + self.idle
        return positive_start(self.starts, d, d, self.scale, self.seeds.init)


def moments(signals: Sequence[float], spreads: Sequence[float], idle: int, idle_spread: float) -> Tensor:
    """a_p = sigma_p^2 + mu_p^2 / s for the concepts, sigma^2 for what holds none.  # [d]"""
    mu, sigma = (torch.tensor(each, dtype=torch.float64) for each in (signals, spreads))
    return torch.cat([sigma**2 + mu**2 / len(mu), torch.full((idle,), idle_spread**2, dtype=torch.float64)])


def probe(signals: Sequence[float], idle: int) -> Tensor:
    """sum_p mu_p e_p.  # [d]"""
    return torch.cat([torch.tensor(signals, dtype=torch.float64), torch.zeros(idle, dtype=torch.float64)])


def steps_for(a: Tensor, span: float) -> tuple[float, int]:
    """A stable step of the flow, and how many of them last for `span`."""
    longest = min(FINEST, SHARE_OF_STABLE * REACH / (6 * float(a.max())))
    count = max(1, -int(-span // longest))
    return span / count, count
