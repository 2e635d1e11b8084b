"""The config of a run on a concept graph: a world, what of it may be seen, a network, training and evaluation.

The canonical hash of this config is the run's address. Where and how fast it is executed is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import torch
from pydantic import Field, field_validator

from recombine.denoisers.configs import UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.errors import UserError
from recombine.instruments.observation import Denoise, Row, drawn_by, sample_keys
from recombine.instruments.shapes.evaluation import ConceptEvaluation, Sampling
from recombine.instruments.shapes.hidden import HiddenEvaluation
from recombine.runs.base import Run
from recombine.runs.work import Work
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.training.inference import FastDenoiser
from recombine.worlds.base import World
from recombine.worlds.faces import FacesWorld
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Pool, Split, make_pool

if TYPE_CHECKING:
    from torch import Tensor


class RunConfig(Run):
    """One training on the nodes of a concept graph, complete."""

    world: Annotated[ShapesWorld | FacesWorld, Field(discriminator="kind")]
    split: Split
    network: UNetConfig = UNetConfig()
    evaluation: Annotated[ConceptEvaluation | HiddenEvaluation, Field(discriminator="kind")] = ConceptEvaluation()
    start: RunConfig | None = None  # a run whose last weights this one begins with; it is trained first

    @field_validator("world", mode="before")
    @classmethod
    def _shapes_unless_said(cls, world: Any) -> Any:
        return {"kind": "shapes", **world} if isinstance(world, dict) else world

    @field_validator("evaluation", mode="before")
    @classmethod
    def _concepts_unless_said(cls, evaluation: Any) -> Any:
        return {"kind": "concepts", **evaluation} if isinstance(evaluation, dict) else evaluation

    def check(self) -> None:
        self.split.check(self.world)
        super().check()
        if self.start is not None:
            self._check_start(self.start)

    def overridden(self, changes: Mapping[str, Any]) -> RunConfig:
        """The same run with dotted keys changed, and with it the run it starts from: they stay a pair."""
        changed = override(self, changes)
        if self.start is None or "start" in changes:
            return changed
        return changed.replace(start=self.start.overridden(changes).model_dump())

    def with_seeds(self, seeds: Seeds) -> RunConfig:
        """The same run, and the one it starts from, with other seeds."""
        start = None if self.start is None else self.start.with_seeds(seeds).model_dump()
        return self.replace(seeds=seeds.model_dump(), start=start)

    def ancestry(self) -> list[Work]:
        return [*(self.start.ancestry() if self.start else ()), self]

    def _check_start(self, start: RunConfig) -> None:
        start.check()
        for part in ("network", "prediction"):
            if getattr(start, part) != getattr(self, part):
                raise UserError(f"the run starts from weights of another {part}: give start.{part} and {part} alike")
        ours, theirs = self.world, start.world
        if (ours.image_shape, ours.condition_widths) != (theirs.image_shape, theirs.condition_widths):
            raise UserError("the run starts from weights of another world: image shape and conditions must be alike")

    def pool(self, device: str) -> Pool:
        return make_pool(self.world, self.split, self.seeds.data, device)

    def calibration(self, device: str) -> list[Row]:
        return self.evaluation.tools(self.world, self.seeds.data, device).calibration

    def measure(
        self, denoise: Denoise, how: SamplerConfig, device: torch.device, suffix: str
    ) -> tuple[list[Row], Tensor]:
        tools = self.evaluation.tools(self.world, self.seeds.data, str(device))
        rows, images = self.evaluation.evaluate(self._sampling(denoise, how, device), tools)
        return drawn_by(self._placed(rows), suffix), images

    def further(self, sampler: FastDenoiser, weights: Mapping[str, Tensor], seen: int) -> list[Row]:
        device = next(sampler.model.parameters()).device
        sampling = self._sampling(sampler.denoise, self.evaluation.sampler, device)
        return self._placed(self.evaluation.further(sampling, sampler, weights))

    def _sampling(self, denoise: Denoise, how: SamplerConfig, device: torch.device) -> Sampling:
        return Sampling(denoise, how, self.schedule, self.world, self.seeds.sampling, device)

    def _placed(self, rows: list[Row]) -> list[Row]:
        """Rows of classes, with their distances from training."""
        return [{"distance": self.split.distance(row["node"]), **row} for row in rows]

    def groups(self) -> list[str]:
        return [f"{node}\n{self.world.describe(node)}" for node in self.world.nodes]

    def prompts(self, asked: Sequence[str] | None, count: int) -> tuple[Tensor, Tensor]:
        world = self.world
        nodes = [read_node(world, text) for text in asked] if asked else list(world.nodes)
        condition = world.condition(world.prototype(world.digits(nodes))).repeat_interleave(count, 0)
        return condition, sample_keys(self.seeds.sampling, [world.nodes.index(node) for node in nodes], count)


def read_node(world: World, text: str) -> str:
    """A node from its digits, "111", or from concept values, "shape=triangle color=blue size=small"."""
    if "=" not in text:
        world.digits(text)
        return text
    parts = [part.split("=", 1) for part in text.replace(",", " ").split()]
    values = {part[0].strip(): part[1].strip() for part in parts if len(part) == 2}
    if set(values) != set(world.concepts) or len(parts) != len(world.concepts):
        raise UserError(
            f"--condition {text}: give a value for each of {', '.join(world.concepts)}, as in shape=circle,..."
        )
    digits = ""
    for concept, names in world.concepts.items():
        if values[concept] not in names:
            raise UserError(f"--condition {text}: {concept} is one of {', '.join(names)}")
        digits += str(names.index(values[concept]))
    return digits
