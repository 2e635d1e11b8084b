"""A U-Net on folded pixels: squares of pixels become channels, and every square receives its position in the image.

Folding 2 x 2 pixels makes a network four times cheaper and gives it the image at the size of what is to be placed. A
condition that enters as one embedding holds no places: a network ties it to them by the position that convolutions
learn from the border, slowly, or receive here as sinusoids, in channels beside the image. Nothing becomes local by
that: every pixel still depends on the whole condition and the whole image.

At low noise the output has to follow every single pixel, for which the channels of a square are too few: so the pixels
also bypass the network, times a gain that it learns for every noise level.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recombine.denoisers.conditioners import Sinusoids
from recombine.denoisers.configs import FoldedConfig, UNetConfig
from recombine.denoisers.unet import UNet
from recombine.errors import UserError

GAIN = 32  # hidden units of the gain


def foldable_network(
    config: UNetConfig | FoldedConfig, image_shape: tuple[int, int, int], condition_widths: tuple[int, ...] = ()
) -> nn.Module:
    """The U-Net of this config, on pixels or on folded ones."""
    if isinstance(config, FoldedConfig):
        return FoldedNetwork(config, image_shape, condition_widths)
    return UNet(config, image_shape, condition_widths)


class FoldedNetwork(nn.Module):
    """Folds, runs the inner network, unfolds."""

    where: Tensor  # [2 position, h, w]

    def __init__(
        self, config: FoldedConfig, image_shape: tuple[int, int, int], condition_widths: tuple[int, ...] = ()
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        if height % config.fold or width % config.fold:
            raise UserError(f"images of {height} x {width} px do not fold into squares of {config.fold}: change fold")
        self.fold, self.folded = config.fold, channels * config.fold**2
        height, width = height // config.fold, width // config.fold
        self.register_buffer("where", _position(config.position, height, width), persistent=False)
        self.inner = UNet(config.inner, (self.folded + len(self.where), height, width), condition_widths)
        last = nn.Linear(GAIN, 1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.gain = nn.Sequential(nn.Linear(1, GAIN), nn.SiLU(), last)

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None = None) -> Tensor:
        """x [n, C, H, W], noise level [n], condition [n, K].  # [n, C, H, W]"""
        where = self.where.to(x.dtype).expand(len(x), -1, -1, -1)
        given = torch.cat([F.pixel_unshuffle(x, self.fold), where], 1)
        answer: Tensor = self.inner(given, noise_level, condition)
        gain: Tensor = self.gain(noise_level[:, None].to(x.dtype))  # [n, 1]
        return F.pixel_shuffle(answer[:, : self.folded], self.fold) + gain[:, :, None, None] * x


def _position(numbers: int, height: int, width: int) -> Tensor:
    """Sinusoids of the row and of the column of every square.  # [2 numbers, height, width]"""
    if numbers == 0:
        return torch.zeros(0, height, width)
    waves = Sinusoids(numbers, (4.0, 4.0 * max(height, width)))
    rows, columns = (waves(torch.arange(size).float()).T for size in (height, width))  # [numbers, size]
    return torch.cat([rows[:, :, None].expand(-1, -1, width), columns[:, None].expand(-1, height, -1)])
