"""Representations that were not learned: what a trained layer's geometry and topology must differ from.

The pixels of the bump world are near-orthogonal rings already, and so is what a random layer makes of them: without
these beside it, no number of a trained layer is evidence of learning (the controls that Liang et al. 2024 lack).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from recombine import seeds
from recombine.errors import UserError
from recombine.worlds.bumps import BumpsWorld

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[np.float64]


def as_grid(values: Tensor) -> Array:
    """Values [n^2, ...] of every place of a square grid, x slowest as in `BumpsWorld.centres`.  # [n, n, D]"""
    side = math.isqrt(len(values))
    if side * side != len(values) or side == 0:
        raise UserError(f"{len(values)} points are no square grid: give one for each place, x slowest")
    return values.detach().cpu().double().reshape(side, side, -1).numpy()


def pixels(world: BumpsWorld) -> Array:
    """The images themselves.  # [N, N, N^2]"""
    return as_grid(world.render(world.centres()))


def pooled(images: Tensor, k: int) -> Tensor:
    """Means of squares of k x k pixels.  # [n, C, H / k, W / k]"""
    if k < 1 or images.shape[-2] % k or images.shape[-1] % k:
        raise UserError(f"images of {images.shape[-2]} x {images.shape[-1]} px cannot be pooled by {k}: give a divisor")
    return torch.nn.functional.avg_pool2d(images, k)


def label_code(labels: Tensor, width: int = 128, periods: tuple[float, float] = (2 * math.pi, 2e4 * math.pi)) -> Tensor:
    """Sinusoids of x beside sinusoids of y: what a positional conditioner receives.  # [n, 2] -> [n, 2 width]"""
    from recombine.denoisers.conditioners import Sinusoids

    return Sinusoids(width, periods)(labels.double()).flatten(1)  # type: ignore[no-any-return]


def random_layer(images: Tensor, width: int = 256, seed: int = 0) -> Tensor:
    """Darkness of the pixels through one random linear map without bias, and a ReLU.  # [n, width]

    Darkness, 0 on the background: with the background at 1 every unit would mostly see the same sum of all weights.
    """
    dark = (1 - images.flatten(1).double()) / 2  # [n, D]
    key = seeds.keys(seed, "random layer", torch.arange(width, device=images.device))
    weights = seeds.normal(key, (dark.shape[1],)).double() / math.sqrt(dark.shape[1])  # [width, D]
    return torch.nn.functional.relu(dark @ weights.T)
