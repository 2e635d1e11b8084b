"""How well a machine that nobody trained predicts a trained model: both draw from the same noise, and are compared.

The conditional local-score machine (`denoisers.local_machine`) is made from images that the model saw; beside it stands
the global one, which hears of the whole image and the whole label. *r2*: the share of the variance of a sample's pixels
that the machine's sample explains, 1 - |model - machine|^2 / |model - its mean|^2; the median over samples, as in
Kamb and Ganguli 2024. *agree*: the share of labels that both meet or both miss; *chance*: if each did so for itself.
Two samples are alike for less than the same answer to the same noise, so r2 stands beside that of other pairs:
*shuffled*, the model's sample with the machine's for another layout; *noise*, with the machine's for the same labels
from other noise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Self

import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.denoisers.configs import NoisyFields
from recombine.denoisers.local_machine import ConditionalLocalMachine
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise, Row
from recombine.instruments.scenes.counting import SHIFTS, count
from recombine.instruments.scenes.evaluation import node_of, prompts
from recombine.instruments.scenes.object_finder import Finder
from recombine.settings import Settings
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import NODE_STRIDE, Pool

if TYPE_CHECKING:
    from torch import Tensor

LOCAL, GLOBAL = "local", "global"
AT_ONCE = {"cpu": 2**20, "cuda": 2**24}  # numbers that a machine holds at a time


class MachineFields(Settings):
    """What each cell of a machine hears of, in cells around it; as much as the grid's side is everything."""

    radius: int = Field(default=2, ge=0, description="of the pixel field: 2 means 5 x 5 cells")
    label_radius: int = Field(default=2, ge=0, description="of the condition field")
    by_noise: tuple[NoisyFields, ...] = ()

    def machine(self, images: Tensor, labels: Tensor, grid: int) -> ConditionalLocalMachine:
        """The machine of these images with these grid labels."""
        pixels = [(0.0, self.radius), *((fields.above, fields.radius) for fields in self.by_noise)]
        told = [(0.0, self.label_radius), *((fields.above, fields.label_radius) for fields in self.by_noise)]
        at_once = AT_ONCE.get(images.device.type, 2**20)
        return ConditionalLocalMachine(images, labels, grid, _latest(pixels), _latest(told), at_once=at_once)


class MachineLook(Settings):
    """The machines that a model is compared with, and where it is asked."""

    images: int = Field(default=8_000, ge=1, description="of the model's training images, the first")
    fields: MachineFields = MachineFields()  # of the local machine
    counts: tuple[int, ...] = Field(default=(1, 3, 6, 9), min_length=1)
    layouts: int = Field(default=64, ge=2, description="of each number of labels, sampled in one batch")
    sampler: SamplerConfig = SamplerConfig(method="ddim", steps=25, eta=0.0)

    @model_validator(mode="after")
    def _same_noise(self) -> Self:
        if self.sampler.method == "ancestral" or (self.sampler.method == "ddim" and self.sampler.eta > 0):
            raise ValueError("machine and model must follow the same noise: take ddim with eta = 0, or multistep")
        return self


def machine_rows(
    denoise: Denoise,
    look: MachineLook,
    world: SceneWorld,
    labels: LabelConfig,
    split: SceneSplit,
    schedule: Schedule,
    finder: Finder,
    seed: seeds.Seeds,
    device: torch.device,
) -> list[Row]:
    """Rows "machine." for each number of labels; the machines' labels are grids, whatever the model's are."""
    if max(look.counts) > world.most:
        raise UserError(f"{max(look.counts)} objects are asked for and a scene holds {world.most}: raise world.most")
    known = _first(split.replace(images=min(look.images, split.images)), world, as_grid(labels), seed.data, str(device))
    whole = MachineFields(radius=labels.grid, label_radius=labels.grid)
    machines = {
        name: fields.machine(known.images, known.conditions, labels.grid)
        for name, fields in ((LOCAL, look.fields), (GLOBAL, whole))
    }

    def drawn(denoise: Denoise, condition: Tensor, key: Tensor) -> Tensor:
        condition, key = condition.to(device), key.to(device)
        return sample(denoise, look.sampler, schedule, world.image_shape, condition, key).float()

    rows: list[Row] = []
    for asked in look.counts:
        told, key, places, present = prompts(world, labels, asked, look.layouts, seed.sampling)
        grid = prompts(world, as_grid(labels), asked, look.layouts, seed.sampling)[0].to(device)
        other = seeds.keys(seed.sampling, "machine-other-noise", asked * NODE_STRIDE + torch.arange(look.layouts))
        images = drawn(denoise, told, key)
        met = count(finder.find(images), places, present, world.pixels / labels.grid).met  # [n, A]
        values = {"network.recall": _share(met, present)}
        for name, machine in machines.items():
            predicted = drawn(machine.denoise, grid, key)
            also = count(finder.find(predicted), places, present, world.pixels / labels.grid).met
            others = [r_squared(images, predicted.roll(shift, 0)) for shift in range(1, min(look.layouts, SHIFTS + 1))]
            values |= {
                f"{name}.r2": r_squared(images, predicted).nanmedian(),
                f"{name}.r2.shuffled": torch.cat(others).nanmedian(),
                f"{name}.r2.noise": r_squared(images, drawn(machine.denoise, grid, other)).nanmedian(),
                f"{name}.agree": _share(met == also, present),
                f"{name}.agree.chance": _chance(_share(met, present), _share(also, present)),
                f"{name}.recall": _share(also, present),
                f"{name}.tied": tied(machine, grid, schedule),
            }
        for name, value in values.items():
            number = value.item() if value.isfinite() else None
            rows.append({"node": node_of(asked), "instrument": f"machine.{name}", "value": number})
    return rows


def tied(machine: ConditionalLocalMachine, condition: Tensor, schedule: Schedule) -> Tensor:
    """The share of cells in whose field no training image agrees with the prompt, where sampling starts.  # []"""
    return (machine.disagreements(condition, schedule.start_scale) > 0).double().mean()


def as_grid(labels: LabelConfig) -> LabelConfig:
    """The plain grid of the same told objects: only cells of 0 and 1 can agree exactly."""
    return labels.replace(form="grid", counted=False)


def r_squared(truth: Tensor, guess: Tensor) -> Tensor:
    """The share of each image's variance that a guess explains; NaN for an image of one value.  # [n]"""
    truth, guess = truth.double().flatten(1), guess.double().flatten(1)
    spread = (truth - truth.mean(1, keepdim=True)).square().sum(1)
    return torch.where(spread > 0, 1 - (truth - guess).square().sum(1) / spread, torch.nan)


@lru_cache(maxsize=8)
def _first(split: SceneSplit, world: SceneWorld, labels: LabelConfig, seed: int, device: str) -> Pool:
    """The first images of a training set; models that saw the same ones share them."""
    return split.pool(world, labels, seed, device)


def _chance(one: Tensor, other: Tensor) -> Tensor:
    """How often two agree that are right so often, each for itself."""
    return one * other + (1 - one) * (1 - other)


def _share(right: Tensor, told: Tensor) -> Tensor:
    """The share of told labels [n, A] of which it is so."""
    told = told.to(right.device)
    return (right & told).sum().double() / told.sum()


def _latest(pairs: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Of radii that start at the same noise level, the one that was named last."""
    return list(dict(pairs).items())
