"""What a run left: samples that it kept while it trained, and the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recombine.lab.store import RunFolder
from recombine.runs.base import Run
from recombine.training.state import load_tensors

if TYPE_CHECKING:
    from recombine.denoisers.network import NetworkDenoiser


class Samples(NamedTuple):
    """The run, its seed, what it kept (images seen -> [groups, k, H, W, 3] uint8), and where it lies."""

    run: Run
    seed: int
    images: dict[int, NDArray[np.uint8]]
    folder: RunFolder | None = None

    @property
    def last(self) -> NDArray[np.uint8]:
        """Those of the end of training.  # [groups, k, H, W, 3]"""
        return self.images[max(self.images)]

    def model(self) -> NetworkDenoiser | None:
        """The trained network, on the CPU; none if its weights are not at hand, as those of an imported run."""
        if self.folder is None or not self.folder.weights_path.exists():
            return None
        return trained_model(self.run, self.folder)


def trained_model(run: Run, folder: RunFolder) -> NetworkDenoiser:
    """The network of a run with the weights that it ended with."""
    model = run.model()
    model.load_state_dict(load_tensors(folder.weights_path, folder.address))
    return model.eval().requires_grad_(False)


def read_samples(run: RunFolder) -> dict[int, NDArray[np.uint8]]:
    """The kept samples of a run."""
    paths = sorted((run.path / "samples").glob("*.safetensors"))
    images = {int(path.stem): load_tensors(path, run.address)["images"] for path in paths}
    return {seen: tensor.movedim(2, -1).numpy() for seen, tensor in images.items()}
