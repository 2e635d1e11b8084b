"""What is measured of a text-to-image pipeline in features: cosines of the directions of concepts, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.deferred import no_grad
from recombine.instruments.representations.features import (
    ESTIMATES,
    Array,
    Directions,
    Estimate,
    Products,
    block_means,
    cosines,
    shuffled_gaps,
    structure,
)
from recombine.runs import sdxl
from recombine.runs.work import Row
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

ARM, OTHER_NOISE = "concept", "noise not shared"  # the assumption that is taken of Fig 5, and one alternative
TEXT, LATENT, PIXEL = "text", "latent", "pixel"
SIDES = ("down", "mid", "up")
PROMPT_STRIDE = 1 << 16  # between the draws of two prompts, where each has different noise

COLUMNS = {
    "layer": str,  # a transformer block, the text, the latent, the image; of a matrix also a side
    "side": str,  # of the network, for blocks: down, mid, up
    "depth": int,  # the number of the layer, text first
    "estimate": str,  # of cosines: naive, background, halves
    "row": int,  # of a matrix
    "column": int,
}


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


class FeaturesConfig(sdxl.PipelineConfig):
    """Which concepts, how they are made prompts, and what is kept of the representations."""

    kind: Literal["sdxl-features"] = "sdxl-features"
    concepts: tuple[Category, ...] = Field(default=CATEGORIES, min_length=2)
    template: str = Field(default="{}", description="the prompt of a concept")
    background: str = Field(default="", description="the prompt without a concept")
    step: int = Field(default=981, ge=0, description="of the schedule: where a sampler of 50 steps begins")
    tokens: Literal["flattened", "averaged"] = Field(
        default="flattened", description="the hidden states of all tokens side by side, or their mean"
    )
    shared_noise: bool = Field(default=True, description="whether all prompts have the same draws of noise")
    draws: int = Field(default=10, ge=2)
    shown: int = Field(default=2, ge=1, description="concepts of each category in the matrices that are drawn")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if "{}" not in self.template:
            raise ValueError(f"template '{self.template}': write {{}} where the concept belongs")
        if len(set(self.names)) < len(self.names):
            raise ValueError("a concept is named twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """All concepts."""
        return tuple(word for category in self.concepts for word in category.words)

    @property
    def categories(self) -> list[str]:
        """The category of each concept."""
        return [category.name for category in self.concepts for _ in category.words]

    @property
    def representatives(self) -> tuple[str, ...]:
        """The concepts of the matrices that are drawn."""
        return tuple(word for category in self.concepts for word in category.words[: self.shown])

    @no_grad
    def rows(self) -> list[Row]:
        """Cosines within and between categories for every block and output, and matrices of some concepts."""
        pipeline = self.opened()
        prompts = pipeline.encode([*(self.template.format(name) for name in self.names), self.background])
        gathered = {layer: Directions() for layer in (*pipeline.blocks, LATENT, PIXEL)}
        for draw in range(self.draws):
            for layer, points in self.representations(pipeline, prompts, draw):
                gathered[layer].add(points)
        text = Directions()
        for _ in range(2):  # the same twice: there is no noise in it
            text.add(prompts)
        found = {TEXT: text.products(), **{layer: directions.products() for layer, directions in gathered.items()}}
        rows = [sdxl.trained_row(pipeline)]
        for estimate in ESTIMATES:
            matrices = {layer: cosines(products, estimate) for layer, products in found.items()}
            rows += self._layer_rows(matrices, estimate)
        return rows + self._matrix_rows(found)

    def representations(self, pipeline: Pipeline, prompts: Tensor, draw: int) -> Iterator[tuple[str, Tensor]]:
        """One draw of noise: the representation of every prompt in each layer.  # [K + 1, D]"""
        from recombine.denoisers.adapters import recording

        sigma = sdxl.sigma_at(pipeline, self.step)
        number = torch.arange(len(prompts)) * (0 if self.shared_noise else PROMPT_STRIDE) + draw
        x = sdxl.start(pipeline, sigma, seeds.keys(self.seeds.sampling, "sdxl features", number).to(prompts.device))
        found: dict[str, list[Tensor]] = {layer: [] for layer in (*pipeline.blocks, LATENT, PIXEL)}

        def record(layer: str, hidden: Tensor) -> None:  # [n, tokens, width]
            found[layer].append((hidden.mean(1) if self.tokens == "averaged" else hidden.flatten(1)).float())

        with recording(pipeline.blocks, record):
            for part in torch.split(torch.arange(len(prompts), device=prompts.device), self.batch):
                level = torch.full((len(part),), sigma, device=prompts.device)
                answer = pipeline.denoiser.denoise(x[part], level, prompts[part])
                found[LATENT].append(answer.flatten(1))
                found[PIXEL].append(torch.cat([pipeline.decode(one[None]) for one in answer]).flatten(1))
        for layer in list(found):
            yield layer, torch.cat(found.pop(layer))

    def _layer_rows(self, matrices: dict[str, Array], estimate: Estimate) -> list[Row]:
        rows: list[Row] = []
        for depth, (layer, cosine) in enumerate(matrices.items()):
            where = {"layer": layer, "side": side_of(layer), "depth": depth, "estimate": estimate}
            found = structure(cosine, self.categories)
            chance = shuffled_gaps(cosine, self.categories, self.seeds.sampling)
            measured = {
                "within": found.within, "between": found.between, "gap": found.gap, "ratio": found.ratio,
                "gap.chance": float(np.nanquantile(chance, 0.975)) if np.isfinite(chance).any() else math.nan,
            }  # fmt: skip
            rows += [{**where, "instrument": name, "value": _finite(value)} for name, value in measured.items()]
        return rows

    def _matrix_rows(self, found: dict[str, Products]) -> list[Row]:
        """Matrices of the concepts that are drawn: means over the sides of the network, outputs and text."""
        kept = [self.names.index(name) for name in self.representatives]
        rows: list[Row] = []
        for estimate in ESTIMATES:
            matrices = {layer: cosines(products, estimate)[np.ix_(kept, kept)] for layer, products in found.items()}
            outputs = {layer: matrices.pop(layer) for layer in (TEXT, LATENT, PIXEL)}
            rows += [
                {"layer": layer, "estimate": estimate, "row": row, "column": column, "instrument": "matrix",
                 "value": _finite(value)}
                for layer, matrix in {**block_means(matrices), **outputs}.items()
                for (row, column), value in np.ndenumerate(matrix)
            ]  # fmt: skip
        return rows


def side_of(layer: str) -> str | None:
    """The side of the network that a block is on; none for text and outputs."""
    side = layer.split("_")[0]  # diffusers: down_blocks.1..., mid_block..., up_blocks.0...
    return side if side in SIDES else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
