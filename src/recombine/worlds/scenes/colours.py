"""Scenes conditioned on colours, not places: no two objects share a colour, and the label says which colours occur.

Bradley 2026 and the paper before it ask whether conditions compose that have no place: each colour may be anywhere, so
no set of pixels belongs to it, and a score that is local in pixels cannot follow it. A label is a vector with a 1 for
each labelled colour; all zeros means a scene without objects. In CLEVR's scenes the ground is gray, so gray objects are
best left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Self

import torch
from pydantic import model_validator

from recombine import seeds
from recombine.errors import UserError
from recombine.worlds.base import Source
from recombine.worlds.scenes.layout import COLOURS, COLUMNS
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor

CHROMATIC = tuple(name for name in COLOURS if name != "gray")
Labelled = Literal["all", "one"]
CHUNK = 4096  # scenes drawn and rendered at once
COLOUR_LANE, LABEL_LANE, COUNT_LANE = 31, 32, 33  # of a scene's key


class ColouredScenes(Source):
    """Scenes whose objects all differ in colour; the condition has a number for each of their possible colours."""

    kind: Literal["coloured-scenes"] = "coloured-scenes"
    scenes: SceneWorld = SceneWorld(most=len(CHROMATIC), colours=CHROMATIC)

    @model_validator(mode="after")
    def _colours_suffice(self) -> Self:
        if len(set(self.names)) < len(self.names) or self.scenes.most > len(self.names):
            raise ValueError(
                f"{self.scenes.most} objects of different colours out of {', '.join(self.names)}: lower scenes.most, "
                "or name more colours, each once"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The colours, in the order of a label."""
        return self.scenes.colours

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.scenes.image_shape

    @property
    def condition_widths(self) -> tuple[int, ...]:
        """One condition, with a number for each colour."""
        return (len(self.names),)

    def draw(self, count: Tensor, key: Tensor) -> Tensor:
        """Factors of scenes with so many objects [n] of random colours, all different.  # [n, F]"""
        return self._draw(count, seeds.uniform(key, (len(self.names),), lane=COLOUR_LANE).argsort(1), key)

    def draw_set(self, wanted: Tensor, key: Tensor) -> Tensor:
        """Factors of scenes with one object of each colour that is wanted [n, colours].  # [n, F]"""
        return self._draw(wanted.sum(1).long(), (wanted > 0).int().argsort(dim=1, descending=True, stable=True), key)

    def _draw(self, count: Tensor, order: Tensor, key: Tensor) -> Tensor:
        """Objects of the first colours of each order [n, colours]; all scenes use the loose spacing rule.  # [n, F]"""
        factors = self.scenes.draw(count, key, loose=True)
        size, most = len(COLUMNS), self.scenes.most
        objects = factors[:, : size * most].reshape(-1, most, size)
        objects[..., COLUMNS.index("colour")] = self._numbers(key.device)[order[:, :most]] * objects[..., 0]
        return torch.cat([objects.flatten(1), factors[:, size * most :]], 1)

    def render(self, factors: Tensor) -> Tensor:
        """Images of these factors.  # [n, 3, H, W]"""
        return self.scenes.render(factors)

    def colours(self, factors: Tensor) -> Tensor:
        """Which colours occur.  # [n, colours] of 0 and 1"""
        scene = self.scenes.scene(factors)
        same = scene.colour[:, :, None] == self._numbers(factors.device)  # [n, most, colours]
        return (same & scene.present[:, :, None]).any(1).float()

    def label(self, text: str) -> Tensor:
        """The label of colours named as in "red yellow".  # [colours]"""
        words = text.split()
        unknown = [word for word in words if word not in self.names]
        if unknown:
            raise UserError(f"no colour '{unknown[0]}' in this world; there are {', '.join(self.names)}")
        return torch.tensor([float(name in words) for name in self.names])

    def pool(self, split: SceneSplit, labelled: Labelled, seed: int, device: torch.device | str = "cpu") -> Pool:
        """Draw, render and label: all colours of an image, or one of them, chosen once. The images are the same."""
        images, present, key = _rendered(self, split, seed, str(device))
        one = torch.ones(1, device=device)
        return Pool(
            images=images,
            conditions=present if labelled == "all" else one_of(present, key),
            starts=torch.zeros(1, dtype=torch.int64, device=device),
            counts=one.to(torch.int64) * split.images,
            cumulative=one,
            owner=torch.zeros(len(self.names), dtype=torch.int64, device=device),
        )

    def _numbers(self, device: torch.device) -> Tensor:
        """The number of each colour in the factors.  # [colours] int64"""
        return torch.tensor([list(COLOURS).index(name) for name in self.names], device=device)


def one_of(present: Tensor, key: Tensor) -> Tensor:
    """One of the colours [n, colours] of each image, by lot; none where there is none.  # [n, colours]"""
    lot = seeds.uniform(key, present.shape[1:], lane=LABEL_LANE)
    return torch.nn.functional.one_hot((lot * present).argmax(1), present.shape[1]) * present


@lru_cache(maxsize=5)  # as many as an experiment has seeds
def _rendered(world: ColouredScenes, split: SceneSplit, seed: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Images, which colours they hold, and keys.  # [n, 3, H, W], [n, colours], [n]"""
    parts = []
    for start in range(0, split.images, CHUNK):
        key = seeds.keys(seed, "data", torch.arange(start, min(start + CHUNK, split.images))).to(device)
        objects = torch.tensor(split.objects, device=device)
        factors = world.draw(objects[seeds.bits(key, 1, lane=COUNT_LANE)[:, 0] % len(split.objects)], key)
        parts.append((world.render(factors), world.colours(factors), key))
    images, present, key = (torch.cat(each) for each in zip(*parts, strict=True))
    return images, present, key
