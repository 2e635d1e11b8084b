"""Where the objects of a scene are: their centres in pixels, with a score, for the instruments that count.

Discs are found by a template of their one radius: how much of it is inked. Objects of ray-cast scenes are found by a
small convolutional network that answers, for each half cell, whether a centre lies there and where in it. It is trained
on rendered scenes, blurred and noisy ones too, so that soft samples are read as sharp ones are. Either way, of two
finds that are too near each other the better one stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.errors import RunFailed, UserError
from recombine.instruments.shapes.classifier import repeatable_convolutions
from recombine.settings import Settings
from recombine.training.capture import repeat
from recombine.worlds.scenes.layout import EXTENT
from recombine.worlds.scenes.world import SceneWorld

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 256  # images read together: bounds the memory that activations take
CANDIDATES = 96  # peaks of an image that are considered
INKED = 0.33  # a disc's least mean ink; the palest colour, grey, has 0.66, so half of a disc will do
SEPARATE = 1.7  # radii between discs that are two; under it are holes that several discs leave, which look inked
SHARPENINGS = 12  # each halves the distance to a disc's centre
LIKELY = 0.3  # the network's least answer for an object
GROUPS = 8  # of the group norms of the network
SPREAD = 0.8  # half cells: standard deviation of the peak that the network learns to draw at a centre
ROOMY = 8  # objects that CLEVR's rule has room for without many new starts
AMOUNT_LANE, NOISE_LANE = 1, 2  # lanes of a training key; the choice of scene uses lane 0


class FinderConfig(Settings):
    """How many objects are found at most, and the training of the network (discs need none)."""

    most: int = Field(default=24, ge=1)  # objects found in one image: room for ones that nobody asked for
    seed: int = Field(default=0, ge=0)  # its own: one finder reads the samples of all runs
    scenes: int = Field(default=800, gt=0, description="rendered scenes to learn from")
    steps: int = Field(default=400, gt=0)
    batch: int = Field(default=16, gt=0)
    rate: float = Field(default=1e-2, gt=0)  # of AdamW, rising at first, then falling to zero
    width: int = Field(default=24, gt=0, multiple_of=GROUPS)  # channels
    noise: float = Field(default=0.15, ge=0)  # largest standard deviation of noise added to a training image
    blur: float = Field(default=0.25, ge=0)  # largest blur of a training image, as a part of a cell


THOROUGH = FinderConfig(scenes=16_000, steps=2_500, batch=64, width=32)  # for a GPU: crowds need many scenes


@dataclass(frozen=True)
class Found:
    """The objects of n images, the best first."""

    places: Tensor  # [n, most, 2] x, y in pixels from the upper left corner
    score: Tensor  # [n, most] from 0 to 1; 0 where there is none
    present: Tensor  # [n, most] bool

    def of(self, images: Tensor) -> Found:
        """The same of these images alone."""
        return Found(self.places[images], self.score[images], self.present[images])


class Finder(Protocol):
    """Whatever finds objects in images."""

    def find(self, images: Tensor) -> Found:
        """The objects of images [n, 3, H, W] in [-1, 1]; one with NaN or infinities has none. Answers on the CPU."""
        ...


def object_finder(world: SceneWorld, config: FinderConfig, device: str = "cpu") -> Finder:
    """The finder of this world's objects; the runs of a fleet share it."""
    if world.style == "discs":
        return DiscFinder(world, config.most)
    return _trained(world, config, device)


@dataclass(frozen=True)
class DiscFinder:
    """Finds discs of the world's radius by their ink."""

    world: SceneWorld
    most: int = FinderConfig().most

    @property
    def radius(self) -> float:
        """In pixels."""
        return self.world.disc_radius * self.world.pixels / (2 * (EXTENT + self.world.disc_radius))

    def find(self, images: Tensor) -> Found:
        """The discs; those nearer than SEPARATE radii to a better one are the same disc."""
        return _in_chunks(images, self.world, self.most, self._find)

    def _find(self, images: Tensor) -> Found:
        ink = (1 - images).amax(1) / 2  # [n, H, W]: of the channel that differs most from white
        reach = int(self.radius + 1.5)
        axis = torch.arange(-reach, reach + 1, dtype=ink.dtype)
        template = _disc(axis[:, None], axis, self.radius)
        fit = torch.nn.functional.conv2d(ink[:, None], template[None, None] / template.sum(), padding=reach)[:, 0]
        score, places = _peaks(fit, INKED)
        places = self._sharpen(ink, places + 0.5, axis)
        return _best(score, places, SEPARATE * self.radius, self.most)

    def _sharpen(self, ink: Tensor, places: Tensor, axis: Tensor) -> Tensor:
        """Move places [n, P, 2] to the centre of the ink around them, in several rounds."""
        image = torch.arange(len(ink))[:, None, None, None]
        for _ in range(SHARPENINGS):
            x, y = places.unbind(2)  # [n, P] each
            columns = x.floor()[:, :, None, None] + axis  # [n, P, 1, k]
            rows = y.floor()[:, :, None, None] + axis[:, None]  # [n, P, k, 1]
            across, down = columns + 0.5 - x[:, :, None, None], rows + 0.5 - y[:, :, None, None]
            inside = (columns >= 0) & (columns < ink.shape[2]) & (rows >= 0) & (rows < ink.shape[1])
            there = ink[image, rows.long().clamp(0, ink.shape[1] - 1), columns.long().clamp(0, ink.shape[2] - 1)]
            weight = there * inside * _disc(down, across, self.radius)  # [n, P, k, k]
            total = weight.sum((2, 3)).clamp(min=1e-6)
            step = torch.stack([(weight * across).sum((2, 3)), (weight * down).sum((2, 3))], 2) / total[:, :, None]
            places = places + step
        return places


@dataclass(frozen=True)
class NetworkFinder:
    """Finds objects by a trained network."""

    network: torch.nn.Module  # images [n, 3, H, W] -> answer, x and y for each half cell [n, 3, 2 grid, 2 grid]
    world: SceneWorld
    most: int

    @no_grad
    def find(self, images: Tensor) -> Found:
        """The objects; those nearer than half a cell to a better one are the same object."""
        return _in_chunks(images, self.world, self.most, self._find)

    def _find(self, images: Tensor) -> Found:
        place = next(self.network.parameters()).device
        answer = self.network(images.to(place)).cpu()  # [n, 3, S, S]
        half = self.world.pixels / answer.shape[-1]
        heat, offset = answer[:, 0].sigmoid(), answer[:, 1:]
        score, corner = _peaks(heat, LIKELY)  # [n, P], [n, P, 2]
        x, y = corner.long().unbind(2)
        image = torch.arange(len(images))[:, None]
        return _best(score, (corner + offset[image, :, y, x]) * half, half, self.most)


@lru_cache(maxsize=64)
def _trained(world: SceneWorld, config: FinderConfig, device: str) -> NetworkFinder:
    """Train on rendered scenes of 1 to `world.most` objects, half of them with the loose rule."""
    from recombine.instruments.scenes.finder_network import HeatNetwork

    seed = config.seed
    side = 2 * world.grid
    if world.pixels % side:
        raise UserError(f"images of {world.pixels} px do not divide into {side} half cells: set pixels to a multiple")
    images, places, present = training_scenes(world, config.scenes, seed, device)
    with seeds.torch_seeded(seed):
        network = HeatNetwork(world.pixels // side, config.width)
    network = network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    # Step, rate and loss are on the device, so that a GPU can replay a step without the host.
    step, rate, last = (images.new_zeros((), dtype=kind) for kind in (torch.int64, torch.float32, torch.float32))
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.01, capturable=images.is_cuda)
    offsets = torch.arange(config.batch, device=device)

    def advance() -> None:
        rate.copy_(config.rate * torch.minimum((step + 1) / 20, 1 - step / config.steps))
        key = seeds.keys(seed, "finder-order", step * config.batch + offsets)  # [batch]
        row = seeds.bits(key, 1)[:, 0] * config.scenes >> 32
        batch, centres = _vary(images[row], places[row], key, world, config)
        loss = _loss(network(batch), centres * (side / world.pixels), present[row])
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        last.copy_(loss.detach())
        step.add_(1)

    with repeatable_convolutions():
        repeat(advance, config.steps, torch.device(device))
    if not last.isfinite():
        raise RunFailed(f"the loss of the object finder became {last.item()}: lower its rate (now {config.rate:g})")
    return NetworkFinder(network.eval().requires_grad_(False), world, config.most)


def training_scenes(world: SceneWorld, scenes: int, seed: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Images, centres and which objects are there.  # [n, 3, H, W], [n, most, 2], [n, most]

    Half of the scenes keep CLEVR's rule and have up to ROOMY objects, half the loose one and up to `world.most`.
    """
    number = torch.arange(scenes, device=device)
    key = seeds.keys(seed, "finder-scenes", number)
    half = (scenes + 1) // 2
    tight = world.draw(number[:half] % (1 + min(ROOMY, world.most)), key[:half])  # empty scenes too
    loose = world.draw(1 + number[half:] % world.most, key[half:], loose=True)
    factors = torch.cat([tight, loose])
    places, present = world.centres(factors)
    return world.render(factors), places, present


def _vary(
    images: Tensor, places: Tensor, key: Tensor, world: SceneWorld, config: FinderConfig
) -> tuple[Tensor, Tensor]:
    """The same scenes mirrored, softer and noisy, each by its own key."""
    amount = seeds.uniform(key, (3,), AMOUNT_LANE)[:, :, None, None, None]  # [n, 3, 1, 1, 1]
    mirrored = amount[:, 0] < 0.5
    images = torch.where(mirrored, images.flip(3), images)
    across, down = places.unbind(2)  # [n, most] each
    places = torch.stack([torch.where(mirrored[:, :, 0, 0], world.pixels - across, across), down], 2)
    images = images + amount[:, 1] * (_blurred(images, config.blur * world.pixels / world.grid) - images)
    noise = seeds.normal(key, images.shape[1:], NOISE_LANE)
    return (images + config.noise * amount[:, 2] * noise).clamp(-1, 1), places


def _blurred(images: Tensor, sigma: float) -> Tensor:
    """Images under a Gaussian blur; the border is repeated outwards."""
    reach = max(1, round(2 * sigma))
    axis = torch.arange(-reach, reach + 1, device=images.device) / max(sigma, 1e-3)
    bell = (axis.square() / -2).exp()
    kernel = (bell / bell.sum()).expand(images.shape[1], 1, 1, -1)
    wide = torch.nn.functional.pad(images, (reach,) * 4, mode="replicate")
    across = torch.nn.functional.conv2d(wide, kernel, groups=images.shape[1])
    return torch.nn.functional.conv2d(across, kernel.transpose(2, 3), groups=images.shape[1])


def _loss(answer: Tensor, centres: Tensor, present: Tensor) -> Tensor:
    """Squared error of the heat, and absolute error of the offsets near a centre; centres are in half cells."""
    axis = torch.arange(answer.shape[-1], device=answer.device)
    corner = torch.stack(torch.meshgrid(axis, axis, indexing="xy"))  # [2, S, S]: x and y
    away = centres[:, :, :, None, None] - corner  # [n, most, 2, S, S]
    square = (away - 0.5).square().sum(2).masked_fill(~present[:, :, None, None], torch.inf)  # [n, most, S, S]
    least, nearest = square.min(1)  # [n, S, S] each
    heat = (answer[:, 0].sigmoid() - (least / (-2 * SPREAD**2)).exp()).square().sum() / present.sum().clamp(min=1)
    offset = away.gather(1, nearest[:, None, None].expand(-1, -1, 2, -1, -1))[:, 0]  # [n, 2, S, S]
    near = (least <= 1.5)[:, None]
    return heat + ((answer[:, 1:] - offset).abs() * near).sum() / near.sum().clamp(min=1)


def _peaks(heat: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """The highest of the entries of heat [n, H, W] that no neighbour exceeds.  # [n, P] (0: no peak), [n, P, 2] x, y"""
    peak = (heat >= torch.nn.functional.max_pool2d(heat[:, None], 3, 1, 1)[:, 0]) & (heat >= least)
    count = min(CANDIDATES, int(peak.sum((1, 2)).max()))
    score, place = (heat * peak).flatten(1).topk(count, 1)
    return score, torch.stack([place % heat.shape[2], place // heat.shape[2]], 2).to(heat)


def _best(score: Tensor, places: Tensor, least: float, most: int) -> Found:
    """Of peaks [n, P], the best first, those that no better one is nearer to than `least`; `most` at most."""
    distance = (places[:, :, None] - places[:, None]).norm(dim=3)  # [n, P, P]
    kept = score > 0
    for rank in range(1, kept.shape[1]):
        kept[:, rank] &= ~(kept[:, :rank] & (distance[:, rank, :rank] < least)).any(1)
    score = score * kept
    score, order = torch.nn.functional.pad(score, (0, max(0, most - score.shape[1]))).sort(
        dim=1, descending=True, stable=True
    )
    places = torch.nn.functional.pad(places, (0, 0, 0, max(0, most - places.shape[1])))
    places = places.gather(1, order[:, :, None].expand(-1, -1, 2))
    return Found(places[:, :most], score[:, :most], score[:, :most] > 0)


def _in_chunks(images: Tensor, world: SceneWorld, most: int, find: Callable[[Tensor], Found]) -> Found:
    """Find in a few images at a time, clipped to [-1, 1], on the CPU; nothing in images that are not finite."""
    if images.dim() != 4 or images.shape[1:] != world.image_shape:
        raise UserError(
            f"images of shape {tuple(images.shape)}: this finder reads [n, {', '.join(map(str, world.image_shape))}]"
        )
    if not len(images):
        return Found(torch.zeros(0, most, 2), torch.zeros(0, most), torch.zeros(0, most, dtype=torch.bool))
    finite = images.isfinite().flatten(1).all(1).cpu()  # [n]
    parts = [find(part.float().cpu().nan_to_num(0.0).clamp(-1, 1)) for part in torch.split(images.detach(), CHUNK)]
    score = torch.cat([part.score for part in parts]) * finite[:, None]
    return Found(torch.cat([part.places for part in parts]), score, score > 0)


def _disc(down: Tensor, across: Tensor, radius: float) -> Tensor:
    """How much of a pixel so far from a disc's centre is inside, as discs are drawn."""
    return (radius + 0.5 - (down.square() + across.square()).sqrt()).clamp(0, 1)
