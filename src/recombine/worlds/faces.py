"""Faces of CelebA by gender, smile and hair: the concept-graphs world of real images (Okawa et al. 2023, Fig. 10).

Images are looked up, not made: a factor vector is the row of an image and its digits. Only faces with exactly one of
black and blond hair have a class. CelebA parts its images by person into train, valid and test; a world draws from one
of these, so instruments that use `world.replace(partition="test")` see nobody whom training has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.errors import UserError
from recombine.worlds.base import World
from recombine.worlds.celeba import SIZE, data_folder, read_attributes, read_partitions, resized_images
from recombine.worlds.image_cache import Pixels
from recombine.worlds.splits import NODE_STRIDE

if TYPE_CHECKING:
    from torch import Tensor

PARTITIONS = ("train", "valid", "test")  # by the number that CelebA's list gives each
SHUFFLE_LANE = 17  # of the words that put the images of a class in order


class FacesWorld(World):
    """CelebA's aligned faces; the folder they are in is RECOMBINE_CELEBA, else data/celeba."""

    kind: Literal["faces"] = "faces"
    pixels: Annotated[int, Field(ge=4, le=SIZE[0])] = 28
    partition: Literal["train", "valid", "test", "all"] = "train"

    @property
    def concepts(self) -> dict[str, tuple[str, ...]]:
        return {"gender": ("female", "male"), "smiling": ("smiling", "not-smiling"), "hair": ("black", "blond")}

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.pixels, self.pixels)

    @property
    def condition_widths(self) -> tuple[int, ...]:
        return (2, 2, 2)

    def prototype(self, nodes: Tensor) -> Tensor:
        """No image stands for a class: the row is -1, which has a condition but cannot be rendered.  # [n, 4]"""
        return torch.cat([torch.full_like(nodes[:, :1], -1), nodes], 1)

    def vary(self, nodes: Tensor, key: Tensor) -> Tensor:
        """Image number k of a class, in the order that the key's stream gives them: each once, in any batch.  # [n, 4]

        k is the low part of the key, as `splits` numbers the images of a node.
        """
        digits, key = nodes.cpu(), key.cpu()
        number = key % NODE_STRIDE  # [n]
        queues = torch.cat([digits, key[:, None] >> 32], 1)  # [n, 4]: images of one node and stream stand in one queue
        rows = torch.empty_like(number)
        for queue in sorted(set(map(tuple, queues.tolist()))):
            *values, stream = queue
            node = "".join(map(str, values))
            here = (queues == torch.tensor(queue)).all(1)  # [n]
            order, asked = self._order(node, stream), int(number[here].max()) + 1
            if asked > len(order):
                raise UserError(self._too_few(node, len(order), asked))
            rows[here] = order[number[here]]
        return torch.cat([rows[:, None], digits], 1).to(nodes.device)

    @no_grad
    def render(self, factors: Tensor) -> Tensor:
        images = self._faces().images
        rows = factors[:, 0].long().cpu().numpy()
        if ((rows < 0) | (rows >= len(images))).any():
            raise ValueError("these factors have no image: a prototype gives a condition only, `vary` gives images")
        pixels = torch.from_numpy(np.asarray(images[rows]))  # [n, H, W, 3] uint8
        scaled = pixels.permute(0, 3, 1, 2).float().div_(127.5).sub_(1)  # on the CPU: the same bits on every device
        return scaled.contiguous().to(factors.device)

    def condition(self, factors: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(factors[:, 1:].long(), 2).flatten(1).float()

    def held_back(self) -> FacesWorld:
        return self.replace(partition="test")

    def available(self, node: str) -> int:
        return len(self._members(node))

    def origin(self) -> dict[str, str]:
        return {"celeba_attributes_sha256": self._faces().digest}

    def class_sizes(self) -> dict[str, int]:
        """How many images each node has in this partition."""
        return {node: len(self._members(node)) for node in self.nodes}

    def _faces(self) -> _Faces:
        return _open(data_folder(), self.pixels)

    def _members(self, node: str) -> Tensor:
        """The rows of a node's images in this partition."""
        faces = self._faces()
        here = (faces.digits == self.digits(node)).all(1)
        if self.partition != "all":
            here &= faces.partitions == PARTITIONS.index(self.partition)
        return here.nonzero().flatten()

    def _order(self, node: str, stream: int) -> Tensor:
        """A node's rows, sorted by a hash of stream and row: a partition keeps the order that all images have."""
        members = self._members(node)
        return members[seeds.bits((stream << 32) + members, 1, SHUFFLE_LANE)[:, 0].argsort(stable=True)]

    def _too_few(self, node: str, present: int, asked: int) -> str:
        where = "CelebA" if self.partition == "all" else f"CelebA's {self.partition} partition"
        return (
            f"class {node} ({self.describe(node)}) has {present} images in {where}, not {asked}: lower split.count "
            f"(for instruments evaluation.calibration_images) to {present} or less"
        )


@dataclass(frozen=True)
class _Faces:
    """Every face that has a class, row by row in the order of the attribute file."""

    digits: Tensor  # [N, 3] int64
    partitions: Tensor  # [N] int64
    images: Pixels  # [N, H, W, 3], mapped from disk
    digest: str  # of the attribute file


@lru_cache(maxsize=4)
def _open(folder: Path, pixels: int) -> _Faces:
    """Kept for the process and not on the world, which must stay small enough to send to another one."""
    attributes = read_attributes(folder, ("Male", "Smiling", "Black_Hair", "Blond_Hair"))
    male, smiling, black, blond = attributes.values.T
    rows = np.flatnonzero(black != blond)
    if not len(rows):
        raise UserError(f"no face in {folder} has exactly one of black and blond hair: use the whole of CelebA")
    names = [attributes.names[row] for row in rows]
    return _Faces(
        digits=torch.from_numpy(np.stack([male, ~smiling, blond], 1)[rows].astype(np.int64)),
        partitions=torch.from_numpy(read_partitions(folder, names)),
        images=resized_images(folder, names, attributes.digest, pixels),
        digest=attributes.digest,
    )
