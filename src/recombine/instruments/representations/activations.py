"""Activations of every stage of a U-Net at one step of the generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from recombine.deferred import no_grad
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import Schedule
from recombine.errors import UserError
from recombine.instruments.observation import Denoise

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

CHUNK = 256  # images at once


def stages(model: NetworkDenoiser) -> dict[str, torch.nn.Module]:
    """The stages of the network in the order of the walk: down.0, ..., bottom, middle, up.0, ..."""
    from recombine.denoisers.folded import FoldedNetwork
    from recombine.denoisers.unet import UNet

    network = model.network.inner if isinstance(model.network, FoldedNetwork) else model.network
    if not isinstance(network, UNet):
        raise UserError("activations are taken from the stages of a U-Net: this model has another network")
    down, up = ({f"{side}.{i}": stage for i, stage in enumerate(getattr(network, side))} for side in ("down", "up"))
    return {**down, "bottom": network.bottom, "middle": network.middle, **up}


@no_grad
def activations(
    model: NetworkDenoiser, x: Tensor, sigma: Tensor, condition: Tensor | None, names: Sequence[str]
) -> dict[str, Tensor]:
    """The output of each named stage for x [n, C, H, W] at noise level sigma [n].  # [n, D] each, on x's device"""
    known = stages(model)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"no stage '{unknown[0]}' in this network; it has {', '.join(known)}")
    found: dict[str, list[Tensor]] = {name: [] for name in names}

    def record(name: str) -> torch.utils.hooks.RemovableHandle:
        return known[name].register_forward_hook(
            lambda module, given, answer: found[name].append(answer.flatten(1).float())
        )

    handles = [record(name) for name in names]
    try:
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            model.predict(x[part], sigma[part], None if condition is None else condition[part])
    finally:
        for handle in handles:
            handle.remove()
    return {name: torch.cat(parts) for name, parts in found.items()}


def compact(points: Tensor) -> Tensor:
    """The same points [n, D] moved and turned into few dimensions: all distances and angles stay.  # [n, at most n]

    For geometry on a CPU of what lies on a GPU: of 1,024 points in 32,768 dimensions a thirtieth has to travel.
    """
    centred = points.double() - points.double().mean(0)
    if centred.shape[1] > len(centred):
        centred = torch.linalg.qr(centred.T, mode="r").R.T  # centred = R' Q'
    return centred.cpu()


def last_step(
    denoise: Denoise,
    how: SamplerConfig,
    schedule: Schedule,
    shape: tuple[int, int, int],
    condition: Tensor,
    key: Tensor,
) -> tuple[Tensor, Tensor]:
    """x and sigma at the last step of the generation of these samples.  # [n, C, H, W], [n]"""
    kept: list[tuple[float, Tensor]] = []

    def keep(step: int, sigma: float, x: Tensor, x0: Tensor) -> None:
        kept[:] = [(sigma, x)]

    sample(denoise, how, schedule, shape, condition, key, keep)
    sigma, x = kept[0]
    return x, x.new_full((len(x),), sigma)
