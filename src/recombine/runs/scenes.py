"""The config of a run on scenes: how many objects an image holds, which of them are labelled, whether it is local."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import torch
from pydantic import Field

from recombine import seeds
from recombine.denoisers.configs import Code, FoldedConfig, LocalConfig, LocalityPenalty, Prediction, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.locality.evaluation import LocalityProbe, locality_rows
from recombine.instruments.observation import Denoise, Row, drawn_by
from recombine.instruments.scenes.evaluation import Sampling, SceneEvaluation, measure_scenes, prompts
from recombine.instruments.scenes.machine_evaluation import MachineComparison, machine_rows
from recombine.runs.base import Run
from recombine.settings import canonical
from recombine.training.inference import FastDenoiser
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor


class ScenesRun(Run):
    """One training on scenes, complete."""

    world: SceneWorld = SceneWorld()
    labels: LabelConfig = LabelConfig()
    split: SceneSplit = SceneSplit()
    network: Annotated[UNetConfig | FoldedConfig | LocalConfig, Field(discriminator="kind")] = UNetConfig()
    code: Code = "plain"  # how a label is scaled before it is embedded
    penalty: LocalityPenalty | None = None  # of what labels change far from them, for a network that is not local
    prediction: Prediction = "edm"
    schedule: Schedule = EDMSchedule()
    evaluation: SceneEvaluation = SceneEvaluation()
    locality: LocalityProbe | None = None  # how local the model is, measured while it trains
    machine: MachineComparison | None = None  # how well a training-free local-score model predicts it, at the end

    def check(self) -> None:
        self.split.check(self.world)
        if self.labels.grid != self.world.grid:
            raise UserError(f"labels.grid = {self.labels.grid} and world.grid = {self.world.grid}: give both alike")
        worst = max(*self.evaluation.counts, *self.split.objects, 0)
        if worst > self.world.most:
            raise UserError(f"{worst} objects and a scene holds {self.world.most}: raise world.most")
        if self.labels.form == "list" and worst > self.labels.slots:
            raise UserError(f"{worst} labels and a list has {self.labels.slots} slots: raise labels.slots")
        if self.penalty is not None and isinstance(self.network, LocalConfig):
            raise UserError("a local network has nothing to be penalised for: set penalty to null")
        super().check()

    def fresh_network(self) -> torch.nn.Module:
        from recombine.denoisers.folded import foldable_network
        from recombine.denoisers.label_code import CodedNetwork
        from recombine.denoisers.local import LocalNetwork
        from recombine.denoisers.soft import SoftNetwork

        if isinstance(self.network, LocalConfig):
            return LocalNetwork(self.network, self.world.image_shape, self.labels, scaled=self.code == "window")
        network = foldable_network(self.network, self.world.image_shape, (self.labels.width,))
        if self.code != "plain":
            network = CodedNetwork(network, self.labels, self.code)
        if self.penalty is not None:
            network = SoftNetwork(network, self.penalty, self.world.pixels, self.labels)
        return network

    @property
    def architecture(self) -> str:
        labels = canonical(self.labels.replace(labelled="all"))  # how many are labelled is no matter of shapes
        how = f"{self.code} {self.penalty is not None}"  # how strong a penalty is no matter of shapes
        return f"{canonical(self.network)} {labels} {how} {self.world.image_shape} {self.prediction}"

    def pool(self, device: str) -> Pool:
        return self.split.pool(self.world, self.labels, self.seeds.data, device)

    def calibration(self, device: str) -> list[Row]:
        return self.evaluation.calibration(self.world, self.seeds.data, device)

    def measure(
        self, denoise: Denoise, how: SamplerConfig, device: torch.device, suffix: str
    ) -> tuple[list[Row], Tensor]:
        sampling = replace(self.sampling(denoise, device), sampler=how)
        rows, images = measure_scenes(sampling, self.evaluation, self.evaluation.tools(self.world, str(device)))
        return drawn_by(rows, suffix), images

    def further(self, sampler: FastDenoiser, weights: Mapping[str, Tensor], seen: int) -> list[Row]:
        rows, device, probe = list[Row](), sampler.device, self.locality
        if probe is not None and seen in self.evaluation.chosen(self.training, probe.points):
            rows += locality_rows(sampler.model, probe, self.sampling(sampler.model.denoise, device))
        if self.machine is not None and seen == self.training.total:
            finder, sampling = self.evaluation.tools(self.world, str(device)), self.sampling(sampler.denoise, device)
            rows += machine_rows(sampling, self.machine, self.split, finder, self.seeds.data)
        return rows

    def sampling(self, denoise: Denoise, device: torch.device | str) -> Sampling:
        """How this run's evaluation draws with a denoiser."""
        how, seed = self.evaluation.sampler, self.seeds.sampling
        return Sampling(denoise, how, self.schedule, self.world, self.labels, seed, torch.device(device))

    def groups(self) -> list[str]:
        return [str(count) for count in self.evaluation.counts]

    def prompts(self, asked: Sequence[str] | None, count: int) -> tuple[Tensor, Tensor]:
        if not asked:
            parts = [
                prompts(self.world, self.labels, n, count, self.seeds.sampling)[:2] for n in self.evaluation.counts
            ]
            return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])
        places = [read_places(text) for text in asked]
        most = max(1, *(len(each) for each in places))  # an empty scene has no label
        put = torch.zeros(len(asked), most, 2)
        present = torch.zeros(len(asked), most, dtype=torch.bool)
        for i, each in enumerate(places):
            put[i, : len(each)], present[i, : len(each)] = torch.tensor(each).reshape(-1, 2), True
        key = seeds.keys(self.seeds.sampling, "sample", torch.arange(len(asked) * count))
        label = self.labels.encode(put, present, self.world.pixels, key[::count])
        if self.labels.form == "grid" and bool((label.sum(1) < present.sum(1)).any()):
            raise UserError(
                "two places lie in one cell of the label grid, which marks one: put them farther from each other"
            )
        return label.repeat_interleave(count, 0), key


def read_places(text: str) -> list[tuple[float, float]]:
    """Places in pixels of the image, from "12,20 40,33"."""
    try:
        return [(float(x), float(y)) for x, y in (place.split(",") for place in text.split())]
    except ValueError:
        raise UserError(f"--condition '{text}': give places in pixels of the image, as in '12,20 40,33'") from None
