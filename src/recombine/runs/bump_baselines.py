"""Computations on the training sets of bumps: what denoisers that are not trained draw, asked like a trained model.

`NearestLabel` answers every prompt with the training image whose label is nearest. It neither composes nor
interpolates, so what it scores needs no learning beyond the training images. `SampledNearestLabel` is the optimal
denoiser of a training set with a narrow kernel over labels, sampled as a model is: where no label is near, its answers
mix. `ExactModel` has further denoisers: a wide kernel, added scores, local scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field

from recombine.denoisers.contract import Denoiser
from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.local_score import AddedScores, LocalScoreDenoiser
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import LinearSchedule, Schedule
from recombine.instruments.bumps.band_evaluation import across, band_rows
from recombine.instruments.bumps.centres import find_centres
from recombine.instruments.bumps.evaluation import (
    ALL,
    BumpEvaluation,
    PlacesEvaluation,
    accuracy_rows,
    grouped,
    measure_bumps,
)
from recombine.instruments.bumps.subject import Sampling
from recombine.runs.work import Computation, Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit, nested_order

if TYPE_CHECKING:
    from torch import Tensor

AS_NEAR = 12  # labels on a grid that can be equally near to one place: no circle of interest has more
LEVEL = 1e-6  # px: a label that is only so much farther than the nearest is as near
Model = Literal["nearest label", "wide kernel", "added scores", "local scores", "local scores by number"]


class NearestLabel(Computation):
    """A training set, and what is asked of it."""

    kind: Literal["bumps-nearest-label"] = "bumps-nearest-label"
    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    every: int = Field(default=1, ge=1)
    columns: int = Field(default=0, ge=0, description="across a band that is held out; 0: it is not asked across")

    def check(self) -> None:
        """Refuse a split that leaves nothing."""
        self.split.check(self.world)

    def rows(self) -> list[Row]:
        """Accuracy by region, and across the band if there is one, as for a trained model."""
        known = self.split.labels(self.world, self.seeds.data)
        labels = PlacesEvaluation(every=self.every).places(self.world)
        regions = grouped("region", self.split.region(self.world, labels), ALL)
        found = find_centres(self._answers(labels, known), self.world)
        rows = accuracy_rows(found, labels - self.world.margin, self.world, regions)
        if self.columns:
            labels = across(self.world, self.split, self.columns, self.every)
            rows += band_rows(self._answers(labels, known), labels, self.world, self.split)
        return rows

    def _answers(self, labels: Tensor, known: Tensor) -> Tensor:
        return self.world.render(nearest(labels, known, self.seeds.sampling))


class SampledNearestLabel(Computation):
    """A training set, and how its optimal denoiser is sampled."""

    kind: Literal["bumps-sampled-nearest-label"] = "bumps-sampled-nearest-label"
    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    schedule: Schedule = LinearSchedule()
    evaluation: BumpEvaluation = BumpEvaluation()
    kernel: float = Field(default=0.08, gt=0, description="how near labels must be to count, in pixels")

    def check(self) -> None:
        """Refuse a split that leaves nothing."""
        self.split.check(self.world)

    def rows(self) -> list[Row]:
        """Accuracy by region, as for a trained model."""
        labels = self.split.labels(self.world, self.seeds.data)
        denoiser = EmpiricalDenoiser(self.world.render(labels), labels, self.kernel)
        return exact_rows(self, denoiser, self.world.replace(encoding="raw"))  # its condition is the label itself


def exact_rows(config: Any, denoiser: Any, world: BumpsWorld) -> list[Row]:
    """Accuracy by region of a denoiser that was not trained, sampled as this computation says."""
    how, device = config.evaluation.sampler, torch.device("cpu")
    sampling = Sampling(denoiser.denoise, how, config.schedule, world, config.seeds.sampling, device)
    return measure_bumps(sampling, config.evaluation, config.split)[0]


class ExactModel(Computation):
    """A denoiser that is not trained, its training set, and how it is asked."""

    kind: Literal["bumps-exact"] = "bumps-exact"
    model: Model = "nearest label"
    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    schedule: Schedule = LinearSchedule(steps=1000)
    evaluation: BumpEvaluation = BumpEvaluation(sampler=SamplerConfig(method="ddim", steps=25, eta=0.0))
    near: float = Field(default=0.08, gt=0, description="width of the label kernel, in pixels")
    wide: float = Field(default=2.0, gt=0, description="that of the wide one")
    patch: int = Field(default=5, ge=1)

    def check(self) -> None:
        """Refuse a split that leaves nothing."""
        self.split.check(self.world)

    def denoiser(self) -> Denoiser:
        """The denoiser of this training set; its condition is the label in pixels."""
        labels = self.split.labels(self.world, self.seeds.data)
        images = self.world.render(labels)
        match self.model:
            case "nearest label":
                return EmpiricalDenoiser(images, labels, self.near)
            case "wide kernel":
                return EmpiricalDenoiser(images, labels, self.wide)
            case "added scores":
                x, y = (EmpiricalDenoiser(images, labels[:, k : k + 1], 2 * self.near) for k in range(2))
                return AddedScores(x, y, EmpiricalDenoiser(images))
            case "local scores":
                return LocalScoreDenoiser(images, labels, self.patch, self.near, "joint")
            case "local scores by number":
                return LocalScoreDenoiser(images, labels, self.patch, self.near, "either")

    def rows(self) -> list[Row]:
        """Accuracy by region, as for a trained model."""
        return exact_rows(self, self.denoiser(), self.world)


def nearest(asked: Tensor, known: Tensor, seed: int) -> Tensor:
    """The known label nearest to each that is asked for; of several as near, one by chance.  # [n, 2]"""
    from scipy.spatial import cKDTree

    known = known[nested_order(len(known), seed)]
    away, place = cKDTree(known.numpy()).query(asked.numpy(), k=list(range(1, min(AS_NEAR, len(known)) + 1)))  # [n, k]
    first = np.where(away <= away[:, :1] + LEVEL, place, len(known)).min(1)  # in an order that is random
    return known[torch.from_numpy(first)]
