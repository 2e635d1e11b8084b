"""What is measured: something that draws a bump at a label, and a model of bumps at a milestone of its training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.instruments.observation import Denoise
from recombine.seeds import Seeds
from recombine.training.inference import FastDenoiser
from recombine.training.replica import TrainingConfig
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

KNOWN, NEW = "known", "new"  # labels that were trained on, and those that were not


@dataclass(frozen=True)
class Sampling:
    """How images of labels are drawn: by which denoiser, with which sampler, from which seed."""

    denoise: Denoise
    sampler: SamplerConfig
    schedule: Schedule
    world: BumpsWorld
    seed: int
    device: torch.device

    def draw(self, labels: Tensor, keys: Tensor | None = None) -> Tensor:
        """An image of each label, from these keys or from its first one.  # [n, 1, N, N] float32"""
        keys = place_keys(self.world, labels, self.seed) if keys is None else keys
        condition = self.world.condition(labels).to(self.device)
        shape = self.world.image_shape
        return sample(self.denoise, self.sampler, self.schedule, shape, condition, keys.to(self.device)).float()


@dataclass(frozen=True)
class Subject:
    """A model at a milestone of its training, and where it comes from."""

    sampler: FastDenoiser
    schedule: Schedule
    world: BumpsWorld
    split: LabelSplit
    seeds: Seeds
    training: TrainingConfig
    seen: int
    fresh: Callable[[], NetworkDenoiser]  # the same model before training

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.sampler.model.parameters()).device

    def sampling(self, how: SamplerConfig) -> Sampling:
        """How this model draws."""
        return Sampling(self.sampler.denoise, how, self.schedule, self.world, self.seeds.sampling, self.device)


def places(world: BumpsWorld, every: int) -> Tensor:
    """The labels of every `every`th pixel in x and y, x slowest.  # [n, 2]"""
    centres = world.centres().reshape(world.pixels, world.pixels, 2)
    return centres[::every, ::every].flatten(0, 1)


def place_keys(world: BumpsWorld, labels: Tensor, seed: int, number: int = 0) -> Tensor:
    """The key of sample `number` of each label, whichever others are sampled with it.  # [n]"""
    tenths = (labels * 10).round().long()
    index = tenths[:, 0] * (round(10 * world.extent) + 1) + tenths[:, 1]
    return seeds.keys(seed, "sample", number * NODE_STRIDE + index)


def is_known(labels: Tensor, trained: Tensor) -> Tensor:
    """Which of these labels [n, 2] were trained on, to a thousandth of a pixel.  # [n] bool"""
    asked, known = ((each.double() * 1000).round().long() @ torch.tensor([10**7, 1]) for each in (labels, trained))
    return torch.isin(asked, known)
