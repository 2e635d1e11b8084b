"""Training sets of bumps, with lone stripes and without, and the nearest-label baseline of each."""

from __future__ import annotations

import math
from itertools import product
from typing import Annotated, Literal

import torch
from pydantic import Field

from recombine.runs.work import Computation, Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit, Square

WITH, WITHOUT = KINDS = ("stripes", "bumps")
SIZES = (12, 16, 24, 32)
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
MARGIN = 6  # px of labels beyond each side of the image
HELD = 0.2  # of the image, a square in its middle


def training_set(kind: str, pixels: int, share: float) -> tuple[BumpsWorld, LabelSplit]:
    """Labels one pixel apart, so that the nearest label is right for its pixel and no other. Share 0: no bump."""
    world = BumpsWorld(pixels=pixels, pattern="bump+stripes", margin=MARGIN)
    held_out = Square.of_share(HELD, pixels)
    if not share:
        return world, LabelSplit(step=1.0, parts=("1D",), held_out=held_out)
    return world, LabelSplit(step=1.0, parts=("2D", "1D") if kind == WITH else ("2D",), held_out=held_out, share=share)


def bumps(pixels: int, share: float) -> int:
    """How many images of bumps this share of the labels outside of the square is, labels one pixel apart."""
    reach = math.sqrt(HELD) * pixels / 2
    side = sum(abs(place - (pixels + 1) / 2) < reach for place in range(1, pixels + 1))
    return round(share * (pixels**2 - side**2))


def stripes(pixels: int) -> int:
    """How many images of one stripe there are: as many on each side of the image as the margin is wide."""
    return 4 * MARGIN * pixels


class NearestLabelBySize(Computation):
    """The nearest-label baseline, for every combination of kind, size and share."""

    kind: Literal["bumps-nearest-label-by-size"] = "bumps-nearest-label-by-size"
    sizes: tuple[Annotated[int, Field(ge=2, le=64)], ...] = SIZES
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = SHARES

    def rows(self) -> list[Row]:
        """Accuracy by region of each training set."""
        return [
            {"kind": kind, "pixels": pixels, "share": share, "region": region, "instrument": "darkest.both", "value": v}
            for kind, pixels, share in product(KINDS, self.sizes, self.shares)
            for region, v in self._accuracy(kind, pixels, share).items()
        ]

    def _accuracy(self, kind: str, pixels: int, share: float) -> dict[str, float]:
        """How often the darkest pixel of the nearest training image is the one asked for; of several, their mean."""
        world, split = training_set(kind, pixels, share)
        labels, asked = split.labels(world, self.seeds.data), world.centres()
        darkest = world.render(labels).flatten(1).argmin(1)  # [m]: row by row, y slowest
        place = (asked - MARGIN - 1).long()
        pixel = place[:, 1] * pixels + place[:, 0]  # [n]
        away = torch.cdist(asked, labels)  # [n, m]
        nearest = away < away.amin(1, keepdim=True) + 1e-6
        score = (nearest & (darkest == pixel[:, None])).sum(1) / nearest.sum(1)
        regions = split.region(world, asked)
        return {region: score[[name == region for name in regions]].mean().item() for region in dict.fromkeys(regions)}
