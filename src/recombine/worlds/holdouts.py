"""Which labels of a world of bumps a model may see: parts of the label space, a hold-out, a share of what is left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor

EDGE = 1e-9  # a label on the border belongs to a cross, and not to a band or a square

SEEN, HELD_OUT = "seen", "held out"
INTERSECTION, VERTICAL, HORIZONTAL = "intersection", "vertical arm", "horizontal arm"


class Cross(Settings):
    """x in [low, high], or y: two bands and where they cross (Fig. 4). In pixels of the image."""

    kind: Literal["cross"] = "cross"
    low: float = 13.0
    high: float = 19.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.high:
            raise ValueError(f"a cross from {self.low:g} to {self.high:g} is empty: give low <= high")
        return self

    def regions(self, place: Tensor, pixels: int) -> dict[str, Tensor]:
        """Where each region is, for places in the image.  # [n] bool each"""
        x, y = ((place >= self.low - EDGE) & (place <= self.high + EDGE)).unbind(1)
        return {INTERSECTION: x & y, VERTICAL: x & ~y, HORIZONTAL: ~x & y}


class Band(Settings):
    """A vertical band in the middle of the image (Fig. 11)."""

    kind: Literal["band"] = "band"
    across: float = Field(gt=0, description="its width W in pixels")

    def regions(self, place: Tensor, pixels: int) -> dict[str, Tensor]:
        """Where the band is.  # [n] bool"""
        return {HELD_OUT: (place[:, 0] - (pixels + 1) / 2).abs() < self.across / 2 - EDGE}


class Square(Settings):
    """A square in the middle of the image, or in its first corner (Figs. 5 and 12)."""

    kind: Literal["square"] = "square"
    side: float = Field(gt=0, description="W in pixels")
    at: Literal["centre", "corner"] = "centre"

    @classmethod
    def of_share(cls, share: float, pixels: int) -> Square:
        """The square in the middle that holds this share of the image."""
        return cls(side=math.sqrt(share) * pixels)

    def regions(self, place: Tensor, pixels: int) -> dict[str, Tensor]:
        """Where the square is.  # [n] bool"""
        if self.at == "corner":
            return {HELD_OUT: (place < self.side + 0.5 - EDGE).all(1)}
        return {HELD_OUT: ((place - (pixels + 1) / 2).abs() < self.side / 2 - EDGE).all(1)}


class Blocks(Settings):
    """All but blocks of the image, one in every row and column of blocks: columns of block i are seen with the rows of
    block order[i] alone. Shuffled, a block's columns and rows lie anywhere in the image, in random orders of this seed.
    Joined, the first column of each block is seen with the first row of the next block instead: as many to
    every row and column, and one label leads from each block to the next.
    """

    kind: Literal["blocks"] = "blocks"
    order: tuple[int, ...] = Field(min_length=2)
    shuffled: int | None = None
    joined: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"order {self.order} has to name each of 0 to {len(self.order) - 1} once")
        return self

    def regions(self, place: Tensor, pixels: int) -> dict[str, Tensor]:
        """Where nothing was seen.  # [n] bool"""
        pixel = pixel_of(place, pixels)
        if self.shuffled is not None:
            for axis in (0, 1):
                anywhere = nested_order(pixels, 2 * self.shuffled + axis).to(place.device)
                pixel[:, axis] = anywhere[pixel[:, axis]]
        block = pixel * len(self.order) // pixels
        partner = torch.tensor(self.order, device=place.device)
        column, row = block.unbind(1)
        seen = partner[column] == row
        if self.joined:
            first = ((pixel - 1) * len(self.order) // pixels != block).all(1)
            seen = torch.where(first, partner.roll(-1)[column] == row, seen)
        return {HELD_OUT: ~seen}


class Grid(Settings):
    """All but the pixels that lie in both every n-th column and every n-th row."""

    kind: Literal["grid"] = "grid"
    every: int = Field(ge=2)

    def regions(self, place: Tensor, pixels: int) -> dict[str, Tensor]:
        """Where the grid is not.  # [n] bool"""
        return {HELD_OUT: (pixel_of(place, pixels) % self.every != self.every // 2).any(1)}


def pixel_of(place: Tensor, pixels: int) -> Tensor:
    """The pixel, from 0 on, that a place in the image belongs to.  # [n, 2] int64"""
    return (place - 0.5 + EDGE).floor().long().clamp(0, pixels - 1)


HoldOut = Annotated[Cross | Band | Square | Blocks | Grid, Field(discriminator="kind")]


class LabelSplit(Settings):
    """Labels on a grid of `step` that a model may see. A hold-out takes away labels inside the image, no others."""

    step: float = Field(default=0.1, gt=0, description="from one label to the next, in pixels")
    parts: tuple[Literal["2D", "1D", "0D"], ...] = Field(default=("2D",), min_length=1)
    rim: bool = True  # whether stripes whose other half still shows at the edge of the image belong to "1D"
    held_out: HoldOut | None = None
    share: float = Field(default=1.0, gt=0, le=1, description="of the labels inside the image: the first of one order")

    def region(self, world: BumpsWorld, labels: Tensor) -> list[str]:
        """The name of the region that each label lies in; "seen" if no hold-out has it."""
        names = [SEEN] * len(labels)
        if self.held_out is not None:
            inside = world.inside(labels).all(1)
            for name, there in self.held_out.regions(labels - world.margin, world.pixels).items():
                for place in (there & inside).nonzero().flatten().tolist():
                    names[place] = name
        return names

    def labels(self, world: BumpsWorld, seed: int) -> Tensor:
        """Every label of the training set. A smaller share is a part of any larger one of the same seed.  # [n, 2]"""
        labels = world.labels(self.step)
        dimension = world.dimension(labels)
        kept = torch.zeros(len(labels), dtype=torch.bool)
        for part in set(self.parts):
            kept |= dimension == int(part[0])
        if not self.rim:
            kept &= (dimension != 1) | world.hidden(labels)
        if self.held_out is not None:
            for there in self.held_out.regions(labels - world.margin, world.pixels).values():
                kept &= ~(there & (dimension == 2))
        inside, outside = labels[kept & (dimension == 2)], labels[kept & (dimension < 2)]
        if self.share < 1:
            inside = inside[nested_order(len(inside), seed)[: round(self.share * len(inside))]]
        labels = torch.cat([inside, outside])
        if not len(labels):
            raise UserError("the hold-out leaves no label to train on: make it smaller, or add parts")
        return labels

    def check(self, world: BumpsWorld) -> None:
        """Raise a one-line UserError if this split does not fit the world or leaves nothing."""
        if not world.margin and set(self.parts) != {"2D"}:
            raise UserError(f"parts {', '.join(self.parts)} lie outside of the image: give the world a margin")
        self.labels(world, 0)

    def distance(self, node: str) -> int | None:
        """Regions are not counted in concepts."""
        return None

    def pool(self, world: BumpsWorld, seed: int, device: torch.device | str = "cpu") -> Pool:
        """Render the training set; every image is as likely as any other."""
        labels = self.labels(world, seed).to(device)
        one = torch.ones(1, device=device)
        return Pool(
            images=torch.cat([world.render(part) for part in torch.split(labels, 8192)]),
            conditions=world.condition(labels),
            starts=torch.zeros(1, dtype=torch.int64, device=device),
            counts=one.to(torch.int64) * len(labels),
            cumulative=one,
            owner=torch.arange(2, device=device).repeat_interleave(torch.tensor(world.condition_widths, device=device)),
        )


def nested_order(count: int, seed: int) -> Tensor:
    """A random order; the first of it are the smaller share, and a part of every larger one.  # [count] int64"""
    return seeds.bits(seeds.keys(seed, "share", torch.arange(count)), 1).flatten().argsort(stable=True)
