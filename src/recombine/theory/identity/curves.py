"""What curves of learning show: when a level is first reached, how far a loss rises, how much of a share is lost again.

Curves are given at T moments, along the first axis; every other axis is a curve of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def first_times(times: Tensor, curves: Tensor, level: float | Tensor) -> Tensor:
    """When curves [T, *] at times [T] first reach their level, straight lines between; NaN where never.  # [*]"""
    there = curves >= level
    index = there.int().argmax(0, keepdim=True)
    before = (index - 1).clamp(min=0)
    low, high = curves.gather(0, before)[0], curves.gather(0, index)[0]
    part = torch.where(index[0] > 0, (level - low) / (high - low), 0.0)
    when = times[before[0]] + part * (times[index[0]] - times[before[0]])
    return torch.where(there.any(0), when, math.nan)


def setback(losses: Tensor) -> Tensor:
    """How far losses [T, *] ever climb above their lowest before: by a Swing-by, but by an overshoot too.  # [*]"""
    return (losses - losses.cummin(0).values).amax(0)


def retreat(shares: Tensor) -> Tensor:
    """How much of a concept's share [T, *] is lost again, not counting what exceeds its last: a Swing-by.  # [*]"""
    short = torch.minimum(shares, shares[-1])
    return (short.cummax(0).values - short).amax(0)
