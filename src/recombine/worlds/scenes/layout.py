"""Where the objects of a scene stand: CLEVR's placement rules, for many scenes at once.

An object's size is drawn first; then its place, until the place keeps its distance from every object that stands
already: a gap between the two discs on the ground, and a margin along each of the camera's directions. After 50 places
in vain the scene starts over from nothing. One step places one object in every unfinished scene, and its random
numbers depend on the scene's key and the step alone, so a scene is the same in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.errors import UserError
from recombine.seeds import uniform

if TYPE_CHECKING:
    from torch import Tensor

SHAPES = ("sphere", "cube", "cylinder")
SIZES = ("large", "small")
RADII = (0.7, 0.35)  # of the sizes: a cube's half side, a cylinder's radius and half height
MATERIALS = ("rubber", "metal")
COLOURS: dict[str, tuple[int, int, int]] = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
COLUMNS = ("present", "x", "y", "shape", "size", "colour", "material", "rotation")  # of one object
EXTENT = 3.0  # places are uniform in [-3, 3]^2
TURNS = 360.0  # CLEVR draws up to 360 and uses the number as radians

# CLEVR's directions on the ground are those of the camera before its jitter: its published scenes carry these.
RIGHT = (0.6563112735748291, 0.7544902563095093)
BEHIND = (-0.7544902563095093, 0.6563112735748291)

# Lanes of a scene's key, far from those of anybody else: the jitter, then the steps of each attempt.
JITTER_LANE = 1 << 19
ATTEMPT_LANES = 1 << 20


@dataclass(frozen=True)
class Scene:
    """The columns of factors by name."""

    present: Tensor  # [n, most] bool
    x: Tensor  # [n, most], on the ground
    y: Tensor
    shape: Tensor  # [n, most] int64: index of SHAPES
    size: Tensor  # index of SIZES
    colour: Tensor  # index of COLOURS
    material: Tensor  # index of MATERIALS
    rotation: Tensor  # [n, most], about the vertical, in radians
    camera: Tensor  # [n, 3]: how far the camera is from CLEVR's
    lights: Tensor  # [n, 3, 3]: and the key, fill and back lamps

    @classmethod
    def of(cls, factors: Tensor, most: int) -> Scene:
        """Read factors [n, F]."""
        if factors.dim() != 2 or factors.shape[1] != width(most):
            raise UserError(
                f"factors of shape {tuple(factors.shape)}: a scene of up to {most} objects has {width(most)} numbers"
            )
        objects = factors[:, : most * len(COLUMNS)].reshape(-1, most, len(COLUMNS))
        present, x, y, shape, size, colour, material, rotation = objects.unbind(2)
        jitter = factors[:, most * len(COLUMNS) :]
        shape, size, colour, material = (column.round().long() for column in (shape, size, colour, material))
        camera, lights = jitter[:, :3], jitter[:, 3:].reshape(-1, 3, 3)
        return cls(present > 0.5, x, y, shape, size, colour, material, rotation, camera, lights)

    @property
    def radius(self) -> Tensor:
        """Radius of each object, which is also the height of its centre.  # [n, most]"""
        return torch.tensor(RADII, device=self.x.device)[self.size]


@dataclass(frozen=True)
class Rules:
    """How far objects are from each other, and how long a place is searched for."""

    gap: float  # between the discs that two objects cover on the ground
    margin: float  # between two centres, along right and along behind
    radii: tuple[float, ...] = RADII  # of the sizes
    tries: int = 50  # places of one object before the scene starts over
    restarts: int = 300  # of a scene before it counts as impossible


def width(most: int) -> int:
    """How many numbers describe a scene: its objects, the camera's jitter and that of three lamps."""
    return most * len(COLUMNS) + 3 + 9


def draw_jitter(key: Tensor, camera: float, lights: float) -> Tensor:
    """How far camera and lamps are moved, uniform in each direction.  # [n, 12]"""
    reach = torch.tensor([camera] * 3 + [lights] * 9, device=key.device)
    return (2 * uniform(key, (12,), lane=JITTER_LANE) - 1) * reach


def place(count: Tensor, key: Tensor, most: int, rules: Rules, attempt: int = 0) -> Tensor:
    """Objects of scenes with so many each (count [n], int64); another attempt draws other ones.  # [n, most, 8]"""
    objects = torch.zeros(len(count), most, len(COLUMNS), device=key.device)
    placed, fullest, restarts = (torch.zeros_like(count) for _ in range(3))
    active = torch.nonzero(count > 0).squeeze(1)
    step = 0
    while len(active):
        drawn = uniform(key[active], (2 * rules.tries + 5,), lane=(1 + attempt) * ATTEMPT_LANES + step)
        spots = EXTENT * (2 * drawn[:, 5:].reshape(-1, rules.tries, 2) - 1)  # [a, tries, 2]
        size = _pick(drawn[:, 0], len(SIZES))
        fits = _fits(spots, size, objects[active, : int(placed[active].max())], rules)  # [a, tries]
        found = fits.any(1)
        spot = spots[torch.arange(len(active), device=key.device), fits.int().argmax(1)]
        fresh = torch.stack(
            [
                torch.ones_like(spot[:, 0]),
                *spot.unbind(1),
                _pick(drawn[:, 1], len(SHAPES)),
                size,
                _pick(drawn[:, 2], len(COLOURS)),
                _pick(drawn[:, 3], len(MATERIALS)),
                TURNS * drawn[:, 4],
            ],
            1,
        )
        lucky, stuck = active[found], active[~found]
        objects[lucky, placed[lucky]] = fresh[found]
        placed[lucky] += 1
        fullest = torch.maximum(fullest, placed)
        objects[stuck], placed[stuck] = 0, 0
        restarts[stuck] += 1
        impossible = restarts > rules.restarts
        if bool(impossible.any()):
            raise UserError(
                f"no room for {int(count[impossible].max())} objects with a gap of {rules.gap:g} and a margin of "
                f"{rules.margin:g}: {int(fullest[impossible].max())} did fit; ask for fewer, or for less distance"
            )
        active = active[placed[active] < count[active]]
        step += 1
    return objects


def _fits(spots: Tensor, size: Tensor, others: Tensor, rules: Rules) -> Tensor:
    """Which places keep their distance from all the others [a, k, 8].  # [a, tries]"""
    radii = torch.tensor(rules.radii, device=spots.device)
    present, x, y, _, sizes = others[:, None].unbind(3)[:5]  # [a, 1, k] each
    dx, dy = spots[:, :, :1] - x, spots[:, :, 1:] - y  # [a, tries, k] each
    gap = (dx.square() + dy.square()).sqrt() - radii[size.long()][:, None, None] - radii[sizes.long()]
    fits = gap >= rules.gap
    for ahead in (RIGHT, BEHIND):
        fits &= (dx * ahead[0] + dy * ahead[1]).abs() >= rules.margin
    return (fits | (present == 0)).all(2)


def _pick(drawn: Tensor, kinds: int) -> Tensor:
    """One of so many kinds from a uniform number, as a float.  # [n]"""
    return (drawn * kinds).floor().clamp(max=kinds - 1)
