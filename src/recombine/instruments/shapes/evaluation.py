"""What is measured while a model trains: at each milestone every node is prompted, sampled and read.

Each image keeps its own noise over the whole of training, so a sheet over time shows the same sixteen dice thrown with
better and better models. The independent reader gives the headline numbers; the linear probes stay as the papers' arm.
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
from recombine.instruments.observation import Denoise, Observation, Row, drawn_by, sample_keys
from recombine.instruments.shapes.accuracy import answer_rows, disagreement_rows, probe_rows, reader_rows
from recombine.instruments.shapes.classifier import Classifier, ClassifierConfig, train_classifier
from recombine.instruments.shapes.probes import Probes, calibrate, train_probes
from recombine.instruments.shapes.reader import calibrate_reader, read
from recombine.training.inference import FastDenoiser
from recombine.worlds.base import World
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Split

if TYPE_CHECKING:
    from torch import Tensor


class Evaluation(Observation):
    """Prompt every node of the concept graph by its prototype and read what was drawn."""

    images_per_node: int = Field(default=50, ge=1)
    classifier: ClassifierConfig | None = None  # a second judge beside the linear probes; the only one of faces
    calibration_images: int = Field(default=200, ge=2, description="real images of each node for probes and checks")

    def further(
        self, sampler: FastDenoiser, weights: Mapping[str, Tensor], schedule: Schedule, world: World, seed: int
    ) -> list[Row]:
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


def measure(
    denoise: Denoise,
    config: Evaluation,
    sampler: SamplerConfig,
    schedule: Schedule,
    world: World,
    split: Split,
    tools: ConceptTools,
    sampling_seed: int,
    device: torch.device,
    suffix: str = "",
) -> tuple[list[Row], Tensor]:
    """Rows for every node, and the images they were read from.  # [nodes, images_per_node, C, H, W] in [-1, 1]"""
    nodes, count = world.nodes, config.images_per_node
    digits = world.digits(nodes)
    condition = world.condition(world.prototype(digits)).repeat_interleave(count, dim=0)
    key = sample_keys(sampling_seed, range(len(nodes)), count)
    images = sample(denoise, sampler, schedule, world.image_shape, condition.to(device), key.to(device)).float().cpu()
    rows: list[Row] = []
    for i, node in enumerate(nodes):
        drawn = images[i * count : (i + 1) * count]
        found: list[Row] = []
        if isinstance(world, ShapesWorld) and tools.probes is not None:
            reading = read(drawn, world)
            found += reader_rows(node, reading, digits[i], world.concepts)
            found += probe_rows(node, tools.probes, drawn, digits[i])
            found += disagreement_rows(node, tools.probes, drawn, reading, digits[i])
        if tools.classifier is not None:
            found += probe_rows(node, tools.classifier, drawn, digits[i], "classifier")
            found += answer_rows(node, tools.classifier, drawn, "classifier")
        rows += [row | {"distance": split.distance(node)} for row in found]
    return drawn_by(rows, suffix), images.reshape(len(nodes), count, *images.shape[1:])
