"""A whole-image network that is asked, not forced, to be local: what a locality penalty needs to know beside it.

The network answers as it is. In training the label gets a second place, and what changes far from that place is
penalised (`training_loss`): |D(x, c + c') - D(x, c)|^2 over pixels further than `reach` cells from c', so that
A_i(j) is small for far j (see `instruments.locality`). Where `reach` is that of L_i there, C is what is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from recombine import seeds
from recombine.denoisers.configs import LocalityPenalty
from recombine.denoisers.contract import per_image
from recombine.diffusion.losses import Weighting, weight
from recombine.errors import UserError
from recombine.worlds.scenes.labels import LabelConfig

if TYPE_CHECKING:
    from recombine.denoisers.network import NetworkDenoiser

SECOND_LANE = 7  # of a training key: the second place


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

    def training_loss(
        self, model: NetworkDenoiser, images: Tensor, noise: Tensor, sigma: Tensor, condition: Tensor, key: Tensor,
        weighting: Weighting = "simple",
    ) -> Tensor:  # fmt: skip
        """Mean over images of w(sigma) * (error^2 + weight * change^2), each a mean over its own pixels.  # []

        Both are of the network's own prediction, so D(x, c + c') - D(x, c) counts at each noise level as an error of D
        does. One pass computes both labels: the penalty costs one more image of each, not two.
        """
        x = images + per_image(sigma, images) * noise
        more, far = self.second_place(condition, key)
        both = model.predict(torch.cat([x, x]), torch.cat([sigma, sigma]), torch.cat([condition, more])).float()
        said, other = both.chunk(2)
        error = (said - model.target(images, noise, sigma).float()).square().flatten(1).mean(1)  # [n]
        changed = (other - said).square().mean(1, keepdim=True) * far  # [n, 1, H, W]
        change = changed.flatten(1).sum(1) / far.flatten(1).sum(1)  # [n]
        return (weight(model, sigma.float(), weighting) * (error + self.weight * change)).mean()

    def second_place(self, condition: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """The labels [n, K] with one more place, and which pixels are far from it.  # [n, K], [n, 1, H, W]

        The place is one that the label of the next image of the batch names: only cells in which objects occur are
        ever marked. If that image names none but this image's own, it is any other cell.
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
    distance = torch.maximum(away[:, None, :, None], away[None, :, None, :])  # [grid, grid, H, W]
    return (distance > reach).float().flatten(0, 1)
