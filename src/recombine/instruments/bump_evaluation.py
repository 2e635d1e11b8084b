"""What is measured while a model of bumps trains: one sample for every pixel of the image, and where its bump is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from recombine import seeds
from recombine.denoisers.contract import NetworkDenoiser
from recombine.diffusion.losses import image_losses
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.instruments.activations import activations, compact, last_step
from recombine.instruments.centres import Centres, find_centres, right
from recombine.instruments.learned_maps import MAP, NEIGHBOURS, MapLook, embed, neighbours
from recombine.instruments.observation import Denoise, Observation, Row
from recombine.seeds import Seeds
from recombine.training.inference import FastDenoiser
from recombine.training.replica import TrainingConfig
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit
from recombine.worlds.splits import NODE_STRIDE

ALL = "all"
KNOWN, NEW = "known", "new"  # labels that were trained on, and those that were not
LOSS = "loss"
CHUNK = 1024  # noisy images at once


@dataclass(frozen=True)
class Subject:
    """A model at a milestone of its training, and where it comes from."""

    sampler: FastDenoiser
    schedule: Schedule
    world: BumpsWorld
    split: LabelSplit
    seeds: Seeds
    training: TrainingConfig
    seen: int
    fresh: Callable[[], NetworkDenoiser]  # the same model before training

    @property
    def device(self) -> torch.device:
        return next(self.sampler.model.parameters()).device


class PlacesEvaluation(Observation):
    """Prompt for a bump at the middle of every pixel, or of every `every`th in x and y."""

    every: int = Field(default=1, ge=1)

    def places(self, world: BumpsWorld) -> Tensor:
        """The labels that are prompted for.  # [n, 2]"""
        centres = world.centres().reshape(world.pixels, world.pixels, 2)
        return centres[:: self.every, :: self.every].flatten(0, 1)

    def check(self, split: LabelSplit) -> None:
        """Refuse a split that cannot be asked this way."""

    def further(self, subject: Subject) -> list[Row]:
        """What else is measured at a milestone; an evaluation of another kind adds it."""
        return []


class BumpEvaluation(PlacesEvaluation):
    """That, and nothing further."""

    kind: Literal["bumps"] = "bumps"


class ClosingEvaluation(PlacesEvaluation):
    """That, and at the end of training what a block holds of every place, and the loss of every label."""

    map: MapLook | None = None
    losses: int = Field(default=0, ge=0, description="noise levels at which the loss of every label is measured")

    def further(self, subject: Subject) -> list[Row]:
        """Rows of the map and of losses, at the end."""
        rows = list[Row]()
        if subject.seen == subject.training.total:
            if self.map is not None:
                rows += map_rows(subject, self.map, self.sampler)
            if self.losses:
                rows += loss_rows(subject, self.places(subject.world), self.losses)
        return rows


class LatticeEvaluation(ClosingEvaluation):
    """At the places of pixels alone."""

    kind: Literal["bumps-lattice"] = "bumps-lattice"


def measure_bumps(
    denoise: Denoise,
    evaluation: PlacesEvaluation,
    how: SamplerConfig,
    schedule: Schedule,
    world: BumpsWorld,
    split: LabelSplit,
    seed: int,
    device: torch.device,
    suffix: str = "",
    trained: Tensor | None = None,
) -> tuple[list[Row], Tensor]:
    """Accuracy by region, and sheets of each region.  # [regions, sheet_images, 3, H, W]

    With labels `trained` on [m, 2], also the accuracy of those and of all others.
    """
    labels = evaluation.places(world)
    key = place_keys(world, labels, seed).to(device)
    condition = world.condition(labels).to(device)
    drawn = sample(denoise, how, schedule, world.image_shape, condition, key).float()
    regions = split.region(world, labels)
    found = find_centres(drawn, world)
    rows = rows_of(found, labels - world.margin, regions, world)
    if trained is not None:
        known = [KNOWN if each else NEW for each in is_known(labels, trained).tolist()]
        rows += [row for row in rows_of(found, labels - world.margin, known, world) if row["node"] != ALL]
    images = drawn.cpu()
    rows += darkness_rows(images, labels - world.margin, regions)
    if suffix:
        rows = [row | {"instrument": f"{row['instrument']}@{suffix}"} for row in rows]
    kept = [images[_spread(members, evaluation.sheet_images)] for members in members_of(regions).values()]
    return rows, torch.stack(kept).expand(-1, -1, 3, -1, -1)


@torch.no_grad()
def loss_rows(subject: Subject, labels: Tensor, levels: int) -> list[Row]:
    """The mean loss of labels that were trained on, and of others, at evenly spread quantiles of the training noise."""
    world, device = subject.world, subject.device
    known = is_known(labels, subject.split.labels(world, subject.seeds.data))
    at = ((torch.arange(levels, device=device) + 0.5) / levels).repeat(len(labels))
    sigma = subject.schedule.drawer(device)(at)  # [n levels]
    key = seeds.keys(subject.seeds.sampling, "losses", torch.arange(len(sigma), device=device))
    found = torch.zeros(len(sigma))
    for part in torch.split(torch.arange(len(sigma)), CHUNK):
        own, told = labels[part // levels].to(device), part.to(device)
        x0, noise = world.render(own), seeds.normal(key[told], world.image_shape)
        losses = image_losses(subject.sampler.model, x0, noise, sigma[told], world.condition(own))
        found[part] = losses.cpu()
    of_label = found.reshape(len(labels), levels).double().mean(1)
    parts = {KNOWN: of_label[known], NEW: of_label[~known]}
    return [{"node": name, "instrument": LOSS, "value": own.mean().item()} for name, own in parts.items() if len(own)]


def is_known(labels: Tensor, trained: Tensor) -> Tensor:
    """Which of these labels [n, 2] were trained on.  # [n] bool"""
    return torch.cdist(labels, trained).amin(1) < 1e-6


def map_rows(subject: Subject, look: MapLook, how: SamplerConfig) -> list[Row]:
    """Coordinates of every place in the block at the last step of the generation, and its share of neighbours; that of
    the untrained block, of pixels and of the label's own sinusoids or numbers stand beside.
    """
    world, model, device = subject.world, subject.sampler.model, subject.device
    labels = PlacesEvaluation(every=look.every).places(world)
    condition, key = world.condition(labels).to(device), place_keys(world, labels, subject.seeds.sampling).to(device)
    x, sigma = last_step(subject.sampler.denoise, how, subject.schedule, world.image_shape, condition, key)
    fresh = subject.fresh().to(device).eval()
    held, null = (activations(each, x, sigma, condition, [look.block])[look.block] for each in (model, fresh))
    period = float(world.pixels) if world.periodic else None
    points = {look.block: compact(held), "untrained": compact(null), "pixels": world.render(labels).flatten(1)}
    rows: list[Row] = [
        {"node": name, "instrument": NEIGHBOURS, "value": neighbours(own, labels, look.every, period)}
        for name, own in points.items()
    ]
    place = embed(points[look.block], look.how, look.coordinates, subject.seeds.sampling)
    for (across, down), own in zip((labels - world.margin).tolist(), place.tolist(), strict=True):
        node = f"{across:g},{down:g}"
        rows += [{"node": node, "instrument": f"{MAP}.{i + 1}", "value": value} for i, value in enumerate(own)]
    return rows


def rows_of(found: Centres, truth: Tensor, regions: Sequence[str], world: BumpsWorld) -> list[Row]:
    """By region and over all: how often x, y and both are right, by each estimate; a blank image is never right.

    "paper" counts a blank as the paper does: its centroid is in the middle.
    """
    rows: list[Row] = []
    for name, members in {**members_of(regions), ALL: list(range(len(truth)))}.items():
        for how in ("darkest", "fine", "paper"):
            correct = right(getattr(found, how), truth, world)[members]  # [k, 2]
            if how != "paper":
                correct = correct & ~found.blank[members, None]
            for what, part in (("x", correct[:, 0]), ("y", correct[:, 1]), ("both", correct.all(1))):
                rows.append({"node": name, "instrument": f"{how}.{what}", "value": part.double().mean().item()})
        objects = found.objects[members]
        for what, part in (
            ("blank", found.blank[members]), ("none", objects == 0), ("one", objects == 1), ("several", objects > 1),
        ):  # fmt: skip
            rows.append({"node": name, "instrument": f"objects.{what}", "value": part.double().mean().item()})
    return rows


def darkness_rows(images: Tensor, truth: Tensor, regions: Sequence[str]) -> list[Row]:
    """By region: how dark the pixel is that was asked for, from 0 to 1; a lone stripe makes it 0.5."""
    x, y = (truth.round().long() - 1).clamp(0, images.shape[-1] - 1).T
    dark = (1 - images[torch.arange(len(images)), 0, y, x].double()) / 2
    groups = {**members_of(regions), ALL: list(range(len(images)))}
    return [
        {"node": name, "instrument": "dark.asked", "value": dark[members].mean().item()}
        for name, members in groups.items()
    ]


def members_of(regions: Sequence[str]) -> dict[str, list[int]]:
    """The places of each region, regions in the order in which they come."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(regions):
        found.setdefault(name, []).append(place)
    return found


def place_keys(world: BumpsWorld, labels: Tensor, seed: int, number: int = 0) -> Tensor:
    """The key of sample `number` of each label, whichever others are sampled with it.  # [n]"""
    tenths = (labels * 10).round().long()
    index = tenths[:, 0] * (round(10 * world.extent) + 1) + tenths[:, 1]
    return seeds.keys(seed, "sample", number * NODE_STRIDE + index)


def _spread(members: list[int], count: int) -> list[int]:
    """`count` of them, evenly spread."""
    return [members[i * len(members) // count] for i in range(count)]
