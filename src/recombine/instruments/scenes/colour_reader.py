"""Which colours an image holds: the share of its pixels that only objects of one colour have, against a threshold.

The reader is fitted to rendered scenes. The cube of colours is cut into SIDE^3 cells; a cell belongs to a colour if, of
scenes with a single object, mostly those of that colour have pixels in it (ground, shadows and highlights are the same
in all scenes, so they belong to none). An image holds a colour if enough of its pixels belong to it; the threshold is
fitted on rendered scenes of many colours. The error on fresh rendered scenes is reported as calibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from pydantic import Field

from recombine import seeds
from recombine.errors import UserError
from recombine.instruments.observation import Row
from recombine.settings import Settings
from recombine.worlds.scenes.colours import ColouredScenes

if TYPE_CHECKING:
    from torch import Tensor

SIDE = 24  # cells of the cube of colours, along each axis
MAJORITY = 0.5  # share of a cell's pixels that scenes of one colour need for the cell to belong to that colour
CHUNK = 256  # images at once


class ColourReaderConfig(Settings):
    """How many rendered scenes the reader is fitted to."""

    singles: int = Field(default=96, ge=1, description="scenes with one object of each colour, for the cells")
    crowds: int = Field(default=64, ge=1, description="scenes of each number of colours, for the thresholds")


@dataclass(frozen=True)
class ColourReader:
    """Made by `colour_reader`."""

    owner: Tensor  # [SIDE^3] int64: the colour that a cell belongs to, or -1 for none
    threshold: Tensor  # [colours]: the share of an image that a colour needs

    def shares(self, images: Tensor) -> Tensor:
        """The share of the pixels of images [n, 3, H, W] in [-1, 1] that belong to each colour.  # [n, colours]"""
        return _shares(images, self.owner, len(self.threshold))

    def find(self, images: Tensor) -> Tensor:
        """Which colours images hold.  # [n, colours] bool, on the CPU"""
        return (self.shares(images.float()) >= self.threshold).cpu()


@lru_cache(maxsize=8)  # one for each seed of an experiment
def colour_reader(world: ColouredScenes, config: ColourReaderConfig, seed: int, device: str) -> ColourReader:
    """The reader of a world, fitted."""
    owner = _owners(world, config.singles, seed, device)
    wanted, images = crowds(world, config.crowds, seed, device, "colour-reader-crowds")
    shares = _shares(images, owner, len(world.names))
    thresholds = [_best_threshold(shares[:, i], wanted[:, i] > 0) for i in range(len(world.names))]
    return ColourReader(owner, torch.stack(thresholds).to(device))


def crowds(
    world: ColouredScenes, per_count: int, seed: int, device: str, name: str, most: int = 6
) -> tuple[Tensor, Tensor]:
    """Rendered scenes of 1 to `most` colours, `per_count` of each.  # [n, colours] of 0 and 1, [n, 3, H, W]"""
    number = torch.arange(most * per_count, device=device)
    factors = world.draw(number // per_count + 1, seeds.keys(seed, name, number))
    return world.colours(factors), world.render(factors)


@dataclass(frozen=True)
class ColourCount:
    """Which of the colours of their labels n images hold."""

    drawn: Tensor  # [n] int64: of the colours of the label
    asked: Tensor  # [n] int64: colours of the label
    extras: Tensor  # [n] int64: other colours

    @property
    def recall(self) -> Tensor:
        """The share of the colours of the label that are there.  # [n]"""
        return self.drawn / self.asked.double()


def count_colours(found: Tensor, asked: Tensor) -> ColourCount:
    """Compare found colours [n, colours] bool with those of the labels [n, colours]; each label has one or more."""
    asked = asked.cpu() > 0
    if found.shape != asked.shape or not bool(asked.any(1).all()):
        raise UserError(f"found {tuple(found.shape)}, labels {tuple(asked.shape)}: each label needs one colour or more")
    return ColourCount((found & asked).sum(1), asked.sum(1), (found & ~asked).sum(1))


def colour_rows(found: Tensor, asked: Tensor) -> list[Row]:
    """Rows for each number of colours of a label.

    Chance is the recall of the same images when their labels are exchanged.
    """
    counted, rows = count_colours(found, asked), list[Row]()
    for number in sorted(set(counted.asked.tolist())):
        members = torch.nonzero(counted.asked == number).squeeze(1)
        values = {
            "colour.recall": counted.recall[members].mean().item(),
            "colour.strict": (counted.drawn == counted.asked)[members].double().mean().item(),
            "colour.extras": counted.extras[members].double().mean().item(),
            "colour.found": found[members].sum(1).double().mean().item(),
        }
        if len(members) > 1:
            others = count_colours(found[members], asked[members.to(asked.device)].roll(1, 0))
            values["colour.chance"] = others.recall.mean().item()
        rows += [{"labels": number, "instrument": name, "value": value} for name, value in values.items()]
    return rows


def calibrate_colours(reader: ColourReader, world: ColouredScenes, per_count: int, seed: int, device: str) -> list[Row]:
    """The same rows, "calibration.", of fresh rendered scenes of 1 to 6 colours; recall and false alarms by colour."""
    wanted, images = crowds(world, per_count, seed, device, "colour-calibration")
    found, wanted = reader.find(images), wanted.cpu()
    rows = colour_rows(found, wanted)
    for i, name in enumerate(world.names):
        there = wanted[:, i] > 0
        for what, members in (("recall", there), ("false", ~there)):
            if members.any():
                value = found[members, i].double().mean().item()
                rows.append({"colour": name, "instrument": f"colour.{what}", "value": value})
    return [row | {"instrument": f"calibration.{row['instrument']}"} for row in rows]


def _cells(images: Tensor) -> Tensor:
    """The cell of the cube of colours that each pixel lies in.  # [n, 3, H, W] -> [n, H W] int64"""
    level = ((images.clamp(-1, 1) + 1) / 2 * SIDE).long().clamp(max=SIDE - 1)
    red, green, blue = level.flatten(2).unbind(1)
    return (red * SIDE + green) * SIDE + blue


def _shares(images: Tensor, owner: Tensor, colours: int) -> Tensor:
    """The share of pixels that belong to each colour.  # [n, colours]"""
    counted = torch.zeros(len(images), colours + 1, device=images.device)
    for start in range(0, len(images), CHUNK):
        belongs = owner[_cells(images[start : start + CHUNK])] + 1  # [n, H W]
        counted[start : start + CHUNK].scatter_add_(1, belongs, torch.ones_like(belongs, dtype=counted.dtype))
    return counted[:, 1:] / images[0, 0].numel() if len(images) else counted[:, 1:]


def _owners(world: ColouredScenes, singles: int, seed: int, device: str) -> Tensor:
    """The colour that each cell belongs to.  # [SIDE^3] int64"""
    colours = len(world.names)
    wanted = torch.eye(colours, device=device).repeat_interleave(singles, 0)
    key = seeds.keys(seed, "colour-reader-singles", torch.arange(len(wanted), device=device))
    counts = torch.zeros(colours * SIDE**3, device=device)
    for part, keys in zip(torch.split(wanted, CHUNK), torch.split(key, CHUNK), strict=True):
        cells = _cells(world.render(world.draw_set(part, keys)))  # [n, H W]
        place = (part.argmax(1)[:, None] * SIDE**3 + cells).flatten()
        counts += torch.bincount(place, minlength=len(counts))
    # A model's colours are a little off: each cell also takes the counts of its neighbours.
    smooth = torch.nn.functional.avg_pool3d(counts.reshape(1, colours, SIDE, SIDE, SIDE), 3, 1, 1).reshape(colours, -1)
    total = smooth.sum(0)
    share, colour = (smooth / total.clamp(min=1e-9)).max(0)
    return torch.where(share > MAJORITY, colour, -1)


def _best_threshold(shares: Tensor, there: Tensor) -> Tensor:
    """The share that best separates images with a colour from those without it, both errors weighted equally.  # []

    Where many do equally well, the middle one, so that a faint object counts and a few stray pixels do not.
    """
    values = shares.sort().values
    values = values[torch.cat([values.new_ones(1), values.diff()]) > 0]  # each once
    between = ((values[1:] + values[:-1]) / 2) if len(values) > 1 else values + 1e-6
    between = torch.cat([between, between[-1:] + 1e-6])
    found = shares[:, None] >= between
    right = found[there].double().mean(0) - found[~there].double().mean(0)
    best = between[right == right.max()]
    return best[(best - (best.min() + best.max()) / 2).abs().argmin()]
