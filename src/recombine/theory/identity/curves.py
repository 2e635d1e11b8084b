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


def turning_points(losses: Tensor, threshold: float) -> list[int]:
    """Where a curve turns after its first fall, trough, peak, trough ..: moves above `threshold` of its largest loss.

    The last trough, from which it no longer rises, is not a turn.
    """
    least = threshold * float(losses.max())
    turns: list[int] = []
    falling, extreme, place = False, float(losses[0]), 0
    for number, loss in enumerate(losses.tolist()):
        if (loss - extreme if falling else extreme - loss) > least:
            if falling or turns:
                turns.append(place)
            falling, extreme, place = not falling, loss, number
        elif loss < extreme if falling else loss > extreme:
            extreme, place = loss, number
    return turns


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


def spaced(length: int, count: int) -> list[int]:
    """Moments, dense in the beginning, the first and the last among them."""
    return sorted({round((length - 1) * (i / (count - 1)) ** 2) for i in range(count)})
