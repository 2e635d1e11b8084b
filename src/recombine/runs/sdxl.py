"""What the two experiments on a text-to-image model share: where the model is, its noise levels, whether it is trained.

The real model is Stable Diffusion XL, a folder on disk that a person puts there. "tiny" is a network of random weights
with the same parts: it exercises the code and shows what no training looks like, and no claim is judged on it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from pydantic import Field

from recombine import seeds
from recombine.denoisers.pipeline_files import check_folder
from recombine.errors import UserError
from recombine.runs.work import Computation, Row

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

TINY = "tiny"
MODEL = "stabilityai/stable-diffusion-xl-base-1.0"
FOLDER = "data/stable-diffusion-xl-base-1.0"
TRAINED = "weights.trained"  # 1 for trained weights of SDXL, 0 for others
BLOCKS, WIDTH = 70, 2048  # of SDXL's U-Net: transformer blocks, numbers of a token


class PipelineConfig(Computation):
    """Numbers measured on a text-to-image pipeline."""

    pipeline: str = Field(default=TINY, description='"tiny", or the folder of a diffusers pipeline')
    batch: int = Field(default=8, ge=1, description="latents that are denoised together")

    def find(self) -> None:
        """Raise a one-line UserError that says what to bring, if the pipeline is missing or not whole.

        Called when the pipeline is opened, not when it is planned: the other experiments of a study can go on.
        """
        if not self.folder.is_dir():
            raise UserError(
                f"no pipeline in {self.folder}: get {MODEL} (7 GB in fp16; `hf download {MODEL} --local-dir "
                f"{FOLDER}`), or name the folder it is in with --set pipeline=FOLDER"
            )
        check_folder(self.folder)

    @property
    def folder(self) -> Path:
        """Where the pipeline is."""
        return Path(self.pipeline).expanduser()

    def opened(self) -> Pipeline:
        """The pipeline, on a GPU if there is one; of the tiny one, each seed has different weights."""
        if self.pipeline == TINY:
            from recombine.denoisers.adapters import tiny_pipeline

            return tiny_pipeline(self.seeds.init)
        self.find()
        return _loaded(self.folder, "cuda" if torch.cuda.is_available() else "cpu")


@lru_cache(maxsize=1)
def _loaded(folder: Path, device: str) -> Pipeline:
    """Kept for the process: seeds and arms use the same pipeline."""
    from recombine.denoisers.adapters import load_pipeline

    return load_pipeline(folder, device)


def sigma_at(pipeline: Pipeline, step: int) -> float:
    """The noise level of a step of the pipeline's schedule, 0 the cleanest."""
    if not 0 <= step < len(pipeline.sigmas):
        raise UserError(f"step {step}: the schedule of this pipeline has steps 0 to {len(pipeline.sigmas) - 1}")
    return float(pipeline.sigmas[step])


def start(pipeline: Pipeline, sigma: float, key: Tensor) -> Tensor:
    """The latents that sampling begins with at this level, one for each key.  # [n, C, H, W]"""
    return seeds.normal(key, pipeline.latent_shape) * math.sqrt(1 + sigma**2)


def trained_row(pipeline: Pipeline) -> Row:
    """Whether claims may be judged on this pipeline: they are about SDXL, trained."""
    return {"instrument": TRAINED, "value": float(pipeline.trained and is_sdxl(pipeline))}


def is_sdxl(pipeline: Pipeline) -> bool:
    """Whether its U-Net has the blocks and the width of SDXL's."""
    from recombine.denoisers.adapters import StepNetwork

    network = getattr(pipeline.denoiser, "network", None)
    return isinstance(network, StepNetwork) and (len(pipeline.blocks), network.width) == (BLOCKS, WIDTH)
