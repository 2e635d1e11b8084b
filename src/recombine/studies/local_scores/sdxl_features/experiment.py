"""Bradley 2026, Fig 5: are concepts of different categories apart in the features of SDXL?

*Model.* Stable Diffusion XL at high noise. *Asked.* 24 concepts in four categories, and the background. *Read.* What
every transformer block says, the answer itself (the latent) and the image it stands for; the direction of a concept is
its mean over draws of noise less that of the background (Lemma 2). *Judged.* Cosines of directions within and between
categories, block by block, without the bias that a common background brings; beside them those of the text that the
network is told, which any network passes on.
"""

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
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Row, Work
from recombine.settings import override
from recombine.studies.local_scores._shared import sdxl
from recombine.studies.local_scores._shared import sdxl_claims as claims_sdxl

if TYPE_CHECKING:
    import polars
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

TEXT, LATENT, PIXEL = claims_sdxl.TEXT, claims_sdxl.LATENT, claims_sdxl.PIXEL
PROMPT_STRIDE = 1 << 16  # between the draws of two prompts, where each has its own


class FeaturesConfig(sdxl.PipelineConfig):
    """Which concepts, how they are put to the model, and what is kept of its answers."""

    kind: Literal["sdxl-features"] = "sdxl-features"
    concepts: tuple[sdxl.Category, ...] = Field(default=sdxl.CATEGORIES, min_length=2)
    template: str = Field(default="{}", description="the prompt of a concept")
    background: str = Field(default="", description="the prompt without a concept")
    step: int = Field(default=981, ge=0, description="of the schedule: where a sampler of 50 steps begins")
    tokens: Literal["flattened", "averaged"] = Field(
        default="flattened", description="the hidden states of all tokens side by side, or their mean"
    )
    shared_noise: bool = Field(default=True, description="whether all prompts see the same draws of noise")
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
        return tuple(word for category in self.concepts for word in category.words)

    @property
    def categories(self) -> list[str]:
        """The category of each name."""
        return [category.name for category in self.concepts for _ in category.words]

    @property
    def representatives(self) -> tuple[str, ...]:
        """The concepts of the matrices that are drawn."""
        return tuple(word for category in self.concepts for word in category.words[: self.shown])

    @no_grad
    def rows(self) -> list[Row]:
        """Cosines within and between categories for every block and output, and matrices of some concepts."""
        pipeline = self.opened()
        told = pipeline.encode([*(self.template.format(name) for name in self.names), self.background])
        gathered = {layer: Directions() for layer in (*pipeline.blocks, LATENT, PIXEL)}
        for draw in range(self.draws):
            for layer, points in self._heard(pipeline, told, draw):
                gathered[layer].add(points)
        text = Directions()
        for _ in range(2):  # the same twice: no noise in it
            text.add(told)
        found = {TEXT: text.products(), **{layer: directions.products() for layer, directions in gathered.items()}}
        rows = [sdxl.real_row(pipeline)]
        for estimate in ESTIMATES:
            matrices = {layer: cosines(products, estimate) for layer, products in found.items()}
            rows += self._layer_rows(matrices, estimate)
        return rows + self._matrix_rows(found)

    def _heard(self, pipeline: Pipeline, told: Tensor, draw: int) -> Iterator[tuple[str, Tensor]]:
        """One draw: what each layer says of every prompt.  # [K + 1, D]"""
        sigma = sdxl.sigma_at(pipeline, self.step)
        number = torch.arange(len(told)) * (0 if self.shared_noise else PROMPT_STRIDE) + draw
        x = sdxl.start(pipeline, sigma, seeds.keys(self.seeds.sampling, "sdxl features", number).to(told.device))
        heard: dict[str, list[Tensor]] = {layer: [] for layer in (*pipeline.blocks, LATENT, PIXEL)}

        def hear(layer: str, hidden: Tensor) -> None:  # [n, tokens, width]
            heard[layer].append((hidden.mean(1) if self.tokens == "averaged" else hidden.flatten(1)).float())

        from recombine.denoisers.adapters import listening

        with listening(pipeline.blocks, hear):
            for part in torch.split(torch.arange(len(told), device=told.device), self.batch):
                level = torch.full((len(part),), sigma, device=told.device)
                answer = pipeline.denoiser.denoise(x[part], level, told[part])
                heard[LATENT].append(answer.flatten(1))
                heard[PIXEL].append(torch.cat([pipeline.decode(one[None]) for one in answer]).flatten(1))
        for layer in list(heard):
            yield layer, torch.cat(heard.pop(layer))

    def _layer_rows(self, matrices: dict[str, Array], estimate: Estimate) -> list[Row]:
        """For every layer, by its number on the walk; for the sides of the network, means over their layers."""
        rows: list[Row] = []
        for number, (layer, cosine) in enumerate(matrices.items()):
            found = structure(cosine, self.categories)
            chance = shuffled_gaps(cosine, self.categories, self.seeds.sampling)
            readings = {
                "within": found.within, "between": found.between, "gap": found.gap, "ratio": found.ratio,
                "gap.chance": float(np.nanquantile(chance, 0.975)) if np.isfinite(chance).any() else math.nan,
            }  # fmt: skip
            rows += [
                {"node": layer, "instrument": f"{estimate}.{name}", "images_seen": number, "value": _finite(value)}
                for name, value in readings.items()
            ]
        return rows

    def _matrix_rows(self, found: dict[str, Products]) -> list[Row]:
        """Matrices of the concepts that are drawn: sides of the network, outputs and text."""
        rows: list[Row] = []
        kept = [self.names.index(name) for name in self.representatives]
        for estimate in ESTIMATES:
            matrices = {layer: cosines(products, estimate)[np.ix_(kept, kept)] for layer, products in found.items()}
            outputs = {layer: matrices.pop(layer) for layer in (TEXT, LATENT, PIXEL)}
            for node, matrix in {**block_means(matrices), **outputs}.items():
                rows += [
                    {"node": node, "instrument": f"{estimate}.matrix", "images_seen": number, "value": _finite(value)}
                    for number, value in enumerate(matrix.ravel())
                ]
        return rows


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def both_noises(base: FeaturesConfig) -> dict[str, Work]:
    """The reading that is taken, and the same where every prompt has draws of its own."""
    return {claims_sdxl.ARM: base, claims_sdxl.OWN_NOISE: override(base, {"shared_noise": False})}


def all_readings(base: FeaturesConfig) -> dict[str, Work]:
    """One arm for each detail that the paper leaves open."""
    return {
        **both_noises(base),
        "a photo of": override(base, {"template": "a photo of {}", "background": "a photo"}),
        "tokens averaged": override(base, {"tokens": "averaged"}),
        "middle noise": override(base, {"step": 500}),
    }


def draw(table: polars.DataFrame, config: FeaturesConfig) -> dict[str, Drawing]:
    """Fig 5, for the arm of the headline; all arms side by side; and what the estimates differ by."""
    from recombine.studies.local_scores._shared import sdxl_figures as drawings_sdxl

    return {
        "figure": Drawing(
            drawings_sdxl.features(table, config.representatives, len(config.concepts)),
            "Cosines within and between categories for the sides of the network and its outputs, their ratio block by "
            "block, and matrices of some concepts.",
        ),
        "estimates": Drawing(
            drawings_sdxl.estimates(table),
            "The cosine between categories by three estimates: the naive one has the noise of the background in it.",
        ),
    }


SMOKE = FeaturesConfig(
    concepts=tuple(category.replace(words=category.words[:2]) for category in sdxl.CATEGORIES), draws=2, batch=32
)
LAPTOP = FeaturesConfig(batch=32)
FULL = FeaturesConfig(pipeline=sdxl.FOLDER)

EXPERIMENT = Experiment(
    study="local-scores",
    name="sdxl-features",
    question="Are categories of concepts apart in the features of a large text-to-image model?",
    figure="Bradley 2026, Fig 5",
    budgets={
        "smoke": Budget(both_noises(SMOKE), 1, "seconds; random weights: proves the path, shows nothing"),
        "laptop": Budget(both_noises(LAPTOP), 2, "random weights, a minute on a CPU: what nothing looks like"),
        "full": Budget(all_readings(FULL), 5, "SDXL from disk, five times ten draws, five readings, one GPU"),
    },
    claims=claims_sdxl.FEATURES,
    draw=draw,
    notes=(
        "Needs the weights of Stable Diffusion XL on disk; nothing is downloaded, and without them nothing is claimed.",
        "Three of the paper's four categories are named (animals, art styles, foods); the fourth, places, and all the "
        "words are chosen here. So are template, background, noise level, tokens side by side, and noise that all "
        "prompts share; the alternatives are arms.",
        "Every direction leads away from the same background, so even random weights have cosines near 1/2, like the "
        "text that they are told; it is the gap between within and between that is nothing there.",
        "Outputs are those of the one step that is looked at: the denoised latent, and the image that it decodes to.",
        "The ratio within / between is the paper's; where the unbiased `between` is near 0 it means little, so the gap "
        "stands beside it.",
        "On a GPU with less than 40 GB take --set tokens=averaged: flattened features fill about 20.",
    ),
)
