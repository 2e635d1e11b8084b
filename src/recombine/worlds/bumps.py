"""The world of Liang et al. 2024: a dark bump, or two crossing stripes, at a place (mx, my) on a white square.

Pixels are numbered 1 to N, x to the right and y down, (1, 1) at the top left. With a margin the space of labels is
larger than the image: a label is the place in the image plus the margin, and what lies outside is cropped. Two stripes
of which one is outside leave one ("1D"); with both outside the image is blank ("0D").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.errors import UserError
from recombine.worlds.base import Source

if TYPE_CHECKING:
    from torch import Tensor

EXPONENT = 4.0  # exp(-d^2 / (4 width^2)): the standard deviation of a bump is sqrt(2) times its width
VISIBLE = 0.5 / 255  # of full contrast: a stripe that is fainter than half a grey level is not there


def profile(distance: Tensor, width: float) -> Tensor:
    """How dark a bump or a stripe is so far from its middle, from 0 to 1.  # any shape"""
    return (distance.square() / (-EXPONENT * width**2)).exp()


class BumpsWorld(Source):
    """Labels [n, 2] in, images [n, 1, N, N] out: white is 1, the darkest pixel -1."""

    kind: Literal["bumps"] = "bumps"
    pixels: int = Field(default=32, ge=2, description="N")
    width: float = Field(default=1.0, gt=0, description="sigma")
    pattern: Literal["bump", "stripes", "bump+stripes"] = "bump"  # the last: bumps inside the image, stripes outside
    periodic: bool = False  # opposite sides are joined
    margin: float = Field(default=0.0, ge=0, description="how far labels reach beyond each side of the image")
    encoding: Literal["raw", "scalar", "periodic"] = "raw"  # of labels in the condition: pixels, -1 to 1, or angles

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.periodic and self.margin:
            raise ValueError("a periodic image has no outside: set margin to 0")
        return self

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(C, H, W) of an image."""
        return 1, self.pixels, self.pixels

    @property
    def extent(self) -> float:
        """Labels lie above 0 and up to this, in x and in y."""
        return self.pixels + 2 * self.margin

    @property
    def condition_widths(self) -> tuple[int, ...]:
        """How many numbers of the condition belong to x, and to y."""
        return (2, 2) if self.encoding == "periodic" else (1, 1)

    def labels(self, step: float) -> Tensor:
        """Every label on a grid: step, 2 step, ... up to the extent; x changes slowest.  # [n, 2] float64"""
        count = round(self.extent / step)
        if not 0 < step <= self.extent or abs(count * step - self.extent) > 1e-6:
            raise UserError(f"a step of {step:g} does not divide the {self.extent:g} px of the label space")
        axis = torch.arange(1, count + 1, dtype=torch.float64) * step
        return torch.cartesian_prod(axis, axis)

    def centres(self) -> Tensor:
        """The label of every pixel's middle: what is tested.  # [N^2, 2] float64"""
        axis = torch.arange(1, self.pixels + 1, dtype=torch.float64) + self.margin
        return torch.cartesian_prod(axis, axis)

    def inside(self, labels: Tensor) -> Tensor:
        """Whether x, and y, lie in the image: above 0 and up to N.  # [n, 2] bool"""
        place = labels - self.margin
        return (place > 1e-9) & (place <= self.pixels + 1e-9)

    def dimension(self, labels: Tensor) -> Tensor:
        """How many stripes have their middle in the image: 2, 1 or 0.  # [n] int64"""
        return self.inside(labels).sum(1)

    def hidden(self, labels: Tensor) -> Tensor:
        """Whether all that lies outside is invisible: what separates a lone stripe from the rim.  # [n] bool"""
        place = labels - self.margin
        beyond = torch.maximum(1 - place, place - self.pixels)  # from the edge pixel
        reach = math.sqrt(-EXPONENT * self.width**2 * math.log(VISIBLE / (0.5 if self.pattern != "bump" else 1.0)))
        return (self.inside(labels) | (beyond >= reach)).all(1)

    def render(self, labels: Tensor) -> Tensor:
        """Images of these labels, on their device.  # [n, 1, N, N] float32"""
        self.check_labels(labels)
        place = labels.double() - self.margin
        axis = torch.arange(1, self.pixels + 1, dtype=torch.float64, device=labels.device)
        away = (axis - place[:, :, None]).abs()  # [n, 2, N]
        if self.periodic:
            away = torch.minimum(away, self.pixels - away)
        across, down = profile(away, self.width).unbind(1)  # [n, N] each
        bump = down[:, :, None] * across[:, None, :]  # [n, N, N]: row y, column x
        stripes = (down[:, :, None] + across[:, None, :]) / 2
        if self.pattern == "bump+stripes":
            dark = torch.where((self.dimension(labels) == 2)[:, None, None], bump, stripes)
        else:
            dark = bump if self.pattern == "bump" else stripes
        return (1 - 2 * dark)[:, None].float()

    def condition(self, labels: Tensor) -> Tensor:
        """The condition that the network receives.  # [n, sum(condition_widths)]"""
        self.check_labels(labels)
        if self.encoding == "raw":
            return labels.float()
        if self.encoding == "scalar":
            return (2 * labels / self.extent - 1).float()
        angle = 2 * math.pi * labels / self.extent
        return torch.stack([angle.cos(), angle.sin()], 2).flatten(1).float()  # x: cos, sin; y: cos, sin

    def check_labels(self, labels: Tensor) -> None:
        """Refuse labels outside of the label space."""
        if labels.dim() != 2 or labels.shape[1] != 2:
            raise UserError(f"labels of shape {tuple(labels.shape)}: give one (x, y) for each image")
        if len(labels) and not bool(((labels >= 0) & (labels <= self.extent + 1e-6)).all()):
            raise UserError(f"a label lies outside of the label space: x and y go from 0 to {self.extent:g}")
