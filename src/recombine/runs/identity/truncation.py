"""Paths of the answer to the probe with all training points, without those near it, and with other points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.runs.identity.networks import NetsConfig, Paths
from recombine.runs.identity.rows import each_start, row
from recombine.runs.work import Row
from recombine.theory.identity.curves import first_times, spaced
from recombine.theory.identity.flow import affine
from recombine.theory.identity.order import LEARNED

if TYPE_CHECKING:
    from torch import Tensor


CONCEPTS = (1, 2)


class TruncationConfig(NetsConfig):
    """Two concepts, with and without the points near the probe."""

    kind: Literal["identity-truncation"] = "identity-truncation"
    every: int = Field(default=24, ge=1)
    moments: int = Field(default=40, ge=2, description="of a curve that is kept")

    def check(self) -> None:
        if self.world.concepts != 2 or min(self.world.signals) <= 0:
            raise UserError("truncation is about two concepts with signals above 0: set world.signals=[1,2]")
        if self.world.truncated:
            raise UserError("truncation makes the truncated world itself: leave world.truncated off")

    def rows(self) -> list[Row]:
        """Points inside; shifts of the paths and of the times; the median paths."""
        probe = self.world.probe()
        radius = min(self.world.signals) / 2
        drawn = [self.world.points(self.count, seed) for seed in self.data_seeds()]
        inside = [int(((points - probe).norm(dim=1) < radius).sum()) for points in drawn]
        rows = [row("inside", found, dataset=number) for number, found in enumerate(inside)]
        rows += [row("points", len(drawn[0])), *(row("probe", float(probe[k - 1]), concept=k) for k in CONCEPTS)]

        whole = self.paths(probe[None])
        # Where no point is inside, the truncated points are the same points.
        cut = self.paths(probe[None], self.world.replace(truncated=True)) if any(inside) else whole
        other = self.paths(probe[None], kind="other points")
        for instrument, path in (("shift", cut), ("redrawn", other)):
            rows += each_start(instrument, (path.answers - whole.answers)[:, :, 0].norm(dim=-1).amax(0) / probe.norm())
            later = self._times(path) / self._times(whole)  # [n, 2]
            rows += [each for k in CONCEPTS for each in each_start(f"{instrument}.time", later[:, k - 1], concept=k)]
        for name, path in (("whole", whole), ("cut", cut)):
            median = path.answers[:, :, 0, :2].median(1).values  # [T, 2]
            rows += [
                row("answer.median", float(median[moment, k - 1]), points=name, concept=k,
                    epoch=float(path.epochs[moment]))
                for moment in spaced(len(whole.epochs), self.moments)
                for k in CONCEPTS
            ]  # fmt: skip
        return rows + self._predicted() + self._cloud(drawn[0], radius)

    def _times(self, path: Paths) -> Tensor:
        """When each concept is learned.  # [n, 2]"""
        return first_times(path.epochs, path.answers[:, :, 0, :2], LEARNED * self.world.probe()[:2])

    def _predicted(self) -> list[Row]:
        """How much later the affine form learns each concept on the truncated points of a dataset, from rest."""
        if self.net.layers > 1 or not self.net.bias:
            return []
        flat, rows = self.world.replace(dimensions=2), []
        epochs = torch.linspace(0, self.descent.epochs, 50 * self.descent.epochs + 1, dtype=torch.float64)
        probe = torch.cat([flat.probe(), flat.probe().new_ones(1)])
        for number, seed in enumerate(self.data_seeds()):
            learned = []
            for world in (flat, flat.replace(truncated=True)):
                points = world.points(self.count, seed)
                inputs = torch.cat([points, torch.ones_like(points[:, :1])], 1)
                moments = inputs.T @ inputs / len(inputs)  # [3, 3]
                theta = affine(moments, points.new_zeros(1, 2, 3), epochs * self.time_per_epoch)[:, 0]
                learned.append(first_times(epochs, theta @ probe, LEARNED * flat.probe()))
            later = (learned[1] / learned[0]).tolist()
            rows += [row("predicted.time", later[k - 1], dataset=number, concept=k) for k in CONCEPTS]
        return rows

    def _cloud(self, points: Tensor, radius: float) -> list[Row]:
        """A hundred points of each cluster, for the eye."""
        probe, few = self.world.probe(), min(100, self.count)
        shown = torch.cat([part[:few] for part in points.reshape(self.world.clusters, self.count, -1)])
        inside = ((shown - probe).norm(dim=1) < radius).tolist()
        return [
            row("x", place[k - 1], point=number, inside=near, concept=k)
            for number, (place, near) in enumerate(zip(shown[:, :2].tolist(), inside, strict=True))
            for k in CONCEPTS
        ]
