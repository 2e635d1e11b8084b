"""Samples that a run kept while it trained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recombine.lab.run import Run
from recombine.lab.store import RunFolder
from recombine.training.state import load_tensors


class Samples(NamedTuple):
    """The run, its seed, and what it kept: images seen -> [groups, k, H, W, 3] uint8."""

    run: Run
    seed: int
    images: dict[int, NDArray[np.uint8]]

    @property
    def last(self) -> NDArray[np.uint8]:
        """Those of the end of training.  # [groups, k, H, W, 3]"""
        return self.images[max(self.images)]


def read_samples(run: RunFolder) -> dict[int, NDArray[np.uint8]]:
    """The kept samples of a run."""
    paths = sorted((run.path / "samples").glob("*.safetensors"))
    images = {int(path.stem): load_tensors(path, run.address)["images"] for path in paths}
    return {seen: tensor.movedim(2, -1).numpy() for seen, tensor in images.items()}
