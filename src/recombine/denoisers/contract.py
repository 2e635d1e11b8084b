"""The Denoiser contract: denoise(x, sigma, condition) -> x0, where x = x0 + sigma * noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import torch

if TYPE_CHECKING:
    from torch import Tensor

Network: TypeAlias = "Callable[[Tensor, Tensor, Tensor | None], Tensor]"  # of scaled x, noise level and condition


class Denoiser(Protocol):
    """Anything that answers with its best estimate of the clean image."""

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        """x0 from x [n, C, H, W] at noise level sigma [n], conditioned on [n, K] or on nothing.  # [n, C, H, W]"""
        ...


@runtime_checkable
class AnswersAt(Protocol):
    """A network that can answer at some pixels without answering at all of them."""

    def at(self, pixels: Tensor, x: Tensor, noise_level: Tensor, condition: Tensor | None) -> Tensor:
        """Its output at pixels [n, p, 2] (row, column) of each image.  # [n, p, C]"""
        ...


def score(denoiser: Denoiser, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
    """The gradient of the log density of the noised x (Tweedie): (D - x) / sigma^2.  # [n, C, H, W]"""
    return (denoiser.denoise(x, sigma, condition) - x) / per_image(sigma, x).square()


def per_image(sigma: Tensor, x: Tensor) -> Tensor:
    """One number for each image, shaped to multiply x.  # [n] -> [n, 1, 1, 1]"""
    if sigma.shape != x.shape[:1]:
        raise ValueError(f"sigma has shape {tuple(sigma.shape)}; x {tuple(x.shape)} needs one for each image")
    return sigma.reshape(-1, *(1,) * (x.dim() - 1))


def at_pixels(images: Tensor, pixels: Tensor) -> Tensor:
    """What images hold at pixels [n, p, 2] (row, column) of each.  # [n, p, C]"""
    row, column = pixels.unbind(2)  # [n, p] each
    return images.movedim(1, 3)[torch.arange(len(images), device=images.device)[:, None], row, column]
