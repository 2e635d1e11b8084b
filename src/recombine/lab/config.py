"""The config of a run: a world, what of it may be seen, a network, how it is trained and how it is measured.

The canonical hash of this config is the run's address. Where and how fast it is executed is not part of it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, field_validator

from recombine.denoisers.contract import NetworkDenoiser, Prediction
from recombine.denoisers.unet import UNet, UNetConfig
from recombine.diffusion.schedules import LinearSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.evaluation import ConceptEvaluation
from recombine.instruments.hidden import HiddenEvaluation
from recombine.lab.work import Work
from recombine.seeds import Seeds, torch_seeded
from recombine.settings import override
from recombine.training.replica import TrainingConfig
from recombine.worlds.faces import FacesWorld
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Split


class RunConfig(Work):
    """One training, complete."""

    world: Annotated[ShapesWorld | FacesWorld, Field(discriminator="kind")]
    split: Split
    network: UNetConfig = UNetConfig()
    prediction: Prediction = "noise"
    schedule: Schedule = LinearSchedule()
    training: TrainingConfig = TrainingConfig()
    evaluation: Annotated[ConceptEvaluation | HiddenEvaluation, Field(discriminator="kind")] = ConceptEvaluation()
    start: "RunConfig | None" = None  # a run whose last weights this one begins with; it is trained first
    revision: Literal[3] = 3  # of what a config means: raised when the same settings would measure something else

    @field_validator("world", mode="before")
    @classmethod
    def _shapes_unless_said(cls, world: Any) -> Any:
        return {"kind": "shapes", **world} if isinstance(world, dict) else world

    @field_validator("evaluation", mode="before")
    @classmethod
    def _concepts_unless_said(cls, evaluation: Any) -> Any:
        return {"kind": "concepts", **evaluation} if isinstance(evaluation, dict) else evaluation

    @property
    def total(self) -> int:
        return self.training.total

    def check(self) -> None:
        """Refuse what cannot be run, before anything is written."""
        self.split.check(self.world)
        if self.network.dropout:
            raise UserError(
                "network.dropout draws outside of the run's seeds, so no run could be repeated: set it to 0"
            )
        for sampler in (self.evaluation.sampler, *([self.evaluation.audit.sampler] if self.evaluation.audit else [])):
            self.schedule.sigmas(sampler.steps, sampler.spacing)
        self.model()
        if self.start is not None:
            self._check_start(self.start)

    def overridden(self, changes: Mapping[str, Any]) -> "RunConfig":
        """The same run with dotted keys changed, and with it the run it starts from: they stay a pair."""
        changed = override(self, changes)
        if self.start is None or "start" in changes:
            return changed
        return changed.replace(start=self.start.overridden(changes).model_dump())

    def with_seeds(self, seeds: Seeds) -> "RunConfig":
        """The same run, and the one it starts from, with other seeds."""
        start = None if self.start is None else self.start.with_seeds(seeds).model_dump()
        return self.replace(seeds=seeds.model_dump(), start=start)

    def ancestry(self) -> list[Work]:
        return [*(self.start.ancestry() if self.start else ()), self]

    def _check_start(self, start: "RunConfig") -> None:
        start.check()
        for part in ("network", "prediction"):
            if getattr(start, part) != getattr(self, part):
                raise UserError(f"the run starts from weights of another {part}: give start.{part} and {part} alike")
        ours, theirs = self.world, start.world
        if (ours.image_shape, ours.condition_widths) != (theirs.image_shape, theirs.condition_widths):
            raise UserError("the run starts from weights of another world: image shape and conditions must be alike")

    def model(self) -> NetworkDenoiser:
        """A fresh model; the same weights on every machine for the same init seed."""
        with torch_seeded(self.seeds.init):
            network = UNet(self.network, self.world.image_shape, self.world.condition_widths)
        return NetworkDenoiser(network, self.prediction)


def parse_override(text: str) -> tuple[str, Any]:
    """`training.batch=64` as a dotted key and a YAML value."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UserError(f"'--set {text}': write it as --set section.key=value")
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise UserError(f"'--set {text}': the value is not valid YAML") from None
