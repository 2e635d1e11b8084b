"""Where a band is held out, models are asked across it at places between pixels too.

The pixels have few middles in a narrow band (none in one of a single pixel), so a band is asked for in further
columns, evenly spaced from edge to edge, and rows say by depth what is right: how far inside the band it lies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.errors import UserError
from recombine.instruments.bumps.centres import find_centres
from recombine.instruments.bumps.evaluation import ClosingEvaluation, accuracy_rows, grouped
from recombine.instruments.bumps.subject import Subject
from recombine.instruments.observation import Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import Band, LabelSplit

if TYPE_CHECKING:
    from torch import Tensor

BAND = "band"  # the region of all that is asked for across it
BIN = 0.5  # px of depth that one row is about


class BandEvaluation(ClosingEvaluation):
    """Every pixel, and columns across the band."""

    kind: Literal["bumps-band"] = "bumps-band"
    columns: int = Field(default=32, ge=1, description="across the band, at every row that is asked for")

    def check(self, split: LabelSplit) -> None:
        """Refuse a split without a band."""
        width_of(split)

    def further(self, subject: Subject) -> list[Row]:
        """The same numbers as by region: across the band, and by depth."""
        world, split = subject.world, subject.split
        labels = across(world, split, self.columns, self.every)
        keys = seeds.keys(subject.seeds.sampling, "across", torch.arange(len(labels)))
        images = subject.sampling(self.sampler).draw(labels, keys)
        return band_rows(images, labels, world, split) + super().further(subject)


def across(world: BumpsWorld, split: LabelSplit, columns: int, every: int = 1) -> Tensor:
    """Labels in the band: columns evenly spaced from edge to edge, every `every`th row; x slowest.  # [n, 2]"""
    inside = (torch.arange(columns, dtype=torch.float64) + 0.5) / columns - 0.5  # [columns]
    x = (world.pixels + 1) / 2 + width_of(split) * inside
    y = torch.arange(1, world.pixels + 1, dtype=torch.float64)[::every]
    return torch.cartesian_prod(x, y) + world.margin


def band_rows(images: Tensor, labels: Tensor, world: BumpsWorld, split: LabelSplit) -> list[Row]:
    """What is right in images of labels in the band: by depth, and over all of it."""
    place = labels - world.margin
    inside = width_of(split) / 2 - (place[:, 0] - (world.pixels + 1) / 2).abs()
    return accuracy_rows(
        find_centres(images, world), place, world, grouped("depth", map(bin_of, inside.tolist()), BAND)
    )


def bin_of(inside: float) -> float:
    """Where the bin ends that lies so far inside: 0.5, 1, ..."""
    return BIN * math.ceil(round(inside / BIN, 6))


def width_of(split: LabelSplit) -> float:
    """The width of the band that is held out."""
    if not isinstance(split.held_out, Band):
        raise UserError("only a band can be asked across: set split.held_out to one, as in {kind: band, across: 4}")
    return split.held_out.across
