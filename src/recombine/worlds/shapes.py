"""One coloured shape on a plain background: the concept-graphs world (Okawa et al. 2023, Sec. 3 and Fig. 3).

Shape, colour, size and (optionally) background are concepts; where the object lies is not. Within a class every value
varies around its prototype, and the ranges of two values of a concept never overlap. Size is the radius of the circle
of equal area, so a shape's area says nothing about its kind; (x, y) is its centroid, x to the right and y upwards.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.deferred import no_grad
from recombine.seeds import uniform
from recombine.worlds.base import World

if TYPE_CHECKING:
    from torch import Tensor

Direction = tuple[float, float, float]
Shape = Literal["circle", "triangle", "square"]

HUES: dict[str, Direction] = {
    "red": (1, -1, -1),
    "green": (-1, 1, -1),
    "blue": (-1, -1, 1),
    "yellow": (1, 1, -1),
    "magenta": (1, -1, 1),
    "cyan": (-1, 1, 1),
    "orange": (1, 0, -1),
    "purple": (0, -1, 1),
    "white": (1, 1, 1),
    "black": (-1, -1, -1),
    "grey": (0, 0, 0),
}
BACKGROUNDS: dict[str, float] = {"white": 1.0, "grey": 0.5, "black": 0.0}
SIDES: dict[Shape, int] = {"circle": 0, "triangle": 3, "square": 4}
FACTORS = ("shape", "r", "g", "b", "size", "background", "x", "y")

EDGE_SLACK = 0.01  # how far an object may cross the edge; the default triangle's tip does by 0.009, 1e-4 of its area
SMALLEST = 0.75  # smallest radius in pixels: below, the antialiased edge is wider than a triangle and area is not kept
CHUNK_PIXELS = 2048 * 784  # rendered together on a CPU: large enough to spread over threads, small enough for its cache

Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0)]


class ShapesWorld(World):
    """Shapes that differ in kind, colour, size and background. Fields are in canvas units: the canvas is [-1, 1]^2."""

    kind: Literal["shapes"] = "shapes"
    pixels: Annotated[int, Field(ge=4)] = 28
    shapes: tuple[Shape, ...] = ("circle", "triangle")
    colors: tuple[str | Direction, ...] = ("red", "blue")  # names of HUES, or directions in [-1, 1]^3
    color_separation: Positive = 0.8  # rgb = 1/2 + separation/2 * direction
    color_jitter: Fraction = 1 / 8  # half-width of each channel's range, as a fraction of the separation
    sizes: tuple[str, ...] = ("large", "small")  # equally spaced from the largest to the smallest
    size_mean: Positive = 0.36
    size_separation: Fraction = 0.24  # between the largest and the smallest
    size_jitter: Fraction = 1 / 6  # half-width, as a fraction of the separation
    backgrounds: tuple[Literal["white", "grey", "black"], ...] = ("white",)
    background_jitter: Annotated[float, Field(ge=0, lt=0.25)] = 0.0  # half-width of its range, in [0, 1] of grey
    position_jitter: Fraction = 0.2  # the centroid is uniform in +- this, in x and in y
    conditioning: Literal["continuous", "binary"] = "continuous"

    @property
    def concepts(self) -> dict[str, tuple[str, ...]]:
        return {name: values for name, values in self._values().items() if len(values) > 1}

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.pixels, self.pixels)

    @property
    def condition_widths(self) -> tuple[int, ...]:
        numbers = {"shape": len(self.shapes), "color": 3, "size": 1, "background": 1}
        binary = self.conditioning == "binary"
        return tuple(len(values) if binary else numbers[name] for name, values in self.concepts.items())

    def prototype(self, nodes: Tensor) -> Tensor:
        shape, color, size, background = self._indices(nodes).unbind(1)
        device = nodes.device
        rgb = self.color_prototypes().to(device)[color]  # [n, 3]
        radius, value = self.size_prototypes().to(device)[size], self.background_values().to(device)[background]
        middle = torch.zeros_like(radius)
        return torch.cat([shape[:, None].float(), rgb, torch.stack([radius, value, middle, middle], 1)], 1)  # [n, 8]

    def vary(self, nodes: Tensor, key: Tensor) -> Tensor:
        color, size = self.color_separation * self.color_jitter, self.size_separation * self.size_jitter
        place = self.position_jitter
        half = torch.tensor([0, color, color, color, size, self.background_jitter, place, place])
        return self.prototype(nodes) + (2 * uniform(key, (len(FACTORS),)) - 1) * half.to(nodes.device)

    @no_grad
    def render(self, factors: Tensor) -> Tensor:
        chunk = max(1, CHUNK_PIXELS // self.pixels**2) if factors.device.type == "cpu" else max(1, len(factors))
        images = factors.new_empty(len(factors), *self.image_shape)
        for start in range(0, len(factors), chunk):
            part = factors[start : start + chunk]
            ink = 2 * (part[:, 1:4] - part[:, 5:6])  # [c, 3]
            paper = (2 * part[:, 5:6] - 1).expand(-1, 3)
            cover = self.coverage(part)[:, None]  # [c, 1, H, W]
            torch.addcmul(paper[..., None, None], ink[..., None, None], cover, out=images[start : start + chunk])
        return images

    def condition(self, factors: Tensor) -> Tensor:
        if self.conditioning == "binary":
            digits = self.nearest(factors)
            parts = [
                torch.nn.functional.one_hot(digits[:, i], len(values))
                for i, values in enumerate(self.concepts.values())
            ]
            return torch.cat(parts, 1).to(factors.dtype)
        numbers = {
            "shape": torch.nn.functional.one_hot(factors[:, 0].round().long(), len(self.shapes)).to(factors.dtype),
            "color": factors[:, 1:4],
            "size": factors[:, 4:5] / self.size_mean,
            "background": factors[:, 5:6],
        }
        return torch.cat([numbers[name] for name in self.concepts], 1)

    def nearest(self, factors: Tensor) -> Tensor:
        """The digits of the node whose prototype is nearest, concept by concept.  # [n, number of concepts]"""
        gaps = {
            "shape": (factors[:, :1] - torch.arange(len(self.shapes), device=factors.device)).abs(),
            # Ranges of colour are boxes, so the nearest box is found by the largest channel difference.
            "color": (factors[:, None, 1:4] - self.color_prototypes().to(factors)).abs().amax(2),
            "size": (factors[:, 4:5] - self.size_prototypes().to(factors)).abs(),
            "background": (factors[:, 5:6] - self.background_values().to(factors)).abs(),
        }
        return torch.stack([gaps[name].argmin(1) for name in self.concepts], 1)

    @no_grad
    def coverage(self, factors: Tensor) -> Tensor:
        """How much of each pixel the object covers, by signed distance to its edge.  # [n, H, W]"""
        pixel = 2 / self.pixels
        ticks = (torch.arange(self.pixels, device=factors.device, dtype=factors.dtype) + 0.5) * pixel - 1
        across = (ticks - factors[:, 6:7])[:, None, :]  # [n, 1, W]
        up = (-ticks - factors[:, 7:8])[:, :, None]  # [n, H, 1]; row 0 is the top
        inner = factors.new_empty(0)
        for index, shape in enumerate(self.shapes):
            apothem = (_area_ratio(shape) * factors[:, 4] ** 2 - pixel**2 / 12).clamp(min=0).sqrt()[:, None, None]
            depth = _depth(shape, across, up, apothem)  # [n, H, W]
            inner = depth if index == 0 else torch.where(factors[:, 0, None, None] == index, depth, inner)
        return inner.mul_(1 / pixel).add_(0.5).clamp_(0, 1)

    def color_prototypes(self) -> Tensor:
        """The middle of each colour's range, in [0, 1].  # [colors, 3]"""
        return 0.5 + self.color_separation / 2 * torch.tensor(self._directions(), dtype=torch.float32)

    def size_prototypes(self) -> Tensor:
        """The middle of each size's range; a single size is the mean.  # [sizes]"""
        levels = torch.linspace(1, -1, len(self.sizes)) if len(self.sizes) > 1 else torch.zeros(1)
        return self.size_mean + self.size_separation / 2 * levels

    def background_values(self) -> Tensor:
        """The middle of each background's range of grey; white and black move inwards to fit.  # [backgrounds]"""
        middles = torch.tensor([BACKGROUNDS[name] for name in self.backgrounds])
        return middles.clamp(self.background_jitter, 1 - self.background_jitter)

    def blank(self) -> Tensor:
        """The empty canvas of each background.  # [backgrounds, 3, H, W]"""
        return (2 * self.background_values() - 1)[:, None, None, None].expand(-1, *self.image_shape).contiguous()

    def _directions(self) -> list[tuple[float, float, float]]:
        return [HUES[color] if isinstance(color, str) else color for color in self.colors]

    def _values(self) -> dict[str, tuple[str, ...]]:
        colors = tuple(color if isinstance(color, str) else "{:g},{:g},{:g}".format(*color) for color in self.colors)
        return {"shape": self.shapes, "color": colors, "size": self.sizes, "background": self.backgrounds}

    def _indices(self, nodes: Tensor) -> Tensor:
        """Digits of the concepts that vary, with zeros for those that do not.  # [n, 4]"""
        columns = iter(nodes.unbind(1))
        fixed = torch.zeros(len(nodes), dtype=torch.int64, device=nodes.device)
        return torch.stack([next(columns) if len(v) > 1 else fixed for v in self._values().values()], 1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, values in self._values().items():
            if not 1 <= len(values) <= 10:
                raise ValueError(f"{name}s: give one to ten values, not {len(values)}")
            if len(set(values)) < len(values):
                raise ValueError(f"{name}s: each value once, not {', '.join(values)}")
        if not self.concepts:
            raise ValueError("every concept has a single value: give at least one of them two, as colors=(red, blue)")
        self._check_colors()
        self._check_sizes()
        return self

    def _check_colors(self) -> None:
        for color in self.colors:
            if isinstance(color, str) and color not in HUES:
                raise ValueError(f"no colour '{color}'; known: {', '.join(HUES)}, or a direction such as (1, -1, 0.5)")
            if not isinstance(color, str) and max(map(abs, color)) > 1:
                raise ValueError(f"colour direction {color} leaves [-1, 1]")
        half = self.color_separation * self.color_jitter
        middles = [[0.5 + self.color_separation / 2 * part for part in parts] for parts in self._directions()]
        reach = max(abs(channel - 0.5) for rgb in middles for channel in rgb) + half
        if reach > 0.5 + 1e-6:
            raise ValueError(f"colours reach {reach - 0.5:.3f} beyond [0, 1]: lower color_separation or color_jitter")
        names = self._values()["color"]
        for i, j in combinations(range(len(middles)), 2):
            if _channel_distance(middles[i], middles[j]) <= 2 * half + 1e-6:
                raise ValueError(f"the ranges of {names[i]} and {names[j]} overlap: lower color_jitter")
        room = self.background_jitter
        papers = [min(max(BACKGROUNDS[name], room), 1 - room) for name in self.backgrounds]
        for (one, a), (other, b) in combinations(zip(self.backgrounds, papers, strict=True), 2):
            if abs(a - b) <= 2 * self.background_jitter + 1e-6:
                raise ValueError(f"the ranges of {one} and {other} overlap: lower background_jitter")
        for name, value in zip(self.backgrounds, papers, strict=True):
            for color, rgb in zip(names, middles, strict=True):
                if _channel_distance(rgb, [value] * 3) <= half + self.background_jitter + 1e-6:
                    raise ValueError(
                        f"the range of {color} holds the {name} background: lower color_jitter or "
                        "background_jitter, or change one"
                    )

    def _check_sizes(self) -> None:
        half = self.size_separation * self.size_jitter
        last = max(len(self.sizes) - 1, 1)
        levels = [1 - 2 * i / last for i in range(len(self.sizes))] if len(self.sizes) > 1 else [0.0]
        middles = [self.size_mean + self.size_separation / 2 * level for level in levels]
        largest, smallest = middles[0] + half, middles[-1] - half
        if len(middles) > 1 and middles[0] - middles[1] <= 2 * half + 1e-6:
            raise ValueError(f"the ranges of {self.sizes[0]} and {self.sizes[1]} overlap: lower size_jitter")
        if smallest < SMALLEST * 2 / self.pixels:
            raise ValueError(
                f"the smallest radius {smallest:.3f} is under {SMALLEST} pixels: raise size_mean or pixels, "
                f"or lower size_separation"
            )
        widest = max(self.shapes, key=_reach)
        room = 1 + EDGE_SLACK - _reach(widest) * largest
        if room < 0:
            raise ValueError(f"the largest {widest} reaches {-room:.3f} beyond the canvas: lower size_mean")
        if room < self.position_jitter:
            raise ValueError(
                f"the largest {widest} reaches {self.position_jitter - room:.3f} beyond the canvas: "
                f"lower position_jitter to {math.floor(room * 100) / 100} or lower size_mean"
            )


def _depth(shape: Shape, across: Tensor, up: Tensor, apothem: Tensor) -> Tensor:
    """Distance inwards from the edge, negative outside: the nearest of a regular polygon's sides.  # [n, H, W]"""
    if shape == "circle":
        return apothem - (across**2 + up**2).sqrt_()
    if shape == "square":
        return apothem - torch.maximum(across.abs(), up.abs())
    # A triangle on its base: the two slanted sides are mirror images, so one of them is enough.
    slanted = across.abs() * math.cos(math.pi / 6) + up * 0.5
    return apothem - torch.maximum(slanted, -up)


def _area_ratio(shape: Shape) -> float:
    """Square of apothem over radius at equal area. A k-gon of apothem a has area k tan(pi/k) a^2.

    Averaged over an edge one pixel p wide that becomes k tan(pi/k) (a^2 + p^2/12): `coverage` takes p^2/12 off.
    """
    sides = SIDES[shape]
    return math.pi / (sides * math.tan(math.pi / sides)) if sides else 1.0


def _reach(shape: Shape) -> float:
    """How far the shape of radius 1 reaches from its centroid along an axis (the triangle's tip, the square's side)."""
    return math.sqrt(_area_ratio(shape)) * (2.0 if shape == "triangle" else 1.0)


def _channel_distance(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
