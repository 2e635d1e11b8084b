"""What is measured of a model that is told colours: how many at once it draws, which pairs, and where they interfere.

*Cosines* are those of Lemma 2 (Bradley 2026): d_i = mu_i - mu_b, colour i alone less nothing, by halves of the draws
(`features`). Of "data", mu is the mean of rendered images; of a model, "pixels" is its answer at the highest noise,
which is such a mean as it has learned it, and a stage of its U-Net is what that stage says on the way there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import Schedule
from recombine.instruments.observation import Denoise, Observation, Row, drawn_by, sample_in_parts
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

PAIR, LINEAR = "colour.pair", "colour.pair.linear"  # both colours told, or the scores of either added
CHUNK = 64  # draws at once, of rendered scenes or of noise
DATA, PIXELS, BOTTLENECK = "data", "pixels", "middle"  # representations that cosines are of


class ColourEvaluation(Observation):
    """Prompt with every number of colours, with every pair, and with each colour alone."""

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
        default=64, ge=1, description="real ones of each number that the reader is tried on"
    )

    def tools(self, world: ColouredScenes, seed: int, device: str) -> ColourReader:
        """The reader of colours, made ready; the runs of a fleet share it."""
        return colour_reader(world, self.reader, seed, device)

    def calibration(self, world: ColouredScenes, seed: int, device: str) -> list[Row]:
        """How right the reader is on rendered scenes, and the cosines of their means."""
        reader = self.tools(world, seed, device)
        rows = calibrate_colours(reader, world, self.calibration_scenes, seed, device)
        return [*rows, *data_cosines(world, self.scenes, seed, device)]


def pairs_of(world: ColouredScenes) -> dict[str, tuple[int, int]]:
    """Every two colours: "red+yellow" and their numbers."""
    return {f"{world.names[i]}+{world.names[j]}": (i, j) for i, j in combinations(range(len(world.names)), 2)}


def prompts(world: ColouredScenes, count: int, images: int, seed: int) -> tuple[Tensor, Tensor]:
    """Labels of so many colours, drawn at random and shared by all models, and keys.  # [images, colours], [images]"""
    index = count * NODE_STRIDE + torch.arange(images)
    rank = seeds.uniform(seeds.keys(seed, "colours", index), (len(world.names),)).argsort(1).argsort(1)
    return (rank < count).float(), seeds.keys(seed, "sample", index)


def measure_colours(
    denoise: Denoise,
    evaluation: ColourEvaluation,
    how: SamplerConfig,
    schedule: Schedule,
    world: ColouredScenes,
    reader: ColourReader,
    seed: int,
    device: torch.device,
    suffix: str = "",
) -> tuple[list[Row], Tensor]:
    """Rows for every number of colours, and images of each.  # [counts, images, C, H, W]"""
    rows, drawn = list[Row](), []
    for count in evaluation.counts:
        asked, key = prompts(world, count, evaluation.images, seed)
        images = sample_in_parts(denoise, how, schedule, world.image_shape, asked, key, evaluation.together, device)
        rows += colour_rows(reader.find(images), asked)
        drawn.append(images.cpu())
    return drawn_by(rows, suffix), torch.stack(drawn)


def pair_rows(
    denoise: Denoise,
    evaluation: ColourEvaluation,
    schedule: Schedule,
    world: ColouredScenes,
    reader: ColourReader,
    seed: int,
    device: torch.device,
) -> list[Row]:
    """Recall of every pair, told both colours, and by linear composition of the scores of either."""
    known = pairs_of(world)
    asked = torch.zeros(len(known), len(world.names))
    for row, (i, j) in zip(asked, known.values(), strict=True):
        row[i] = row[j] = 1
    asked = asked.repeat_interleave(evaluation.pair_images, 0)
    key = seeds.keys(seed, "sample-pairs", torch.arange(len(asked)))
    rows = list[Row]()
    for instrument, answer in ((PAIR, denoise), (LINEAR, linear(denoise))):
        images = sample_in_parts(
            answer, evaluation.sampler, schedule, world.image_shape, asked, key, evaluation.together, device
        )
        recall = count_colours(reader.find(images), asked).recall.reshape(len(known), -1).mean(1)
        rows += [{"node": name, "instrument": instrument, "value": value.item()}
                 for name, value in zip(known, recall, strict=True)]  # fmt: skip
    return rows


def linear(denoise: Denoise) -> Denoise:
    """D_b + sum_i (D_i - D_b): the score told nothing, and what each colour alone adds to it, as the parent paper has
    it. Labels of a batch tell as many colours each.
    """

    def composed(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        told = condition.nonzero()[:, 1].reshape(len(condition), -1)  # [n, J]
        alone = torch.nn.functional.one_hot(told, condition.shape[1]).to(condition)  # [n, J, K]
        labels = torch.cat([torch.zeros_like(condition)[:, None], alone], 1)  # [n, 1 + J, K]
        each = labels.shape[1]
        answers = denoise(x.repeat_interleave(each, 0), sigma.repeat_interleave(each), labels.flatten(0, 1))
        answers = answers.reshape(len(x), each, *x.shape[1:])
        return answers[:, 0] + (answers[:, 1:] - answers[:, :1]).sum(1)

    return composed


@no_grad
def model_cosines(
    model: NetworkDenoiser, world: ColouredScenes, schedule: Schedule, draws: int, seed: int, device: torch.device
) -> list[Row]:
    """Cosines of every pair in the answer and in every stage of the network; all labels share the noise of a draw."""
    colours = len(world.names)
    told = torch.cat([torch.eye(colours), torch.zeros(1, colours)]).to(device)  # the background last
    gathered = {name: Directions() for name in (PIXELS, *stages(model))}
    for some in torch.split(torch.arange(draws, device=device), CHUNK):
        noise = seeds.normal(seeds.keys(seed, "colour-cosines", some), world.image_shape)
        labels = told.repeat(len(some), 1)  # the labels of a draw stand together
        x = (schedule.start_scale * noise).repeat_interleave(len(told), 0)
        sigma = torch.full((len(x),), float(schedule.start_scale), device=device)
        heard = {PIXELS: model.denoise(x, sigma, labels).flatten(1)}
        heard |= activations(model, x, sigma, labels, list(stages(model)))
        for name, points in heard.items():
            for draw in torch.split(points, len(told)):
                gathered[name].add(draw)
    return [row for name, directions in gathered.items() for row in _cosine_rows(name, directions, world)]


@lru_cache(maxsize=8)  # one for each seed of an experiment
@no_grad
def data_cosines(world: ColouredScenes, scenes: int, seed: int, device: str) -> tuple[Row, ...]:
    """The same of rendered scenes, a scene of each colour alone and one without objects in each draw."""
    colours, directions = len(world.names), Directions()
    told = torch.cat([torch.eye(colours, device=device), torch.zeros(1, colours, device=device)])
    for draws in torch.split(torch.arange(scenes, device=device), CHUNK):
        number = (draws[:, None] * len(told) + torch.arange(len(told), device=device)).flatten()
        factors = world.draw_set(told.repeat(len(draws), 1), seeds.keys(seed, "colour-means", number))
        for points in torch.split(world.render(factors).flatten(1), len(told)):
            directions.add(points)
    return tuple(_cosine_rows(DATA, directions, world))


def _cosine_rows(name: str, directions: Directions, world: ColouredScenes) -> list[Row]:
    """Rows of every pair, "cosine." + representation; no value where a colour is not to be told from nothing."""
    matrix = cosines(directions.products())
    found = {pair: float(matrix[place]) for pair, place in pairs_of(world).items()}
    return [
        {"node": pair, "instrument": f"cosine.{name}", "value": value if math.isfinite(value) else None}
        for pair, value in found.items()
    ]


def node_of(count: int) -> str:
    """How rows name a number of colours."""
    return f"{count:02d}"
