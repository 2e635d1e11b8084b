"""What is measured while a model of scenes trains: images asked for with 1 to K labels, and what is drawn at them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import Schedule
from recombine.instruments.observation import Denoise, Observation, Row, drawn_by, sample_in_parts
from recombine.instruments.scenes.counting import calibrate_counting, count_rows
from recombine.instruments.scenes.object_finder import Finder, FinderConfig, object_finder
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor


class SceneEvaluation(Observation):
    """Prompt with every number of labels, each at so many layouts that all models share."""

    kind: Literal["scenes"] = "scenes"
    counts: tuple[int, ...] = Field(default=tuple(range(1, 13)), min_length=1)
    layouts: int = Field(default=64, ge=1, description="for each number of labels")
    together: int = Field(default=64, ge=1, description="images sampled at once")
    finder: FinderConfig = FinderConfig()
    calibration_scenes: int = Field(
        default=32, ge=1, description="real ones of each number that the finder is tried on"
    )

    def tools(self, world: SceneWorld, device: str) -> Finder:
        """The finder of objects, made ready; the runs of a fleet share it."""
        return object_finder(world, self.finder, device)

    def calibration(self, world: SceneWorld, seed: int, device: str) -> list[Row]:
        """How right the finder is on rendered scenes."""
        return [dict(row) for row in _calibration(world, self.finder, self.calibration_scenes, seed, device)]


@lru_cache(maxsize=64)
def _calibration(world: SceneWorld, finder: FinderConfig, scenes: int, seed: int, device: str) -> tuple[Row, ...]:
    """Once for all runs of a seed."""
    return tuple(calibrate_counting(object_finder(world, finder, device), world, scenes, seed, device))


@lru_cache(maxsize=1024)  # numbers of labels x seeds x instruments: the runs of a fleet take turns in all of them
def layouts(world: SceneWorld, count: int, images: int, seed: int) -> tuple[Tensor, Tensor]:
    """Scenes of so many objects that nobody trained on, by the loose rule: places in pixels, and which are there.

    # [images, S, 2], [images, S]
    """
    key = seeds.keys(seed, "layouts", count * NODE_STRIDE + torch.arange(images))
    return world.centres(world.draw(torch.full((images,), count), key, loose=True))


def prompts(
    world: SceneWorld, labels: LabelConfig, count: int, images: int, seed: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Labels of all objects of these layouts, keys to sample with, and the places that are asked for.

    # [images, K], [images], [images, S, 2], [images, S]
    """
    places, present = layouts(world, count, images, seed)
    key = seeds.keys(seed, "sample", count * NODE_STRIDE + torch.arange(images))
    return labels.encode(places, present, world.pixels, key), key, places, present


def measure_scenes(
    denoise: Denoise,
    evaluation: SceneEvaluation,
    how: SamplerConfig,
    schedule: Schedule,
    world: SceneWorld,
    labels: LabelConfig,
    finder: Finder,
    seed: int,
    device: torch.device,
    suffix: str = "",
) -> tuple[list[Row], Tensor]:
    """Rows for every number of labels, and images of each.  # [counts, layouts, C, H, W]"""
    rows, drawn = list[Row](), []
    for count in evaluation.counts:
        condition, key, places, present = prompts(world, labels, count, evaluation.layouts, seed)
        together = evaluation.together
        images = sample_in_parts(denoise, how, schedule, world.image_shape, condition, key, together, device)
        rows += count_rows(finder.find(images), places, present, world.pixels / labels.grid)
        drawn.append(images.cpu())
    return drawn_by(rows, suffix), torch.stack(drawn)


def node_of(count: int) -> str:
    """How rows name a number of labels, as in `counting`."""
    return f"{count:02d}"
