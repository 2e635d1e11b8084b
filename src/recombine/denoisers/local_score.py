"""Training-free denoisers that use less than the whole image or condition: local scores, and added scores.

Beside the exact denoiser (`denoisers.exact.EmpiricalDenoiser`), which uses all of the image and the condition, these
say what locality alone, and what adding scores alone, would compose.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch

from recombine.denoisers.contract import Denoiser, per_image
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


class LocalScoreDenoiser:
    """Each pixel is guessed from the patch around it: the mean of that pixel over training images, weighted by how
    likely their patches at the same place are to have become this one.

    "joint": images count by a Gaussian kernel of the distance between conditions, as for the exact denoiser. "either":
    by the nearest of their numbers, so that an image that is right in x or in y counts: matching factor by factor.
    """

    def __init__(
        self,
        images: Tensor,  # [N, C, H, W]
        conditions: Tensor,  # [N, K]
        patch: int = 5,
        kernel_width: float = 0.25,
        match: Literal["joint", "either"] = "joint",
        chunk: int = 256,
    ) -> None:
        if len(images) == 0 or conditions.dim() != 2 or len(conditions) != len(images):
            raise UserError(f"a local-score denoiser needs images and a condition for each, not {len(images)} and "
                            f"{tuple(conditions.shape)}")  # fmt: skip
        if patch < 1 or patch % 2 == 0 or not kernel_width > 0:
            raise UserError(f"patch = {patch} and kernel_width = {kernel_width}: give an odd patch and a width above 0")
        self.images, self.conditions = images.float(), conditions.float()
        self.patch, self.kernel_width, self.match, self.chunk = patch, kernel_width, match, chunk

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The guess of every pixel.  # [n, C, H, W]"""
        if x.shape[1:] != self.images.shape[1:]:
            raise UserError(f"x has shape {tuple(x.shape[1:])}, the training images {tuple(self.images.shape[1:])}")
        if condition is None or condition.shape[1:] != self.conditions.shape[1:]:
            raise UserError(f"give each image a condition of {self.conditions.shape[1]} numbers")
        noise = per_image(sigma.float(), x)[:, :, 0, 0, None, None].square()  # [n, 1, 1, 1] without the channels
        highest = x.new_full((len(x), 1, *x.shape[2:]), -math.inf)
        total, weighted = torch.zeros_like(highest), torch.zeros_like(x)
        for start in range(0, len(self.images), self.chunk):
            item = self.images[start : start + self.chunk]
            logits = self._patch_distance(x, item) / (-2 * noise) + self._log_kernel(start, condition)[..., None, None]
            now = torch.maximum(highest, logits.amax(1, keepdim=True))  # [n, 1, H, W]
            share, rescale = (logits - now).exp(), (highest - now).exp()
            total = total * rescale + share.sum(1, keepdim=True)
            weighted = weighted * rescale + torch.einsum("nkhw,kchw->nchw", share, item)
            highest = now
        return weighted / total

    def _patch_distance(self, x: Tensor, item: Tensor) -> Tensor:
        """Squared distance of the patches around every pixel, what lies outside left out.  # [n, items, H, W]"""
        distance = (x[:, None] - item[None]).square().sum(2)  # [n, k, H, W]
        area = self.patch**2
        return torch.nn.functional.avg_pool2d(distance, self.patch, 1, self.patch // 2, count_include_pad=True) * area

    def _log_kernel(self, start: int, condition: Tensor) -> Tensor:
        """How much each image counts for each prompt, as a logarithm.  # [n, items]"""
        away = (condition.float()[:, None] - self.conditions[start : start + self.chunk]).square()  # [n, k, K]
        nearest = away.sum(2) if self.match == "joint" else away.amin(2)
        return nearest / (-2 * self.kernel_width**2)


class AddedScores:
    """D(x | a) + D(x | b) - D(x): the scores of two conditions added, that of none taken away.

    Each of the two receives its part of the condition.
    """

    def __init__(self, one: Denoiser, other: Denoiser, neither: Denoiser, split: int = 1) -> None:
        self.one, self.other, self.neither, self.split = one, other, neither, split

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The sum, of the first `split` numbers and of the others.  # [n, C, H, W]"""
        if condition is None or condition.shape[1] <= self.split:
            raise UserError(f"added scores need a condition of more than {self.split} numbers")
        first, second = condition[:, : self.split], condition[:, self.split :]
        return (
            self.one.denoise(x, sigma, first)
            + self.other.denoise(x, sigma, second)
            - self.neither.denoise(x, sigma, None)
        )
