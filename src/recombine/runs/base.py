"""A training as the lab sees it: a source of images, a network, how it is trained, and when and how it is observed.

What may be seen of the source and what is measured differs from one kind of run to another: `lab.config` has that of
concept graphs, `lab.bumps` that of labels in a plane, `lab.scenes` that of scenes of many objects.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import torch

from recombine.denoisers.configs import FoldedConfig, LocalConfig, Prediction, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import LinearSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise, Observation, Row
from recombine.runs.work import Work
from recombine.seeds import torch_seeded
from recombine.settings import Settings, canonical
from recombine.training.inference import FastDenoiser
from recombine.training.replica import TrainingConfig
from recombine.worlds.base import Source
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser


class Run(Work):
    """One training."""

    world: Source
    split: Settings  # which of its images may be seen
    network: UNetConfig | FoldedConfig | LocalConfig = UNetConfig()
    prediction: Prediction = "noise"
    schedule: Schedule = LinearSchedule()
    training: TrainingConfig = TrainingConfig()
    evaluation: Observation
    revision: Literal[3] = 3  # of what a config means: raised when the same settings would measure something else

    @property
    def total(self) -> int:
        return self.training.total

    def check(self) -> None:
        if self.network.dropout:
            raise UserError(
                "network.dropout draws outside of the run's seeds, so no run could be repeated: set it to 0"
            )
        for sampler in (self.evaluation.sampler, *([self.evaluation.audit.sampler] if self.evaluation.audit else [])):
            self.schedule.sigmas(sampler.steps, sampler.spacing)
        self.model()

    def model(self) -> NetworkDenoiser:
        """A fresh model; the same weights on every machine for the same init seed."""
        from recombine.denoisers.network import NetworkDenoiser

        with torch_seeded(self.seeds.init):
            network = self.fresh_network()
        return NetworkDenoiser(network, self.prediction)

    def fresh_network(self) -> torch.nn.Module:
        """The network with weights drawn from torch's own generator."""
        from recombine.denoisers.unet import UNet

        assert isinstance(self.network, UNetConfig), "a run with local networks makes them itself"
        return UNet(self.network, self.world.image_shape, self.world.condition_widths)

    @property
    def architecture(self) -> str:
        """Equal for runs whose models have the same shape, so that weights of one fit into another's."""
        shapes = f"{self.world.image_shape} {self.world.condition_widths}"
        return f"{canonical(self.network)} {shapes} {self.prediction}"

    @property
    def images(self) -> str:
        """Equal for runs that are trained on the same images, but for their seeds."""
        return f"{canonical(self.world)} {canonical(self.split)}"

    @abstractmethod
    def pool(self, device: str) -> Pool:
        """The training images."""

    @abstractmethod
    def calibration(self, device: str) -> list[Row]:
        """How right the instruments are on real images; makes them ready on the way."""

    @abstractmethod
    def measure(
        self, denoise: Denoise, how: SamplerConfig, device: torch.device, suffix: str
    ) -> tuple[list[Row], Tensor]:
        """Rows, and images by the rows of a sheet.  # [groups, k, C, H, W]"""

    def further(self, sampler: FastDenoiser, weights: Mapping[str, Tensor], seen: int) -> list[Row]:
        """What else is measured at the milestone of so many images seen."""
        return []

    @abstractmethod
    def groups(self) -> list[str]:
        """The names of the rows of a sheet."""

    @abstractmethod
    def prompts(self, asked: Sequence[str] | None, count: int) -> tuple[Tensor, Tensor]:
        """Conditions and keys of `count` samples of each that is asked for (default: of every group), in order."""
