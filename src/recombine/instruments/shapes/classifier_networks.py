"""The networks of convolutional classifiers: one for each concept, or one trunk for all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

CNN_WIDTHS = (64, 64, 64)
TRUNK_WIDTHS = (32, 32, 32)  # each followed by a pooling; then TRUNK_END channels are pooled over the image
TRUNK_END = 64
GROUPS = 8  # of the trunk's group norms; without them it needs more than twice the steps


class SeparateCNNs(nn.Module):
    """One network for each concept: three convolutions, each pooled by two, then a linear map that knows positions."""

    def __init__(self, image_shape: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        channels, height, width = image_shape
        shrink = 2 ** len(CNN_WIDTHS)
        pixels = -(-height // shrink) * -(-width // shrink)  # left after the poolings, which round up
        self.networks = nn.ModuleList(
            nn.Sequential(
                *_convolutions(channels, CNN_WIDTHS), nn.Flatten(), nn.Linear(CNN_WIDTHS[-1] * pixels, values)
            )
            for values in widths
        )

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat([network(images) for network in self.networks], 1)  # [n, all values]


class Trunk(nn.Module):
    """Convolutions shared by all concepts, the largest answer of each channel over the image, and an MLP.

    The last layer holds a head for each concept side by side.
    """

    def __init__(self, image_shape: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            *_convolutions(image_shape[0], TRUNK_WIDTHS, GROUPS),
            nn.Conv2d(TRUNK_WIDTHS[-1], TRUNK_END, 3, padding=1),
            nn.GroupNorm(GROUPS, TRUNK_END),
            nn.ReLU(),
        )
        self.heads = nn.Sequential(nn.Linear(TRUNK_END, TRUNK_END), nn.ReLU(), nn.Linear(TRUNK_END, sum(widths)))

    def forward(self, images: Tensor) -> Tensor:
        largest = self.trunk(images).amax((2, 3))  # [n, TRUNK_END]
        scores: Tensor = self.heads(largest)
        return scores  # [n, all values]


def _convolutions(channels: int, widths: Sequence[int], groups: int = 0) -> list[nn.Module]:
    """3x3 convolutions, each pooled by two and normalised in `groups` if any.

    Sides are rounded up, so an image of any size has something left.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((channels, *widths)):
        # Pooling comes first: it gives the same before a ReLU as after, and leaves what follows a quarter of the work.
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.MaxPool2d(2, ceil_mode=True)]
        layers += [nn.GroupNorm(groups, outputs), nn.ReLU()] if groups else [nn.ReLU()]
    return layers
