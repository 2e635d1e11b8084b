"""What is measured of a model conditioned on colours: how many it draws at once, which pairs, and where they interfere.

*Cosines* are those of Lemma 2 (Bradley 2026): d_i = mu_i - mu_b, colour i alone minus no colour, from halves of the
draws (`features`). Of "data", mu is the mean of rendered images; of a model, "pixels" is its answer at the highest
noise, which is such a mean as the model has learnt it, and a stage of its U-Net is the activation of that stage there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import Schedule
from recombine.instruments.observation import Denoise, Observation, Row, sample_in_parts
from recombine.instruments.representations.activations import activations, stages
from recombine.instruments.representations.features import Directions, cosines
from recombine.instruments.scenes.colour_reader import (
    ColourReader,
    ColourReaderConfig,
    calibrate_colours,
    colour_reader,
    colour_rows,
    count_colours,
)
from recombine.worlds.scenes.colours import ColouredScenes
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

PAIR, LINEAR = "colour.pair", "colour.pair.linear"  # both colours in the label, or the scores of either added
COSINE = "cosine"
DATA, PIXELS, BOTTLENECK = "data", "pixels", "middle"  # representations that cosines are of
CHUNK = 64  # draws at once, of rendered scenes or of noise

COLUMNS = {
    "labels": int,  # how many colours a label has
    "colour": str,
    "other": str,  # the other colour of a pair
    "representation": str,  # that cosines are of: data, pixels, or a stage of the U-Net
    "sampler": str,
}


class ColourEvaluation(Observation):
    """Labels with every number of colours, with every pair, and with each colour alone."""

    kind: Literal["colours"] = "colours"
    counts: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5, 6), min_length=1)
    images: int = Field(default=128, ge=2, description="for each number of colours")
    pair_images: int = Field(default=16, ge=1, description="for each pair, at the end")
    together: int = Field(default=64, ge=1, description="images sampled at once")
    draws: int = Field(default=64, ge=2, description="of noise that a model's cosines are means of")
    scenes: int = Field(
        default=1024, ge=2, description="rendered ones of each colour that cosines of data are means of"
    )
    reader: ColourReaderConfig = ColourReaderConfig()
    calibration_scenes: int = Field(
        default=64, ge=1, description="rendered ones of each number that the reader is tried on"
    )

    def tools(self, world: ColouredScenes, seed: int, device: str) -> ColourReader:
        """The reader of colours, fitted; runs that train side by side share it."""
        return colour_reader(world, self.reader, seed, device)

    def calibration(self, world: ColouredScenes, seed: int, device: str) -> list[Row]:
        """The errors of the reader on rendered scenes, and the cosines of their means."""
        reader = self.tools(world, seed, device)
        rows = calibrate_colours(reader, world, self.calibration_scenes, seed, device)
        return [*rows, *data_cosines(world, self.scenes, seed, device)]


@dataclass(frozen=True)
class ColourSampling:
    """How scenes of labels are drawn: by which denoiser, with which sampler, from which seed."""

    denoise: Denoise
    sampler: SamplerConfig
    schedule: Schedule
    world: ColouredScenes
    seed: int
    together: int  # images at once
    device: torch.device

    def draw(self, label: Tensor, key: Tensor, denoise: Denoise | None = None) -> Tensor:
        """An image of each label, by this denoiser or another one.  # [n, C, H, W] float32"""
        shape, answer = self.world.image_shape, denoise or self.denoise
        return sample_in_parts(answer, self.sampler, self.schedule, shape, label, key, self.together, self.device)


def pairs_of(world: ColouredScenes) -> dict[tuple[str, str], tuple[int, int]]:
    """Every two colours, by name, and their numbers."""
    return {(world.names[i], world.names[j]): (i, j) for i, j in combinations(range(len(world.names)), 2)}


def prompts(world: ColouredScenes, count: int, images: int, seed: int) -> tuple[Tensor, Tensor]:
    """Labels of so many colours, drawn at random and shared by all models, and keys.  # [images, colours], [images]"""
    index = count * NODE_STRIDE + torch.arange(images)
    rank = seeds.uniform(seeds.keys(seed, "colours", index), (len(world.names),)).argsort(1).argsort(1)
    return (rank < count).float(), seeds.keys(seed, "sample", index)


def measure_colours(
    sampling: ColourSampling, evaluation: ColourEvaluation, reader: ColourReader
) -> tuple[list[Row], Tensor]:
    """Rows for every number of colours, and images of each.  # [counts, images, C, H, W]"""
    rows, drawn = list[Row](), []
    for count in evaluation.counts:
        asked, key = prompts(sampling.world, count, evaluation.images, sampling.seed)
        images = sampling.draw(asked, key)
        rows += colour_rows(reader.find(images), asked)
        drawn.append(images.cpu())
    return rows, torch.stack(drawn)


def pair_rows(sampling: ColourSampling, each: int, reader: ColourReader) -> list[Row]:
    """Recall of every pair over so many images: both colours in the label, and linear composition of their scores."""
    known = pairs_of(sampling.world)
    asked = torch.zeros(len(known), len(sampling.world.names))
    for row, (i, j) in zip(asked, known.values(), strict=True):
        row[i] = row[j] = 1
    asked = asked.repeat_interleave(each, 0)
    key = seeds.keys(sampling.seed, "sample-pairs", torch.arange(len(asked)))
    rows = list[Row]()
    for instrument, answer in ((PAIR, sampling.denoise), (LINEAR, linear(sampling.denoise))):
        recall = count_colours(reader.find(sampling.draw(asked, key, answer)), asked).recall
        rows += _of_pairs(instrument, recall.reshape(len(known), -1).mean(1).tolist(), sampling.world)
    return rows


def linear(denoise: Denoise) -> Denoise:
    """D_b + sum_i (D_i - D_b): the unconditional answer, and what each colour alone adds to it, as in the paper before.

    All labels of a batch have the same number of colours.
    """

    def composed(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        asked = condition.nonzero()[:, 1].reshape(len(condition), -1)  # [n, J]
        alone = torch.nn.functional.one_hot(asked, condition.shape[1]).to(condition)  # [n, J, K]
        labels = torch.cat([torch.zeros_like(condition)[:, None], alone], 1)  # [n, 1 + J, K]
        each = labels.shape[1]
        answers = denoise(x.repeat_interleave(each, 0), sigma.repeat_interleave(each), labels.flatten(0, 1))
        answers = answers.reshape(len(x), each, *x.shape[1:])
        return answers[:, 0] + (answers[:, 1:] - answers[:, :1]).sum(1)

    return composed


@no_grad
def model_cosines(model: NetworkDenoiser, sampling: ColourSampling, draws: int) -> list[Row]:
    """Cosines of every pair in the answer and in every stage of the network; all labels share the noise of a draw."""
    world, device, start = sampling.world, sampling.device, sampling.schedule.start_scale
    alone = _alone_and_none(len(world.names)).to(device)
    gathered = {name: Directions() for name in (PIXELS, *stages(model))}
    for some in torch.split(torch.arange(draws, device=device), CHUNK):
        noise = seeds.normal(seeds.keys(sampling.seed, "colour-cosines", some), world.image_shape)
        labels = alone.repeat(len(some), 1)  # the labels of a draw are consecutive
        x = (start * noise).repeat_interleave(len(alone), 0)
        sigma = torch.full((len(x),), float(start), device=device)
        found = {PIXELS: model.denoise(x, sigma, labels).flatten(1)}
        found |= activations(model, x, sigma, labels, list(stages(model)))
        for name, points in found.items():
            for draw in torch.split(points, len(alone)):
                gathered[name].add(draw)
    return [row for name, directions in gathered.items() for row in _cosine_rows(name, directions, world)]


@lru_cache(maxsize=8)  # one for each seed of an experiment
@no_grad
def data_cosines(world: ColouredScenes, scenes: int, seed: int, device: str) -> tuple[Row, ...]:
    """The same of rendered scenes, a scene of each colour alone and one without objects in each draw."""
    directions, alone = Directions(), _alone_and_none(len(world.names)).to(device)
    for draws in torch.split(torch.arange(scenes, device=device), CHUNK):
        number = (draws[:, None] * len(alone) + torch.arange(len(alone), device=device)).flatten()
        factors = world.draw_set(alone.repeat(len(draws), 1), seeds.keys(seed, "colour-means", number))
        for points in torch.split(world.render(factors).flatten(1), len(alone)):
            directions.add(points)
    return tuple(_cosine_rows(DATA, directions, world))


def _alone_and_none(colours: int) -> Tensor:
    """Labels of each colour alone and, last, of none: the background.  # [colours + 1, colours]"""
    return torch.cat([torch.eye(colours), torch.zeros(1, colours)])


def _cosine_rows(representation: str, directions: Directions, world: ColouredScenes) -> list[Row]:
    """Rows of every pair; no value where a colour cannot be distinguished from the background."""
    matrix = cosines(directions.products())
    values = [float(matrix[place]) for place in pairs_of(world).values()]
    found = [value if math.isfinite(value) else None for value in values]
    return [{"representation": representation, **row} for row in _of_pairs(COSINE, found, world)]


def _of_pairs(instrument: str, values: Sequence[float | None], world: ColouredScenes) -> list[Row]:
    return [{"colour": colour, "other": other, "instrument": instrument, "value": value}
            for (colour, other), value in zip(pairs_of(world), values, strict=True)]  # fmt: skip
