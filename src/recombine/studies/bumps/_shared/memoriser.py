"""The memoriser: the optimal denoiser of a training set, which answers every prompt with the nearest labels it knows.

It neither composes nor interpolates: every sample is a training image. What it scores is what recalling earns a model.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import LinearSchedule, Schedule
from recombine.instruments.bumps.evaluation import BumpEvaluation, measure_bumps
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Computation, Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit


class MemoriserConfig(Computation):
    """A training set, and how it is asked."""

    kind: Literal["bumps-memoriser"] = "bumps-memoriser"
    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    schedule: Schedule = LinearSchedule()
    evaluation: BumpEvaluation = BumpEvaluation()
    kernel: float = Field(default=0.08, gt=0, description="how near labels must be to count, in pixels")

    def check(self) -> None:
        self.split.check(self.world)

    def rows(self) -> list[Row]:
        """Accuracy by region, as for a trained model."""
        labels = self.split.labels(self.world, self.seeds.data)
        machine = EmpiricalDenoiser(self.world.render(labels), labels, self.kernel)
        plain = self.world.replace(encoding="raw")  # it is told the label itself
        rows, _ = measure_bumps(
            machine.denoise, self.evaluation, self.evaluation.sampler, self.schedule, plain, self.split,
            self.seeds.sampling, torch.device("cpu"),
        )  # fmt: skip
        return rows


def memoriser(run: BumpsRun, step: float) -> MemoriserConfig:
    """The memoriser of a run's training set, on labels `step` apart: the nearest of them are as near as its own."""
    sampler = SamplerConfig(method="ddim", steps=12, eta=0.0)  # its answers are training images after a few steps
    return MemoriserConfig(
        world=run.world,
        split=run.split.replace(step=step),
        schedule=run.schedule,
        evaluation=BumpEvaluation(every=run.evaluation.every, sampler=sampler),
    )
