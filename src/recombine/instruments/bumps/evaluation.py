"""What is measured while a model of bumps trains: one sample for every pixel of the image, and where its bump is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from pydantic import Field

from recombine.instruments.bumps.centres import Centres, find_centres, right
from recombine.instruments.bumps.label_losses import loss_rows
from recombine.instruments.bumps.subject import KNOWN, NEW, Sampling, Subject, is_known, places
from recombine.instruments.observation import Observation, Row
from recombine.instruments.representations.learned_maps import MapSettings, map_rows
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

if TYPE_CHECKING:
    from torch import Tensor

ALL = "all"
Groups: TypeAlias = "list[tuple[Row, list[int]]]"
"""The columns that say what a group of places is, and which places belong to it."""


class PlacesEvaluation(Observation):
    """Prompt for a bump at the middle of every pixel, or of every `every`th in x and y."""

    every: int = Field(default=1, ge=1)

    def places(self, world: BumpsWorld) -> Tensor:
        """The labels that are prompted for.  # [n, 2]"""
        return places(world, self.every)

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

    map: MapSettings | None = None
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
    sampling: Sampling, evaluation: PlacesEvaluation, split: LabelSplit, trained: Tensor | None = None
) -> tuple[list[Row], Tensor]:
    """Accuracy by region, and sheets of each region.  # [regions, sheet_images, 3, H, W]

    With labels `trained` on [m, 2], also the accuracy of those and of all others.
    """
    world = sampling.world
    labels = evaluation.places(world)
    truth, drawn = labels - world.margin, sampling.draw(labels)
    found, images = find_centres(drawn, world), drawn.cpu()
    regions = grouped("region", split.region(world, labels), ALL)
    rows = accuracy_rows(found, truth, world, regions)
    if trained is not None:
        known = [KNOWN if each else NEW for each in is_known(labels, trained).tolist()]
        rows += accuracy_rows(found, truth, world, grouped("region", known))
    rows += darkness_rows(images, truth, regions)
    kept = [images[_spread(members, evaluation.sheet_images)] for _, members in regions[:-1]]
    return rows, torch.stack(kept).expand(-1, -1, 3, -1, -1)


def accuracy_rows(found: Centres, truth: Tensor, world: BumpsWorld, groups: Groups) -> list[Row]:
    """For each group: how often x, y and both are right, by each estimate; a blank image is never right.

    "paper" counts a blank as the paper does: its centroid is in the middle. "bump" is both right in an image of a bump:
    crossing stripes are right in x and y too.
    """
    rows: list[Row] = []
    for group, members in groups:
        for how in ("darkest", "fine", "paper"):
            correct = right(getattr(found, how), truth, world)[members]  # [k, 2]
            if how != "paper":
                correct = correct & ~found.blank[members, None]
            for what, part in (("x", correct[:, 0]), ("y", correct[:, 1]), ("both", correct.all(1))):
                rows.append({**group, "instrument": f"{how}.{what}", "value": part.double().mean().item()})
            if how != "paper" and found.bump is not None:
                drawn = correct.all(1) & found.bump[members]
                rows.append({**group, "instrument": f"{how}.bump", "value": drawn.double().mean().item()})
        objects = found.objects[members]
        for what, part in (
            ("blank", found.blank[members]), ("none", objects == 0), ("one", objects == 1), ("several", objects > 1),
        ):  # fmt: skip
            rows.append({**group, "instrument": f"objects.{what}", "value": part.double().mean().item()})
    return rows


def darkness_rows(images: Tensor, truth: Tensor, groups: Groups) -> list[Row]:
    """For each group: how dark the pixel is that was asked for, from 0 to 1; a lone stripe makes it 0.5."""
    x, y = (truth.round().long() - 1).clamp(0, images.shape[-1] - 1).T
    dark = (1 - images[torch.arange(len(images)), 0, y, x].double()) / 2
    return [{**group, "instrument": "dark.asked", "value": dark[members].mean().item()} for group, members in groups]


def grouped(column: str, values: Iterable[str | float], everything: str | None = None) -> Groups:
    """The places that have each value of a column, values in the order in which they come; at last, if it has a name,
    the region of all places.
    """
    found: dict[str | float, list[int]] = {}
    for place, value in enumerate(values):
        found.setdefault(value, []).append(place)
    groups: Groups = [({column: value}, members) for value, members in found.items()]
    if everything is not None:
        groups.append(({"region": everything}, sorted(place for _, members in groups for place in members)))
    return groups


def _spread(members: list[int], count: int) -> list[int]:
    """`count` of them, evenly spread."""
    return [members[i * len(members) // count] for i in range(count)]
