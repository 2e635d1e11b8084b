"""The condition of a model of scenes: where objects are, as a grid or as a list, all of them or one.

Bradley 2026 trains the same network on the same images with different conditioners. *Grid*: a cell is 1 where the
centre of a labelled object is projected to. *List*: slots of (x, y, 1), (0, 0, 0) where a slot is empty; objects fill
slots at random, or the first ones. *Labelled* "one": of each image one object, chosen once, is labelled, and the others
are there without a label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

SLOT = 3  # numbers of a slot of a list: x, y and whether it holds an object


class LabelConfig(Settings):
    """Form of the label, and which objects have one."""

    form: Literal["grid", "list"] = "grid"
    labelled: Literal["all", "one"] = "all"  # which objects of an image
    grid: int = Field(default=16, ge=1, description="cells along a side of the image")
    counted: bool = False  # a grid's cell holds how many centres lie in it, not whether one does
    slots: int = Field(default=12, ge=1, description="of a list")
    order: Literal["shuffled", "fixed"] = "shuffled"  # objects in any slots of a list, or in the first ones

    @property
    def width(self) -> int:
        """Numbers of a label."""
        return self.grid**2 if self.form == "grid" else SLOT * self.slots

    def chosen(self, present: Tensor, key: Tensor) -> Tensor:
        """Which objects [n, S] are labelled, drawn from the image's own key.  # [n, S] bool"""
        if self.labelled == "all":
            return present
        rank = seeds.uniform(key, present.shape[1:], lane=21).masked_fill(~present, -1)
        one = torch.nn.functional.one_hot(rank.argmax(1), present.shape[1]).bool()
        return one & present

    def encode(self, places: Tensor, labelled: Tensor, pixels: int, key: Tensor) -> Tensor:
        """The label of objects at places [n, S, 2] (x, y in pixels), of those labelled [n, S].  # [n, width]"""
        self._check(places, labelled, pixels)
        if self.form == "grid":
            index = (self.cells(places, pixels) * torch.tensor([1, self.grid], device=places.device)).sum(2)  # [n, S]
            label = places.new_zeros(len(places), self.grid**2, dtype=torch.float32)
            label.scatter_add_(1, index, labelled.float())
            return label if self.counted else label.clamp(max=1)
        if int(labelled.sum(1).max()) > self.slots:
            raise UserError(f"{int(labelled.sum(1).max())} labelled objects and {self.slots} slots: raise labels.slots")
        entry = torch.cat([2 * places.float() / pixels - 1, torch.ones_like(places[..., :1])], 2) * labelled[..., None]
        spare = max(0, self.slots - entry.shape[1])
        entry = torch.nn.functional.pad(entry, (0, 0, 0, spare))  # [n, S', 3]
        rank = seeds.uniform(key, entry.shape[1:2], lane=22)
        if self.order == "fixed":  # labelled objects first, in their own order
            rank = torch.arange(entry.shape[1], device=places.device) + 2.0 * (entry[..., 2] == 0) * entry.shape[1]
        elif entry.shape[1] > self.slots:
            rank = rank + 2.0 * (entry[..., 2] == 0)  # nothing labelled may be cut off
        order = rank.argsort(1)[:, : self.slots]
        entry = entry.gather(1, order[..., None].expand(-1, -1, SLOT)).float()
        if self.order == "shuffled" and spare == 0:
            order = seeds.uniform(key, (self.slots,), lane=23).argsort(1)
            entry = entry.gather(1, order[..., None].expand(-1, -1, SLOT))
        return entry.flatten(1)

    def cells(self, places: Tensor, pixels: int) -> Tensor:
        """The cell (column, row) of each place; of one on the edge of the image, the last.  # [..., 2]"""
        return (places * self.grid / pixels).floor().long().clamp(0, self.grid - 1)

    def _check(self, places: Tensor, labelled: Tensor, pixels: int) -> None:
        outside = ~((places >= 0) & (places <= pixels)).all(2) & labelled  # no number at all is outside, too
        if outside.any():
            x, y = places[outside][0].tolist()
            raise UserError(f"a label at ({x:.1f}, {y:.1f}) lies outside of the image of {pixels} px: leave it out")
