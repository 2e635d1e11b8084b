"""Computations of training-free local-score models: what they draw, and how local their exact answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from pydantic import Field

from recombine.deferred import no_grad
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule, Schedule
from recombine.errors import UserError
from recombine.instruments.locality.evaluation import LocalityProbe, measure_locality, own_views
from recombine.instruments.locality.gradients import everywhere
from recombine.instruments.scenes.evaluation import Sampling, SceneEvaluation, measure_scenes
from recombine.instruments.scenes.machine_evaluation import TIED, ReceptiveFields, tied
from recombine.runs.work import Computation, Row
from recombine.training.execution import resolve_device
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld

SAMPLER = SamplerConfig(method="ddim", steps=18, eta=0.0)


class LocalMachineConfig(Computation):
    """A machine: its training set, its receptive fields, and the labels it draws."""

    kind: Literal["local-machine"] = "local-machine"
    world: SceneWorld = SceneWorld(pixels=32, style="discs")
    labels: LabelConfig = LabelConfig()
    split: SceneSplit = SceneSplit(images=1500)
    receptive_fields: ReceptiveFields = ReceptiveFields()
    schedule: Schedule = EDMSchedule()
    evaluation: SceneEvaluation = Field(
        default=SceneEvaluation(counts=(1, 3, 6, 9, 12), layouts=16, sampler=SAMPLER),
        description="all of it that is not about training",
    )

    def check(self) -> None:
        self.split.check(self.world)
        if self.labels.form != "grid" or self.labels.counted:
            raise UserError("a local machine compares labels cell by cell: set labels.form to grid, uncounted")
        if max(self.evaluation.counts) > self.world.most:
            raise UserError(f"{max(self.evaluation.counts)} labels and {self.world.most} objects: raise world.most")

    @no_grad
    def rows(self) -> list[Row]:
        """Recall and the rest for each number of labels, as for a trained model, and where no image agreed."""
        device = torch.device(resolve_device("auto"))  # a GPU takes seconds where a core takes minutes
        known = self.split.pool(self.world, self.labels, self.seeds.data, device)
        machine = self.receptive_fields.machine(known.images, known.conditions, self.labels.grid)
        how, seed = self.evaluation, self.seeds.sampling
        sampling = Sampling(machine.denoise, how.sampler, self.schedule, self.world, self.labels, seed, device)
        rows, _ = measure_scenes(sampling, how, how.tools(self.world, str(device)))
        for count in how.counts:
            asked = sampling.prompts(count, how.layouts)[0]
            rows.append({"labels": count, "instrument": TIED, "value": tied(machine, asked, self.schedule).item()})
        return rows


class MachineLocality(Computation):
    """The exact machine of a training set, measured as the networks are; its answer has no gradient to a label."""

    kind: Literal["machine-locality"] = "machine-locality"
    world: SceneWorld = SceneWorld(pixels=32, style="discs", grid=16)
    labels: LabelConfig = LabelConfig(grid=16)
    split: SceneSplit = SceneSplit(images=500)
    sampler: SamplerConfig = SamplerConfig(steps=18)
    radius: int | None = Field(default=2, ge=0, description="of both receptive fields, in cells; unset: everything")
    probe: LocalityProbe = LocalityProbe(points=1, prompts=8, levels=6, gradients=8)

    def following(self, changes: Mapping[str, Any]) -> MachineLocality:
        """Known answers stay as they are, whatever is changed about the networks."""
        return self

    def rows(self) -> list[Row]:
        """Everything but the gradient to labels."""
        from recombine.denoisers.local_machine import ConditionalLocalMachine

        pool, seed = self.split.pool(self.world, self.labels, self.seeds.data), self.seeds.sampling
        denoise = ConditionalLocalMachine(pool.images, pool.conditions, self.labels.grid, self.radius).denoise
        device = torch.device("cpu")
        sampling = Sampling(denoise, self.sampler, EDMSchedule(), self.world, self.labels, seed, device)
        views, asked = own_views(self.probe, sampling)
        cell, gradients = sampling.cell, self.probe.gradients
        return measure_locality(everywhere(denoise), self.probe, views, asked, cell, gradients, ("removed", "moved"))
