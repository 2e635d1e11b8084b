"""How many of the objects that were asked for are there, and how many nobody asked for; and K_max, from that.

Found objects and labels are paired one to one, nearest first, never further from each other than NEAR cells. At a label
with a partner an object is drawn; a found object without a partner is extra. *Label recall* is the share of labels at
which an object is drawn; *chance* is the recall of the same images against the labels of other layouts: a crowded image
scores there too. Among more labels the nearest one is closer, and objects that hide each other are hard to draw however
few they are: recall is also stated for isolated labels, with no other nearer than ISOLATION cells, and for close ones.

Bradley 2026 does not say when K locations count as handled. The rule here: K_max is the largest K such that recall is
at least LEAST at it and at every smaller K.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.instruments.observation import Row
from recombine.instruments.scenes.object_finder import Finder, Found
from recombine.worlds.scenes.world import SceneWorld

if TYPE_CHECKING:
    from torch import Tensor

NEAR = 1.5  # cells between a label and an object that counts as drawn at it: half a cell is the label's own width
LEAST = 0.9  # recall that a number of labels needs to count as handled
SHIFTS = 8  # other layouts that each image is compared with to know chance
ISOLATION = 3  # cells to the nearest other label: from here on, none is in the 5 x 5 cells around a label's own
RECALL, STRICT, OBJECTS, EXTRAS = "count.recall", "count.strict", "count.objects", "count.extras"
RECALL_ISOLATED, RECALL_CLOSE, SHARE_ISOLATED = "count.recall.isolated", "count.recall.close", "count.isolated"
CHANCE, CHANCE_ISOLATED = "count.chance", "count.chance.isolated"


@dataclass(frozen=True)
class Counted:
    """What n images hold of the labels they are conditioned on."""

    asked: Tensor  # [n] int64: labels
    drawn: Tensor  # [n, A] bool: labels at which an object is
    off: Tensor  # [n, A] float64: pixels from a label to its object; NaN where there is none
    objects: Tensor  # [n] int64: all that were found

    @property
    def recall(self) -> Tensor:
        """The share of labels with an object; NaN for an image without a label.  # [n]"""
        return self.drawn.sum(1) / self.asked.double()

    @property
    def extras(self) -> Tensor:
        """Objects at no label.  # [n]"""
        return self.objects - self.drawn.sum(1)

    @property
    def strict(self) -> Tensor:
        """Whether every label has an object.  # [n] bool"""
        return self.drawn.sum(1) == self.asked


def pair(found: Found, places: Tensor, labelled: Tensor, reach: float) -> Tensor:
    """The number of the found object at each label, -1 for none: the nearest pair first.  # [n, A] int64

    Labels lie at places [n, A, 2] (x, y in pixels) where labelled [n, A]; `reach` is the largest distance in pixels.
    """
    distance = _distances(found, places)  # [n, A, F]
    possible = labelled.cpu()[:, :, None] & found.present.cpu()[:, None] & (distance <= reach)
    distance = distance.masked_fill(~possible, torch.inf)
    partner = torch.full(labelled.shape, -1)
    for _ in range(min(distance.shape[1:])):
        nearest, place = distance.flatten(1).min(1)  # of equal ones the first: labels, then objects, in their order
        image = torch.nonzero(nearest.isfinite()).squeeze(1)
        if not len(image):
            break
        label, thing = place[image] // distance.shape[2], place[image] % distance.shape[2]
        partner[image, label] = thing
        distance[image, label] = torch.inf
        distance[image, :, thing] = torch.inf
    return partner


def count(found: Found, places: Tensor, labelled: Tensor, cell: float, near: float = NEAR) -> Counted:
    """Compare found objects with the labels [n, A] at places [n, A, 2]; `cell` is the side of a cell in pixels."""
    _check(found, places, labelled, cell, near)
    partner = pair(found, places, labelled, near * cell)
    drawn = partner >= 0
    if not partner.numel() or not found.present.shape[1]:
        off = torch.full(partner.shape, torch.nan, dtype=torch.float64)
    else:
        off = _distances(found, places).gather(2, partner.clamp(min=0)[:, :, None])[:, :, 0]
    return Counted(
        asked=labelled.cpu().sum(1),
        drawn=drawn,
        off=off.masked_fill(~drawn, torch.nan),
        objects=found.present.cpu().sum(1),
    )


def isolated_labels(places: Tensor, labelled: Tensor, cell: float) -> Tensor:
    """Which labels have no other nearer than ISOLATION cells, rows or columns, whichever is more.  # [n, A] bool"""
    at = (places / cell).floor()  # [n, A, 2]
    away = (at[:, :, None] - at[:, None]).abs().amax(3)  # [n, A, A]
    other = labelled[:, None] & ~torch.eye(labelled.shape[1], dtype=torch.bool, device=labelled.device)
    return labelled & (away.masked_fill(~other, torch.inf).amin(2) >= ISOLATION)


def count_rows(found: Found, places: Tensor, labelled: Tensor, cell: float, near: float = NEAR) -> list[Row]:
    """Rows for each number K of labels that occurs, in column `labels`."""
    counted = count(found, places, labelled, cell, near)
    isolated = isolated_labels(places.cpu(), labelled.cpu(), cell)
    close = labelled.cpu() & ~isolated
    rows: list[Row] = []
    for asked in sorted(set(counted.asked.tolist())):
        members = torch.nonzero(counted.asked == asked).squeeze(1)
        drawn, objects = counted.drawn[members].sum(), counted.objects[members]
        chance, chance_isolated = _chance(found, places, labelled, isolated, members, cell, near)
        values = {
            RECALL: counted.recall[members].mean(),
            RECALL_ISOLATED: counted.drawn[members][isolated[members]].double().mean(),
            RECALL_CLOSE: counted.drawn[members][close[members]].double().mean(),
            SHARE_ISOLATED: isolated[members].sum() / labelled.cpu()[members].sum().double(),
            STRICT: counted.strict[members].double().mean(),
            EXTRAS: counted.extras[members].double().mean(),
            OBJECTS: objects.double().mean(),
            "count.error": (objects - asked).abs().double().mean(),
            "count.precision": drawn / objects.sum().double(),
            "count.off": counted.off[members].nanmean() / cell,  # in cells
            CHANCE: chance,
            CHANCE_ISOLATED: chance_isolated,
        }
        for name, value in values.items():
            known = value.isfinite().item()
            rows.append({"labels": asked, "instrument": name, "value": value.item() if known else None})
    return rows


def calibrate_counting(finder: Finder, world: SceneWorld, per_count: int, seed: int, device: str = "cpu") -> list[Row]:
    """The same rows, "calibration.", for fresh rendered scenes of 1 to `world.most` objects, `per_count` of each.

    Scenes keep the loose rule, as the layouts of the evaluation: the full rule has no room for the largest numbers.
    The recall here is the most that any model can have: a K where it is under LEAST judges the finder, not the model.
    """
    number = torch.arange(world.most * per_count, device=device)
    key = seeds.keys(seed, "count-calibration", number)
    factors = world.draw(number // per_count + 1, key, loose=True)
    places, present = (each.cpu() for each in world.centres(factors))
    found = finder.find(world.render(factors))
    rows = count_rows(found, places, present, world.pixels / world.grid)
    return [row | {"instrument": f"calibration.{row['instrument']}"} for row in rows]


@dataclass(frozen=True)
class KMax:
    """How many labels are handled, by the rule and by a weaker one, and the curve that says so."""

    steady: int  # K_max: recall is high enough at it and at every smaller K that was measured; 0 if at none
    anywhere: int  # the largest K at which recall is high enough, whatever it is before
    curve: dict[int, float]  # recall at each K, ascending


def k_max(curve: Mapping[int, float], least: float = LEAST) -> KMax:
    """K_max of the recall at each K."""
    ordered = {k: float(curve[k]) for k in sorted(curve)}
    if not ordered:
        raise UserError("K_max of no curve: give the recall of at least one number of labels")
    steady, anywhere, unbroken = 0, 0, True
    for k, recall in ordered.items():
        if k < 1 or not 0 <= recall <= 1 + 1e-9:
            raise UserError(f"a recall of {recall:g} at K = {k}: give shares from 0 to 1, of K from 1 on")
        enough = recall >= least - 1e-9
        unbroken = unbroken and enough
        steady, anywhere = (k if unbroken else steady), (k if enough else anywhere)
    return KMax(steady, anywhere, ordered)


def recall_curve(rows: Iterable[Row], instrument: str = RECALL) -> dict[int, float]:
    """Recall by K out of rows of one run at one milestone; those without a label are left out."""
    curve: dict[int, float] = {}
    for row in rows:
        if row["instrument"] == instrument and row["value"] is not None:
            k = row["labels"]
            if k in curve:
                raise UserError(f"{instrument} of K = {k} is there twice: choose one arm, one seed and one milestone")
            curve[k] = float(row["value"])
    return curve


def _chance(
    found: Found, places: Tensor, labelled: Tensor, isolated: Tensor, members: Tensor, cell: float, near: float
) -> tuple[Tensor, Tensor]:
    """Mean recall of these images against each other's labels, of all labels and of isolated ones.

    NaN if there is only one image.
    """
    shifts = range(1, min(len(members), SHIFTS + 1))
    if not shifts:
        return torch.tensor(torch.nan), torch.tensor(torch.nan)
    other = torch.cat([members.roll(shift) for shift in shifts])
    same = members.repeat(len(shifts))
    counted = count(found.of(same), places[other.to(places.device)], labelled[other.to(labelled.device)], cell, near)
    return counted.recall.mean(), counted.drawn[isolated[other]].double().mean()


def _distances(found: Found, places: Tensor) -> Tensor:
    """Pixels between each label and each place where something was found.  # [n, A, F] float64"""
    away = places.cpu().double()[:, :, None] - found.places.cpu().double()[:, None]
    return away.square().sum(3).sqrt()


def _check(found: Found, places: Tensor, labelled: Tensor, cell: float, near: float) -> None:
    n = len(found.present)
    if places.dim() != 3 or places.shape[0] != n or places.shape[2] != 2 or labelled.shape != places.shape[:2]:
        raise UserError(
            f"labels at places {tuple(places.shape)}, labelled {tuple(labelled.shape)}, for {n} images: "
            f"give [{n}, A, 2] and [{n}, A]"
        )
    if not bool(places[labelled].isfinite().all()):
        raise UserError("a label has no place: x and y of every label must be finite")
    if not cell > 0 or not near > 0:
        raise UserError(f"a cell of {cell:g} px and a reach of {near:g} cells: both must be above 0")
