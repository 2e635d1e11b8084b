"""The world of Bradley's location experiments: CLEVR's scenes, drawn here, or flat discs for tests and laptops.

A scene has up to `most` objects on the ground and a jittered camera and lamps; its picture is CLEVR's frame of
320 x 240 squashed to a square, which keeps every object in it. An object's location is its centre as the picture shows
it (not where it touches the ground); `scene_labels` makes labels of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.deferred import no_grad
from recombine.errors import UserError
from recombine.worlds.base import Source
from recombine.worlds.scenes import ray_caster
from recombine.worlds.scenes.geometry import Camera
from recombine.worlds.scenes.layout import (
    COLOURS,
    COLUMNS,
    EXTENT,
    MATERIALS,
    SHAPES,
    SIZES,
    Rules,
    Scene,
    draw_jitter,
    place,
    width,
)

if TYPE_CHECKING:
    from torch import Tensor

FRAME = (320, 240)  # CLEVR's, in which descriptions are
KINDS = {"shape": SHAPES, "size": SIZES, "color": tuple(COLOURS), "material": MATERIALS}  # as descriptions name them
VISIBILITY_SIDE = 96  # rays a side that visibility is counted on: scenes are the same at every resolution
ATTEMPTS = 100  # at a scene that hides an object
DRAWN_AT_ONCE = 2048

Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0)]


class SceneWorld(Source):
    """Factors [n, F] in, images [n, 3, pixels, pixels] out; lengths on the ground are in CLEVR's units."""

    kind: Literal["scenes"] = "scenes"
    pixels: Annotated[int, Field(ge=8)] = 64
    style: Literal["clevr", "discs"] = "clevr"
    most: Annotated[int, Field(ge=1)] = 12  # objects that a scene can have
    grid: Annotated[int, Field(ge=1)] = 16  # cells a side of the label
    gap: Fraction = 0.25  # between the discs that two objects cover on the ground
    margin: Fraction = 0.4  # between two centres along the camera's left and right, and front and behind
    least_visible: Fraction = 200 / (320 * 240)  # of the frame, for each object
    loose_gap: Fraction = 0.1  # the same three for layouts of many objects, which hardly ever keep CLEVR's rules
    loose_margin: Fraction = 0.15
    loose_visible: Fraction = 100 / (320 * 240)
    camera_jitter: Fraction = 0.5  # half width, along each axis
    light_jitter: Fraction = 1.0
    colours: Annotated[tuple[str, ...], Field(min_length=1)] = tuple(COLOURS)  # that objects may have
    antialias: Annotated[int, Field(ge=1)] = 2  # rays a side of a pixel
    disc_radius: Positive = 0.5  # the frame of discs reaches this far beyond the places of their centres

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.pixels % self.grid:
            raise ValueError(f"{self.pixels} px do not divide into {self.grid} cells: make pixels a multiple of grid")
        unknown = [name for name in self.colours if name not in COLOURS]
        if unknown:
            raise ValueError(f"no colour '{unknown[0]}'; there are {', '.join(COLOURS)}")
        return self

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(C, H, W) of an image."""
        return 3, self.pixels, self.pixels

    @property
    def condition_widths(self) -> tuple[int, ...]:
        """The plain grid label."""
        return (self.grid**2,)

    def scene(self, factors: Tensor) -> Scene:
        """The columns of factors by name."""
        return Scene.of(factors, self.most)

    def rules(self, loose: bool = False) -> Rules:
        """How far objects are from each other; discs, which have no camera, keep no margin."""
        gap = self.loose_gap if loose else self.gap
        if self.style == "discs":
            return Rules(gap, 0.0, radii=(self.disc_radius,) * len(SIZES))
        return Rules(gap, self.loose_margin if loose else self.margin)

    @no_grad
    def draw(self, count: Tensor, key: Tensor, loose: bool = False) -> Tensor:
        """Factors of scenes with so many objects each (count [n]), from each scene's own key.  # [n, F]"""
        count = count.to(key.device, torch.int64)
        wrong = count[(count < 0) | (count > self.most)]
        if len(wrong):
            raise UserError(f"a scene of {int(wrong[0])} objects was asked for: this world's have 0 to {self.most}")
        factors = torch.empty(len(key), width(self.most), device=key.device)
        for start in range(0, len(key), DRAWN_AT_ONCE):
            part = slice(start, start + DRAWN_AT_ONCE)
            factors[part] = self._draw(count[part], key[part], loose)
        return factors

    def _draw(self, count: Tensor, key: Tensor, loose: bool) -> Tensor:
        """Place objects, and place them anew in scenes where one is hidden, until none is.  # [n, F]"""
        factors = torch.zeros(len(key), width(self.most), device=key.device)
        factors[:, -12:] = draw_jitter(key, self.camera_jitter, self.light_jitter)
        left, hidden = torch.arange(len(key), device=key.device), count
        for attempt in range(ATTEMPTS):
            if not len(left):
                return factors
            objects = self._coloured(place(count[left], key[left], self.most, self.rules(loose), attempt))
            factors[left, :-12] = objects.flatten(1)
            hidden = self._hidden(factors[left], loose)
            left, hidden = left[hidden > 0], hidden[hidden > 0]
        if not len(left):
            return factors
        asked, seen = int(count[left].max()), int((count[left] - hidden).max())
        raise UserError(
            f"no layout of {asked} objects shows them all: {seen} were seen; ask for fewer, or for more distance"
        )

    def _coloured(self, objects: Tensor) -> Tensor:
        """The same objects [n, most, columns], their colours taken from this world's."""
        known = torch.tensor([list(COLOURS).index(name) for name in self.colours], device=objects.device)
        present, column = objects[..., 0], COLUMNS.index("colour")
        objects[..., column] = known[objects[..., column].round().long() % len(known)] * present
        return objects

    def _hidden(self, factors: Tensor, loose: bool) -> Tensor:
        """How many objects show too little of themselves.  # [n]"""
        if self.style == "discs":
            return torch.zeros(len(factors), dtype=torch.int64, device=factors.device)
        least = self.loose_visible if loose else self.least_visible
        hidden = torch.empty(len(factors), dtype=torch.int64, device=factors.device)
        at_once = ray_caster.scenes_at_once(VISIBILITY_SIDE**2, factors.device)
        for start in range(0, len(factors), at_once):
            part = slice(start, start + at_once)
            scene = self.scene(factors[part])
            hidden[part] = (scene.present & (ray_caster.visible(scene, VISIBILITY_SIDE) < least)).sum(1)
        return hidden

    def centres(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """Objects' centres in the picture, x to the right and y down in pixels, and which objects are there.

        # [n, most, 2] and [n, most] bool
        """
        scene = self.scene(factors)
        return self._projected(scene)[:, :, :2] * self.pixels, scene.present

    def _projected(self, scene: Scene) -> Tensor:
        """Centres as parts of the frame across and down, and their depth.  # [n, most, 3]"""
        if self.style == "clevr":
            return Camera.of(scene).project(torch.stack([scene.x, scene.y, scene.radius], 2))
        reach = 2 * (EXTENT + self.disc_radius)
        return torch.stack([0.5 + scene.x / reach, 0.5 + scene.y / reach, torch.zeros_like(scene.x)], 2)

    @no_grad
    def render(self, factors: Tensor) -> Tensor:
        """Images of these factors, on their device.  # [n, 3, H, W]"""
        images = torch.empty(len(factors), *self.image_shape, device=factors.device)
        rays = (self.pixels * (self.antialias if self.style == "clevr" else 1)) ** 2
        at_once = ray_caster.scenes_at_once(rays, factors.device)
        for start in range(0, len(factors), at_once):
            part = slice(start, start + at_once)
            scene = self.scene(factors[part])
            if self.style == "clevr":
                images[part] = ray_caster.cast(scene, self.pixels, self.pixels, self.antialias)
            else:
                images[part] = self._discs(scene)
        return images

    def _discs(self, scene: Scene) -> Tensor:
        """Discs on white, by their distance from each pixel's middle; none overlap, so each only adds its ink."""
        ticks = torch.arange(self.pixels, device=scene.x.device) + 0.5
        centres = self._projected(scene) * self.pixels
        ink = 2 * torch.tensor(list(COLOURS.values()), device=scene.x.device)[scene.colour] / 255 - 2  # [n, most, 3]
        radius = self.disc_radius * self.pixels / (2 * (EXTENT + self.disc_radius))
        images = torch.ones(len(scene.x), *self.image_shape, device=scene.x.device)
        for slot in torch.nonzero(scene.present.any(0)).flatten().tolist():
            across, down = ticks - centres[:, slot, :1], ticks - centres[:, slot, 1:2]  # [n, pixels] each
            away = (down.square()[:, :, None] + across.square()[:, None]).sqrt_()
            cover = (radius + 0.5 - away).clamp_(0, 1) * scene.present[:, slot, None, None]  # [n, H, W]
            images.addcmul_(ink[:, slot, :, None, None], cover[:, None])
        return images

    def describe(self, factors: Tensor) -> list[dict[str, Any]]:
        """Scenes as CLEVR's JSON has them, with how far camera and lamps were moved."""
        scene = self.scene(factors)
        frame = torch.tensor([*FRAME, 1.0], device=factors.device)
        pixels = (self._projected(scene) * frame).tolist()  # across, down, depth
        solids = torch.stack([scene.x, scene.y, scene.radius, scene.rotation], 2).tolist()
        kinds = torch.stack([scene.shape, scene.size, scene.colour, scene.material], 2).tolist()
        return [
            {
                "objects": [
                    _entry(solids[index][slot], kinds[index][slot], pixels[index][slot])
                    for slot, there in enumerate(present)
                    if there
                ],
                "camera_jitter": scene.camera[index].tolist(),
                "light_jitter": scene.lights[index].tolist(),
            }
            for index, present in enumerate(scene.present.tolist())
        ]

    def from_description(self, scenes: list[dict[str, Any]]) -> Tensor:
        """Factors of scenes in CLEVR's JSON; camera and lamps of which no jitter is stated have none.  # [n, F]"""
        factors = torch.zeros(len(scenes), width(self.most))
        for index, scene in enumerate(scenes):
            objects = scene.get("objects", [])
            if not isinstance(objects, list):
                raise UserError(f"scene {index}: its objects are no list")
            if len(objects) > self.most:
                raise UserError(f"scene {index} has {len(objects)} objects: this world's have 0 to {self.most}")
            numbers = [number for entry in objects for number in _columns(index, entry)]
            factors[index, : len(numbers)] = torch.tensor(numbers)
            camera, lamps = scene.get("camera_jitter", [0.0] * 3), scene.get("light_jitter", [[0.0] * 3] * 3)
            stated = is_numbers(camera, 3) and isinstance(lamps, list) and [is_numbers(lamp, 3) for lamp in lamps]
            if stated != [True] * 3:
                raise UserError(f"scene {index} has a jitter that is not three numbers for camera and each of 3 lamps")
            factors[index, -12:] = torch.tensor([*camera, *(number for lamp in lamps for number in lamp)])
        return factors


def is_numbers(found: Any, count: int) -> bool:
    """Whether something read from JSON is a list of so many numbers that float32 can hold."""
    return (
        isinstance(found, list)
        and len(found) == count
        and all(isinstance(each, int | float) and not isinstance(each, bool) and abs(each) < 1e30 for each in found)
    )


def _entry(solid: list[float], kinds: list[int], pixel: list[float]) -> dict[str, Any]:
    """One object as CLEVR describes it."""
    x, y, radius, rotation = solid
    across, down, depth = pixel
    return {
        "3d_coords": [x, y, radius],
        "rotation": rotation,
        "pixel_coords": [round(across), round(down), depth],
        **{name: known[kind] for (name, known), kind in zip(KINDS.items(), kinds, strict=True)},
    }


def _columns(index: int, entry: dict[str, Any]) -> list[float]:
    """One described object as factors, in the order of COLUMNS."""
    if not isinstance(entry, dict):
        raise UserError(f"scene {index}: an object is {entry!r}, which describes none")
    for name, known in KINDS.items():
        if entry.get(name) not in known:
            raise UserError(f"scene {index}: the {name} of an object is {entry.get(name)}, none of {', '.join(known)}")
    if not is_numbers(entry.get("3d_coords"), 3) or not is_numbers([entry.get("rotation")], 1):
        raise UserError(f"scene {index}: an object needs 3d_coords (three numbers) and a rotation")
    x, y, _ = entry["3d_coords"]
    return [1.0, x, y, *(float(known.index(entry[name])) for name, known in KINDS.items()), entry["rotation"]]
