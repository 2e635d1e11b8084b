"""Where is the bump, or where do the stripes cross? Three answers, and how many objects there are at all.

*Darkest*: the darkest pixel, as in Liang et al. 2024; a whole number. *Paper*: the same, but the centroid of all that
is dark where there is no object or more than one, so that a blank image is right in the middle of the image. *Fine*:
the place, on a grid of tenths of a pixel, where a template fits best. Places are in pixels of the image, from 1 to N.

None of them says what is there: where two stripes cross it is as dark as in a bump. So in a world that has both, each
image is also compared with a bump, a crossing and a lone stripe at its fine place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.worlds.bumps import BumpsWorld, profile

if TYPE_CHECKING:
    from torch import Tensor

BLANK = 0.25  # an image whose darkest pixel is less dark than this, of 1, shows nothing
DARK = 0.5  # of a bump: what is darker belongs to it
STRIPE = 0.25  # of a row's or column's typical darkness: what is darker belongs to a stripe
TENTH = 0.1


@dataclass(frozen=True)
class Centres:
    """What was found in n images."""

    darkest: Tensor  # [n, 2] x, y
    paper: Tensor  # [n, 2]
    fine: Tensor  # [n, 2]
    blank: Tensor  # [n] bool
    objects: Tensor  # [n] int64: bumps, or crossings of stripes
    bump: Tensor | None  # [n] bool: more like a bump than like stripes; in a world that has both


def find_centres(images: Tensor, world: BumpsWorld) -> Centres:
    """Read images [n, 1, N, N] in [-1, 1], for stripes or for bumps as the world has them.

    Templates are fitted on the device of the images, the rest and the answer are on the CPU.
    """
    stripes = world.pattern == "stripes"
    there = ((1 - images[:, 0].double()) / 2).clamp(0, 1)  # [n, N, N]: row y, column x
    fine = (_fit_stripes(there, world) if stripes else _fit_bump(there, world)).cpu()
    dark = there.cpu()
    darkest = _darkest(dark)
    objects = _crossings(dark, world.periodic) if stripes else _bumps(dark, world.periodic)
    paper = torch.where((objects == 1)[:, None], darkest, _centroid(dark))
    bump = _is_bump(dark, fine, world) if world.pattern == "bump+stripes" else None
    return Centres(darkest, paper, fine, dark.amax((1, 2)) < BLANK, objects, bump)


def right(found: Tensor, truth: Tensor, world: BumpsWorld) -> Tensor:
    """Whether x, and y, are less than a pixel off; around the edge where sides are joined.  # [n, 2] bool"""
    error = (found - truth).abs()
    if world.periodic:
        error = torch.minimum(error, world.pixels - error)
    return error < 1 - 1e-9


def _darkest(dark: Tensor) -> Tensor:
    """The first of the darkest pixels, row by row.  # [n, 2]"""
    place = dark.flatten(1).argmax(1)
    return torch.stack([place % dark.shape[2], place // dark.shape[2]], 1).double() + 1


def _centroid(dark: Tensor) -> Tensor:
    """The mean place, weighted by darkness; the middle of a white image.  # [n, 2]"""
    weight = dark + 1e-9
    axis = torch.arange(1, dark.shape[1] + 1, dtype=dark.dtype)
    total = weight.sum((1, 2))
    return torch.stack([(weight.sum(1) * axis).sum(1) / total, (weight.sum(2) * axis).sum(1) / total], 1)


def _bumps(dark: Tensor, periodic: bool) -> Tensor:
    """Connected parts of what is dark after smoothing over 3 x 3 pixels.  # [n]"""
    from scipy import ndimage

    n, size, _ = dark.shape
    if periodic:
        turned = _darkest(dark).long() - 1 - size // 2  # the darkest pixel to the middle: no bump lies on an edge
        axis = torch.arange(size)
        rows = (axis + turned[:, 1:]) % size  # [n, N]
        columns = (axis + turned[:, :1]) % size
        dark = dark[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
    smooth = torch.nn.functional.avg_pool2d(dark[:, None], 3, 1, 1, count_include_pad=False)[:, 0]
    peak = smooth.amax((1, 2), keepdim=True)
    there = ((smooth > DARK * peak) & (dark.amax((1, 2), keepdim=True) >= BLANK)).numpy()
    touching = ndimage.generate_binary_structure(3, 2)
    touching[0], touching[2] = False, False  # images do not touch each other
    named, _ = ndimage.label(there, touching)
    flat = torch.from_numpy(named).long().flatten(1)
    highest = flat.amax(1)
    lowest = torch.where(flat > 0, flat, torch.iinfo(torch.int64).max).amin(1)
    return torch.where(highest > 0, highest - lowest + 1, 0)  # names count up through the stack


def _crossings(dark: Tensor, periodic: bool) -> Tensor:
    """Vertical stripes times horizontal ones, each a run of columns or rows that are typically dark.  # [n]"""
    counts = []
    for axis in (1, 2):
        typical = dark.median(axis).values  # of a column, of a row: crossings do not count  # [n, N]
        there = typical > STRIPE
        before = there.roll(1, 1)
        if not periodic:
            before[:, 0] = False
        starts = (there & ~before).sum(1)
        counts.append(torch.where(there.all(1), 0, starts))
    return counts[0] * counts[1]


def _fit_stripes(dark: Tensor, world: BumpsWorld) -> Tensor:
    """Where a stripe fits best to the mean column, and to the mean row.  # [n, 2]"""
    grid, template = _templates(world, dark)
    template = template - template.mean(1, keepdim=True)
    template = template / template.norm(dim=1, keepdim=True)
    found = [grid[(dark.mean(axis) @ template.T).argmax(1)] for axis in (1, 2)]
    return torch.stack(found, 1)


def _fit_bump(dark: Tensor, world: BumpsWorld) -> Tensor:
    """Where a bump fits best, as an angle between images: strength does not matter.  # [n, 2]"""
    grid, template = _templates(world, dark)
    template = template / template.norm(dim=1, keepdim=True)
    found = []
    for part in torch.split(dark, 128):
        fit = template @ part @ template.T  # [k, y, x]
        place = fit.flatten(1).argmax(1)
        found.append(torch.stack([grid[place % len(grid)], grid[place // len(grid)]], 1))
    return torch.cat(found) if found else dark.new_zeros(0, 2)


def _is_bump(dark: Tensor, place: Tensor, world: BumpsWorld) -> Tensor:
    """Whether a bump is nearer to the image, as an angle, than one stripe or two, all at this place.  # [n] bool"""
    _, template = _templates(world, dark)
    column, row = (template[(place[:, axis] / TENTH).round().long() - 1] for axis in (0, 1))  # [n, N] each
    upright, level = column[:, None, :].expand_as(dark), row[:, :, None].expand_as(dark)
    like = [
        (dark * each).sum((1, 2)) / each.square().sum((1, 2)).sqrt()
        for each in (upright * level, upright + level, upright, level)
    ]
    return like[0] > torch.stack(like[1:]).amax(0)


def _templates(world: BumpsWorld, like: Tensor) -> tuple[Tensor, Tensor]:
    """Places at every tenth of a pixel, and a stripe at each.  # [G], [G, N]"""
    count = round(world.pixels / TENTH)
    grid = torch.arange(1, count + 1, dtype=like.dtype, device=like.device) * TENTH
    axis = torch.arange(1, world.pixels + 1, dtype=like.dtype, device=like.device)
    away = (axis - grid[:, None]).abs()
    if world.periodic:
        away = torch.minimum(away, world.pixels - away)
    return grid, profile(away, world.width)
