"""How a condition enters a network: five entries, one interface.

Whether held-out combinations can be drawn at all is decided here. `multiply` is the way of the released code of Okawa
et al. 2023 (an MLP for each concept, summed, times the features); `joint` combines the concepts before they enter the
network; `positional` is the way of Liang et al. 2024; `spatial` appends maps as extra input channels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recombine.denoisers.configs import ConditionConfig
from recombine.errors import UserError


class Conditioner(nn.Module):
    """Turns a condition [n, K] into one signal for each block that receives it, all from one linear map."""

    def __init__(self, config: ConditionConfig, condition_widths: tuple[int, ...], channels: list[int]) -> None:
        super().__init__()
        self.widths, self.channels, self.joint = (
            list(condition_widths),
            channels,
            config.entry in ("joint", "positional"),
        )
        self.sinusoids = Sinusoids(config.width, config.periods) if config.entry == "positional" else None
        if self.sinusoids is not None:
            inputs = [sum(condition_widths) * config.width]
        else:
            inputs = [sum(condition_widths)] if self.joint else self.widths
        if self.sinusoids is not None and config.hidden == 0:
            self.concepts = nn.ModuleList([nn.SiLU()])  # Liang et al.: no trainable embedding
            width = inputs[0]
        else:
            self.concepts = nn.ModuleList(_mlp(size, config.hidden, config.width) for size in inputs)
            width = config.width
        self.head = nn.Linear(width, sum(channels))
        if config.effect == "multiply" and config.gain == "one":
            nn.init.ones_(self.head.bias)

    def embed(self, condition: Tensor) -> Tensor:
        """The embedding that all blocks share; a sum over concepts, unless they are combined jointly.  # [n, width]"""
        if self.sinusoids is not None:
            condition = self.sinusoids(condition).flatten(1)  # [n, K width]
        parts = [condition] if self.joint else torch.split(condition, self.widths, dim=1)
        return torch.stack([mlp(part) for mlp, part in zip(self.concepts, parts, strict=True)]).sum(0)

    def forward(self, condition: Tensor) -> list[Tensor]:
        """One signal [n, channels] for each block."""
        signals: Tensor = self.head(self.embed(condition))
        return list(torch.split(signals, self.channels, dim=1))


class Sinusoids(nn.Module):
    """Sines and cosines of each number, periods in geometric progression.  # [...] -> [..., width]"""

    frequencies: Tensor

    def __init__(self, width: int, periods: tuple[float, float]) -> None:
        super().__init__()
        if width % 2 or not 0 < periods[0] <= periods[1]:
            raise UserError(f"sinusoids need an even width and 0 < shortest <= longest period, not {width}, {periods}")
        spread = torch.linspace(0, 1, width // 2, dtype=torch.float64)
        frequencies = 2 * math.pi / (periods[0] * (periods[1] / periods[0]) ** spread)
        self.register_buffer("frequencies", frequencies.to(torch.get_default_dtype()), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        angles = values[..., None] * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


def map_channels(config: ConditionConfig, condition_widths: tuple[int, ...]) -> int:
    """How many channels a spatial condition adds to the input of the network."""
    total = sum(condition_widths)
    if config.entry != "spatial" or config.grid is None:
        return total if config.entry == "spatial" else 0
    cells = config.grid[0] * config.grid[1]
    if cells < 1 or total % cells:
        raise UserError(
            f"a flat condition of {total} numbers is no stack of {config.grid} maps: correct condition.grid"
        )
    return total // cells


def as_maps(condition: Tensor, grid: tuple[int, int] | None, size: torch.Size) -> Tensor:
    """A spatial condition [n, K, h, w], or flat with its grid, at the size of the image.  # [n, maps, H, W]"""
    maps = condition if grid is None else condition.reshape(len(condition), -1, *grid)
    # Area, not nearest: a marked cell must not vanish between pixels when the maps are finer than the image.
    return maps if maps.shape[-2:] == size else F.interpolate(maps, size=size, mode="area")


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Module:
    if hidden == 0:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))
