"""The network that finds objects in scenes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recombine.instruments.scenes.object_finder import GROUPS


class HeatNetwork(nn.Module):
    """A small U-Net on half cells: what surrounds one, twice and four times as coarse, tells what belongs to whom."""

    def __init__(self, half: int, width: int) -> None:
        super().__init__()
        self.unshuffle = nn.PixelUnshuffle(half)  # the pixels of a half cell become its channels
        self.fine = _block(3 * half**2, width)
        self.middle = _block(width, 2 * width)
        self.coarse = nn.Sequential(_block(2 * width, 2 * width), _block(2 * width, 2 * width))
        self.back = _block(2 * width, 2 * width)
        self.out = _block(3 * width, width)
        self.head = nn.Conv2d(width, 3, 1, bias=False)
        self.start = nn.Parameter(torch.tensor([-4.0, 0.5, 0.5])[:, None, None])  # hardly any centre; in the middle

    def forward(self, images: Tensor) -> Tensor:
        fine = self.fine(self.unshuffle(images))
        middle = self.middle(F.max_pool2d(fine, 2, ceil_mode=True))
        coarse = self.coarse(F.max_pool2d(middle, 2, ceil_mode=True))
        middle = self.back(middle + _upscaled(coarse, middle))
        answer: Tensor = self.head(self.out(torch.cat([fine, _upscaled(middle, fine)], 1))) + self.start
        return answer


def _block(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(GROUPS, outputs), nn.ReLU())


def _upscaled(features: Tensor, like: Tensor) -> Tensor:
    """Twice as fine; cut where the coarse grid was rounded up."""
    return F.interpolate(features, scale_factor=2)[:, :, : like.shape[2], : like.shape[3]]
