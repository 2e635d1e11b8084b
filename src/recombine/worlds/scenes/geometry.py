"""The geometry of scenes: the camera, the solids in front of it, and where lines enter and leave them.

Every solid is handled in its own coordinates, where it reaches from -1 to 1, so one formula a shape serves rays from
the camera and rays to the lamps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from recombine.worlds.scenes.layout import SHAPES, Scene

if TYPE_CHECKING:
    from torch import Tensor

CAMERA = (7.4811, -6.5076, 5.3437)  # looks at the origin
FOCAL = 35 / 32  # lens over the sensor's width
ASPECT = 4 / 3  # of CLEVR's frame of 320 x 240; in a square picture it is squashed

# x, y, z separately: arithmetic on them is faster than on one tensor [..., 3]
Vector: TypeAlias = "tuple[Tensor, Tensor, Tensor]"


@dataclass(frozen=True)
class Camera:
    """A pinhole: where it stands, and its axes.  # [n, 3] each"""

    place: Tensor
    right: Tensor
    up: Tensor
    forward: Tensor

    @classmethod
    def of(cls, scene: Scene) -> Camera:
        """CLEVR's camera, moved by the scene's jitter."""
        place = torch.tensor(CAMERA, device=scene.camera.device) + scene.camera
        forward = -place / place.norm(dim=1, keepdim=True)
        right = torch.stack([forward[:, 1], -forward[:, 0], torch.zeros_like(forward[:, 0])], 1)
        right = right / right.norm(dim=1, keepdim=True)
        return cls(place, right, torch.linalg.cross(right, forward), forward)

    def of_scenes(self, rows: Tensor) -> Camera:
        """The cameras of some of the scenes."""
        return Camera(self.place[rows], self.right[rows], self.up[rows], self.forward[rows])

    def project(self, points: Tensor) -> Tensor:
        """Points [n, k, 3] as the parts of the frame across and down, and their depth.  # [n, k, 3]"""
        away = points - self.place[:, None]
        across, up, depth = ((away * axis[:, None]).sum(2) for axis in (self.right, self.up, self.forward))
        return torch.stack([0.5 + FOCAL * across / depth, 0.5 - FOCAL * ASPECT * up / depth, depth], 2)

    def rays(self, height: int, width: int) -> Vector:
        """Directions of one ray through each pixel's middle, one long in depth.  # [n, height * width] each"""
        device = self.place.device
        across = ((torch.arange(width, device=device) + 0.5) / width - 0.5) / FOCAL
        up = (0.5 - (torch.arange(height, device=device) + 0.5) / height) / (FOCAL * ASPECT)
        columns, rows = across.repeat(height), up.repeat_interleave(width)
        x, y, z = (
            torch.addcmul(f[:, None] + r[:, None] * columns, u[:, None], rows)
            for f, r, u in zip(self.forward.unbind(1), self.right.unbind(1), self.up.unbind(1), strict=True)
        )
        return x, y, z


@dataclass(frozen=True)
class Solids:
    """Solids of one shape, at most one of each scene, and the way into their own coordinates."""

    shape: str
    rows: Tensor  # [m]: their scenes
    slots: Tensor  # [m, 1]: which of the objects there, counted from 1
    middle: Vector  # [m, 1] each
    radius: Tensor
    ahead: Tensor  # own x = (ahead, aside) . (x, y) + from_x, own y = (-aside, ahead) . (x, y) + from_y
    aside: Tensor
    from_x: Tensor
    from_y: Tensor

    def direction(self, x: Tensor, y: Tensor, z: Tensor) -> Vector:
        """A direction in the solids' own coordinates.  # [m, R] each"""
        return (
            torch.addcmul(self.ahead * x, self.aside, y),
            torch.addcmul(self.ahead * y, -self.aside, x),
            z / self.radius,
        )

    def place(self, x: Tensor, y: Tensor, z: Tensor) -> Vector:
        """A place in the solids' own coordinates.  # [m, R] each"""
        own_x = torch.addcmul(torch.addcmul(self.from_x, self.ahead, x), self.aside, y)
        own_y = torch.addcmul(torch.addcmul(self.from_y, self.ahead, y), -self.aside, x)
        return own_x, own_y, z / self.radius - 1

    def window(self, camera: Camera, height: int, width: int) -> Tensor:
        """The rays of a frame that may hit the solids, the same number for each of them.  # [m, q]"""
        one = torch.tensor([-1.0, 1.0], device=self.rows.device)
        x, y, z = self.radius * torch.cartesian_prod(one, one, one).T[:, None]  # [m, 8] each
        cosine, sine = self.ahead * self.radius, self.aside * self.radius
        turned = (cosine * x - sine * y, cosine * y + sine * x, z)
        corners = torch.stack([there + offset for there, offset in zip(self.middle, turned, strict=True)], 2)
        across, down, _ = camera.of_scenes(self.rows).project(corners).unbind(2)
        column, row = _interval(across * width, width), _interval(down * height, height)  # [m, columns], [m, rows]
        return (row[:, :, None] * width + column[:, None]).flatten(1)


def solids_of(scene: Scene) -> list[Solids]:
    """All objects that are there, grouped by shape and by how many of that shape come before in their scene."""
    kinds = torch.where(scene.present, scene.shape, -1).cpu()  # a small table; what is absent costs nothing
    groups = []
    for index, shape in enumerate(SHAPES):
        mine = kinds == index
        order = mine.cumsum(1)
        for rank in range(1, 1 + int(mine.sum(1).max()) if len(mine) else 1):
            rows, slots = (part.to(scene.x.device) for part in torch.nonzero(mine & (order == rank), as_tuple=True))
            columns = (scene.x, scene.y, scene.radius, scene.rotation)
            x, y, radius, rotation = (column[rows, slots][:, None] for column in columns)  # [m, 1] each
            rotation = rotation * (shape == "cube")
            ahead, aside = rotation.cos() / radius, rotation.sin() / radius
            away = -(ahead * x + aside * y), aside * x - ahead * y
            groups.append(Solids(shape, rows, 1 + slots[:, None], (x, y, radius), radius, ahead, aside, *away))
    return groups


def span(shape: str, start: Vector, path: Vector) -> tuple[Tensor, Tensor, Tensor | None]:
    """Where lines start + t path enter and leave the unit solid; a line that misses leaves no later than it enters.

    The third number is, for a round solid, 1 less the squared distance of the line from its middle or axis.
    """
    if shape == "sphere":
        return _round(dot(path, path), dot(start, path), dot(start, start))
    near, far = _slab(start[2], path[2])
    if shape == "cube":
        for origin, direction in zip(start[:2], path[:2], strict=True):
            enter, leave = _slab(origin, direction)
            near, far = torch.maximum(near, enter), torch.minimum(far, leave)
        return near, far, None
    flat = [torch.addcmul(a[0] * b[0], a[1], b[1]) for a, b in ((path, path), (start, path), (start, start))]
    enter, leave, side = _round(*flat)
    return torch.maximum(near, enter), torch.minimum(far, leave), side


def _slab(origin: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
    """Where a line is between -1 and 1; not a number for one that never leaves, and then no comparison holds."""
    inverse = direction.reciprocal()
    middle, half = -origin * inverse, inverse.abs()
    return middle - half, middle + half


def _round(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where a t^2 + 2 b t + c is under 1, and 1 less its lowest value; where it never is, the lowest point twice."""
    inverse = a.reciprocal()
    middle = -b * inverse
    side = torch.addcmul(1 - c, b, middle, value=-1)
    half = (side * inverse).clamp_(min=0).sqrt_()
    return middle - half, middle + half, side


def vector(parts: Iterable[Tensor]) -> Vector:
    """Three tensors as x, y and z."""
    x, y, z = parts
    return x, y, z


def dot(one: Vector, other: Vector) -> Tensor:
    """The scalar product."""
    return torch.addcmul(torch.addcmul(one[0] * other[0], one[1], other[1]), one[2], other[2])


def _interval(places: Tensor, length: int) -> Tensor:
    """Whole numbers below length that hold the places [m, k] of each row, equally many.  # [m, as many]"""
    first, last = places.amin(1).floor().clamp(0, length), places.amax(1).ceil().clamp(0, length)
    many = max(1, int((last - first).max()))
    return first.long().clamp(max=length - many)[:, None] + torch.arange(many, device=places.device)
