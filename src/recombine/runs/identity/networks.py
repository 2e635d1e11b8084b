"""The released networks of structured identity mapping (Yang et al. 2025), trained on clusters of Gaussians.

*Data.* 5,000 points of each cluster, a cluster at the origin among them, mixed once and turned by a random rotation;
sigma is a variance. *Model.* Layers with biases and PyTorch's own start, plain gradient descent, batches of 128
in the same order in every epoch, the squared error averaged over batch and dimensions. A few sets of points carry many
starts each: the start is where nets differ, 15,000 points hardly do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from pydantic import Field, model_validator

from recombine.runs.work import Computation
from recombine.seeds import bits, fold, keys
from recombine.training.batched import DescentConfig, slope, train
from recombine.training.batched_networks import NetConfig, start
from recombine.worlds.mixture import MixtureWorld

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Paths:
    """What the nets answer to the probes, turned back so that coordinate p is concept p."""

    epochs: Tensor  # [T]
    answers: Tensor  # [T, n, P, d]


class NetsConfig(Computation):
    """Networks that are trained to give the points of a world back."""

    world: MixtureWorld = MixtureWorld(spread_as="variance", origin=True, rotated=True)
    net: NetConfig = NetConfig(layers=1)
    descent: DescentConfig = DescentConfig()
    count: int = Field(default=5_000, ge=1, description="points of each cluster")
    starts: int = Field(default=200, ge=1)
    datasets: int = Field(default=4, ge=1, description="sets of points; the starts are dealt to them in turn")
    every: int = Field(default=8, ge=1, description="steps from one observation to the next")

    @model_validator(mode="after")
    def _enough_starts(self) -> Self:
        if self.datasets > self.starts:
            raise ValueError(f"{self.datasets} datasets for {self.starts} starts: give at least one start a dataset")
        return self

    @property
    def steps_per_epoch(self) -> int:
        """Of batches; where a batch is all points, of as many batches as the released code would make of them."""
        points = self.world.clusters * self.count
        return -(-points // min(self.descent.batch or 128, points))

    @property
    def time_per_epoch(self) -> float:
        """Time of gradient flow on 1/2 E|f(x) - x|^2 that an epoch takes: steps * rate * 2 / d."""
        return self.steps_per_epoch * self.descent.rate * slope(self.descent.loss, self.world.dimensions)

    def net_seeds(self) -> list[int]:
        """A seed for each start."""
        return bits(keys(self.seeds.init, "identity nets", torch.arange(self.starts)), 1)[:, 0].tolist()

    def data_seeds(self, kind: str = "points") -> list[int]:
        """A seed for each set of points; another kind, other points."""
        return [fold(self.seeds.data, f"identity {kind} {number}") for number in range(self.datasets)]

    def paths(self, probes: Tensor, world: MixtureWorld | None = None, kind: str = "points") -> Paths:
        """Train every start. Start i is that of seed i and learns from dataset i modulo their number. probes [P, d]."""
        world, seeds = world or self.world, self.net_seeds()
        parts = []
        for number, data_seed in enumerate(self.data_seeds(kind)):
            turned = world.rotation(fold(self.seeds.data, f"identity rotation {number}"))  # [d, d]
            points = mixed(world.points(self.count, data_seed), data_seed) @ turned.T
            trace = train(
                self.net, self.descent, points.float(), (probes @ turned.T).float(), seeds[number :: self.datasets],
                self.every, loss_points=1,
            )  # fmt: skip
            parts.append(trace.outputs.double() @ turned)
        answers = parts[0].new_empty(len(trace.steps), self.starts, *probes.shape)
        for number, part in enumerate(parts):
            answers[:, number :: self.datasets] = part
        return Paths(trace.steps.double() / self.steps_per_epoch, answers)

    def one_layer_starts(self, dimensions: int) -> Tensor:
        """The start of one-layer nets in the first coordinates, turned back.  # [n, dimensions, dimensions (+ 1)]"""
        d = self.world.dimensions
        theta = start(self.net, d, self.net_seeds(), torch.float64)[0]  # [n, d, d (+ 1)]
        for number in range(self.datasets):
            turned = self.world.rotation(fold(self.seeds.data, f"identity rotation {number}"))
            part = theta[number :: self.datasets]
            part[..., :d] = part[..., :d] @ turned
            theta[number :: self.datasets] = turned.T @ part
        kept = [*range(dimensions), *([d] if self.net.bias else [])]
        return theta[:, :dimensions][..., kept]


def mixed(points: Tensor, seed: int) -> Tensor:
    """The points in a random order, each batch a sample of all clusters.  # [N, d]"""
    return points[bits(keys(seed, "identity mixed", torch.arange(len(points))), 1)[:, 0].argsort(stable=True)]
