"""Where a band is held out, models are asked across it at places between pixels too.

The pixels have few middles in a narrow band (none in one of a single pixel), so a band is asked for in columns of its
own, evenly spaced from edge to edge, and what is right there is told by the depth: how far inside the band it lies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.diffusion.samplers import sample
from recombine.errors import UserError
from recombine.instruments.bumps.centres import find_centres
from recombine.instruments.bumps.evaluation import ALL, ClosingEvaluation, rows_of
from recombine.instruments.bumps.subject import Subject
from recombine.instruments.observation import Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import Band, LabelSplit

if TYPE_CHECKING:
    from torch import Tensor

BAND = "band"  # all that is asked for across it
BIN = 0.5  # px of depth that are told together


class BandEvaluation(ClosingEvaluation):
    """Every pixel, and columns across the band."""

    kind: Literal["bumps-band"] = "bumps-band"
    columns: int = Field(default=32, ge=1, description="across the band, at every row that is asked for")

    def check(self, split: LabelSplit) -> None:
        width_of(split)

    def further(self, subject: Subject) -> list[Row]:
        """The same numbers as by region: across the band, and by depth."""
        world, split, device = subject.world, subject.split, subject.device
        labels = across(world, split, self.columns, self.every)
        key = seeds.keys(subject.seeds.sampling, "across", torch.arange(len(labels))).to(device)
        condition = world.condition(labels).to(device)
        images = sample(subject.sampler.denoise, self.sampler, subject.schedule, world.image_shape, condition, key)
        return band_rows(images.float(), labels, world, split) + super().further(subject)


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
    rows = rows_of(find_centres(images, world), place, [depth_name(each) for each in inside.tolist()], world)
    return [row | {"node": BAND} if row["node"] == ALL else row for row in rows]


def depth_name(inside: float) -> str:
    """The name of the bin that lies so far inside, by where it ends: "depth 0.5", "depth 1"."""
    return f"depth {BIN * math.ceil(round(inside / BIN, 6)):g}"


def width_of(split: LabelSplit) -> float:
    """The width of the band that is held out."""
    if not isinstance(split.held_out, Band):
        raise UserError("only a band can be asked across: set split.held_out to one, as in {kind: band, across: 4}")
    return split.held_out.across
