"""The config of a run: a world, what of it may be seen, a network, how it is trained and how it is measured.

The canonical hash of this config is the run's address. Where and how fast it is executed is not part of it.
"""

from typing import Any, Literal

import yaml

from recombine.denoisers.contract import NetworkDenoiser, Prediction
from recombine.denoisers.unet import UNet, UNetConfig
from recombine.diffusion.schedules import LinearSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.evaluation import ConceptEvaluation
from recombine.seeds import Seeds, torch_seeded
from recombine.settings import Settings, fingerprint
from recombine.training.replica import TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Split


class RunConfig(Settings):
    """One training, complete."""

    world: ShapesWorld
    split: Split
    network: UNetConfig = UNetConfig()
    prediction: Prediction = "noise"
    schedule: Schedule = LinearSchedule()
    training: TrainingConfig = TrainingConfig()
    evaluation: ConceptEvaluation = ConceptEvaluation()
    seeds: Seeds = Seeds()
    revision: Literal[2] = 2  # of what a config means: raised when the same settings would measure something else

    @property
    def address(self) -> str:
        """Where this run lives in every store."""
        return fingerprint(self)

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
