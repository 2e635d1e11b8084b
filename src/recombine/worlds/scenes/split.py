"""Which scenes a model sees: how many objects an image holds, how many images there are, and how they are labelled.

Images are rendered, or those of real CLEVR (or of its generator), whose labels are CLEVR's own `pixel_coords`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from pydantic import Field

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.scenes import clevr
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 4096  # scenes drawn and rendered at once
REMEMBERED = 5  # sets of images that the runs of a process share: as many as an experiment has seeds


class SceneSplit(Settings):
    """Images with these numbers of objects: rendered, each number as often as any other; of CLEVR, as it has them."""

    objects: tuple[int, ...] = Field(default=(1, 2, 3), min_length=1)
    images: int = Field(default=30_000, ge=1, description="different images")
    source: Literal["rendered", "clevr"] = "rendered"

    def check(self, world: SceneWorld) -> None:
        """Raise a one-line UserError if this split does not fit the world."""
        if self.source == "clevr" and world.style != "clevr":
            raise UserError(f"split.source is clevr and world.style {world.style}: set world.style = clevr")
        for count in self.objects:
            if not 0 <= count <= world.most:
                raise UserError(f"split.objects names {count}: this world has 0 to {world.most} objects")

    def pool(self, world: SceneWorld, labels: LabelConfig, seed: int, device: torch.device | str = "cpu") -> Pool:
        """Draw, render and label; every image is as likely as any other. What differs in labels alone shares images."""
        if self.source == "clevr":
            images, places, present, key = _photographed(self, world, seed, str(device), clevr.data_folder())
        else:
            images, places, present, key = _rendered(self, world, seed, str(device))
        conditions = labels.encode(places, labels.chosen(present, key), world.pixels, key)
        one = torch.ones(1, device=device)
        return Pool(
            images=images,
            conditions=conditions,
            starts=torch.zeros(1, dtype=torch.int64, device=device),
            counts=one.to(torch.int64) * self.images,
            cumulative=one,
            owner=torch.zeros(labels.width, dtype=torch.int64, device=device),
        )


Scenes: TypeAlias = "tuple[Tensor, Tensor, Tensor, Tensor]"


@lru_cache(maxsize=REMEMBERED)
def _photographed(split: SceneSplit, world: SceneWorld, seed: int, device: str, folder: Path) -> Scenes:
    """The same of real CLEVR: as many of its scenes as asked for, chosen by the seed."""
    known = clevr.read(folder, world, "train", split.objects)
    if len(known.factors) < split.images:
        raise UserError(
            f"CLEVR has {len(known.factors):,} scenes of {list(split.objects)} objects and split.images asks for "
            f"{split.images:,}: ask for fewer, or for other numbers of objects"
        )
    lot = seeds.uniform(seeds.keys(seed, "data-choice", torch.arange(len(known.factors))))
    rows = lot.argsort()[: split.images]
    made = known.images(rows), known.centres[rows], known.present[rows], seeds.keys(seed, "data", rows)
    images, places, present, key = (each.to(device) for each in made)
    return images, places, present, key


@lru_cache(maxsize=REMEMBERED)
def _rendered(split: SceneSplit, world: SceneWorld, seed: int, device: str) -> Scenes:
    """Images, their objects' places and which are there, and keys.  # [n, 3, H, W], [n, S, 2], [n, S], [n]"""
    parts = []
    for start in range(0, split.images, CHUNK):
        key = seeds.keys(seed, "data", torch.arange(start, min(start + CHUNK, split.images))).to(device)
        objects = torch.tensor(split.objects, device=device)
        count = objects[seeds.bits(key, 1, lane=24)[:, 0] % len(split.objects)]
        factors = world.draw(count, key)
        parts.append((world.render(factors), *world.centres(factors), key))
    images, places, present, key = (torch.cat(each) for each in zip(*parts, strict=True))
    return images, places, present, key
