"""Pictures of what a block holds of every place: few coordinates of its activations, and how much of a sheet they are.

Liang et al. 2024 show the block's answers to a grid of labels, reduced to three coordinates (Figs 11c and 15): where
learning failed they have "less rigid structure". The number beside the picture is the share of neighbours: of as many
nearest places in the block as a place has neighbours on the grid (8 inside), those that are its neighbours. A flat
sheet has 1, whatever its size. The same block of the untrained network receives the same labels and shows how much of
that is not learned; pixels show how much of it the images have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from recombine.diffusion.samplers import SamplerConfig
from recombine.errors import UserError
from recombine.instruments.bumps.subject import Subject, place_keys, places
from recombine.instruments.observation import Row
from recombine.instruments.representations.activations import activations, compact, last_step
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

MAP, NEIGHBOURS = "map", "neighbours"
TIED = 1e-9  # of the largest distance: as far as each other


class MapSettings(Settings):
    """Which block is mapped at the end of training, and how."""

    block: str = "up.0"
    every: int = Field(default=2, ge=1, description="pixels from one place to the next")
    how: Literal["pca", "umap"] = "pca"
    coordinates: int = Field(default=3, ge=1)


def map_rows(subject: Subject, settings: MapSettings, how: SamplerConfig) -> list[Row]:
    """Coordinates of every place in the block at the last step of the generation, and the share of neighbours of the
    block, of the untrained block and of pixels.
    """
    world, model, device = subject.world, subject.sampler.model, subject.device
    labels = places(world, settings.every)
    condition, key = world.condition(labels).to(device), place_keys(world, labels, subject.seeds.sampling).to(device)
    x, sigma = last_step(subject.sampler.denoise, how, subject.schedule, world.image_shape, condition, key)
    fresh = subject.fresh().to(device).eval()
    held, null = (activations(each, x, sigma, condition, [settings.block])[settings.block] for each in (model, fresh))
    period = float(world.pixels) if world.periodic else None
    of_pixels = neighbours(world.render(labels).flatten(1), labels, settings.every, period)
    rows: list[Row] = [
        {"block": settings.block, "trained": trained, "instrument": NEIGHBOURS,
         "value": neighbours(compact(values), labels, settings.every, period)}
        for trained, values in ((True, held), (False, null))
    ]  # fmt: skip
    rows.append({"block": "pixels", "instrument": NEIGHBOURS, "value": of_pixels})
    found = embed(compact(held), settings.how, settings.coordinates, subject.seeds.sampling)
    for (x, y), coordinates in zip((labels - world.margin).tolist(), found.tolist(), strict=True):
        rows += [
            {"x": x, "y": y, "coordinate": i + 1, "instrument": MAP, "value": value}
            for i, value in enumerate(coordinates)
        ]
    return rows


def embed(points: Tensor, how: Literal["pca", "umap"], coordinates: int, seed: int = 0) -> Tensor:
    """Few coordinates of points [n, D]: principal ones, or those of UMAP as in the paper.  # [n, coordinates] float64

    Principal coordinates have the sign that makes their largest entry positive.
    """
    centred = points.double() - points.double().mean(0)
    if how == "umap":
        made = _umap()(n_components=coordinates, random_state=seed, n_jobs=1).fit_transform(centred.cpu().numpy())
        return torch.from_numpy(made).double()
    left, size, _ = torch.linalg.svd(centred.cpu(), full_matrices=False)
    found = (left * size)[:, :coordinates]
    largest = found.gather(0, found.abs().argmax(0, keepdim=True))
    found = found * torch.where(largest < 0, -1.0, 1.0)
    return torch.nn.functional.pad(found, (0, coordinates - found.shape[1]))


def neighbours(points: Tensor, places: Tensor, step: float, period: float | None = None) -> float:
    """The share of nearest points that are neighbours on the grid, the mean over places [n, 2]; ties count in part."""
    away = (places[:, None] - places[None]).abs()
    if period is not None:
        away = torch.minimum(away, period - away)
    beside = (away.amax(2) < 1.5 * step) & ~torch.eye(len(places), dtype=torch.bool)  # [n, n]
    flat = points.double().cpu().flatten(1)
    distance = torch.cdist(flat, flat, compute_mode="donot_use_mm_for_euclid_dist").fill_diagonal_(torch.inf)
    wanted = beside.sum(1)  # [n]
    last = distance.sort(1).values.gather(1, (wanted - 1).clamp(min=0)[:, None])  # [n, 1]
    tied = TIED * distance.masked_fill(distance.isinf(), 0).max()
    nearer, level = distance < last - tied, (distance - last).abs() <= tied
    left = wanted - nearer.sum(1)  # places among those that are as far as the last
    hits = (beside & nearer).sum(1) + left * (beside & level).sum(1) / level.sum(1).clamp(min=1)
    return (hits / wanted.clamp(min=1))[wanted > 0].mean().item()


def _umap() -> Any:
    try:
        from umap import UMAP
    except ImportError:
        raise UserError("UMAP is not installed: pip install 'recombine[umap]', or set map.how to pca") from None
    return UMAP
