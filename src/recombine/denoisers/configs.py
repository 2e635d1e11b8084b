"""Settings of the networks, so that a plan is made without importing torch."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from recombine.errors import UserError
from recombine.settings import Settings
from recombine.worlds.scenes.labels import LabelConfig

Prediction = Literal["noise", "x0", "v", "edm"]  # what a network's output means
Code = Literal["plain", "scaled", "blurred", "window"]  # of a label: denoisers.label_code
Mode = Literal["multiply", "add"]


class ConditionConfig(Settings):
    """How the condition enters the network.

    multiply    an MLP for each concept, embeddings summed over concepts, a linear map of the sum times the features
    add         the same sum, added to the features
    joint       one MLP on the whole condition, then `mode`
    positional  sinusoids of each number of the condition, an MLP on all of them (none if hidden = 0), then `mode`
    spatial     the condition is a stack of maps, appended to the channels of the input image
    """

    entry: Literal["multiply", "add", "joint", "positional", "spatial"] = "multiply"
    where: Literal["up", "all"] = "up"  # the blocks on the way up (released code of Okawa et al.), or every block
    hidden: int = Field(128, ge=0)  # hidden width of the MLPs; 0: a linear map instead
    width: int = Field(128, ge=2)  # of the embedding; for positional also of the sinusoids of one number
    mode: Mode = "multiply"  # for joint and positional
    gain: Literal["one", "free"] = "one"  # what multiplies at the start of training: 1 + small, or around 0
    periods: tuple[float, float] = (2 * math.pi, 2e4 * math.pi)  # of the sinusoids, in units of the condition
    grid: tuple[int, int] | None = None  # for spatial: shape of the maps when the condition comes flat

    @property
    def effect(self) -> Mode:
        """What the signal does to the features."""
        return self.mode if self.entry in ("joint", "positional") else "add" if self.entry == "add" else "multiply"


class UNetConfig(Settings):
    """Shape of the network. Level 0 has the image's resolution; each further level halves it."""

    kind: Literal["unet"] = "unet"
    channels: int = Field(32, ge=1)
    multipliers: tuple[int, ...] = Field((1, 2, 4), min_length=1)  # channels of level i = channels * multipliers[i]
    blocks: int = Field(1, ge=1)  # residual blocks (two convolutions each) a level, on the way down and on the way up
    attention: tuple[int, ...] = ()  # levels with self-attention after their blocks; the last level means the middle
    heads: int = Field(4, ge=1)
    norm: Literal["group", "layer1", "batch", "none"] = "layer1"  # layer1: GroupNorm(1), all channels together
    groups: int = Field(8, ge=1)
    activation: Literal["gelu", "silu"] = "silu"
    downsample: Literal["max", "avg", "conv"] = "max"
    dropout: float = Field(0.0, ge=0, lt=1)
    condition: ConditionConfig = ConditionConfig()

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of each level."""
        return tuple(self.channels * multiplier for multiplier in self.multipliers)

    @model_validator(mode="after")
    def _consistent(self) -> UNetConfig:
        levels = len(self.multipliers)
        if min(self.multipliers) < 1:
            raise ValueError(f"multipliers {self.multipliers} must be 1 or more")
        if any(not 0 <= level < levels for level in self.attention):
            raise ValueError(
                f"attention {self.attention} names a level that is not there: levels are 0 to {levels - 1}"
            )
        if any(self.widths[level] % self.heads for level in self.attention):
            raise ValueError(f"heads = {self.heads} must divide the channels of each attention level, {self.widths}")
        if self.norm == "group" and any(width % self.groups for width in self.widths):
            raise ValueError(f"groups = {self.groups} must divide the channels of each level, {self.widths}")
        return self


class FoldedConfig(Settings):
    """How many pixels are folded, and the network on what comes out."""

    kind: Literal["folded"] = "folded"
    fold: int = Field(default=2, ge=1, description="pixels along a side of a square that becomes channels")
    position: int = Field(default=16, ge=0, multiple_of=2, description="sinusoids of a coordinate; 0: none")
    inner: UNetConfig = UNetConfig()

    @property
    def dropout(self) -> float:
        return self.inner.dropout


Foldable = Annotated[UNetConfig | FoldedConfig, Field(discriminator="kind")]


class RadiiAbove(Settings):
    """From this noise level on, these receptive fields; they may be smaller than those of the network, not larger."""

    above: float = Field(ge=0, description="sigma")
    radius: int = Field(ge=0)
    label_radius: int = Field(ge=0)


class LocalConfig(Settings):
    """Receptive fields in cells, and the network on a patch."""

    kind: Literal["local"] = "local"
    radius: int = Field(default=2, ge=0, description="of pixels that a cell depends on: 2 means 5 x 5 cells")
    label_radius: int | None = Field(default=None, ge=0, description="the same of labels; if unset, that of pixels")
    by_noise: tuple[RadiiAbove, ...] = ()
    judged: Literal["patch", "cell"] = "patch"  # the part of a patch that the loss covers
    inner: Foldable = UNetConfig()

    @property
    def mapped(self) -> bool:
        """Whether the labels of a patch are an input channel."""
        inner = self.inner if isinstance(self.inner, UNetConfig) else self.inner.inner
        return inner.condition.entry == "spatial"

    @property
    def labels_within(self) -> int:
        """The radius of the label receptive field."""
        return self.radius if self.label_radius is None else self.label_radius

    @property
    def dropout(self) -> float:
        return self.inner.dropout

    @model_validator(mode="after")
    def _receptive_fields_fit(self) -> Self:
        for limits in self.by_noise:
            if limits.radius > self.radius or limits.label_radius > self.labels_within:
                raise ValueError(f"by_noise asks for radii above {self.radius} and {self.labels_within} cells")
        return self


class LocalityPenalty(Settings):
    """How much a label may not change what is far from it. Without a penalty there is none of these."""

    weight: float = Field(default=1.0, gt=0, description="of the penalty, where that of the denoising loss is 1")
    reach: int = Field(default=2, ge=0, description="cells from a label within which it may change anything")

    def check(self, labels: LabelConfig) -> None:
        """Raise a one-line UserError if these labels have no places, or none of them is far from anything."""
        if labels.form != "grid":
            raise UserError("a locality penalty adds a place to a grid label: set labels.form = 'grid'")
        if self.reach >= labels.grid // 2:
            raise UserError(
                f"penalty.reach = {self.reach}: in {labels.grid} x {labels.grid} cells nothing is that far from the "
                f"middle; give at most {labels.grid // 2 - 1}"
            )
