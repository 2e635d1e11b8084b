"""Recall: each prompt is answered with the training image whose label is nearest, read with the same instruments.

It is the memoriser without the sampling: what an optimal denoiser with a narrow kernel arrives at, on all labels of the
training set, in a second. Sweeps with many hold-outs stand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import Field

from recombine.instruments.bumps.band_evaluation import BandEvaluation, across, band_rows
from recombine.instruments.bumps.centres import find_centres
from recombine.instruments.bumps.evaluation import PlacesEvaluation, rows_of
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Computation, Row
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit, nested_order

if TYPE_CHECKING:
    from torch import Tensor

AS_NEAR = 12  # labels on a grid that can be equally near to one place: no circle of interest has more
LEVEL = 1e-6  # px: a label that is only so much farther than the nearest is as near


class RecallConfig(Computation):
    """A training set, and where it is asked."""

    kind: Literal["bumps-recall"] = "bumps-recall"
    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    every: int = Field(default=1, ge=1)
    columns: int = Field(default=0, ge=0, description="across a band that is held out; 0: it is not asked across")

    def check(self) -> None:
        self.split.check(self.world)

    def rows(self) -> list[Row]:
        """Accuracy by region, and across the band if there is one, as for a trained model."""
        known = self.split.labels(self.world, self.seeds.data)
        labels = PlacesEvaluation(every=self.every).places(self.world)
        found = find_centres(self._answers(labels, known), self.world)
        rows = rows_of(found, labels - self.world.margin, self.split.region(self.world, labels), self.world)
        if self.columns:
            labels = across(self.world, self.split, self.columns, self.every)
            rows += band_rows(self._answers(labels, known), labels, self.world, self.split)
        return rows

    def _answers(self, labels: Tensor, known: Tensor) -> Tensor:
        return self.world.render(nearest(labels, known, self.seeds.sampling))


def recall(run: BumpsRun) -> RecallConfig:
    """The recall of a run's training set, asked for the same."""
    how = run.evaluation
    columns = how.columns if isinstance(how, BandEvaluation) else 0
    return RecallConfig(world=run.world, split=run.split, every=how.every, columns=columns)


def nearest(asked: Tensor, known: Tensor, seed: int) -> Tensor:
    """The known label nearest to each that is asked for; of several as near, one by chance.  # [n, 2]"""
    from scipy.spatial import cKDTree

    known = known[nested_order(len(known), seed)]
    away, place = cKDTree(known.numpy()).query(asked.numpy(), k=list(range(1, min(AS_NEAR, len(known)) + 1)))  # [n, k]
    first = np.where(away <= away[:, :1] + LEVEL, place, len(known)).min(1)  # in an order that is random
    return known[torch.from_numpy(first)]
