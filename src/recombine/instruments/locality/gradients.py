"""How local a denoiser is: on which pixels, and on which conditions, its answer at a pixel depends.

Bradley 2026 calls a score local if at pixel i it depends on pixels and conditions near i alone (Def. 1). The formulas
of that paper's measurements are not known; these are (the first after Niedoba et al. 2024, Eq. 8)

    G_i(k; sigma) = E_x sum |d D(x, c)_i / d x_k|, the sum over the colours of i and of k
    P_r = sum_{|k - i| <= r} G_i(k) / sum_k G_i(k)
    A_i(j; sigma) = E_x |D(x, c)_i - D(x, c without j)_i|, the Euclidean norm over colours
    C = sum_{j in L_i} A_i(j) / sum_j A_i(j), with L_i the conditions j within r of i

|k - i| is the Chebyshev distance: a square of 2 r + 1 pixels, cut off at the border. It is D and not the score, whose
-1 / sigma^2 at k = i would hide the rest. A denoiser must answer for each image of a batch alone (a network in eval
mode), in float32 and, where gradients are taken, differentiably. Its answer at the pixels of the measurement is enough
(`NetworkDenoiser.denoise_at`); `everywhere` makes that of one that answers whole images.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from recombine.deferred import no_grad
from recombine.denoisers.contract import at_pixels
from recombine.errors import UserError
from recombine.instruments.locality.prompts import Prompts
from recombine.instruments.observation import Denoise, Row

if TYPE_CHECKING:
    from torch import Tensor

FLOOR = 1e-4  # a sum of A over conditions below this is noise: an eightieth of one of 256 grey steps
ENTRIES = {"cpu": 1 << 15, "cuda": 1 << 19}  # pixels of all images of a batch: 8 of 64 px, or 128
WAYS = ("removed", "moved", "gradient")

# of pixels [n, p, 2], x, sigma, condition: [n, p, C]
At: TypeAlias = "Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]"


def everywhere(denoise: Denoise) -> At:
    """The answer at some pixels of a denoiser that answers at all of them."""
    return lambda pixels, x, sigma, condition: at_pixels(denoise(x, sigma, condition), pixels)


@dataclass(frozen=True)
class Views:
    """Where a denoiser is measured: images at several noise levels, their conditions, and pixels of each image."""

    x: Tensor  # [S, n, C, H, W] noised images, or samples on their way
    sigma: Tensor  # [S]
    condition: Tensor | None  # [n, K]
    pixels: Tensor  # [n, p, 2] row and column

    def __post_init__(self) -> None:
        if self.x.dim() != 5 or self.sigma.shape != self.x.shape[:1]:
            raise UserError(f"x {tuple(self.x.shape)} at {len(self.sigma)} noise levels: give [S, n, C, H, W] and [S]")
        _, count, _, height, width = self.x.shape
        if self.condition is not None and len(self.condition) != count:
            raise UserError(f"{len(self.condition)} conditions for {count} images: give one for each")
        if self.pixels.dim() != 3 or self.pixels.shape[::2] != (count, 2) or self.pixels.is_floating_point():
            raise UserError(f"pixels {tuple(self.pixels.shape)} are no whole rows and columns [{count}, p, 2]")
        if bool(((self.pixels < 0) | (self.pixels >= torch.tensor([height, width]).to(self.pixels))).any()):
            raise UserError(f"a pixel lies outside of the image: rows are 0 to {height - 1}, columns 0 to {width - 1}")

    def at(self, level: Tensor, image: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """x, sigma and condition of these pairs of level and image."""
        condition = None if self.condition is None else self.condition[image]
        return self.x[level, image], self.sigma[level].to(self.x.dtype), condition


@dataclass(frozen=True)
class PixelLocality:
    """G by distance. The first pixels of all images share a mean, and so do the second ones, and so on."""

    sigma: Tensor  # [S]
    mass: Tensor  # [S, p, distances] of G

    def within(self, radii: Sequence[int]) -> Tensor:
        """P_r for each r; NaN where the answer depends on no pixel.  # [S, p, radii]"""
        if any(radius < 0 for radius in radii):
            raise UserError(f"radii {list(radii)}: a radius is 0 or more")
        total = self.mass.cumsum(2)
        return total[..., [min(radius, total.shape[2] - 1) for radius in radii]] / total[..., -1:]

    def half_radius(self) -> Tensor:
        """The smallest r with P_r >= 1/2.  # [S, p]"""
        share = self.within(range(self.mass.shape[2]))
        return (share < 0.5).sum(-1).double().masked_fill(share[..., -1].isnan(), torch.nan)

    def rows(self, radii: Sequence[int]) -> list[Row]:
        """Means over pixels at each noise level and over all; column `radius` has the r of P_r, in pixels."""
        rows = [row | {"radius": r} for r in radii for row in level_rows(self.sigma, "pixels.P", self._mean_within(r))]
        return rows + level_rows(self.sigma, "pixels.half radius", self.half_radius().nanmean(1))

    def _mean_within(self, radius: int) -> Tensor:
        return self.within([radius])[..., 0].nanmean(1)


def pixel_locality(at: At, views: Views, batch: int | None = None) -> PixelLocality:
    """G of the pixels of the views by distance, `batch` images at once."""
    levels, count, _, height, width = views.x.shape
    mass = torch.zeros(levels, views.pixels.shape[1], max(height, width), dtype=torch.float64)
    for level, image, heat in _gradients(at, views, batch, to_label=False):
        mass.index_add_(0, level.cpu(), _by_distance(heat, views.pixels[image]).cpu())
    return PixelLocality(views.sigma.cpu(), mass / count)


def heat_maps(at: At, views: Views, batch: int | None = None) -> Tensor:
    """G itself, mean over images, which must share their pixels.  # [p, S, H, W]"""
    if bool((views.pixels != views.pixels[:1]).any()):
        raise UserError("a heat map is a mean over images: give all images the same pixels")
    levels, count, _, height, width = views.x.shape
    maps = torch.zeros(levels, views.pixels.shape[1], height, width)
    for level, _, heat in _gradients(at, views, batch, to_label=False):
        maps.index_add_(0, level.cpu(), heat.to(maps))
    return (maps / count).transpose(0, 1)


@dataclass(frozen=True)
class ConditionalLocality:
    """A of each condition at each pixel, by each way to ask.

    "removed": the condition is taken out; "moved": it is put far away (not measured at a pixel near that place);
    "gradient": sum |d D_i / d label| over the colours of i and the numbers of the label that state the condition.
    """

    sigma: Tensor  # [S]
    influence: dict[str, Tensor]  # [S, n, p, J]; NaN where it is not measured
    near: Tensor  # [n, p, J] bool: condition j is in L_i
    present: Tensor  # [n, J] bool

    def total(self, way: str) -> Tensor:
        """The sum of A over conditions, mean over images and pixels.  # [S]"""
        return self.influence[way].sum(3).flatten(1).nanmean(1)

    def share(self, way: str, floor: float = FLOOR) -> Tensor:
        """C at each noise level, images and pixels weighted by A; NaN where the total is below `floor`.  # [S]"""
        near = (self.influence[way] * self.near).sum(3).flatten(1).nanmean(1)
        return (near / self.total(way)).masked_fill(self.total(way) < floor, torch.nan)

    def overall(self, way: str, floor: float = FLOOR) -> Tensor:
        """C over all noise levels, weighted by A; those below `floor` count as nothing.  # []"""
        share, total = self.share(way, floor), self.total(way)
        return (share * total).nansum() / total[~share.isnan()].sum()

    def chance(self) -> Tensor:
        """C if every condition mattered alike at every pixel: the share of conditions that are near.  # []"""
        return self.near.sum() / (self.present.sum() * self.near.shape[1])

    def rows(self, floor: float = FLOOR) -> list[Row]:
        """C and the total at each noise level, and C over all of them."""
        rows = []
        for way in self.influence:
            rows += level_rows(self.sigma, f"conditions.{way}.C", self.share(way, floor), self.overall(way, floor))
            rows += level_rows(self.sigma, f"conditions.{way}.total", self.total(way))[:-1]  # no mean over all levels
        return [*rows, locality_row("conditions.C.chance", self.chance())]


def conditional_locality(
    at: At, views: Views, prompts: Prompts, radius: float, ways: Sequence[str] = WAYS,
    batch: int | None = None,
) -> ConditionalLocality:  # fmt: skip
    """A of every condition at every pixel of the views; L_i holds the conditions within `radius` pixels of i."""
    if not radius >= 0 or not set(ways) <= set(WAYS):
        raise UserError(f"ways {tuple(ways)} within {radius} px: give some of {WAYS} and 0 or more pixels")
    if views.condition is None or views.condition.shape != prompts.removed[:, 0].shape:
        raise UserError("prompts and views must be of the same labels, one for each image")
    influence = {}
    for way, labels in (("removed", prompts.removed), ("moved", prompts.moved)):
        if way in ways:
            asked = torch.cat([views.condition[:, None], labels], 1)  # [n, 1 + J, K]
            influence[way] = _changes(at, views, asked, prompts.present, batch)
    if "moved" in influence:
        beside = (prompts.far[:, None] - views.pixels).abs().amax(2) <= radius  # [n, p]
        influence["moved"] = influence["moved"].masked_fill(beside[..., None].cpu(), torch.nan)
    if "gradient" in ways:
        slopes = [
            torch.einsum("bpk,bjk->bpj", slope.double(), prompts.entries[image].double()).cpu()
            for _, image, slope in _gradients(at, views, batch, to_label=True)
        ]
        influence["gradient"] = torch.cat(slopes).reshape(*views.x.shape[:2], *views.pixels.shape[1:2], -1)
    near = ((prompts.places[:, None] - views.pixels[:, :, None]).abs().amax(3) <= radius) & prompts.present[:, None]
    return ConditionalLocality(views.sigma.cpu(), influence, near.cpu(), prompts.present.cpu())


@no_grad
def _changes(at: At, views: Views, labels: Tensor, present: Tensor, batch: int | None) -> Tensor:
    """|D given the first - D given each other label of [n, 1 + J, K]| at all pixels, 0 if absent.  # [S, n, p, J]"""
    asked = torch.cat([torch.ones_like(present[:, :1]), present], 1)  # [n, 1 + J]
    which = asked.expand(len(views.x), -1, -1).nonzero()  # [N, 3]
    said = views.x.new_zeros(len(views.x), *asked.shape, views.pixels.shape[1], views.x.shape[2])
    for part in torch.split(which, _at_once(views, batch)):
        level, image, label = part.unbind(1)
        x, sigma, _ = views.at(level, image)
        said[level, image, label] = at(views.pixels[image], x, sigma, labels[image, label]).to(said)
    change = (said[:, :, 1:] - said[:, :, :1]).double().square().sum(4).sqrt() * present[..., None]  # [S, n, J, p]
    return change.transpose(2, 3).cpu()


def _gradients(at: At, views: Views, batch: int | None, to_label: bool) -> Iterator[tuple[Tensor, ...]]:
    """sum |d D_i / d x| (d label) over colours, of all pixels.  # [b] levels, [b] images, [b, p, H, W] ([b, p, K])

    One forward pass serves all pixels and colours: its graph is kept, and each backward pass takes one one-hot
    cotangent for every entry of the batch. Where there are few images, copies of them fill the batch, each with
    cotangents of its own.
    """
    (levels, count, colours), places = views.x.shape[:3], views.pixels.shape[1]
    tasks, limit = places * colours, _at_once(views, batch)
    for pair in torch.split(torch.arange(levels * count, device=views.x.device), limit):
        copies = max(n for n in range(1, 1 + min(tasks, limit // len(pair))) if tasks % n == 0)
        level, image = (part.repeat_interleave(copies) for part in (pair // count, pair % count))
        x, sigma, condition = views.at(level, image)
        x = x if x.is_cuda else x.contiguous(memory_format=torch.channels_last)  # half as fast again on a CPU
        given = (condition if to_label and condition is not None else x).requires_grad_()
        with torch.enable_grad():
            said = at(views.pixels[image], x, sigma, condition)  # [b copies, p, C]
        if not said.requires_grad:
            raise UserError("this denoiser has no gradient: give one that is differentiable, outside of no_grad")
        shape = x.shape[2:] if given is x else given.shape[1:]
        found, every = given.new_zeros(len(pair), places, *shape), torch.arange(len(x), device=x.device)
        for first in range(0, tasks, copies):
            task = torch.arange(first, first + copies, device=x.device)
            place, colour = task // colours, task % colours  # [copies]
            cotangent = torch.zeros_like(said)
            cotangent[every, place.repeat(len(pair)), colour.repeat(len(pair))] = 1
            more = first + copies < tasks
            (slope,) = torch.autograd.grad(said, given, cotangent, retain_graph=more, materialize_grads=True)
            size = slope.abs().sum(1) if given is x else slope.abs()
            found.index_add_(1, place, size.reshape(len(pair), copies, *shape))
        yield pair // count, pair % count, found


def _at_once(views: Views, batch: int | None) -> int:
    if batch is not None and batch < 1:
        raise UserError(f"batch = {batch}: take one image or more at once")
    return batch or max(1, ENTRIES[views.x.device.type] // views.x[0, 0, 0].numel())


def _by_distance(heat: Tensor, pixels: Tensor) -> Tensor:
    """Sums over each Chebyshev distance from the pixel.  # [n, p, H, W], [n, p, 2] -> [n, p, distances]"""
    height, width = heat.shape[-2:]
    down = (torch.arange(height, device=heat.device) - pixels[..., :1]).abs()  # [n, p, H]
    across = (torch.arange(width, device=heat.device) - pixels[..., 1:]).abs()
    away = torch.maximum(down[..., None], across[..., None, :]).flatten(2)
    rings = heat.new_zeros(*heat.shape[:2], max(height, width), dtype=torch.float64)
    return rings.scatter_add_(2, away, heat.double().flatten(2))


def level_rows(sigma: Tensor, instrument: str, values: Tensor, overall: Tensor | None = None) -> list[Row]:
    """A row for each noise level [S], and one for all levels, whose `sigma` is empty: their mean, or as given."""
    rows = [locality_row(instrument, value, float(s)) for s, value in zip(sigma, values, strict=True)]
    return [*rows, locality_row(instrument, values.nanmean() if overall is None else overall)]


def locality_row(instrument: str, value: Tensor, sigma: float | None = None) -> Row:
    """A row; what is not a number has no value."""
    return {"sigma": sigma, "instrument": instrument, "value": float(value) if math.isfinite(value) else None}
