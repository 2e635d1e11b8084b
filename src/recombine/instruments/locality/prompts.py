"""Labels with each of their conditions taken out or moved far away: what conditional locality compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Prompts:
    """The conditions in each label, and the labels without each of them. Made by `grid_prompts` or `list_prompts`."""

    removed: Tensor  # [n, J, K] the label with condition j taken out
    moved: Tensor  # [n, J, K] the label with condition j at `far`
    entries: Tensor  # [n, J, K] bool: the numbers of the label that state condition j
    present: Tensor  # [n, J] bool: a label may hold fewer than J conditions
    places: Tensor  # [n, J, 2] row and column of each condition, in pixels
    far: Tensor  # [n, 2] of the places on offer, the one whose nearest condition is farthest


def grid_prompts(label: Tensor, grid: int, pixels: int, allowed: Tensor | None = None) -> Prompts:
    """Of grid labels [n, grid * grid]; conditions move to an empty cell, one of those `allowed` [grid * grid].

    A condition's place is the centre of its cell of side m = pixels / grid: within (k + 1/2) m pixels of a pixel lie
    exactly the conditions within k cells of the pixel's cell.
    """
    if label.dim() != 2 or label.shape[1] != grid * grid:
        raise UserError(f"labels of shape {tuple(label.shape)} are no grids of {grid} x {grid} cells")
    index = torch.arange(grid * grid, device=label.device)
    spots = (torch.stack([index // grid, index % grid], 1) + 0.5) * (pixels / grid) - 0.5  # [cells, 2]
    cells = (label != 0).int().argsort(dim=1, descending=True, stable=True)  # conditions first
    cells = cells[:, : int((label != 0).sum(1).max())]  # [n, J]
    value = label.gather(1, cells)[..., None]  # [n, J, 1]
    present, entries = value[..., 0] != 0, (cells[..., None] == index) & (value != 0)
    free = (label == 0) if allowed is None else (label == 0) & allowed.to(label.device)
    target = _farthest(spots, free, spots[cells], present)  # [n]
    removed = label[:, None].masked_fill(entries, 0)
    moved = removed + value * (index == target[:, None])[:, None]
    return Prompts(removed, moved, entries, present, spots[cells], spots[target])


def list_prompts(label: Tensor, null: Tensor, locate: Callable[[Tensor], Tensor], offered: Tensor) -> Prompts:
    """Of lists of slots [n, J * width]: a slot other than `null` [width] is a condition, `locate` [..., width] ->
    [..., 2] its place in pixels; conditions move to one of the slots `offered` [m, width].
    """
    width = len(null)
    if label.dim() != 2 or label.shape[1] % width or offered.dim() != 2 or offered.shape[1] != width:
        raise UserError(f"labels {tuple(label.shape)}, offers {tuple(offered.shape)}: no slots of {width} numbers")
    slots, null, offered = label.reshape(len(label), -1, width), null.to(label), offered.to(label)
    present, places, spots = (slots != null).any(2), locate(slots), locate(offered)
    target = _farthest(spots, present.new_ones(len(label), len(spots)), places, present)
    entries = torch.diag_embed(present).repeat_interleave(width, 2)  # [n, J, J width]
    removed = torch.where(entries, null.repeat(slots.shape[1]), label[:, None])
    moved = torch.where(entries, offered[target].repeat(1, slots.shape[1])[:, None], label[:, None])
    return Prompts(removed, moved, entries, present, places, spots[target])


def _farthest(spots: Tensor, free: Tensor, places: Tensor, present: Tensor) -> Tensor:
    """The free spot whose nearest condition is farthest: a condition moved there leaves all others alone.  # [n]"""
    if not bool(present.any()) or not bool(free.any(1).all()):
        raise UserError("the labels hold no condition, or one leaves no place that conditions could move to")
    away = (spots[:, None] - places[:, None]).abs().amax(3)  # [n, spots, J]
    nearest = away.masked_fill(~present[:, None], torch.inf).amin(2)
    return nearest.masked_fill(~free, -1).argmax(1)
