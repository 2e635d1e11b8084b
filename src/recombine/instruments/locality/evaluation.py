"""How local a model of scenes is while it draws four objects (Bradley 2026, Fig 2): where it is looked at, and how.

A model is asked for scenes with `labels` labels, at layouts that all models share, and looked at on its way: x is the
sample's own trajectory at some noise levels of the sampler (a model that is told one object has no real images of four
labelled ones, and the trajectory is what the model meets when it draws them). Pixels are those at the centres of the
labelled objects. L_i are the labels within `reach` cells of the cell of pixel i, the field of Exps 2L and 3L, so a
network that is local by construction has C = 1 exactly. What is read is defined in `locality`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from pydantic import Field

from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.instruments.locality.gradients import (
    READINGS,
    At,
    PixelLocality,
    Prompts,
    Views,
    conditional_locality,
    grid_prompts,
    list_prompts,
    pixel_locality,
)
from recombine.instruments.observation import Denoise, Row
from recombine.instruments.scenes.evaluation import layouts, prompts
from recombine.settings import Settings
from recombine.worlds.scenes.labels import SLOT, LabelConfig
from recombine.worlds.scenes.world import SceneWorld

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

PREFIX = "locality."
RADII = (1, 2, 4)  # of P_r, in cells
PATCHED = {"cpu": 1 << 15, "cuda": 1 << 22}  # pixels of all patches of a batch: on a GPU 10,000 of 20 x 20
OFFERED = 64  # layouts whose places conditions are moved to: only where objects occur


class LocalityLook(Settings):
    """How much of a model is looked at, and when."""

    looks: int = Field(default=3, ge=1, description="milestones at which locality is read, the last included")
    labels: int = Field(default=4, ge=2, description="of a prompt")
    prompts: int = Field(default=16, ge=1, le=OFFERED)
    levels: int = Field(default=8, ge=1, description="noise levels: the middles of so many parts of the sampling grid")
    reach: int = Field(default=2, ge=0, description="of L_i, in cells")
    gradients: int = Field(default=8, ge=1, description="of the prompts, those that gradients are taken of")
    local_gradients: int = Field(default=2, ge=1, description="the same for patch networks, where they cost far more")


def locality_rows(
    model: NetworkDenoiser,  # in float32 and eval mode
    look: LocalityLook,
    world: SceneWorld,
    labels: LabelConfig,
    schedule: Schedule,
    sampler: SamplerConfig,
    seed: int,
    device: torch.device,
) -> list[Row]:
    """Everything that is read of a network; nodes are noise levels, and "all"."""
    from recombine.denoisers.local import LocalNetwork

    network, gradients, batch = model.network, look.gradients, None
    if isinstance(network, LocalNetwork):  # asked for the patches of the pixels alone
        gradients = look.local_gradients
        batch = max(1, PATCHED[device.type] // (look.labels * network.side**2))
    views, asked = own_views(model.denoise, look, world, labels, schedule, sampler, seed, device)
    with _whole_float32():
        return read_locality(model.denoise_at, look, views, asked, world.pixels // labels.grid, gradients, batch=batch)


def own_views(
    denoise: Denoise,
    look: LocalityLook,
    world: SceneWorld,
    labels: LabelConfig,
    schedule: Schedule,
    sampler: SamplerConfig,
    seed: int,
    device: torch.device,
) -> tuple[Views, Prompts]:
    """Samples on their way, and the labels that they were asked for with each one removed or moved."""
    condition, key, places, present = prompts(world, labels, look.labels, look.prompts, seed)
    condition = condition.to(device)
    offered = _present(*layouts(world, look.labels, OFFERED, seed)).flatten(0, 1)  # [m, 2]
    x, sigma, _ = way(denoise, sampler, schedule, world.image_shape, condition, key.to(device), look.levels)
    views = Views(x, sigma, condition, pixels_at(_present(places, present), world.pixels).to(device))
    return views, prompts_of(condition, labels, world.pixels, offered.to(device))


def way(
    denoise: Denoise,
    sampler: SamplerConfig,
    schedule: Schedule,
    shape: tuple[int, int, int],
    condition: Tensor,
    key: Tensor,
    levels: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Samples on their way, at the middles of so many parts of the grid, and at its end.

    # [S, n, C, H, W], [S], [n, C, H, W]
    """
    levels = min(levels, sampler.steps)
    steps = [int((i + 0.5) * sampler.steps / levels) for i in range(levels)]
    passed: dict[int, tuple[float, Tensor]] = {}

    def keep(step: int, sigma: float, x: Tensor, _: Tensor) -> None:
        if step in steps:
            passed[step] = sigma, x.float().clone()

    end = sample(denoise, sampler, schedule, shape, condition, key, keep)
    sigma = torch.tensor([passed[step][0] for step in steps], dtype=torch.float32, device=condition.device)
    return torch.stack([passed[step][1] for step in steps]), sigma, end


def pixels_at(places: Tensor, side: int) -> Tensor:
    """Row and column of the pixel at each place [..., 2], x and y.  # [..., 2]"""
    return places.floor().long().clamp(0, side - 1).flip(-1)


def read_locality(
    at: At,
    look: LocalityLook,
    views: Views,
    asked: Prompts,
    cell: int,  # pixels of its side
    gradients: int,  # prompts that they are taken of
    readings: Sequence[str] = READINGS,
    batch: int | None = None,
) -> list[Row]:
    """Rows of pixel and conditional locality of any denoiser; "gradient" only if its answer has one to the label."""
    radius = (look.reach + 0.5) * cell
    some, some_asked = _first(views, gradients), _first_prompts(asked, gradients)
    rows = _pixel_rows(pixel_locality(at, some, batch), some, cell, look.reach)
    changed = tuple(reading for reading in readings if reading != "gradient")
    if changed:
        rows += conditional_locality(at, views, asked, radius, changed, batch).rows()
    if "gradient" in readings:
        found = conditional_locality(at, some, some_asked, radius, ("gradient",), batch).rows()
        rows += [row | {"instrument": row["instrument"].replace(".C.chance", ".gradient.C.chance")} for row in found]
    return [row | {"instrument": f"{PREFIX}{row['instrument']}"} for row in rows]


def _pixel_rows(found: PixelLocality, views: Views, cell: int, reach: int) -> list[Row]:
    """P_r, the half radius in cells, and how much of G lies beyond all pixels of a patch of 2 reach + 1 cells."""
    readings = {f"pixels.P{r}": found.within([r * cell])[..., 0].nanmean(1) for r in RADII}
    readings["pixels.half radius"] = found.half_radius().nanmean(1) / cell
    readings["pixels.beyond"] = 1 - found.within([(reach + 1) * cell - 1])[..., 0].nanmean(1)
    rows = [_row(f"sigma={sigma:.4g}", name, value[i])
            for name, value in readings.items() for i, sigma in enumerate(found.sigma)]  # fmt: skip
    rows += [_row("all", name, value.nanmean()) for name, value in readings.items()]
    side = views.x.shape[3]
    for r in RADII:  # the share of the image that lies within r: P_r if all pixels mattered alike
        near = (views.pixels + r * cell).clamp(max=side - 1) - (views.pixels - r * cell).clamp(min=0) + 1
        rows.append(_row("all", f"pixels.P{r}.chance", (near.prod(2) / side**2).mean()))
    return rows


def _row(node: str, instrument: str, value: Tensor) -> Row:
    return {"node": node, "instrument": instrument, "value": float(value) if bool(value.isfinite()) else None}


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
    told = None if views.condition is None else views.condition[:count]
    return Views(views.x[:, :count], views.sigma, told, views.pixels[:count])


def _first_prompts(asked: Prompts, count: int) -> Prompts:
    parts: Mapping[str, Tensor] = vars(asked)
    return Prompts(**{name: part[:count] for name, part in parts.items()})


@contextmanager
def _whole_float32() -> Iterator[None]:
    """On a GPU, without the shortened factors of TF32: small differences are what is read."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before
