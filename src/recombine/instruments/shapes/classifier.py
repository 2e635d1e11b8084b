"""Convolutional classifiers of concepts, asked like the linear probes: for concepts that no linear map of pixels reads.

"cnn" is the CelebA probe of Okawa et al. 2023: three convolutions, a network of its own for each concept. "trunk" is
the classifier of Park et al. 2024: one trunk for all concepts, pooled over the whole image, so that it hardly matters
where the object lies. Both are trained on real images of every node, held-out ones too, and like a probe both must
answer one of their values whatever they are shown.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from recombine import seeds
from recombine.errors import RunFailed, UserError
from recombine.settings import Settings
from recombine.worlds.base import World
from recombine.worlds.splits import real_images

CNN_WIDTHS = (64, 64, 64)
TRUNK_WIDTHS = (32, 32, 32)  # each followed by a pooling; then TRUNK_END channels are pooled over the image
TRUNK_END = 64
GROUPS = 8  # of the trunk's group norms; without them it needs more than twice the steps
CHUNK = 256  # images answered together: bounds the memory that activations take
NOISE_LANE = 1  # lane of the input noise on a training key; the choice of image uses lane 0


class ClassifierConfig(Settings):
    """Which network, and its training. Park et al. take 10,000 steps; with the falling rate 300 are enough here."""

    kind: Literal["cnn", "trunk"] = "trunk"
    steps: int = Field(default=300, gt=0)
    batch: int = Field(default=64, gt=0)
    rate: float = Field(default=1e-3, gt=0)  # of AdamW, falling linearly to zero: a constant one leaves spikes
    weight_decay: float = Field(default=0.01, ge=0)
    noise: float = Field(default=0.0, ge=0)  # standard deviation of noise added to training images


@dataclass(frozen=True)
class Classifier:
    """A trained network that scores every value of every concept."""

    concepts: dict[str, tuple[str, ...]]  # names of concepts and of their values, in digit order
    network: nn.Module  # images [n, C, H, W] -> scores [n, all values]

    @torch.no_grad()
    def probabilities(self, images: Tensor) -> dict[str, Tensor]:
        """Probability of each value of each concept; images are clipped to [-1, 1].  # [n, values] each

        An image with NaN or infinities has probability zero of everything. Answers are where the images are.
        """
        finite = images.isfinite().flatten(1).all(1, keepdim=True)  # [n, 1]
        place = next(self.network.parameters()).device
        chunks = torch.split(images, CHUNK)
        scores = [self.network(part.to(place).float().nan_to_num(0.0).clamp(-1, 1)) for part in chunks]
        parts = torch.split(torch.cat(scores).to(images.device), _widths(self.concepts), 1)
        return {name: part.softmax(1) * finite for name, part in zip(self.concepts, parts, strict=True)}

    def answers(self, images: Tensor) -> Tensor:
        """The most probable value of each concept; -1 for an image with NaN.  # [n, concepts]"""
        chances = self.probabilities(images).values()
        return torch.stack([torch.where(part.amax(1) > 0, part.argmax(1), -1) for part in chances], 1)


def train_classifier(
    worlds: World | Sequence[World],
    config: ClassifierConfig,
    per_node: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> Classifier:
    """A classifier trained on `per_node` real images of every node of every world, all mixed.

    Several worlds must share concepts and image shape. Park et al. mix the extremes of their separations.
    """
    mixed = (worlds,) if isinstance(worlds, World) else tuple(worlds)
    _check(mixed, per_node)
    # A stream for each world: otherwise image 17 would lie in the same place in all of them.
    drawn = [real_images(w, w.nodes, per_node, seed, f"classifier-{i}") for i, w in enumerate(mixed)]
    images, digits = torch.cat([part for part, _ in drawn]), torch.cat([part for _, part in drawn])
    return fit(images.to(device), digits.to(device), mixed[0].concepts, config, seed)


def fit(
    images: Tensor, digits: Tensor, concepts: dict[str, tuple[str, ...]], config: ClassifierConfig, seed: int
) -> Classifier:
    """Train on a pool of images [N, C, H, W] in [-1, 1] with digits [N, concepts], on the device they are on."""
    widths, shape = _widths(concepts), images.shape[1:]
    kind = SeparateCNNs if config.kind == "cnn" else Trunk
    with seeds.torch_seeded(seed):
        network = kind(shape, widths)
    network = network.to(images.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    offsets = torch.arange(config.batch, device=images.device)
    loss = images.new_zeros(())
    with repeatable_convolutions():
        for step in range(config.steps):
            optimizer.param_groups[0]["lr"] = config.rate * (1 - step / config.steps)
            key = seeds.keys(seed, "classifier-order", step * config.batch + offsets)  # [batch]
            row = seeds.bits(key, 1)[:, 0] * len(images) >> 32  # with replacement; integer product: no rounding
            batch = images[row]  # [batch, C, H, W]
            if config.noise:
                batch = (batch + config.noise * seeds.normal(key, shape, NOISE_LANE)).clamp(-1, 1)
            parts = torch.split(network(batch), widths, 1)  # [batch, values] each
            loss = torch.stack([F.cross_entropy(part, digits[row, i]) for i, part in enumerate(parts)]).sum()
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    if not loss.isfinite():  # once lost it stays lost, so one look at the end is enough
        raise RunFailed(f"the loss of the classifier became {loss.item()}: lower its rate (now {config.rate:g})")
    return Classifier(concepts, network.eval().requires_grad_(False))


@contextmanager
def repeatable_convolutions() -> Iterator[None]:
    """Let a GPU add up the gradients of convolutions in one fixed order, then restore what was set before."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = True
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic = before


class SeparateCNNs(nn.Module):
    """One network for each concept: three convolutions, each pooled by two, then a linear map that knows positions."""

    def __init__(self, image_shape: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        channels, height, width = image_shape
        shrink = 2 ** len(CNN_WIDTHS)
        pixels = -(-height // shrink) * -(-width // shrink)  # left after the poolings, which round up
        self.networks = nn.ModuleList(
            nn.Sequential(
                *_convolutions(channels, CNN_WIDTHS), nn.Flatten(), nn.Linear(CNN_WIDTHS[-1] * pixels, values)
            )
            for values in widths
        )

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat([network(images) for network in self.networks], 1)  # [n, all values]


class Trunk(nn.Module):
    """Convolutions shared by all concepts, the largest answer of each channel over the image, and an MLP.

    The last layer holds a head for each concept side by side.
    """

    def __init__(self, image_shape: Sequence[int], widths: Sequence[int]) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            *_convolutions(image_shape[0], TRUNK_WIDTHS, GROUPS),
            nn.Conv2d(TRUNK_WIDTHS[-1], TRUNK_END, 3, padding=1),
            nn.GroupNorm(GROUPS, TRUNK_END),
            nn.ReLU(),
        )
        self.heads = nn.Sequential(nn.Linear(TRUNK_END, TRUNK_END), nn.ReLU(), nn.Linear(TRUNK_END, sum(widths)))

    def forward(self, images: Tensor) -> Tensor:
        largest = self.trunk(images).amax((2, 3))  # [n, TRUNK_END]
        scores: Tensor = self.heads(largest)
        return scores  # [n, all values]


def _convolutions(channels: int, widths: Sequence[int], groups: int = 0) -> list[nn.Module]:
    """3x3 convolutions, each pooled by two and normalised in `groups` if any.

    Sides are rounded up, so an image of any size has something left.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((channels, *widths)):
        # Pooling comes first: it gives the same before a ReLU as after, and leaves what follows a quarter of the work.
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.MaxPool2d(2, ceil_mode=True)]
        layers += [nn.GroupNorm(groups, outputs), nn.ReLU()] if groups else [nn.ReLU()]
    return layers


def _widths(concepts: dict[str, tuple[str, ...]]) -> list[int]:
    """How many values each concept has."""
    return [len(values) for values in concepts.values()]


def _check(worlds: Sequence[World], per_node: int) -> None:
    if not worlds:
        raise UserError("a classifier needs images: give at least one world")
    if per_node < 1:
        raise UserError(f"{per_node} images of each node: a classifier needs at least 1")
    first = worlds[0]
    for world in worlds[1:]:
        if list(world.concepts.items()) != list(first.concepts.items()):
            raise UserError(
                f"one classifier cannot learn {_listing(first)} and {_listing(world)}: "
                f"give worlds with the same concepts"
            )
        if world.image_shape != first.image_shape:
            raise UserError(
                f"one classifier cannot learn images of shapes {first.image_shape} and {world.image_shape}: "
                f"give worlds with the same pixels"
            )


def _listing(world: World) -> str:
    return ", ".join(f"{concept} ({'/'.join(values)})" for concept, values in world.concepts.items())
