"""The conditional U-Net of all studies: residual blocks, attention where asked for, one entry for the condition.

Concept graphs (three levels, 28-14-7), concept space (two blocks a level, attention in the middle), bumps (multipliers
1, 2, 4, 4) and whole-image local scores are settings of this one network. In every block that receives the condition,
feature = signal(condition) * normalised feature + shift(noise level), or a sum where the conditioner says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recombine.denoisers.conditioners import Conditioner, Sinusoids, as_maps, map_channels
from recombine.denoisers.configs import UNetConfig
from recombine.errors import UserError


class UNet(nn.Module):
    """Predicts an image from a noisy image, its noise level and a condition.

    The noise level is one number of order one for each image, monotone in the noise: log(sigma) / 4 or t / T.
    `down`, `bottom`, `middle` and `up` hold the stages in the order in which the image passes through them; the
    condition enters from `middle` on, or everywhere. A spatial condition enters with the image.
    """

    def __init__(
        self, config: UNetConfig, image_shape: tuple[int, int, int], condition_widths: tuple[int, ...] = ()
    ) -> None:
        super().__init__()
        _check_shapes(config, image_shape, condition_widths)
        widths, last = config.widths, len(config.widths) - 1
        maps = map_channels(config.condition, condition_widths)
        self.grid, self.maps, self.conditional = config.condition.grid, maps, bool(condition_widths)

        self.enter = nn.Conv2d(image_shape[0] + maps, widths[0], 3, padding=1, bias=_biased(config))
        descent, climb = range(last), range(last - 1, -1, -1)
        down = [Stage(config, widths[max(i - 1, 0)], widths[i], attends=i in config.attention) for i in descent]
        self.bottom = Stage(config, widths[max(last - 1, 0)], widths[last], attends=last in config.attention)
        self.middle = Stage(config, widths[last], widths[last], attends=False)
        up = [Stage(config, 2 * widths[i], widths[i], attends=i in config.attention) for i in climb]
        self.down, self.up = nn.ModuleList(down), nn.ModuleList(up)
        self.shrink = nn.ModuleList(_shrink(config, widths[i]) for i in descent)
        # A 1x1 convolution commutes with nearest-neighbour growth, so it runs on the small side.
        self.narrow = nn.ModuleList(nn.Conv2d(widths[i + 1], widths[i], 1, bias=_biased(config)) for i in climb)
        self.leave = nn.Sequential(
            _norm(config, widths[0]), _activation(config), nn.Conv2d(widths[0], image_shape[0], 3, padding=1)
        )
        _soften(self.leave[-1])

        early = [stage.width for stage in [*down, self.bottom] for _ in stage.blocks]
        late = [stage.width for stage in [self.middle, *up] for _ in stage.blocks]
        self.noise = NoiseEmbedding(config, early + late)
        self.unconditioned = len(early) if config.condition.where == "up" else 0  # blocks without the condition
        self.multiplied = config.condition.effect == "multiply"
        receiving = (early + late)[self.unconditioned :] if condition_widths and not maps else []
        self.condition = Conditioner(config.condition, condition_widths, receiving) if receiving else None

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """x [n, C, H, W], noise level [n], condition [n, K] (spatial without grid: [n, K, h, w]).  # [n, C, H, W]"""
        if self.conditional and condition is None:
            raise UserError("this network was built for conditions: give it one")
        if self.maps and condition is not None:
            x = torch.cat([x, as_maps(condition, self.grid, x.shape[-2:]).to(x.dtype)], dim=1)
        signals = iter(self._signals(noise_level, condition))

        h: Tensor = self.enter(x)
        skips = []
        for stage, shrink in zip(self.down, self.shrink, strict=True):
            h = stage(h, signals)
            skips.append(h)
            h = shrink(h)
        h = self.middle(self.bottom(h, signals), signals)
        for narrow, stage in zip(self.narrow, self.up, strict=True):
            h = F.interpolate(narrow(h), scale_factor=2, mode="nearest")
            h = stage(torch.cat([h, skips.pop()], dim=1), signals)
        out: Tensor = self.leave(h)
        return out

    def _signals(self, noise_level: Tensor, condition: Tensor | None) -> list[Signal]:
        """What each block receives, in the order of the stages."""
        shifts: list[Tensor] = self.noise(noise_level)
        if self.condition is None or condition is None:
            return [(None, shift) for shift in shifts]
        embedded: list[Tensor] = self.condition(condition)
        first: list[Signal] = [(None, shift) for shift in shifts[: self.unconditioned]]
        pairs = zip(embedded, shifts[self.unconditioned :], strict=True)
        if self.multiplied:
            return first + [(signal, shift) for signal, shift in pairs]
        return first + [(None, shift + signal) for signal, shift in pairs]


Signal = tuple[Tensor | None, Tensor]  # factor [n, channels] if any, shift [n, channels]


class Stage(nn.Module):
    """The blocks of one level on one side, then attention if the level has it."""

    def __init__(self, config: UNetConfig, inputs: int, width: int, attends: bool) -> None:
        super().__init__()
        self.width = width
        self.blocks = nn.ModuleList(Block(config, width if i else inputs, width) for i in range(config.blocks))
        self.attention = Attention(config, width) if attends else None

    def forward(self, h: Tensor, signals: Iterator[Signal]) -> Tensor:
        for block in self.blocks:
            h = block(h, *next(signals))
        return h if self.attention is None else self.attention(h)


class Block(nn.Module):
    """Two 3x3 convolutions beside a bypass. Condition and noise level enter after the second norm, which would
    otherwise remove a part of them.
    """

    def __init__(self, config: UNetConfig, inputs: int, width: int) -> None:
        super().__init__()
        bias = _biased(config)
        self.first_norm, self.first = _norm(config, inputs), nn.Conv2d(inputs, width, 3, padding=1, bias=bias)
        self.second_norm, self.second = _norm(config, width), nn.Conv2d(width, width, 3, padding=1, bias=bias)
        self.activation, self.dropout = _activation(config), nn.Dropout(config.dropout)
        self.bypass = nn.Identity() if inputs == width else nn.Conv2d(inputs, width, 1, bias=bias)

    def forward(self, x: Tensor, factor: Tensor | None, shift: Tensor) -> Tensor:
        h: Tensor = self.second_norm(self.first(self.activation(self.first_norm(x))))
        h = h + shift[:, :, None, None] if factor is None else h * factor[:, :, None, None] + shift[:, :, None, None]
        h = self.second(self.dropout(self.activation(h)))
        bypass: Tensor = self.bypass(x)
        return h + bypass


class Attention(nn.Module):
    """Self-attention over all pixels of an image, beside a bypass."""

    def __init__(self, config: UNetConfig, width: int) -> None:
        super().__init__()
        self.heads, self.norm = config.heads, _norm(config, width)
        self.ask = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.answer = nn.Conv2d(width, width, 1, bias=_biased(config))

    def forward(self, x: Tensor) -> Tensor:
        n, c, height, width = x.shape
        asked: Tensor = self.ask(self.norm(x))
        # Pixels before channels: with channels-last memory all of this is views, and heads are contiguous.
        tokens = asked.flatten(2).transpose(1, 2).reshape(n, height * width, 3, self.heads, c // self.heads)
        query, key, value = tokens.permute(2, 0, 3, 1, 4).unbind(0)  # each [n, heads, pixels, c / heads]
        mixed = F.scaled_dot_product_attention(query, key, value)
        answer: Tensor = self.answer(mixed.transpose(1, 2).flatten(2).transpose(1, 2).reshape(n, c, height, width))
        return x + answer


class NoiseEmbedding(nn.Module):
    """The noise level as sinusoids, an MLP, and one linear map to the shifts of all blocks."""

    def __init__(self, config: UNetConfig, channels: list[int]) -> None:
        super().__init__()
        self.channels, width = channels, 4 * config.channels
        # Periods from far beyond the usual range of noise levels (smooth) down to a hundredth of it (fine steps).
        self.sinusoids = Sinusoids(64, (0.05, 20.0))
        self.embed = nn.Sequential(
            nn.Linear(64, width), _activation(config), nn.Linear(width, width), _activation(config)
        )
        self.head = nn.Linear(width, sum(channels))

    def forward(self, noise_level: Tensor) -> list[Tensor]:
        shifts: Tensor = self.head(self.embed(self.sinusoids(noise_level)))
        return list(torch.split(shifts, self.channels, dim=1))


def _check_shapes(config: UNetConfig, image_shape: tuple[int, int, int], condition_widths: tuple[int, ...]) -> None:
    _, height, width = image_shape
    halvings = len(config.multipliers) - 1
    if height % 2**halvings or width % 2**halvings:
        raise UserError(
            f"images of {height}x{width} px cannot be halved {halvings} times: "
            f"use sides that are multiples of {2**halvings}, or fewer multipliers"
        )
    if any(size < 1 for size in condition_widths):
        raise UserError(f"each concept needs at least one number of the condition, not {condition_widths}")


def _norm(config: UNetConfig, width: int) -> nn.Module:
    if config.norm == "batch":
        return nn.BatchNorm2d(width)
    if config.norm == "none":
        return nn.Identity()
    return nn.GroupNorm(1 if config.norm == "layer1" else config.groups, width)


def _activation(config: UNetConfig) -> nn.Module:
    return nn.SiLU() if config.activation == "silu" else nn.GELU(approximate="tanh")


def _shrink(config: UNetConfig, width: int) -> nn.Module:
    if config.downsample == "conv":
        return nn.Conv2d(width, width, 3, stride=2, padding=1, bias=_biased(config))
    return nn.MaxPool2d(2) if config.downsample == "max" else nn.AvgPool2d(2)


def _biased(config: UNetConfig) -> bool:
    """Batch norm removes any constant of a channel, so a bias before it would never learn."""
    return config.norm != "batch"


def _soften(layer: nn.Module) -> None:
    """A small initial output: the loss starts near that of predicting zero, yet every layer below has a gradient."""
    assert isinstance(layer, nn.Conv2d)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    with torch.no_grad():
        layer.weight.mul_(0.1)
