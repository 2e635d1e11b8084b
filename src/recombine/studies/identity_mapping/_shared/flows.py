"""Flows of f = U U^T x as the released theory scripts set them up, and the rows that measurements of starts become.

*Data.* Concepts with signals mu and spreads sigma, a_p = sigma_p^2 + mu_p^2 / s; `idle` further coordinates hold no
concept and have a = sigma^2 all the same. The scripts put A^2 (element by element) in the place of A: `power`. *Model.*
U is square with entries uniform between 0 and `scale`, so that every entry of W = U U^T is positive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.runs.work import Computation, Row
from recombine.theory.identity.flow import REACH, positive_start

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 500  # starts that are integrated at once: what they keep has to fit into memory
RIPPLE = 0.001  # of a curve's largest loss: what rises by less does not rise
FINEST = 0.02  # flows take no longer step, however slow they are
SHARE_OF_STABLE = 0.8  # nor one that comes closer to the limit of stability
QUANTILES = (0.05, 0.5, 0.95)  # of starts
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


def row(instrument: str, value: float, **columns: Any) -> Row:
    """A measurement; what is not a finite number is empty."""
    return {"instrument": instrument, "value": value if math.isfinite(value) else None, **columns}


def counts(numbers: Mapping[str, float], **columns: Any) -> list[Row]:
    """Numbers of starts, or other single numbers, {instrument: value}."""
    return [row(instrument, float(number), **columns) for instrument, number in numbers.items()]


def per_start(instrument: str, values: Tensor, **columns: Any) -> list[Row]:
    """A number for each start. values [n]."""
    return [row(instrument, value, start=start, **columns) for start, value in enumerate(values.tolist())]


def curve(instrument: str, times: Tensor, values: Tensor, **columns: Any) -> list[Row]:
    """One curve. times and values [T]."""
    pairs = zip(times.tolist(), values.tolist(), strict=True)
    return [row(instrument, value, time=time, **columns) for time, value in pairs]


def spread_over_starts(instrument: str, times: Tensor, values: Tensor, **columns: Any) -> list[Row]:
    """The median over starts, and where nine in ten of them are, over time. times [T], values [T, n]."""
    edges = values.double().quantile(torch.tensor(QUANTILES, dtype=torch.float64), dim=1)  # [3, T]
    pairs = zip(QUANTILES, edges, strict=True)
    return [each for q, edge in pairs for each in curve(instrument, times, edge, quantile=q, **columns)]


def blocks(start: Tensor) -> list[Tensor]:
    """The starts, as many at once as fit into memory."""
    return [start[first : first + BLOCK] for first in range(0, len(start), BLOCK)]


def along_path(times: Tensor, paths: Tensor, chosen: int) -> Tensor:
    """Up to `chosen` places, evenly spread along these curves as they are drawn, so that fast turns are kept.

    times [T], paths [c, T].
    """
    paths = paths.double() / paths.double().abs().amax(1, keepdim=True).clamp(min=1e-12)
    clock = times.double() / float(times[-1])
    length = torch.cat([clock[:1], paths.diff(dim=1).norm(dim=0) + clock.diff()]).cumsum(0)
    ends = torch.linspace(0, float(length[-1]), chosen, dtype=torch.float64)
    kept = torch.searchsorted(length, ends).clamp(max=len(times) - 1)
    return torch.tensor(sorted(set(kept.tolist())))


def evenly(count: int, chosen: int) -> Tensor:
    """Up to `chosen` of `count` places, evenly spread, both ends among them."""
    return torch.linspace(0, count - 1, min(count, chosen)).round().long()
