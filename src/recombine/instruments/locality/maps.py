"""Maps of what one pixel of a scene depends on, while a model draws it (Bradley 2026, Fig 2 left).

One layout, that of several whose labels are farthest from each other, drawn from several noises; the pixel at the label
that is lowest and most to the left. Its map is G of `locality`, mean over the noises; beside it what each label changes
there if it is removed, A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from recombine.instruments.locality.evaluation import OFFERED, pixels_at, prompts_of, trajectory
from recombine.instruments.locality.gradients import At, Views, conditional_locality, everywhere, heat_maps
from recombine.instruments.locality.prompts import Prompts
from recombine.instruments.scenes.evaluation import Sampling

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class PixelMap:
    """What the answer at a pixel depends on, at several noise levels."""

    drawn: Tensor  # [C, H, W] what the first noise becomes
    pixel: Tensor  # [2] row and column
    places: Tensor  # [J, 2] x and y of the labels, in pixels; the first is that of the pixel
    sigma: Tensor  # [S]
    heat: Tensor  # [S, H, W] G
    influence: Tensor  # [S, J] A of each label


def pixel_map(sampling: Sampling, count: int = 4, levels: int = 4, draws: int = 4) -> PixelMap:
    """Of any denoiser, on the CPU, with so many labels; layouts and noises are the same for all models of a seed."""
    side = sampling.world.pixels
    conditions, key, places, present = sampling.prompts(count, OFFERED)
    every = places[present].reshape(OFFERED, count, 2)
    chosen = int(_nearest(every).argmax())
    spots = every[chosen]  # [J, 2]
    first = int((spots[:, 0] - spots[:, 1]).argmin())  # low and to the left: y grows downwards
    spots = torch.cat([spots[first : first + 1], spots[:first], spots[first + 1 :]])
    condition = conditions[chosen : chosen + 1].expand(draws, -1)
    x, sigma, end = trajectory(sampling, condition, key[:draws], levels)
    views = Views(x, sigma, condition, pixels_at(spots[:1], side).expand(draws, 1, 2))
    asked = prompts_of(condition, sampling.labels, side, every.flatten(0, 1))
    at = everywhere(sampling.denoise)
    heat = heat_maps(at, views, batch=1)[0]
    return PixelMap(end[0], views.pixels[0, 0], spots, sigma, heat, _influence(at, views, asked, spots, side))


def _influence(at: At, views: Views, asked: Prompts, spots: Tensor, side: int) -> Tensor:
    """A of each label by removal, in the order of the spots, mean over images.  # [S, J]"""
    found = conditional_locality(at, views, asked, float(side), ("removed",)).influence["removed"]
    away = (asked.places[0].flip(-1)[None] - spots[:, None]).abs().amax(2)  # [J, conditions]
    nearest = away.masked_fill(~asked.present[0], torch.inf).argmin(1)
    return found[:, :, 0].mean(1)[:, nearest]


def _nearest(places: Tensor) -> Tensor:
    """The least distance between two labels of a layout.  # [n, J, 2] -> [n]"""
    away = torch.cdist(places, places)
    return away.masked_fill(torch.eye(places.shape[1], dtype=torch.bool), torch.inf).amin((1, 2))
