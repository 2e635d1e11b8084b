"""When a model in training is looked at, and with which samplers: what every kind of evaluation shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import torch
from pydantic import Field

from recombine import seeds
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.settings import Settings
from recombine.training.replica import TrainingConfig
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor

Denoise: TypeAlias = "Callable[[Tensor, Tensor, Tensor | None], Tensor]"
Row = dict[str, Any]


def drawn_by(rows: list[Row], sampler: str) -> list[Row]:
    """Rows that say in column `sampler` which other sampler drew what was read; as they are for the first."""
    return [{"sampler": sampler, **row} for row in rows] if sampler else rows


def sample_in_parts(
    denoise: Denoise, how: SamplerConfig, schedule: Schedule, shape: tuple[int, int, int], condition: Tensor,
    key: Tensor, together: int, device: torch.device,
) -> Tensor:  # fmt: skip
    """Images of these labels on the device, so many at once.  # [n, C, H, W] float32"""
    parts = zip(torch.split(condition, together), torch.split(key, together), strict=True)
    return torch.cat([sample(denoise, how, schedule, shape, c.to(device), k.to(device)).float() for c, k in parts])


class Audit(Settings):
    """A second, slower sampler that checks the first at a few milestones."""

    sampler: SamplerConfig = SamplerConfig(method="ancestral", steps=500, spacing="steps")
    points: int = Field(default=5, ge=1)

    @property
    def name(self) -> str:
        return f"{self.sampler.method}-{self.sampler.steps}"


class Observation(Settings):
    """Milestones on the way, how images are sampled there, and how many are kept to be looked at."""

    points: int = Field(default=40, ge=1, description="milestones, the end of training included")
    first: int = Field(default=2_000, ge=1, description="images seen at the first milestone")
    spacing: Literal["log", "linear"] = "log"
    sampler: SamplerConfig = SamplerConfig()
    audit: Audit | None = None
    sheet_points: int = Field(default=10, ge=0)
    sheet_images: int = Field(default=6, ge=1)

    def milestones(self, training: TrainingConfig) -> tuple[int, ...]:
        """Images seen at which the model is measured, in whole batches, ascending, ending with the training."""
        space = np.geomspace if self.spacing == "log" else np.linspace
        grid = space(training.total, min(self.first, training.total), self.points)  # from the end: it is always there
        return tuple(sorted({min(training.whole(m), training.total) for m in grid}))

    def chosen(self, training: TrainingConfig, points: int) -> set[int]:
        """`points` of the milestones, evenly spread over them, the last included."""
        grid = self.milestones(training)
        return {grid[round(i)] for i in np.linspace(len(grid) - 1, 0, points)} if points else set()


def sample_keys(seed: int, groups: Sequence[int], count: int) -> Tensor:
    """Keys of the first `count` samples of each group (a node by its place in the world); more change none of these."""
    index = torch.tensor(groups)[:, None] * NODE_STRIDE + torch.arange(count)
    return seeds.keys(seed, "sample", index.flatten())
