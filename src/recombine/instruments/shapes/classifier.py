"""Convolutional classifiers of concepts, asked like the linear probes: for concepts that no linear map of pixels reads.

"cnn" is the CelebA probe of Okawa et al. 2023: three convolutions, one network for each concept. "trunk" is
the classifier of Park et al. 2024: one trunk for all concepts, pooled over the whole image, so that it hardly matters
where the object lies. Both are trained on real images of every node, held-out ones too, and like a probe both must
answer one of their values whatever they are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.errors import RunFailed, UserError
from recombine.settings import Settings
from recombine.worlds.base import World
from recombine.worlds.splits import real_images

if TYPE_CHECKING:
    from torch import Tensor

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
    network: torch.nn.Module  # images [n, C, H, W] -> scores [n, all values]

    @no_grad
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
    # A stream for each world: else image 17 would lie in the same place in all of them.
    drawn = [real_images(w, w.nodes, per_node, seed, f"classifier-{i}") for i, w in enumerate(mixed)]
    images, digits = torch.cat([part for part, _ in drawn]), torch.cat([part for _, part in drawn])
    return fit(images.to(device), digits.to(device), mixed[0].concepts, config, seed)


def fit(
    images: Tensor, digits: Tensor, concepts: dict[str, tuple[str, ...]], config: ClassifierConfig, seed: int
) -> Classifier:
    """Train on a pool of images [N, C, H, W] in [-1, 1] with digits [N, concepts], on the device they are on."""
    from recombine.instruments.shapes.classifier_networks import SeparateCNNs, Trunk

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
            loss = torch.stack(
                [torch.nn.functional.cross_entropy(part, digits[row, i]) for i, part in enumerate(parts)]
            ).sum()
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    if not loss.isfinite():  # once lost it stays lost, so one check at the end is enough
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
