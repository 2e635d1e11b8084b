"""What is measured while a model trains: at each milestone every class is prompted, sampled and read.

Each image keeps its own noise over the whole of training, so a sheet over time shows the same noise denoised by better
and better models. The independent reader gives the headline numbers; the linear probes stay as the papers' arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise, Observation, Row, sample_keys
from recombine.instruments.shapes.accuracy import answer_rows, disagreement_rows, probe_rows, reader_rows
from recombine.instruments.shapes.classifier import Classifier, ClassifierConfig, train_classifier
from recombine.instruments.shapes.probes import Probes, calibrate, train_probes
from recombine.instruments.shapes.reader import calibrate_reader, read
from recombine.training.inference import FastDenoiser
from recombine.worlds.base import World
from recombine.worlds.shapes import ShapesWorld

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How samples are drawn from a denoiser: all that their pixels depend on, but for the prompts."""

    denoise: Denoise
    sampler: SamplerConfig
    schedule: Schedule
    world: World
    seed: int  # of sampling
    device: torch.device

    def images(self, node: str, condition: Tensor, count: int) -> Tensor:
        """Samples of one condition [1, K], their noise that of a class.  # [count, C, H, W], on the CPU"""
        return self.of_each((node,), condition, count)[0]

    def of_each(self, nodes: tuple[str, ...], conditions: Tensor, count: int) -> Tensor:
        """Samples of a condition for each class.  # [nodes, count, C, H, W] in [-1, 1], on the CPU"""
        key = sample_keys(self.seed, [self.world.nodes.index(node) for node in nodes], count).to(self.device)
        condition = conditions.repeat_interleave(count, dim=0).to(self.device)
        drawn = sample(self.denoise, self.sampler, self.schedule, self.world.image_shape, condition, key)
        return drawn.float().cpu().reshape(len(nodes), count, *self.world.image_shape)


class Evaluation(Observation):
    """Prompt every node of the concept graph by its prototype and read what was drawn."""

    images_per_node: int = Field(default=50, ge=1)
    classifier: ClassifierConfig | None = None  # a second judge beside the linear probes; the only one of faces
    calibration_images: int = Field(default=200, ge=2, description="real images of each node for probes and checks")

    def evaluate(self, sampling: Sampling, tools: ConceptTools) -> tuple[list[Row], Tensor]:
        """Rows for every node, and the images they were read from.  # [nodes, images_per_node, C, H, W]"""
        world = sampling.world
        digits = world.digits(world.nodes)
        images = sampling.of_each(world.nodes, world.condition(world.prototype(digits)), self.images_per_node)
        rows: list[Row] = []
        for node, drawn, asked in zip(world.nodes, images, digits, strict=True):
            rows += [{"node": node, **row} for row in tools.rows(world, drawn, asked)]
        return rows, images

    def further(self, sampling: Sampling, sampler: FastDenoiser, weights: Mapping[str, Tensor]) -> list[Row]:
        """What else is measured at a milestone; an evaluation of another kind adds it."""
        return []

    def tools(self, world: World, seed: int, device: str = "cpu") -> ConceptTools:
        """Instruments of this world, calibrated on real images; the runs of a fleet share them."""
        return _tools(world, self.classifier, self.calibration_images, seed, device)


class ConceptEvaluation(Evaluation):
    """That, and nothing further."""

    kind: Literal["concepts"] = "concepts"


@dataclass(frozen=True)
class ConceptTools:
    """Judges trained on real images of every node, and the rows that say how right the instruments are there."""

    probes: Probes | None
    classifier: Classifier | None
    calibration: list[Row]

    def rows(self, world: World, images: Tensor, digits: Tensor) -> list[Row]:
        """What every instrument reads in the images [n, C, H, W] of one class, given by its digits [concepts]."""
        rows: list[Row] = []
        if isinstance(world, ShapesWorld) and self.probes is not None:
            measured = read(images, world)
            rows += reader_rows(measured, digits, world.concepts)
            rows += probe_rows(self.probes, images, digits)
            rows += disagreement_rows(self.probes, images, measured, digits)
        if self.classifier is not None:
            rows += probe_rows(self.classifier, images, digits, "classifier")
            rows += answer_rows(self.classifier, images, "classifier")
        return rows


@lru_cache(maxsize=256)
def _tools(world: World, config: ClassifierConfig | None, per_node: int, seed: int, device: str) -> ConceptTools:
    """Linear probes and reader for shapes; for faces, which no linear map reads, the classifier alone."""
    probes, rows = None, list[Row]()
    if isinstance(world, ShapesWorld):
        probes = train_probes(world, per_node, seed)
        rows += calibrate(probes, world, per_node, seed) + calibrate_reader(world, per_node, seed)
    elif config is None:
        raise UserError("samples of this world need a classifier to be judged: set evaluation.classifier={kind: cnn}")
    enough = min(per_node, *(world.available(node) for node in world.nodes))
    classifier = None if config is None else train_classifier(world, config, enough, seed, device)
    if classifier is not None:
        rows += calibrate(classifier, world, per_node, seed, "classifier")
    return ConceptTools(probes, classifier, rows)
