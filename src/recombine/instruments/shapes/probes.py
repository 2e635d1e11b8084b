"""Linear probes: one linear map from pixels to each concept's values, as in Okawa et al. 2023 (App. on evaluation).

They are trained on real images of every node, held-out ones too: on the trained nodes alone colour, shape and size
co-vary. A probe must answer one of its values whatever it is shown, so `calibrate` also asks what it says of a blank
canvas, of noise and of the mean image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from recombine.deferred import no_grad
from recombine.instruments.observation import Row
from recombine.instruments.shapes.accuracy import answer_rows
from recombine.worlds.base import World
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import empty_images, real_images

if TYPE_CHECKING:
    from torch import Tensor

WEIGHT_DECAY = 1e-3  # makes the minimum unique; accuracy on fresh images is flat from 1e-4 to 1e-2
STEPS = 200  # of L-BFGS, or until the gradient is small


class Judge(Protocol):
    """What has been trained to name the value of every concept in an image."""

    @property
    def concepts(self) -> dict[str, tuple[str, ...]]:
        """Names of concepts and of their values, in digit order."""

    def probabilities(self, images: Tensor) -> dict[str, Tensor]:
        """Probability of each value of each concept.  # [n, values] each"""

    def answers(self, images: Tensor) -> Tensor:
        """The most probable value of each concept; -1 for an image that cannot be read.  # [n, concepts]"""


@dataclass(frozen=True)
class Probes:
    """Linear probes of every concept, side by side."""

    concepts: dict[str, tuple[str, ...]]  # names of concepts and of their values, in digit order
    weight: Tensor  # [pixels, all values]
    bias: Tensor  # [all values]

    @no_grad
    def probabilities(self, images: Tensor) -> dict[str, Tensor]:
        """Probability of each value of each concept; images are clipped to [-1, 1].  # [n, values] each

        An image with NaN or infinities has probability zero of everything.
        """
        pixels = images.float().flatten(1)
        finite = pixels.isfinite().all(1, keepdim=True)
        scores = pixels.nan_to_num(0.0).clamp(-1, 1) @ self.weight.to(pixels) + self.bias.to(pixels)
        parts = torch.split(scores, [len(values) for values in self.concepts.values()], 1)
        return {name: part.softmax(1) * finite for name, part in zip(self.concepts, parts, strict=True)}

    def answers(self, images: Tensor) -> Tensor:
        """The most probable value of each concept; -1 for an image with NaN.  # [n, concepts]"""
        chances = self.probabilities(images).values()
        return torch.stack([torch.where(part.amax(1) > 0, part.argmax(1), -1) for part in chances], 1)


def train_probes(world: World, per_node: int, seed: int) -> Probes:
    """Probes trained on `per_node` real images of every node."""
    images, digits = real_images(world, world.nodes, per_node, seed, "probes")
    return fit(images, digits, world.concepts)


def fit(images: Tensor, digits: Tensor, concepts: dict[str, tuple[str, ...]]) -> Probes:
    """The probes that minimise cross-entropy plus weight decay on images [n, C, H, W] with digits [n, concepts]."""
    pixels = images.float().flatten(1)  # [n, pixels]
    mean = pixels.mean(0)
    centred = pixels - mean  # the bias takes up the mean: better conditioned, the same family of maps
    widths = [len(values) for values in concepts.values()]
    weight = torch.zeros(pixels.shape[1], sum(widths), requires_grad=True)
    bias = torch.zeros(sum(widths), requires_grad=True)
    search = torch.optim.LBFGS([weight, bias], max_iter=STEPS, tolerance_grad=1e-5, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        parts = torch.split(centred @ weight + bias, widths, 1)
        entropies = [torch.nn.functional.cross_entropy(part, digits[:, i]) for i, part in enumerate(parts)]
        total = torch.stack(entropies).sum() + WEIGHT_DECAY / 2 * (weight.square().sum() + bias.square().sum())
        total.backward()  # type: ignore[no-untyped-call]
        return total

    search.step(loss)  # type: ignore[no-untyped-call]
    fitted = weight.detach()
    return Probes(concepts, fitted, bias.detach() - mean @ fitted)


def calibrate(judge: Judge, world: World, per_node: int, seed: int, name: str = "probe") -> list[Row]:
    """Accuracy of each answer on fresh real images, and the probability of each where there is no object."""
    rows: list[Row] = []
    fresh = world.held_back()
    for node in world.nodes:
        count = min(per_node, fresh.available(node))
        if not count:
            continue  # a collection may have nobody of a class to check on
        images, digits = real_images(fresh, (node,), count, seed, "probe-calibration")
        right = (judge.answers(images) == digits).double().mean(0).tolist()
        accuracy = {"node": node, "instrument": f"calibration.{name}.accuracy"}
        rows += [{**accuracy, "concept": c, "value": value} for c, value in zip(world.concepts, right, strict=True)]
    empty = empty_images(world, per_node, seed) if isinstance(world, ShapesWorld) else {}
    for canvas, images in empty.items():
        rows += [{"canvas": canvas, **row} for row in answer_rows(judge, images, f"calibration.{name}")]
    return rows
