"""The rows that measurements of starts become, and what all experiments on flows count as a rise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from recombine.runs.work import Row

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 500  # starts that are integrated at once: what they keep has to fit into memory
RIPPLE = 0.001  # of a curve's largest loss: what rises by less does not rise
QUANTILES = (0.05, 0.5, 0.95)  # of starts


def row(instrument: str, value: float, **columns: Any) -> Row:
    """A measurement; what is not a finite number is empty."""
    return {"instrument": instrument, "value": value if math.isfinite(value) else None, **columns}


def counts(numbers: Mapping[str, float], **columns: Any) -> list[Row]:
    """Numbers of starts, or other single numbers, {instrument: value}."""
    return [row(instrument, float(number), **columns) for instrument, number in numbers.items()]


def each_start(instrument: str, values: Tensor, **columns: Any) -> list[Row]:
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
