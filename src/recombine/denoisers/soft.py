"""A whole-image network that is asked, not forced, to be local: what a locality penalty needs to know beside it.

The network answers as it is. In training the label gets a second place, and what changes far from that place is
penalised (`training.penalty`): |D(x, c + c') - D(x, c)|^2 over pixels further than `reach` cells from c', so that
A_i(j) is small for far j (see `instruments.locality`). Where `reach` is that of L_i there, C is what is asked for.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.scenes.labels import LabelConfig

SECOND_LANE = 7  # of a training key: the second place


class LocalityPenalty(Settings):
    """How much a label may not change what is far from it. Without a penalty there is none of these."""

    weight: float = Field(default=1.0, gt=0, description="of the penalty, where that of the denoising loss is 1")
    reach: int = Field(default=2, ge=0, description="cells from a label within which it may change anything")

    def check(self, labels: LabelConfig) -> None:
        """Raise a one-line UserError if these labels have no places, or none of them is far from anything."""
        if labels.form != "grid":
            raise UserError("a locality penalty adds a place to a grid label: set labels.form = 'grid'")
        if self.reach >= labels.grid // 2:
            raise UserError(
                f"penalty.reach = {self.reach}: in {labels.grid} x {labels.grid} cells nothing is that far from the "
                f"middle; give at most {labels.grid // 2 - 1}"
            )


class SoftNetwork(nn.Module):
    """A network with its penalty. Weight and distances are tensors: one compiled step serves every penalty."""

    weight: Tensor  # []
    far: Tensor  # [cells, H, W] 1 at pixels that are further than `reach` cells from each cell, else 0

    def __init__(self, network: nn.Module, penalty: LocalityPenalty, pixels: int, labels: LabelConfig) -> None:
        super().__init__()
        penalty.check(labels)
        self.network = network
        self.register_buffer("weight", torch.tensor(penalty.weight), persistent=False)
        self.register_buffer("far", far_pixels(labels.grid, pixels, penalty.reach), persistent=False)

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """The network's own answer.  # [n, C, H, W]"""
        answer: Tensor = self.network(x, noise_level, condition)
        return answer

    def second_place(self, condition: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """The labels [n, K] with one more place, and which pixels are far from it.  # [n, K], [n, 1, H, W]

        The place is one that the label of the next image of the batch names: only cells in which objects occur are
        ever told. If that image names none but this image's own, it is any other cell.
        """
        free = condition == 0
        named = free & (condition.roll(1, 0) != 0)
        lot = seeds.uniform(key, condition.shape[1:], lane=SECOND_LANE)
        cell = torch.where(named, lot + 1, torch.where(free, lot, -1.0)).argmax(1)  # [n]
        return condition.scatter(1, cell[:, None], 1.0), self.far[cell][:, None]


def far_pixels(grid: int, pixels: int, reach: int) -> Tensor:
    """1 at the pixels whose cell is further than `reach` cells from each cell, rows or columns.  # [cells, H, W]"""
    if pixels % grid:
        raise UserError(f"images of {pixels} px are no grid of {grid} x {grid} cells")
    away = (torch.arange(grid)[:, None] - torch.arange(pixels) // (pixels // grid)).abs()  # [grid, pixels]
    apart = torch.maximum(away[:, None, :, None], away[None, :, None, :])  # [grid, grid, H, W]
    return (apart > reach).float().flatten(0, 1)
