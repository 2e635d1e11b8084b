"""How well a training-free local-score model predicts a trained network: both draw from the same noise.

The conditional local-score machine (`denoisers.local_machine`) is made from images that the model was trained on;
beside it stands the global one, which is conditioned on the whole image and the whole label. *r2*: the share of the
variance of a sample's pixels that the machine's sample explains, 1 - |model - machine|^2 / |model - its mean|^2; the
median over samples, as in Kamb and Ganguli 2024. *agree*: the share of labels at which both draw an object, or neither
does; *chance*: if each did so independently. Two samples are alike for less than the same answer to the same noise, so
r2 stands beside that of other pairs: *shuffled*, the model's sample with the machine's for another layout; *noise*,
with the machine's for the same labels from other noise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.denoisers.configs import RadiiAbove
from recombine.denoisers.local_machine import ConditionalLocalMachine
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Row
from recombine.instruments.scenes.counting import SHIFTS, count
from recombine.instruments.scenes.evaluation import Sampling
from recombine.instruments.scenes.object_finder import Finder
from recombine.settings import Settings
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import NODE_STRIDE, Pool

if TYPE_CHECKING:
    from torch import Tensor

LOCAL, GLOBAL = "local", "global"
TIED = "machine.tied"  # the share of cells where no training image agrees with the labels nearby
AT_ONCE = {"cpu": 2**20, "cuda": 2**24}  # numbers that a machine holds at a time


class ReceptiveFields(Settings):
    """What each cell of a machine depends on, in cells around it; as much as the grid's side is everything."""

    radius: int = Field(default=2, ge=0, description="of the pixel receptive field: 2 means 5 x 5 cells")
    label_radius: int = Field(default=2, ge=0, description="of the label receptive field")
    by_noise: tuple[RadiiAbove, ...] = ()

    def machine(self, images: Tensor, labels: Tensor, grid: int) -> ConditionalLocalMachine:
        """The machine of these images with these grid labels."""
        pixels = [(0.0, self.radius), *((fields.above, fields.radius) for fields in self.by_noise)]
        labels_near = [(0.0, self.label_radius), *((fields.above, fields.label_radius) for fields in self.by_noise)]
        at_once = AT_ONCE.get(images.device.type, 2**20)
        return ConditionalLocalMachine(images, labels, grid, _latest(pixels), _latest(labels_near), at_once=at_once)


class MachineComparison(Settings):
    """The machines that a model is compared with, and at which numbers of labels."""

    images: int = Field(default=8_000, ge=1, description="of the model's training images, the first")
    receptive_fields: ReceptiveFields = ReceptiveFields()  # of the local machine
    counts: tuple[int, ...] = Field(default=(1, 3, 6, 9), min_length=1)
    layouts: int = Field(default=64, ge=2, description="of each number of labels, sampled in one batch")
    sampler: SamplerConfig = SamplerConfig(method="ddim", steps=25, eta=0.0)

    @model_validator(mode="after")
    def _same_noise(self) -> Self:
        if self.sampler.method == "ancestral" or (self.sampler.method == "ddim" and self.sampler.eta > 0):
            raise ValueError("machine and model must follow the same noise: take ddim with eta = 0, or multistep")
        return self


def machine_rows(
    sampling: Sampling, comparison: MachineComparison, split: SceneSplit, finder: Finder, data_seed: int
) -> list[Row]:
    """Rows "machine." for each number of labels; the machines' labels are grids, whatever the model's are.

    `sampling` is the model's; machines are made of the first images of its training set.
    """
    world, layouts = sampling.world, comparison.layouts
    if max(comparison.counts) > world.most:
        raise UserError(f"{max(comparison.counts)} labels and a scene holds {world.most} objects: raise world.most")
    model = replace(sampling, sampler=comparison.sampler)
    gridded = replace(model, labels=as_grid(sampling.labels))
    part = split.replace(images=min(comparison.images, split.images))
    known = _first(part, world, gridded.labels, data_seed, str(model.device))
    everything = ReceptiveFields(radius=model.labels.grid, label_radius=model.labels.grid)
    machines = {
        name: fields.machine(known.images, known.conditions, model.labels.grid)
        for name, fields in ((LOCAL, comparison.receptive_fields), (GLOBAL, everything))
    }
    rows: list[Row] = []
    for asked in comparison.counts:
        condition, key, places, present = model.prompts(asked, layouts)
        grid = gridded.prompts(asked, layouts)[0].to(model.device)
        other = seeds.keys(model.seed, "machine-other-noise", asked * NODE_STRIDE + torch.arange(layouts))
        images = model.draw(condition, key)
        drawn = count(finder.find(images), places, present, world.pixels / model.labels.grid).drawn  # [n, A]
        values = {"network.recall": _share(drawn, present)}
        for name, machine in machines.items():
            guess = replace(gridded, denoise=machine.denoise)
            predicted = guess.draw(grid, key)
            also = count(finder.find(predicted), places, present, world.pixels / model.labels.grid).drawn
            others = [r_squared(images, predicted.roll(shift, 0)) for shift in range(1, min(layouts, SHIFTS + 1))]
            values |= {
                f"{name}.r2": r_squared(images, predicted).nanmedian(),
                f"{name}.r2.shuffled": torch.cat(others).nanmedian(),
                f"{name}.r2.noise": r_squared(images, guess.draw(grid, other)).nanmedian(),
                f"{name}.agree": _share(drawn == also, present),
                f"{name}.agree.chance": _chance(_share(drawn, present), _share(also, present)),
                f"{name}.recall": _share(also, present),
                f"{name}.tied": tied(machine, grid, model.schedule),
            }
        for name, value in values.items():
            number = value.item() if value.isfinite() else None
            rows.append({"labels": asked, "instrument": f"machine.{name}", "value": number})
    return rows


def tied(machine: ConditionalLocalMachine, condition: Tensor, schedule: Schedule) -> Tensor:
    """The share of cells where no training image agrees with the labels nearby, at the highest noise.  # []"""
    return (machine.disagreements(condition, schedule.start_scale) > 0).double().mean()


def as_grid(labels: LabelConfig) -> LabelConfig:
    """The plain grid of the same labelled objects: only cells of 0 and 1 can agree exactly."""
    return labels.replace(form="grid", counted=False)


def r_squared(truth: Tensor, guess: Tensor) -> Tensor:
    """The share of each image's variance that a guess explains; NaN for an image of one value.  # [n]"""
    truth, guess = truth.double().flatten(1), guess.double().flatten(1)
    spread = (truth - truth.mean(1, keepdim=True)).square().sum(1)
    return torch.where(spread > 0, 1 - (truth - guess).square().sum(1) / spread, torch.nan)


@lru_cache(maxsize=8)
def _first(split: SceneSplit, world: SceneWorld, labels: LabelConfig, seed: int, device: str) -> Pool:
    """The first images of a training set; models trained on the same ones share them."""
    return split.pool(world, labels, seed, device)


def _chance(one: Tensor, other: Tensor) -> Tensor:
    """How often two agree that are right so often, each for itself."""
    return one * other + (1 - one) * (1 - other)


def _share(right: Tensor, labelled: Tensor) -> Tensor:
    """The share of labels [n, A] of which it is so."""
    labelled = labelled.to(right.device)
    return (right & labelled).sum().double() / labelled.sum()


def _latest(pairs: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Of radii that start at the same noise level, the one that was named last."""
    return list(dict(pairs).items())
