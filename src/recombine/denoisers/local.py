"""The network that can only be local: each cell of an image is denoised from the patch around it and its labels.

Bradley 2026 (Exps 2L and 3L). The image is a grid of cells. For every cell the same U-Net sees the patch of `radius`
cells around it, the labels whose place is within `label_radius` cells, and where in the image the patch is; of its
answer the middle cell is kept. So no pixel depends on a pixel or a label further away, exactly. In training two patches
of an image are drawn, one with a label in it and one without. What lies outside of the image is zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recombine import seeds
from recombine.denoisers.conditioners import Sinusoids
from recombine.denoisers.configs import FoldedConfig, LocalConfig, UNetConfig
from recombine.denoisers.contract import at_pixels
from recombine.denoisers.folded import foldable_network
from recombine.diffusion.losses import Weighting, denoising_loss
from recombine.errors import UserError
from recombine.settings import override
from recombine.worlds.scenes.labels import SLOT, LabelConfig

if TYPE_CHECKING:
    from recombine.denoisers.network import NetworkDenoiser

CHUNK = {"cpu": 8192, "cuda": 65536}  # patches at once
POSITION = 16  # sinusoids of one coordinate of a patch


class Pieces(NamedTuple):
    """What a batch of images becomes in training: patches, two of each image."""

    x0: Tensor  # [2 n, C, P, P]
    noise: Tensor  # [2 n, C, P, P]
    sigma: Tensor  # [2 n]
    condition: Tensor  # [2 n, K']


class LocalNetwork(nn.Module):
    """Walks over all cells of whole images; of patches alone, see `piece`."""

    pixels_away: Tensor  # [P, P] how many cells each pixel of a patch is from the middle cell
    labels_away: Tensor  # [W, W] the same of each cell of the window of labels

    def __init__(
        self, config: LocalConfig, image_shape: tuple[int, int, int], labels: LabelConfig, scaled: bool = False
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        if height != width or height % labels.grid:
            raise UserError(f"images of {height}x{width} px are no grid of {labels.grid} x {labels.grid} cells")
        self.config, self.labels = config, labels
        self.grid, self.cell = labels.grid, height // labels.grid
        self.side = (2 * config.radius + 1) * self.cell
        window = (2 * config.labels_within + 1) ** 2 if labels.form == "grid" else labels.width
        self.strength = math.sqrt(window) if scaled else 1.0  # see denoisers.label_code: one label of many is faint
        # Distances as tables: made inside of a compiled step, they are index arithmetic that inductor cannot order.
        self.register_buffer("pixels_away", _away(self.side, self.cell, config.radius), persistent=False)
        around = _away(2 * config.labels_within + 1, 1, config.labels_within)
        self.register_buffer("labels_away", around, persistent=False)
        self.position = Sinusoids(POSITION, (4.0, 4.0 * labels.grid))
        inner, self.spread = config.inner, 1
        if config.mapped:
            inner, self.spread = _on_maps(config, labels), window  # a number of the position goes to every cell
        self.inner = foldable_network(inner, (channels, self.side, self.side), (window, 2 * POSITION * self.spread))

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """x [n, C, H, W], noise level [n], label [n, K]: every cell from its own patch.  # [n, C, H, W]"""
        if condition is None:
            raise UserError("this network was built for conditions: give it one")
        cells = self.grid**2
        at_once = max(1, CHUNK.get(x.device.type, 8192) // cells)
        answers = []
        for start in range(0, len(x), at_once):
            part = slice(start, start + at_once)
            level = noise_level[part]
            near = self._windows(condition[part], level).flatten(0, 1)
            answer = self.piece(self._patches(x[part]), level.repeat_interleave(cells), near)
            answers.append(answer[:, :, self._middle, self._middle])
        cell, grid = self.cell, self.grid
        tiles = torch.cat(answers).reshape(len(x), grid, grid, x.shape[1], cell, cell)
        return tiles.permute(0, 3, 1, 4, 2, 5).reshape(x.shape)

    def at(self, pixels: Tensor, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """The same at pixels [n, p, 2] (row, column) alone: no cell but theirs is asked.  # [n, p, C]"""
        if condition is None:
            raise UserError("this network was built for conditions: give it one")
        row, column = pixels.unbind(2)
        cells = row // self.cell * self.grid + column // self.cell  # [n, p]
        near = _of_cells(self._windows(condition, noise_level), cells).flatten(0, 1)
        answer = self.piece(self._cut(x, cells), noise_level.repeat_interleave(cells.shape[1]), near)
        tile = answer[:, :, self._middle, self._middle]  # [n p, C, cell, cell]
        inside = (pixels % self.cell).flatten(0, 1)[:, None]  # [n p, 1, 2]
        return at_pixels(tile, inside)[:, 0].reshape(*cells.shape, -1)

    def piece(self, patches: Tensor, noise_level: Tensor, condition: Tensor | None) -> Tensor:
        """What the U-Net answers for patches, conditioned on their windows.  # [N, C, P, P]"""
        if self.config.by_noise:
            patches = patches * (self.pixels_away <= self._radii(noise_level)[0][:, None, None])[:, None]
        answer: Tensor = self.inner(patches, noise_level, condition)
        return answer

    def training_loss(
        self, model: NetworkDenoiser, images: Tensor, noise: Tensor, sigma: Tensor, condition: Tensor, key: Tensor,
        weighting: Weighting,
    ) -> Tensor:  # fmt: skip
        """The denoising loss of patches.  # []"""
        part = self.pieces(images, noise, sigma, condition, key)
        return denoising_loss(
            model, part.x0, part.noise, part.sigma, part.condition, weighting, self.piece, self.judged
        )

    def pieces(self, images: Tensor, noise: Tensor, sigma: Tensor, condition: Tensor, key: Tensor) -> Pieces:
        """Two patches of each image: one with a label in it, one without if there is one."""
        near = self._windows(condition, sigma.log() / 4)  # [n, cells, K']
        held = self._holds(condition)  # [n, cells]
        lot = seeds.uniform(key, (2, self.grid**2), lane=6)  # [n, 2, cells]
        wanted = torch.stack([held, ~held], 1)
        cells = torch.where(wanted, lot + 1, lot).argmax(2)  # [n, 2]
        return Pieces(
            x0=self._cut(images, cells),
            noise=self._cut(noise, cells),
            sigma=sigma.repeat_interleave(2),
            condition=_of_cells(near, cells).flatten(0, 1),
        )

    @property
    def judged(self) -> slice | None:
        """The rows and the columns of a patch that the loss covers, if not all."""
        return self._middle if self.config.judged == "cell" else None

    @property
    def _middle(self) -> slice:
        return slice(self.config.radius * self.cell, (self.config.radius + 1) * self.cell)

    def _padded(self, x: Tensor) -> Tensor:
        return F.pad(x, (self.config.radius * self.cell,) * 4)

    def _patches(self, x: Tensor) -> Tensor:
        """The patch of every cell, row by row.  # [n cells, C, P, P]"""
        found = self._padded(x).unfold(2, self.side, self.cell).unfold(3, self.side, self.cell)  # [n, C, g, g, P, P]
        return found.permute(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1], self.side, self.side)

    def _cut(self, x: Tensor, cells: Tensor) -> Tensor:
        """The patches of these cells [n, q].  # [n q, C, P, P]"""
        across = torch.arange(self.side, device=x.device)
        rows = (cells // self.grid * self.cell)[..., None] + across  # [n, q, P]
        columns = (cells % self.grid * self.cell)[..., None] + across
        image = torch.arange(len(x), device=x.device)[:, None, None, None]
        found = self._padded(x).permute(0, 2, 3, 1)[image, rows[..., :, None], columns[..., None, :]]  # [n, q, P, P, C]
        return found.flatten(0, 1).permute(0, 3, 1, 2)

    def _radii(self, noise_level: Tensor) -> tuple[Tensor, Tensor]:
        """The radii of the pixel and the label receptive field at each noise level, in cells.  # [n], [n]"""
        sigma = (4 * noise_level.float()).exp()
        radius = torch.full_like(sigma, self.config.radius)
        label_radius = torch.full_like(sigma, self.config.labels_within)
        for part in sorted(self.config.by_noise, key=lambda part: part.above):
            radius = torch.where(sigma >= part.above, part.radius, radius)
            label_radius = torch.where(sigma >= part.above, part.label_radius, label_radius)
        return radius, label_radius

    def _windows(self, condition: Tensor, noise_level: Tensor) -> Tensor:
        """The condition of the patch of every cell: labels in its receptive field, and its place.  # [n, cells, K']"""
        within = self._radii(noise_level)[1][:, None, None]  # [n, 1, 1]
        reach, grid = self.config.labels_within, self.grid
        if self.labels.form == "grid":
            maps = F.pad(condition.reshape(-1, 1, grid, grid), (reach,) * 4)
            side = 2 * reach + 1
            near = maps.unfold(2, side, 1).unfold(3, side, 1).reshape(len(condition), grid**2, side**2)
            near = near * (self.labels_away.flatten() <= within)
        else:
            near = condition.reshape(len(condition), 1, -1, SLOT) * self._near(condition, within)[..., None]
            near = near.flatten(2)
        where = self.position(self._cells(condition.device).float()).flatten(1).to(near.dtype)  # [cells, 2 POSITION]
        where = where.repeat_interleave(self.spread, 1)
        return torch.cat([near * self.strength, where.expand(len(condition), -1, -1)], 2)

    def _holds(self, condition: Tensor) -> Tensor:
        """Whether a label lies in the receptive field of each cell.  # [n, cells] bool"""
        reach = self.config.labels_within
        if self.labels.form == "grid":
            maps = condition.reshape(-1, 1, self.grid, self.grid)
            return F.max_pool2d(maps, 2 * reach + 1, 1, reach).flatten(1) > 0
        return self._near(condition, reach).any(2)

    def _near(self, condition: Tensor, within: Tensor | int) -> Tensor:
        """Which slots of a list hold a label within so many cells of each cell.  # [n, cells, slots] bool"""
        slots = condition.reshape(len(condition), -1, SLOT)
        places = ((slots[..., :2] + 1) / 2 * self.grid).floor().clamp(0, self.grid - 1)  # [n, slots, 2]
        away = (places[:, None] - self._cells(condition.device)[None, :, None]).abs().amax(3)  # [n, cells, slots]
        return (away <= within) & (slots[:, None, :, 2] > 0)

    def _cells(self, device: torch.device) -> Tensor:
        """(column, row) of every cell, row by row.  # [cells, 2]"""
        index = torch.arange(self.grid**2, device=device)
        return torch.stack([index % self.grid, index // self.grid], 1)


def _of_cells(windows: Tensor, cells: Tensor) -> Tensor:
    """The windows of the patches of these cells [n, q], of all [n, cells, K'].  # [n, q, K']"""
    return windows.gather(1, cells[..., None].expand(-1, -1, windows.shape[2]))


def _on_maps(config: LocalConfig, labels: LabelConfig) -> UNetConfig | FoldedConfig:
    """The network on a patch, with a label for each of its cells."""
    if labels.form != "grid":
        raise UserError("a list has no place in an image: set labels.form = 'grid', or embed it")
    if config.labels_within != config.radius:
        raise UserError("labels as a channel of the patch reach as far as its pixels: leave label_radius unset")
    at = "condition.grid" if isinstance(config.inner, UNetConfig) else "inner.condition.grid"
    return override(config.inner, {at: (2 * config.radius + 1,) * 2})


def _away(side: int, cell: int, radius: int) -> Tensor:
    """How many cells each place of a square is from its middle cell, along the longer way.  # [side, side]"""
    away = (torch.arange(side) // cell - radius).abs()
    return torch.maximum(away[:, None], away[None])
