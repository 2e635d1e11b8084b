"""Checkpoints: all the tensors of a replica in one safetensors file that names the run it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from recombine.errors import RunFailed
from recombine.files import explained, write_whole

if TYPE_CHECKING:
    from torch import Tensor


def save_tensors(path: Path, tensors: Mapping[str, Tensor], address: str) -> None:
    """Write tensors atomically; values that are not finite are refused, so the last good file stays."""
    import safetensors.torch

    if any(t.is_floating_point() and not bool(torch.isfinite(t).all()) for t in tensors.values()):
        raise RunFailed(f"weights became infinite or NaN: {path.name} keeps its last good state; lower training.rate")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, safetensors.torch.save(whole, metadata={"run": address}))


def load_tensors(path: Path, address: str, like: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Read tensors of the run `address`; damage, another run's file or other shapes are one clear line."""
    import safetensors

    advice = f"move the folder {path.parent} away and give the `recombine run` command again to train it anew"
    if not path.is_file():
        raise RunFailed(f"{path} is missing: give the `recombine run` command again to make it")
    try:
        with explained(path), safetensors.safe_open(path, framework="pt") as file:
            owner = (file.metadata() or {}).get("run")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise RunFailed(f"{path} is damaged ({error}): {advice}") from None
    if owner != address:
        whose = f"run {owner}" if owner else "no run"
        raise RunFailed(f"{path} belongs to {whose}, not to {address}: {advice}")
    if like is not None:
        wrong = [n for n in like.keys() | tensors.keys() if n not in tensors or n not in like
                 or tensors[n].shape != like[n].shape]  # fmt: skip
        if wrong:
            raise RunFailed(f"{path} does not fit this network (first difference: {min(wrong)}): {advice}")
    return tensors
