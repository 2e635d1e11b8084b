"""How local a model of scenes is while it draws four objects (Bradley 2026, Fig 2): where that is measured, and how.

A model draws scenes with `labels` labels, at layouts that all models share, and is measured on its way: x is the
sample's own trajectory at some noise levels of the sampler (a model trained with one label an image has no real images
of four labelled objects, and the trajectory is the input it gets when it draws them). Pixels are those at the centres
of the labelled objects. L_i are the labels within `reach` cells of the cell of pixel i, the receptive field of Exps 2L
and 3L, so a network that is local by construction has C = 1 exactly. The quantities are defined in
`locality.gradients`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from pydantic import Field

from recombine.diffusion.samplers import sample
from recombine.instruments.locality.gradients import (
    WAYS,
    At,
    Views,
    conditional_locality,
    level_rows,
    locality_row,
    pixel_locality,
)
from recombine.instruments.locality.prompts import Prompts, grid_prompts, list_prompts
from recombine.instruments.observation import Row
from recombine.instruments.scenes.evaluation import Sampling, layouts
from recombine.settings import Settings
from recombine.worlds.scenes.labels import SLOT, LabelConfig

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

PREFIX = "locality."
RADII = (1, 2, 4)  # of P_r, in cells
PATCHED = {"cpu": 1 << 15, "cuda": 1 << 22}  # pixels of all patches of a batch: on a GPU 10,000 of 20 x 20
OFFERED = 64  # layouts whose places conditions are moved to: only where objects occur


class LocalityProbe(Settings):
    """How much of a model is measured, and when."""

    points: int = Field(default=3, ge=1, description="milestones at which locality is measured, the last included")
    labels: int = Field(default=4, ge=2, description="of a prompt")
    prompts: int = Field(default=16, ge=1, le=OFFERED)
    levels: int = Field(default=8, ge=1, description="noise levels: the middles of so many parts of the sampling grid")
    reach: int = Field(default=2, ge=0, description="of L_i, in cells")
    gradients: int = Field(default=8, ge=1, description="of the prompts, those that gradients are taken of")
    local_gradients: int = Field(default=2, ge=1, description="the same for patch networks, where they cost far more")


def locality_rows(model: NetworkDenoiser, probe: LocalityProbe, sampling: Sampling) -> list[Row]:
    """Everything that is measured of a network in float32 and eval mode; `sampling` is its own."""
    from recombine.denoisers.local import LocalNetwork

    network, gradients, batch = model.network, probe.gradients, None
    if isinstance(network, LocalNetwork):  # only the patches of the pixels are computed
        gradients = probe.local_gradients
        batch = max(1, PATCHED[sampling.device.type] // (probe.labels * network.side**2))
    views, asked = own_views(probe, sampling)
    with _whole_float32():
        return measure_locality(model.denoise_at, probe, views, asked, sampling.cell, gradients, batch=batch)


def own_views(probe: LocalityProbe, sampling: Sampling) -> tuple[Views, Prompts]:
    """Samples on their way, and their labels with each one removed or moved."""
    world, device = sampling.world, sampling.device
    condition, key, places, present = sampling.prompts(probe.labels, probe.prompts)
    condition = condition.to(device)
    offered = _present(*layouts(world, probe.labels, OFFERED, sampling.seed)).flatten(0, 1)  # [m, 2]
    x, sigma, _ = trajectory(sampling, condition, key.to(device), probe.levels)
    views = Views(x, sigma, condition, pixels_at(_present(places, present), world.pixels).to(device))
    return views, prompts_of(condition, sampling.labels, world.pixels, offered.to(device))


def trajectory(sampling: Sampling, condition: Tensor, key: Tensor, levels: int) -> tuple[Tensor, Tensor, Tensor]:
    """Samples on their way, at the middles of so many parts of the grid, and at its end.

    # [S, n, C, H, W], [S], [n, C, H, W]
    """
    how = sampling.sampler
    levels = min(levels, how.steps)
    steps = [int((i + 0.5) * how.steps / levels) for i in range(levels)]
    passed: dict[int, tuple[float, Tensor]] = {}

    def keep(step: int, sigma: float, x: Tensor, _: Tensor) -> None:
        if step in steps:
            passed[step] = sigma, x.float().clone()

    end = sample(sampling.denoise, how, sampling.schedule, sampling.world.image_shape, condition, key, keep)
    sigma = torch.tensor([passed[step][0] for step in steps], dtype=torch.float32, device=condition.device)
    return torch.stack([passed[step][1] for step in steps]), sigma, end


def pixels_at(places: Tensor, side: int) -> Tensor:
    """Row and column of the pixel at each place [..., 2], x and y.  # [..., 2]"""
    return places.floor().long().clamp(0, side - 1).flip(-1)


def measure_locality(
    at: At, probe: LocalityProbe, views: Views, asked: Prompts, cell: int, gradients: int,
    ways: Sequence[str] = WAYS, batch: int | None = None,
) -> list[Row]:  # fmt: skip
    """Rows of pixel and conditional locality of any denoiser; "gradient" only if its answer has one to the label.

    `cell` is the side of a cell in pixels, `gradients` the number of prompts that gradients are taken of.
    """
    radius = (probe.reach + 0.5) * cell
    some, some_asked = _first(views, gradients), _first_prompts(asked, gradients)
    rows = _pixel_rows(at, some, cell, probe.reach, batch)
    changed = tuple(way for way in ways if way != "gradient")
    if changed:
        rows += conditional_locality(at, views, asked, radius, changed, batch).rows()
    if "gradient" in ways:
        found = conditional_locality(at, some, some_asked, radius, ("gradient",), batch).rows()
        rows += [row | {"instrument": row["instrument"].replace(".C.chance", ".gradient.C.chance")} for row in found]
    return [row | {"instrument": f"{PREFIX}{row['instrument']}"} for row in rows]


def _pixel_rows(at: At, views: Views, cell: int, reach: int, batch: int | None) -> list[Row]:
    """P_r, the half radius in cells, and how much of G lies beyond all pixels of a patch of 2 reach + 1 cells."""
    found, side, rows = pixel_locality(at, views, batch), views.x.shape[3], list[Row]()

    def within(radius: int) -> Tensor:
        return found.within([radius])[..., 0].nanmean(1)  # [S]

    for r in RADII:
        near = (views.pixels + r * cell).clamp(max=side - 1) - (views.pixels - r * cell).clamp(min=0) + 1
        chance = (near.prod(2) / side**2).mean()  # P_r if all pixels mattered alike
        of_radius = [*level_rows(found.sigma, "pixels.P", within(r * cell)), locality_row("pixels.P.chance", chance)]
        rows += [row | {"radius": r} for row in of_radius]
    rows += level_rows(found.sigma, "pixels.half radius", found.half_radius().nanmean(1) / cell)
    return rows + level_rows(found.sigma, "pixels.beyond", 1 - within((reach + 1) * cell - 1))


def prompts_of(condition: Tensor, labels: LabelConfig, pixels: int, offered: Tensor) -> Prompts:
    """Conditions one by one; they move to places [m, 2] (x, y in pixels) where objects occur."""
    grid, cell = labels.grid, pixels / labels.grid
    if labels.form == "grid":
        column, row = labels.cells(offered, pixels).unbind(1)
        allowed = torch.zeros(grid**2, dtype=torch.bool, device=condition.device)
        allowed[row * grid + column] = True
        return grid_prompts(condition, grid, pixels, allowed)

    def locate(slots: Tensor) -> Tensor:  # the middle of its cell, as that of a grid label
        return (labels.cells((slots[..., :2] + 1) / 2 * pixels, pixels).flip(-1) + 0.5) * cell - 0.5

    slots = torch.cat([2 * offered.float() / pixels - 1, torch.ones_like(offered[:, :1])], 1)
    return list_prompts(condition, condition.new_zeros(SLOT), locate, slots)


def _present(places: Tensor, present: Tensor) -> Tensor:
    """The places of the objects that are there, as many in every scene.  # [n, S, 2], [n, S] -> [n, labels, 2]"""
    return places[present].reshape(len(places), -1, 2)


def _first(views: Views, count: int) -> Views:
    condition = None if views.condition is None else views.condition[:count]
    return Views(views.x[:, :count], views.sigma, condition, views.pixels[:count])


def _first_prompts(asked: Prompts, count: int) -> Prompts:
    parts: Mapping[str, Tensor] = vars(asked)
    return Prompts(**{name: part[:count] for name, part in parts.items()})


@contextmanager
def _whole_float32() -> Iterator[None]:
    """On a GPU, without the shortened factors of TF32: small differences are what is measured."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before
