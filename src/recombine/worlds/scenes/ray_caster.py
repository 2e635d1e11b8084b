"""A ray caster for CLEVR's scenes in plain tensors: batched, at any resolution, on a CPU or a GPU.

Camera and lamps stand where CLEVR's base scene has them. The strengths of its lamps and its materials are chosen here
so that pictures resemble CLEVR's: light is linear, colours are CLEVR's numbers taken as reflectances, and the picture
is encoded as sRGB at the end. A shadow has the shape of its solid, and an edge as wide as the lamp seems from there;
light does not bounce, but for a faint mirror image of ground and sky in metal.

All scenes of a chunk are cast together. Objects are shaded once a ray, the smooth ground once a pixel; solids that a
scene does not have cost nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.deferred import no_grad
from recombine.worlds.scenes.geometry import FOCAL, Camera, Solids, Vector, dot, solids_of, span, vector
from recombine.worlds.scenes.layout import COLOURS, SHAPES, Scene

if TYPE_CHECKING:
    from torch import Tensor

LAMPS = (  # key, fill and back, which face the origin, and a sun ten times as far as the base scene draws it
    (6.447, -2.905, 4.258),
    (-4.671, -4.014, 3.011),
    (-1.169, 2.646, 5.816),
    (116.6, -66.3, 258.2),
)
LAMP_SIZES = (0.5, 0.5, 1.0, 6.0)
STRENGTHS = (13.5, 9.0, 9.0, 11_000.0)  # over the squared distance
AMBIENT = 0.17
DISTANCE = 11.0  # from the camera to the middle of a scene

GROUND = (0.46, 0.453, 0.447)  # reflectance
RUBBER_SHINE = 0.05
METAL_SHINE, METAL_GLOW = 5.0, 0.4  # of a sharp highlight and of a wide one
METAL_DIFFUSE = 0.3  # of the light is scattered, the rest mirrored
METAL_TINT = 0.4  # how much of the metal's colour is in its highlights
MIRRORED_GROUND, MIRRORED_HORIZON, MIRRORED_SKY = 0.55, 0.1, 0.32
MIRRORED_FADE = 0.6  # how fast the mirrored ground gets darker with the height it is seen from
SHARPEST_SHADOW = 0.015  # half width of a shadow's edge where an object stands on the ground
CONTACT = 0.7  # how much of the ambient light an object takes from what touches it

CPU_RAYS, GPU_RAYS = 1 << 17, 1 << 25  # cast together: what fits a cache, and what keeps a GPU busy


@dataclass(frozen=True)
class Spots:
    """Places on surfaces that are lit.  # [n, R] each; what is the same everywhere may be [n, 1]"""

    place: Vector
    normal: Vector
    owner: Tensor  # 0 for the ground, else the object's slot counted from 1


@no_grad
def visible(scene: Scene, side: int) -> Tensor:
    """How much of the frame each object fills, counted on side x side rays.  # [n, most]"""
    camera = Camera.of(scene)
    owner, _, _ = _first_hit(solids_of(scene), camera, side, side)
    seen = torch.zeros(len(owner), 1 + scene.x.shape[1], device=owner.device)
    seen.scatter_add_(1, owner, torch.ones((), device=owner.device).expand_as(owner))
    return seen[:, 1:] / side**2


@no_grad
def cast(scene: Scene, height: int, width: int, antialias: int) -> Tensor:
    """Pictures of all scenes together, with antialias^2 rays a pixel.  # [n, 3, height, width] in [-1, 1]"""
    camera, solids, lamps = Camera.of(scene), solids_of(scene), _lamps(scene)
    owner, depth, rays = _first_hit(solids, camera, height * antialias, width * antialias)  # [n, R] each
    chosen, filling = _object_rays(owner)  # [n, P] each
    rays = vector(part.gather(1, chosen) for part in rays)
    seen = _objects(scene, camera, solids, lamps, rays, owner.gather(1, chosen), depth.gather(1, chosen))
    light = torch.zeros(len(owner), 3, owner.shape[1] + 1, device=owner.device)  # the last takes what is filling
    light.scatter_(2, chosen.masked_fill(filling, owner.shape[1])[:, None].expand_as(seen), seen)
    fine = torch.cat([light[:, :, :-1], (owner == 0)[:, None]], 1)
    mixed = fine.reshape(-1, 4, height, antialias, width, antialias).mean((3, 5))  # [n, 4, height, width]
    narrowest = DISTANCE / (2 * FOCAL * width)  # half a pixel
    ground = _ground(camera, solids, lamps, height, width, narrowest).reshape(-1, 3, height, width)
    return 2 * _encode(torch.addcmul(mixed[:, :3], mixed[:, 3:], ground).clamp_(0, 1)) - 1


def scenes_at_once(rays: int, device: torch.device) -> int:
    """How many scenes of so many rays are best cast together."""
    return max(1, (CPU_RAYS if device.type == "cpu" else GPU_RAYS) // rays)


def _first_hit(solids: list[Solids], camera: Camera, height: int, width: int) -> tuple[Tensor, Tensor, Vector]:
    """What each ray hits first, 0 for the ground or an object's slot from 1, and how deep.  # [n, R] each"""
    rays = camera.rays(height, width)
    depth = _ground_depth(camera, rays)
    owner = torch.zeros_like(depth, dtype=torch.int64)
    for group in solids:
        start = group.place(*camera.place[group.rows].unsqueeze(2).unbind(1))  # [m, 1] each
        here = group.rows[:, None], group.window(camera, height, width)  # [m, q]
        near, far, _ = span(group.shape, start, group.direction(*(part[here] for part in rays)))
        best = depth[here]
        closer = (far > near) & (near < best)
        depth[here] = torch.where(closer, near, best)
        owner[here] = torch.where(closer, group.slots, owner[here])
    return owner, depth, rays


def _ground_depth(camera: Camera, rays: Vector) -> Tensor:
    return camera.place[:, 2:] / (-rays[2]).clamp_(min=1e-4)


def _object_rays(owner: Tensor) -> tuple[Tensor, Tensor]:
    """The rays that hit an object, filled up to equally many in every scene, and which are filling.  # [n, P] each"""
    scenes, rays = torch.nonzero(owner, as_tuple=True)
    counts = torch.bincount(scenes, minlength=len(owner))
    rank = torch.arange(len(rays), device=owner.device) - (counts.cumsum(0) - counts)[scenes]
    chosen = owner.new_zeros(len(owner), int(counts.max()) if len(counts) else 0)
    chosen[scenes, rank] = rays
    return chosen, torch.arange(chosen.shape[1], device=owner.device) >= counts[:, None]


def _ground(camera: Camera, solids: list[Solids], lamps: Tensor, height: int, width: int, narrowest: float) -> Tensor:
    """The ground's light at each pixel's middle, as if no object were in front of it.  # [n, 3, pixels]"""
    rays = camera.rays(height, width)
    x, y, _ = _along(camera, rays, _ground_depth(camera, rays))
    zero = torch.zeros_like(x[:, :1])
    spots = Spots((x, y, zero), (zero, zero, zero + 1), zero.long())
    sky, lit = _occlusion(spots, solids, lamps, narrowest)
    path, nearness = _towards(lamps, spots.place)
    diffuse = AMBIENT * sky + (_arriving(path, nearness, lamps) * nearness * path[2] * lit).sum(1)
    return diffuse[:, None] * torch.tensor(GROUND, device=x.device)[:, None]


def _objects(
    scene: Scene, camera: Camera, solids: list[Solids], lamps: Tensor, rays: Vector, owner: Tensor, depth: Tensor
) -> Tensor:
    """The light that objects send back along these rays.  # [n, 3, P]"""
    spots = _surface(scene, owner, _along(camera, rays, depth))
    size = dot(rays, rays).rsqrt_()
    view = vector(ray * -size for ray in rays)
    facing = dot(spots.normal, view)
    sky, lit = _occlusion(spots, solids, lamps, SHARPEST_SHADOW)
    metal = scene.material.gather(1, (owner - 1).clamp(min=0)) == 1
    path, nearness = _towards(lamps, spots.place)  # [n, lamps, P] each
    cosine = (dot(_each(spots.normal), path) * nearness).clamp_(min=0)
    lit *= _arriving(path, nearness, lamps)
    diffuse = AMBIENT * sky + (cosine * lit).sum(1)
    half = (2 + 2 * dot(path, _each(view)) * nearness).clamp_(min=1e-4).rsqrt_()  # of Blinn's half vector
    wide = _sixteenth_power(((cosine + facing[:, None]) * half).clamp_(0, 1) * (cosine > 0))
    sharp, wide = (_sixteenth_power(wide) * lit).sum(1), (wide * lit).sum(1)
    shine = torch.where(metal, METAL_SHINE * sharp + METAL_GLOW * wide, RUBBER_SHINE * wide)
    upward = torch.addcmul(-view[2], facing, spots.normal[2], value=2)  # of the view mirrored in the surface
    down = (-upward).clamp_(min=1e-4)
    close = down / (down + MIRRORED_FADE * spots.place[2]) * sky  # the ground that is mirrored is this near
    bright = torch.where(upward < 0, (MIRRORED_GROUND - MIRRORED_HORIZON) * close, MIRRORED_SKY * upward)
    mirrored = MIRRORED_HORIZON + bright
    scattered = torch.where(metal, METAL_DIFFUSE * diffuse + (1 - METAL_DIFFUSE) * mirrored, diffuse)
    palette = torch.tensor(list(COLOURS.values()), device=owner.device)[scene.colour] / 255  # [n, most, 3]
    colours = palette.gather(1, (owner - 1).clamp(min=0)[:, :, None].expand(-1, -1, 3)).unbind(2)
    return torch.stack([c * scattered + shine * torch.where(metal, 1 - METAL_TINT * (1 - c), 1.0) for c in colours], 1)


def _surface(scene: Scene, owner: Tensor, place: Vector) -> Spots:
    """Normals of objects: of the side that a place is nearest to in the object's own coordinates."""
    slot = (owner - 1).clamp(min=0)
    columns = (scene.x, scene.y, scene.radius, scene.rotation.cos(), scene.rotation.sin(), scene.shape)
    middle_x, middle_y, radius, cosine, sine, shape = (column.gather(1, slot) for column in columns)
    x, y, z = ((here - there) / radius for here, there in zip(place, (middle_x, middle_y, radius), strict=True))
    x, y = torch.addcmul(cosine * x, sine, y), torch.addcmul(cosine * y, sine, x, value=-1)
    cube, ball = shape == SHAPES.index("cube"), shape == SHAPES.index("sphere")
    out = torch.where(cube, torch.maximum(x.abs(), y.abs()), torch.addcmul(x * x, y, y).sqrt_())
    top = (z.abs() >= out) & ~ball
    along = x.abs() >= y.abs()
    across = torch.where(cube, x.sign() * along, torch.where(ball, x, x / out)).masked_fill_(top, 0)
    down = torch.where(cube, y.sign() * ~along, torch.where(ball, y, y / out)).masked_fill_(top, 0)
    up = torch.where(ball, z, top.float())
    normal = torch.addcmul(cosine * across, sine, down, value=-1), torch.addcmul(cosine * down, sine, across), up
    return Spots(place, normal, owner)


def _occlusion(spots: Spots, solids: list[Solids], lamps: Tensor, narrowest: float) -> tuple[Tensor, Tensor]:
    """How much of the sky, and of each lamp, the spots see past the objects.  # [n, R] and [n, lamps, R]"""
    sky = torch.ones_like(spots.place[0])
    lit = torch.ones_like(sky)[:, None].repeat(1, len(LAMPS), 1)
    for group in solids:
        rows = group.rows
        start = group.place(*(part[rows] for part in spots.place))  # [m, R] each
        normal = group.direction(*(part[rows] for part in spots.normal))
        other = spots.owner[rows] != group.slots  # a convex solid shades itself by its normals alone
        facing = (dot(start, normal) * -group.radius).clamp_(min=0)  # 1 where the solid is straight ahead and touches
        nearness = dot(start, start).clamp_(min=1).rsqrt_()
        sky[rows] *= 1 - CONTACT * facing * nearness * nearness * nearness * other
        ends = group.place(*lamps[rows].unbind(2))  # [m, lamps] each
        path = vector(end[:, :, None] - here[:, None] for end, here in zip(ends, start, strict=True))
        lit[rows] *= 1 - _blocked(group, _each(start), path, narrowest) * other[:, None]
    return sky, lit


def _blocked(group: Solids, start: Vector, path: Vector, narrowest: float) -> Tensor:
    """How much of each lamp the solids cover: all, none, or a part at a shadow's edge.  # [m, lamps, R]"""
    near, far, side = span(group.shape, start, path)
    inside = torch.full_like(near, math.inf) if side is None else 1 - (1 - side).clamp_(min=0).sqrt_()
    if group.shape != "sphere":
        inside = torch.minimum(inside, (far - near) * dot(path, path).sqrt_() / 2)
    half = torch.tensor(LAMP_SIZES, device=near.device)[:, None] / 2
    edge = (half * near).clamp_(min=narrowest)  # half of the lamp's width as it seems through the solid
    cover = torch.addcdiv(half.new_tensor(0.5), group.radius[:, None] * inside, edge, value=0.5).clamp_(0, 1)
    return torch.where((far > 0) & (near < 1), cover, 0.0)


def _lamps(scene: Scene) -> Tensor:
    """Key, fill, back and sun.  # [n, lamps, 3]"""
    lamps = torch.tensor(LAMPS, device=scene.lights.device).repeat(len(scene.lights), 1, 1)
    lamps[:, :3] += scene.lights
    return lamps


def _towards(lamps: Tensor, place: Vector) -> tuple[Vector, Tensor]:
    """The ways to the lamps, and 1 / their lengths.  # [n, lamps, R] each"""
    path = vector(there[:, :, None] - here[:, None] for there, here in zip(lamps.unbind(2), place, strict=True))
    return path, dot(path, path).rsqrt_()


def _arriving(path: Vector, nearness: Tensor, lamps: Tensor) -> Tensor:
    """How strong a lamp is at the end of the path: it spreads, and most ahead.  # [n, lamps, R]"""
    strength = torch.tensor(STRENGTHS, device=lamps.device)[:, None]
    axis = (strength * lamps / lamps.norm(dim=2, keepdim=True))[:, :, None].unbind(3)  # [n, lamps, 1] each
    return (dot(path, vector(axis)) * nearness * nearness * nearness).clamp_(min=0)


def _along(camera: Camera, rays: Vector, depth: Tensor) -> Vector:
    start = camera.place[:, :, None].unbind(1)  # [n, 1] each
    return vector(torch.addcmul(origin, depth, ray) for origin, ray in zip(start, rays, strict=True))


def _each(same: Vector) -> Vector:
    """The same for each lamp.  # [n, 1, R] each"""
    return vector(part[:, None] for part in same)


def _sixteenth_power(number: Tensor) -> Tensor:
    return number.square().square_().square_().square_()


def _encode(light: Tensor) -> Tensor:
    """Linear light as sRGB, both from 0 to 1."""
    return torch.where(light <= 0.0031308, 12.92 * light, 1.055 * light.clamp(min=0.0031308).pow(1 / 2.4) - 0.055)
