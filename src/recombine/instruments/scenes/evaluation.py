"""What is measured while a model of scenes trains: samples with 1 to K labels, and what is drawn at the labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.instruments.observation import Denoise, Observation, Row, sample_in_parts
from recombine.instruments.scenes.counting import calibrate_counting, count_rows
from recombine.instruments.scenes.object_finder import Finder, FinderConfig, object_finder
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor


class SceneEvaluation(Observation):
    """Every number of labels, each at so many layouts that all models share."""

    kind: Literal["scenes"] = "scenes"
    counts: tuple[int, ...] = Field(default=tuple(range(1, 13)), min_length=1)
    layouts: int = Field(default=64, ge=1, description="for each number of labels")
    together: int = Field(default=64, ge=1, description="images sampled at once")
    finder: FinderConfig = FinderConfig()
    calibration_scenes: int = Field(
        default=32, ge=1, description="rendered ones of each number that the finder is tried on"
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
    """Scenes of so many objects, none of them for training, by the loose rule: places in pixels, and which are there.

    # [images, S, 2], [images, S]
    """
    key = seeds.keys(seed, "layouts", count * NODE_STRIDE + torch.arange(images))
    return world.centres(world.draw(torch.full((images,), count), key, loose=True))


@dataclass(frozen=True)
class Sampling:
    """How scenes of labels are drawn: by which denoiser, with which sampler, from which seed."""

    denoise: Denoise
    sampler: SamplerConfig
    schedule: Schedule
    world: SceneWorld
    labels: LabelConfig
    seed: int
    device: torch.device

    @property
    def cell(self) -> int:
        """Pixels along the side of a cell of the label grid."""
        return self.world.pixels // self.labels.grid

    def draw(self, condition: Tensor, key: Tensor) -> Tensor:
        """An image of each condition, in one batch.  # [n, C, H, W] float32"""
        condition, key = condition.to(self.device), key.to(self.device)
        return sample(self.denoise, self.sampler, self.schedule, self.world.image_shape, condition, key).float()

    def prompts(self, count: int, images: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As `prompts`, of this world and seed."""
        return prompts(self.world, self.labels, count, images, self.seed)


def prompts(
    world: SceneWorld, labels: LabelConfig, count: int, images: int, seed: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Conditions of these layouts with every object labelled, keys to sample with, and the labels' places.

    # [images, K], [images], [images, S, 2], [images, S]
    """
    places, present = layouts(world, count, images, seed)
    key = seeds.keys(seed, "sample", count * NODE_STRIDE + torch.arange(images))
    return labels.encode(places, present, world.pixels, key), key, places, present


def measure_scenes(sampling: Sampling, evaluation: SceneEvaluation, finder: Finder) -> tuple[list[Row], Tensor]:
    """Rows for every number of labels, and images of each.  # [counts, layouts, C, H, W]"""
    rows, drawn, s = list[Row](), [], sampling
    for count in evaluation.counts:
        condition, key, places, present = s.prompts(count, evaluation.layouts)
        shape, together = s.world.image_shape, evaluation.together
        images = sample_in_parts(s.denoise, s.sampler, s.schedule, shape, condition, key, together, s.device)
        rows += count_rows(finder.find(images), places, present, s.world.pixels / s.labels.grid)
        drawn.append(images.cpu())
    return rows, torch.stack(drawn)
