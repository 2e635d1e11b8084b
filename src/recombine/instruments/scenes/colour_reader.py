"""Which colours an image holds: pixels that only objects of one colour have, counted, against a least share.

The reader learns from rendered scenes. Their colours are cut into cells of SIDE^3; a cell belongs to a colour if, of
scenes with a single object, mostly those of that colour have pixels in it (the ground, shadows and highlights lie in
all scenes alike, so they belong to nobody). An image holds a colour if enough of its pixels belong to it; how many is
enough is chosen on rendered scenes of many colours. Its error on fresh ones is stated as calibration.
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
OWNED = 0.5  # share of a cell's pixels that scenes of one colour must have for it to be that colour's
CHUNK = 256  # images at once


class ColourReaderConfig(Settings):
    """From how many rendered scenes the reader learns."""

    singles: int = Field(default=96, ge=1, description="scenes with one object of each colour, which cells are read of")
    crowds: int = Field(default=64, ge=1, description="scenes of each number of colours, which least shares are of")


@dataclass(frozen=True)
class ColourReader:
    """Made by `colour_reader`."""

    owner: Tensor  # [SIDE^3] int64: the colour that a cell belongs to, or -1 for none
    least: Tensor  # [colours]: the share of an image that a colour needs

    def shares(self, images: Tensor) -> Tensor:
        """The share of the pixels of images [n, 3, H, W] in [-1, 1] that belong to each colour.  # [n, colours]"""
        return _shares(images, self.owner, len(self.least))

    def find(self, images: Tensor) -> Tensor:
        """Which colours images hold.  # [n, colours] bool, on the CPU"""
        return (self.shares(images.float()) >= self.least).cpu()


@lru_cache(maxsize=8)  # one for each seed of an experiment
def colour_reader(world: ColouredScenes, config: ColourReaderConfig, seed: int, device: str) -> ColourReader:
    """The reader of a world, made ready."""
    owner = _owners(world, config.singles, seed, device)
    wanted, images = crowds(world, config.crowds, seed, device, "colour-reader-crowds")
    shares = _shares(images, owner, len(world.names))
    least = [_best_border(shares[:, i], wanted[:, i] > 0) for i in range(len(world.names))]
    return ColourReader(owner, torch.stack(least).to(device))


def crowds(
    world: ColouredScenes, per_count: int, seed: int, device: str, name: str, most: int = 6
) -> tuple[Tensor, Tensor]:
    """Rendered scenes of 1 to `most` colours, `per_count` of each.  # [n, colours] of 0 and 1, [n, 3, H, W]"""
    number = torch.arange(most * per_count, device=device)
    factors = world.draw(number // per_count + 1, seeds.keys(seed, name, number))
    return world.colours(factors), world.render(factors)


@dataclass(frozen=True)
class ColourCount:
    """What n images hold of the colours they were asked for."""

    met: Tensor  # [n] int64: of the colours that were asked for
    asked: Tensor  # [n] int64
    extras: Tensor  # [n] int64: colours that nobody asked for

    @property
    def recall(self) -> Tensor:
        """The share of the asked colours that are there.  # [n]"""
        return self.met / self.asked.double()


def count_colours(found: Tensor, asked: Tensor) -> ColourCount:
    """Compare found colours [n, colours] bool with asked ones [n, colours]; each image is asked for one or more."""
    asked = asked.cpu() > 0
    if found.shape != asked.shape or not bool(asked.any(1).all()):
        raise UserError(
            f"found {tuple(found.shape)}, asked {tuple(asked.shape)}: ask each image for one colour or more"
        )
    return ColourCount((found & asked).sum(1), asked.sum(1), (found & ~asked).sum(1))


def colour_rows(found: Tensor, asked: Tensor) -> list[Row]:
    """Rows for each number of colours that were asked for; their node is the number with two digits.

    Chance is the recall of the same images asked for each other's colours.
    """
    counted, rows = count_colours(found, asked), list[Row]()
    for number in sorted(set(counted.asked.tolist())):
        members = torch.nonzero(counted.asked == number).squeeze(1)
        values = {
            "colour.recall": counted.recall[members].mean().item(),
            "colour.strict": (counted.met == counted.asked)[members].double().mean().item(),
            "colour.extras": counted.extras[members].double().mean().item(),
            "colour.found": found[members].sum(1).double().mean().item(),
        }
        if len(members) > 1:
            others = count_colours(found[members], asked[members.to(asked.device)].roll(1, 0))
            values["colour.chance"] = others.recall.mean().item()
        rows += [{"node": f"{number:02d}", "instrument": name, "value": value} for name, value in values.items()]
    return rows


def calibrate_colours(reader: ColourReader, world: ColouredScenes, per_count: int, seed: int, device: str) -> list[Row]:
    """The same rows, "calibration.", for fresh rendered scenes of 1 to 6 colours; and the recall of each colour."""
    wanted, images = crowds(world, per_count, seed, device, "colour-calibration")
    found, wanted = reader.find(images), wanted.cpu()
    rows = colour_rows(found, wanted)
    for i, name in enumerate(world.names):
        there = wanted[:, i] > 0
        for what, members in (("recall", there), ("false", ~there)):
            if members.any():
                value = found[members, i].double().mean().item()
                rows.append({"node": name, "instrument": f"colour.{what}", "value": value})
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
    # A model's colours are a little off: each cell hears of its neighbours too.
    smooth = torch.nn.functional.avg_pool3d(counts.reshape(1, colours, SIDE, SIDE, SIDE), 3, 1, 1).reshape(colours, -1)
    total = smooth.sum(0)
    share, colour = (smooth / total.clamp(min=1e-9)).max(0)
    return torch.where(share > OWNED, colour, -1)


def _best_border(shares: Tensor, there: Tensor) -> Tensor:
    """The share that tells images with a colour from those without it best: errors of both kinds weigh alike.  # []

    Where many do as well, the one in their middle, so that a faint object and a few stray pixels are both told right.
    """
    values = shares.sort().values
    values = values[torch.cat([values.new_ones(1), values.diff()]) > 0]  # each once
    borders = ((values[1:] + values[:-1]) / 2) if len(values) > 1 else values + 1e-6
    borders = torch.cat([borders, borders[-1:] + 1e-6])
    says = shares[:, None] >= borders
    right = says[there].double().mean(0) - says[~there].double().mean(0)
    best = borders[right == right.max()]
    return best[(best - (best.min() + best.max()) / 2).abs().argmin()]
