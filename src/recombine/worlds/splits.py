"""Splits: which nodes of a concept graph a model may see, how often, how many images of each; and those images.

An image's content depends on the world, the seed, its node and its number only, never on which other nodes are trained
or how many images they have: sweeping a count or a frequency (Okawa et al. 2023, Fig. 8) changes nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.base import World, concept_distance
from recombine.worlds.shapes import ShapesWorld

if TYPE_CHECKING:
    from torch import Tensor

COUNT = 1500  # unique images of a trained node, as in the released runs
NODE_STRIDE = 2**24  # image numbers of one node; keys hold 32 bits, so a world may have 256 nodes
DRAW_LANE = 11  # lane of `draw` on a training key; noise and noise levels on the same key use others


class Split(Settings):
    """Which nodes are trained. A node whose frequency is zero is not trained, whatever its count."""

    train: tuple[str, ...]
    frequencies: dict[str, float] | None = None  # relative; a trained node that is not named has 1
    count: int | dict[str, int] = COUNT  # unique images of each node; one that is not named has 1500
    test: tuple[str, ...] | None = None  # every other node unless said

    @property
    def trained(self) -> tuple[str, ...]:
        """The nodes that training draws from."""
        return tuple(node for node in self.train if self.frequency(node) > 0)

    def frequency(self, node: str) -> float:
        """The relative frequency at which a node of `train` is drawn."""
        return (self.frequencies or {}).get(node, 1.0)

    def unique(self, node: str) -> int:
        """How many different images a node of `train` has."""
        return self.count if isinstance(self.count, int) else self.count.get(node, COUNT)

    def distance(self, node: str) -> int:
        """The smallest number of concepts in which a node differs from a trained one; 0 for a trained one."""
        return min(concept_distance(node, trained) for trained in self.trained)

    def held_out(self, world: World) -> tuple[str, ...]:
        """The nodes that are tested and not trained."""
        return self.test if self.test is not None else tuple(n for n in world.nodes if n not in self.trained)

    def by_distance(self, world: World) -> dict[int, tuple[str, ...]]:
        """Trained (at 0) and held-out nodes by their distance from the trained ones, nearest first."""
        rank: dict[int, tuple[str, ...]] = {}
        for node in sorted({*self.trained, *self.held_out(world)}):
            rank[self.distance(node)] = (*rank.get(self.distance(node), ()), node)
        return dict(sorted(rank.items()))

    def check(self, world: World) -> None:
        """Raise a one-line UserError if this split does not fit the world or itself."""
        if not self.train:
            raise UserError(f"the split trains on nothing: give train at least one of {', '.join(world.nodes)}")
        world.digits(self.train)
        world.digits(self.test or ())
        if len(set(self.train)) < len(self.train):
            raise UserError(f"train names a node twice ({', '.join(self.train)}); use frequencies to weigh nodes")
        for field, names in (("frequencies", self.frequencies or {}), ("count", self.count)):
            stray = [name for name in names if name not in self.train] if isinstance(names, dict) else []
            if stray:
                raise UserError(f"{field} names '{stray[0]}', which is not trained; trained: {', '.join(self.train)}")
        for node in self.train:
            if self.frequency(node) < 0:
                raise UserError(f"the frequency of '{node}' is {self.frequency(node):g}: give zero or more")
            if self.frequency(node) > 0 and self.unique(node) < 1:
                raise UserError(f"'{node}' has no images but is drawn: give it a count or set its frequency to 0")
            if not 0 <= self.unique(node) <= NODE_STRIDE:
                raise UserError(f"the count of '{node}' is {self.unique(node)}: give 0 to {NODE_STRIDE}")
        if not self.trained:
            raise UserError("the frequencies add up to zero: give at least one trained node a positive frequency")
        both = [node for node in self.test or () if node in self.trained]
        if both:
            raise UserError(f"'{both[0]}' is trained and tested as held out: take it out of train or of test")
        if len(world.nodes) > 2**32 // NODE_STRIDE:
            raise UserError(f"this world has {len(world.nodes)} nodes; a split can number the images of 256")


_CROSS = ("000", "001", "010", "100")
_ADVERSARIAL = ("000", "100", "010", "111")

# Digits are shape, colour, size, as in the released file names; the paper's figures print shape, size, colour.
DESIGNS: dict[str, Split] = {
    "H32-train1": Split(train=_CROSS),  # Figs 5, 6, 8 and 10: the origin and its three neighbours
    "H32-fail1": Split(train=_ADVERSARIAL),  # Fig 9a: no small circle, small seen with blue triangles only
    # Fig 9b, fine-tuning after H32-fail1: on one class alone (released; 011 is in the figure only) ...
    "H32-tune-001": Split(train=("001",)),  # printed 010 in the figure
    "H32-tune-110": Split(train=("110",)),  # printed 101
    "H32-tune-011": Split(train=("011",)),
    # ... or on the training set with that class added (as the caption says).
    "H32-tune-001-mixed": Split(train=(*_ADVERSARIAL, "001")),
    "H32-tune-110-mixed": Split(train=(*_ADVERSARIAL, "110")),
    "H32-tune-011-mixed": Split(train=(*_ADVERSARIAL, "011")),
    "H42-train1": Split(train=("0000", "0001", "0010", "0100", "1000")),  # Fig 16: the fourth concept is the background
    # Two concepts of two values, the last combination held out: the design of Park et al. 2024 (colour, size).
    "H22-train1": Split(train=("00", "01", "10")),
    # Two concepts of three values. The released nodes are unknown; we take those of train1: the origin and neighbours.
    "H23-train1": Split(train=("00", "01", "02", "10", "20")),
}


def design(name: str) -> Split:
    """A named split of the papers."""
    if name not in DESIGNS:
        close = difflib.get_close_matches(name, DESIGNS, n=1, cutoff=0.4)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(DESIGNS)}"
        raise UserError(f"no split named '{name}'; {hint}")
    return DESIGNS[name]


@dataclass(frozen=True)
class Pool:
    """Every training image of a split, on one device; `train` node m owns rows starts[m] to starts[m] + counts[m]."""

    images: Tensor  # [N, C, H, W]
    conditions: Tensor  # [N, K]
    starts: Tensor  # [M] int64
    counts: Tensor  # [M] int64
    cumulative: Tensor  # [M] float32; the last is 1
    owner: Tensor  # [K] int64, the concept that each number of the condition belongs to


def make_pool(world: World, split: Split, seed: int, device: torch.device | str = "cpu") -> Pool:
    """Render the training images of a split from the data seed."""
    split.check(world)
    counts = torch.tensor([split.unique(node) if split.frequency(node) > 0 else 0 for node in split.train])
    frequencies = torch.tensor([split.frequency(node) for node in split.train], dtype=torch.float64)
    cumulative = frequencies.cumsum(0)
    numbers = torch.cat([_image_numbers(world, n, int(k)) for n, k in zip(split.train, counts, strict=True)])  # [N]
    digits = world.digits(split.train).repeat_interleave(counts, 0)  # [N, concepts]
    factors = world.vary(digits.to(device), seeds.keys(seed, "data", numbers.to(device)))
    return Pool(
        images=world.render(factors),
        conditions=world.condition(factors),
        starts=(counts.cumsum(0) - counts).to(device),
        counts=counts.to(device),
        cumulative=(cumulative / cumulative[-1]).float().to(device),
        owner=torch.arange(len(world.concepts)).repeat_interleave(torch.tensor(world.condition_widths)).to(device),
    )


def rows_of(key: Tensor, cumulative: Tensor, starts: Tensor, counts: Tensor) -> Tensor:
    """The row of a pool that each key draws: a hundred small steps, which a GPU is glad to have compiled.  # [n]"""
    words = seeds.bits(key, 2, DRAW_LANE)  # [n, 2], 32 bits each
    place = (words[:, :1] >> 8).float() * 2.0**-24  # in [0, 1), exact
    node = (place >= cumulative).sum(1)  # [n]; nodes of frequency zero are stepped over
    return starts[node] + (words[:, 1] * counts[node] >> 32)  # integer product: no rounding


DrawRows: TypeAlias = "Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]"  # rows_of, or the same compiled


def draw(pool: Pool, key: Tensor, draw_rows: DrawRows = rows_of) -> tuple[Tensor, Tensor]:
    """One image and its condition for each key: a node by frequency, then an image of it, with replacement.

    Elementwise tensor operations only, so it runs inside a compiled step or a captured CUDA graph.
    """
    row = draw_rows(key, pool.cumulative, pool.starts, pool.counts)
    return pool.images[row], pool.conditions[row]


def real_images(world: World, nodes: Sequence[str], per_node: int, seed: int, name: str) -> tuple[Tensor, Tensor]:
    """`per_node` real images of each node, node by node, and their digits; from the stream `name`, never from training.

    # [nodes * per_node, C, H, W], [nodes * per_node, concepts]
    """
    if name == "data":
        raise ValueError("the stream 'data' belongs to training images: give another name")
    numbers = torch.cat([_image_numbers(world, node, per_node) for node in nodes])
    digits = world.digits(tuple(nodes)).repeat_interleave(per_node, 0)
    return world.render(world.vary(digits, seeds.keys(seed, name, numbers))), digits


def empty_images(world: ShapesWorld, per_node: int, seed: int) -> dict[str, Tensor]:
    """Images without an object, for asking an instrument what it says of them: blank, noise and the mean image.

    "blank" is the first background; further ones are "blank-black" and so on.  # each [n, C, H, W]
    """
    names = ["blank", *(f"blank-{name}" for name in world.backgrounds[1:])]
    blanks = {name: image[None] for name, image in zip(names, world.blank(), strict=True)}
    noise = 2 * seeds.uniform(seeds.keys(seed, "noise-images", torch.arange(per_node)), world.image_shape) - 1
    mean = real_images(world, world.nodes, per_node, seed, "mean-image")[0].mean(0, keepdim=True)
    return {**blanks, "noise": noise, "mean": mean}


def _image_numbers(world: World, node: str, count: int) -> Tensor:
    return world.nodes.index(node) * NODE_STRIDE + torch.arange(count)
