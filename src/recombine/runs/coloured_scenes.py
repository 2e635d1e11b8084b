"""The config of a run on scenes conditioned on colours: how many objects there are, and which are labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.denoisers.configs import Foldable, Prediction, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise, Row, drawn_by
from recombine.instruments.scenes.colour_evaluation import (
    ColourEvaluation,
    ColourSampling,
    measure_colours,
    model_cosines,
    pair_rows,
    prompts,
)
from recombine.instruments.scenes.colour_reader import ColourReader
from recombine.runs.base import Run
from recombine.training.inference import FastDenoiser
from recombine.worlds.scenes.colours import ColouredScenes, Labelled
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor


class ColoursRun(Run):
    """One training on scenes conditioned on colours, complete."""

    world: ColouredScenes = ColouredScenes()
    labelled: Labelled = "all"  # which colours of an image are in its label
    split: SceneSplit = SceneSplit(objects=(0, 1, 2, 3))
    network: Foldable = UNetConfig()
    prediction: Prediction = "edm"
    schedule: Schedule = EDMSchedule()
    evaluation: ColourEvaluation = ColourEvaluation()

    def check(self) -> None:
        self.split.check(self.world.scenes)
        if self.split.source != "rendered":
            raise UserError("scenes with one object of a colour are rendered, not read: set split.source = rendered")
        if not 1 <= min(self.evaluation.counts) <= max(self.evaluation.counts) <= len(self.world.names):
            raise UserError(
                f"evaluation.counts = {self.evaluation.counts}: ask for 1 to {len(self.world.names)} colours at once"
            )
        super().check()

    def fresh_network(self) -> torch.nn.Module:
        from recombine.denoisers.folded import foldable_network

        return foldable_network(self.network, self.world.image_shape, self.world.condition_widths)

    def pool(self, device: str) -> Pool:
        return self.world.pool(self.split, self.labelled, self.seeds.data, device)

    def calibration(self, device: str) -> list[Row]:
        return self.evaluation.calibration(self.world, self.seeds.data, device)

    def measure(
        self, denoise: Denoise, how: SamplerConfig, device: torch.device, suffix: str
    ) -> tuple[list[Row], Tensor]:
        rows, images = measure_colours(self._sampling(denoise, how, device), self.evaluation, self._reader(device))
        return drawn_by(rows, suffix), images

    def further(self, sampler: FastDenoiser, weights: Mapping[str, Tensor], seen: int) -> list[Row]:
        """Pairs and cosines, at the end of training."""
        if seen < self.training.total:
            return []
        sampling = self._sampling(sampler.denoise, self.evaluation.sampler, sampler.device)
        rows = pair_rows(sampling, self.evaluation.pair_images, self._reader(sampler.device))
        return rows + model_cosines(sampler.model, sampling, self.evaluation.draws)

    def _sampling(self, denoise: Denoise, how: SamplerConfig, device: torch.device) -> ColourSampling:
        together, seed = self.evaluation.together, self.seeds.sampling
        return ColourSampling(denoise, how, self.schedule, self.world, seed, together, device)

    def _reader(self, device: torch.device) -> ColourReader:
        return self.evaluation.tools(self.world, self.seeds.data, str(device))

    def groups(self) -> list[str]:
        return [str(count) for count in self.evaluation.counts]

    def prompts(self, asked: Sequence[str] | None, count: int) -> tuple[Tensor, Tensor]:
        if not asked:
            parts = [prompts(self.world, n, count, self.seeds.sampling) for n in self.evaluation.counts]
            return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])
        label = torch.stack([self.world.label(text) for text in asked]).repeat_interleave(count, 0)
        return label, seeds.keys(self.seeds.sampling, "sample", torch.arange(len(label)))
