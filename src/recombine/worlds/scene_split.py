"""Which scenes a model sees: how many objects an image holds, how many images there are, and how they are labelled."""

import torch
from pydantic import Field

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.scene_labels import LabelConfig
from recombine.worlds.scenes import SceneWorld
from recombine.worlds.splits import Pool

CHUNK = 4096  # scenes drawn and rendered at once


class SceneSplit(Settings):
    """Images with these numbers of objects, each number as often as any other."""

    objects: tuple[int, ...] = Field(default=(1, 2, 3), min_length=1)
    images: int = Field(default=30_000, ge=1, description="different images")

    def check(self, world: SceneWorld) -> None:
        """Raise a one-line UserError if this split does not fit the world."""
        for count in self.objects:
            if not 0 <= count <= world.most:
                raise UserError(f"split.objects names {count}: this world has 0 to {world.most} objects")

    def pool(self, world: SceneWorld, labels: LabelConfig, seed: int, device: torch.device | str = "cpu") -> Pool:
        """Draw, render and label; every image is as likely as any other."""
        images, conditions = [], []
        for start in range(0, self.images, CHUNK):
            number = torch.arange(start, min(start + CHUNK, self.images))
            key = seeds.keys(seed, "data", number)
            count = torch.tensor(self.objects)[seeds.bits(key, 1, lane=24)[:, 0] % len(self.objects)]
            factors = world.draw(count, key).to(device)
            places, present = world.centres(factors)
            told = labels.chosen(present, key.to(device))
            conditions.append(labels.encode(places, told, world.pixels, key.to(device)))
            images.append(world.render(factors))
        one = torch.ones(1, device=device)
        return Pool(
            images=torch.cat(images),
            conditions=torch.cat(conditions),
            starts=torch.zeros(1, dtype=torch.int64, device=device),
            counts=one.to(torch.int64) * self.images,
            cumulative=one,
            owner=torch.zeros(labels.width, dtype=torch.int64, device=device),
        )
