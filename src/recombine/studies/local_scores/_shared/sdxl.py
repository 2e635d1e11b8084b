"""What the two experiments on a text-to-image model share: where the model is, what it is asked, and how.

The real model is Stable Diffusion XL, a folder on disk that a person puts there. "tiny" stands for a network of random
weights with the same parts: it proves the path and shows what nothing looks like, and no claim is judged on it.
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
from recombine.lab.claims import NotMeasured
from recombine.runs.work import Computation, Row
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

TINY = "tiny"
MODEL = "stabilityai/stable-diffusion-xl-base-1.0"
FOLDER = "data/stable-diffusion-xl-base-1.0"
REAL = "weights.real"  # 1 for trained weights of SDXL, 0 for others
BLOCKS, WIDTH = 70, 2048  # of SDXL's U-Net: transformer blocks, numbers of a token

PROMPT = "a beautiful photograph with a horse in the middle, a dog on the left, and a cat on the right"  # Fig 4


class Category(Settings):
    """Concepts of one kind."""

    name: str
    words: tuple[str, ...] = Field(min_length=2)


CATEGORIES = (
    Category(name="animals", words=("dog", "cat", "horse", "elephant", "bird", "fish")),
    Category(
        name="art styles", words=("watercolor", "oil painting", "pencil sketch", "cubism", "pop art", "pixel art")
    ),
    Category(name="foods", words=("pizza", "sushi", "apple", "hamburger", "ice cream", "salad")),
    Category(name="places", words=("beach", "mountain", "forest", "city street", "desert", "library")),
)
"""Fig 5 has 24 prompts in four categories and names the first three; the fourth, and all the words, are chosen here."""


class PipelineConfig(Computation):
    """Numbers read off a text-to-image pipeline."""

    pipeline: str = Field(default=TINY, description='"tiny", or the folder of a diffusers pipeline')
    batch: int = Field(default=8, ge=1, description="latents that are looked at together")

    def find(self) -> None:
        """Raise a one-line UserError that says what to bring, if the pipeline is not there or not whole.

        Asked when the pipeline is opened, not when it is planned for: the other experiments of a study can go on.
        """
        if not self.folder.is_dir():
            raise UserError(
                f"no pipeline in {self.folder}: get {MODEL} (7 GB in fp16; `hf download {MODEL} --local-dir "
                f"{FOLDER}`), or name the folder it is in with --set pipeline=FOLDER"
            )
        check_folder(self.folder)

    @property
    def folder(self) -> Path:
        return Path(self.pipeline).expanduser()

    def opened(self) -> Pipeline:
        """The pipeline, on a GPU if there is one; of the tiny one, each seed has its own weights."""
        if self.pipeline == TINY:
            from recombine.denoisers.adapters import tiny_pipeline

            return tiny_pipeline(self.seeds.init)
        self.find()
        return _loaded(self.folder, "cuda" if torch.cuda.is_available() else "cpu")


@lru_cache(maxsize=1)
def _loaded(folder: Path, device: str) -> Pipeline:
    """Kept for the process: seeds and arms ask the same pipeline."""
    from recombine.denoisers.adapters import load_pipeline

    return load_pipeline(folder, device)


def sigma_at(pipeline: Pipeline, step: int) -> float:
    """The noise level of a step of the pipeline's own schedule, 0 the cleanest."""
    if not 0 <= step < len(pipeline.sigmas):
        raise UserError(f"step {step}: the schedule of this pipeline has steps 0 to {len(pipeline.sigmas) - 1}")
    return float(pipeline.sigmas[step])


def start(pipeline: Pipeline, sigma: float, key: Tensor) -> Tensor:
    """The latents that sampling begins with at this level, one for each key.  # [n, C, H, W]"""
    return seeds.normal(key, pipeline.latent_shape) * math.sqrt(1 + sigma**2)


def real_row(pipeline: Pipeline) -> Row:
    """Whether what is measured here may be judged: claims are about SDXL, trained."""
    return {"node": "all", "instrument": REAL, "value": float(pipeline.real and is_sdxl(pipeline))}


def is_sdxl(pipeline: Pipeline) -> bool:
    """Whether its U-Net has the blocks and the width of SDXL's."""
    from recombine.denoisers.adapters import StepNetwork

    network = getattr(pipeline.denoiser, "network", None)
    return isinstance(network, StepNetwork) and (len(pipeline.blocks), network.width) == (BLOCKS, WIDTH)


def demand_real(measured: list[float]) -> None:
    """Refuse to judge others than the trained weights of SDXL."""
    if not measured:
        raise NotMeasured("not measured: nothing is known of the weights")
    if min(measured) < 1:
        raise NotMeasured("not measured: these are not SDXL's trained weights")
