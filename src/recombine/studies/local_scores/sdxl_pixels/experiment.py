"""Bradley 2026, Fig 4: is SDXL local in pixels, and does it listen to words near a pixel only?

*Model.* Stable Diffusion XL, its latents taken as pixels. *Asked.* One prompt with a horse in the middle, a dog on the
left and a cat on the right; the latents on the way of its own samples. *Pixel locality.* At four places and three noise
levels, the absolute gradient of the answer there by every latent pixel. *Conditional locality.* Each word is taken out
of the prompt; how much does the answer change at each place, over the way?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.samplers import Denoise, euler
from recombine.errors import UserError
from recombine.instruments.locality.gradients import Views, everywhere, heat_maps
from recombine.instruments.representations.features import Array, coincidence, influence
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Row
from recombine.settings import Settings, override
from recombine.studies.local_scores._shared import sdxl
from recombine.studies.local_scores._shared import sdxl_claims as claims_sdxl

if TYPE_CHECKING:
    import polars
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

MAP_SIDE, IMAGE_SIDE = 32, 64  # of what is kept to be drawn


class Place(Settings):
    """A place in the image, as shares of its sides, and the word for the object that is asked for there, if any."""

    name: str
    row: float = Field(ge=0, lt=1)
    column: float = Field(ge=0, lt=1)
    word: str | None = None


PLACES = (
    Place(name="middle", row=0.6, column=0.5, word="horse"),
    Place(name="left", row=0.6, column=0.2, word="dog"),
    Place(name="right", row=0.6, column=0.8, word="cat"),
    Place(name="top", row=0.15, column=0.5),
)


class PixelsConfig(sdxl.PipelineConfig):
    """One prompt, the places and moments at which the model is looked at, and how its samples are drawn."""

    kind: Literal["sdxl-pixels"] = "sdxl-pixels"
    prompt: str = sdxl.PROMPT
    words: tuple[str, ...] = ("beautiful", "photograph", "horse", "middle", "dog", "left", "cat", "right")
    places: tuple[Place, ...] = PLACES
    apart: tuple[str, str] = Field(default=("left", "right"), description="the two places whose curves are compared")
    levels: dict[str, float] = Field(
        default={"low": 0.1, "mid": 0.5, "high": 0.9}, description="noise levels, as shares of the schedule's steps"
    )
    near: float = Field(default=1 / 16, gt=0, description="what is near a place: a radius, as a share of the side")
    steps: int = Field(default=30, ge=3, description="of the sampler")
    moments: int = Field(default=10, ge=2, description="steps at which words are taken out")
    guidance: float = Field(default=5.0, ge=1, description="on the way only; what is measured is the plain answer")
    draws: int = Field(default=2, ge=1, description="samples")

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        spoken = self.prompt.replace(",", " ").split()
        for word in self.words:
            if spoken.count(word) != 1:
                raise ValueError(
                    f"'{word}' is {spoken.count(word)} times in the prompt: take words that are there once"
                )
        if absent := [place.word for place in self.places if place.word not in (None, *self.words)]:
            raise ValueError(f"'{absent[0]}' is asked for at a place and not among the words that are taken out")
        if absent := [name for name in self.apart if name not in [place.name for place in self.places]]:
            raise ValueError(f"no place '{absent[0]}'; there are: {', '.join(place.name for place in self.places)}")
        return self

    @no_grad
    def rows(self) -> list[Row]:
        """Maps, their mass near the place, the influence of words, and one sample."""
        pipeline = self.opened()
        told = pipeline.encode([self.prompt, *(without(self.prompt, word) for word in self.words)])  # [1 + J, K]
        way = self._way(pipeline, told[0])
        rows = [sdxl.real_row(pipeline), *_image_rows(pipeline.decode(way.final[:1])[0])]
        return rows + self._map_rows(pipeline, told[0], way) + self._word_rows(pipeline, told, way)

    def _way(self, pipeline: Pipeline, condition: Tensor) -> _Way:
        """The way of the pipeline's samples down an even grid of its steps."""
        chosen = np.linspace(len(pipeline.sigmas) - 1, 0, self.steps).round().astype(int)
        sigmas = torch.cat([pipeline.sigmas[chosen.tolist()], torch.zeros(1, dtype=torch.float64)])
        key = seeds.keys(self.seeds.sampling, "sdxl pixels", torch.arange(self.draws)).to(condition.device)
        x = sdxl.start(pipeline, float(sigmas[0]), key)
        kept: list[Tensor] = []
        guided = _in_batches(_guided(pipeline.denoiser.denoise, self.guidance), self.batch)
        told = condition.expand(self.draws, -1)
        final = euler(guided, x, sigmas, told, callback=lambda step, sigma, x, x0: kept.append(x))
        return _Way(chosen.tolist(), sigmas[:-1].float().to(x.device), torch.stack(kept), final)

    def _pixels(self, pipeline: Pipeline) -> Tensor:
        """The latent pixel of each place.  # [p, 2]"""
        _, height, width = pipeline.latent_shape
        return torch.tensor([[int(place.row * height), int(place.column * width)] for place in self.places])

    def _map_rows(self, pipeline: Pipeline, condition: Tensor, way: _Way) -> list[Row]:
        steps = np.array(way.steps)
        at = [int(np.abs(steps - share * (len(pipeline.sigmas) - 1)).argmin()) for share in self.levels.values()]
        pixels = self._pixels(pipeline)
        views = Views(
            way.x[at], way.sigma[at], condition.expand(self.draws, -1),
            pixels.to(way.x.device).expand(self.draws, -1, -1),
        )  # fmt: skip
        at_once = 1 if sdxl.is_sdxl(pipeline) else None
        maps = heat_maps(everywhere(pipeline.denoiser.denoise), views, at_once)  # [p, S, H, W]
        radius = round(self.near * max(maps.shape[-2:]))
        rows: list[Row] = []
        for place, pixel, at_levels in zip(self.places, pixels.tolist(), maps, strict=True):
            for level, found in zip(self.levels, at_levels.double().numpy(), strict=True):
                node = f"{place.name}/{level}"
                mass, area = _others(found, pixel), _others(np.ones_like(found), pixel)
                readings = {
                    claims_sdxl.OWN: found[*pixel] / found.sum(),
                    claims_sdxl.NEAR: mass[min(radius, len(mass) - 1)],
                    claims_sdxl.NEAR_CHANCE: area[min(radius, len(area) - 1)],
                }
                rows += [{"node": node, "instrument": name, "value": float(value)} for name, value in readings.items()]
                small = _pooled(found)
                rows += _grid_rows(node, claims_sdxl.MAP, small / small.max())
        return rows

    def _word_rows(self, pipeline: Pipeline, told: Tensor, way: _Way) -> list[Row]:
        """A at every place for every word and moment, its map for every word, and two numbers of them."""
        pixels = self._pixels(pipeline)
        moments = np.unique(np.linspace(0, len(way.steps) - 1, self.moments).round().astype(int)).tolist()
        changes = np.zeros((len(self.words), len(self.places), len(moments)))
        maps = np.zeros((len(self.words), *pipeline.latent_shape[1:]))
        for number, moment in enumerate(moments):
            sigma = way.sigma[moment].expand(self.draws)
            found = influence(pipeline.denoiser.denoise, way.x[moment], sigma, told[0], told[1:], self.batch)
            mean = found.mean(1).double().cpu().numpy()  # [J, H, W]
            changes[:, :, number] = mean[:, pixels[:, 0], pixels[:, 1]]
            maps += mean / len(moments)
        rows: list[Row] = [
            {"node": f"{place.name}/{word}", "instrument": claims_sdxl.WORD, "images_seen": way.steps[moment],
             "value": float(changes[j, i, number])}
            for i, place in enumerate(self.places)
            for j, word in enumerate(self.words)
            for number, moment in enumerate(moments)
        ]  # fmt: skip
        for word, where in zip(self.words, maps, strict=True):
            rows += _grid_rows(word, claims_sdxl.WORD_MAP, _pooled(where))
        by_place = {place.name: changes[:, i] for i, place in enumerate(self.places)}  # [J, moments] each
        one, other = (by_place[place] for place in self.apart)
        rows.append({"node": "/".join(self.apart), "instrument": claims_sdxl.SAME, "value": coincidence(one, other)})
        objects = [self.words.index(place.word) for place in self.places if place.word]
        for place in self.places:
            total = by_place[place.name][objects].sum()
            if place.word and total > 0:
                share = float(by_place[place.name][self.words.index(place.word)].sum() / total)
                rows.append({"node": place.name, "instrument": claims_sdxl.LOCAL, "value": share})
        return rows


class _Way:
    """The way of samples: step numbers, noise levels, the latents there, and the latents in the end."""

    def __init__(self, steps: list[int], sigma: Tensor, x: Tensor, final: Tensor) -> None:
        self.steps, self.sigma, self.x, self.final = steps, sigma, x, final  # [S], [S], [S, n, C, H, W], [n, C, H, W]


def without(prompt: str, word: str) -> str:
    """The prompt less a word that is in it once."""
    spoken = prompt.split()
    kept = [said for said in spoken if said.strip(",") != word]
    if len(kept) != len(spoken) - 1:
        raise UserError(f"'{word}' is {len(spoken) - len(kept)} times in the prompt '{prompt}', not once")
    return " ".join(kept)


def _guided(denoise: Denoise, scale: float) -> Denoise:
    """Classifier-free guidance: away from what is answered to no prompt at all."""
    if scale == 1:
        return denoise

    def answer(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        plain = denoise(x, sigma, None)
        return plain + scale * (denoise(x, sigma, condition) - plain)

    return answer


def _in_batches(denoise: Denoise, size: int) -> Denoise:
    def answer(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        assert condition is not None
        parts = zip(*(torch.split(given, size) for given in (x, sigma, condition)), strict=True)
        return torch.cat([denoise(*part) for part in parts])

    return answer


def _others(found: Array, pixel: list[int]) -> Array:
    """The share of a map [H, W] up to each Chebyshev distance from a pixel, its own value left out.  # [distances]

    At low noise the answer is nearly the noisy image, so the pixel itself would hide all the rest.
    """
    row, column = np.indices(found.shape)
    away = np.maximum(np.abs(row - pixel[0]), np.abs(column - pixel[1]))
    mass = np.bincount(away.ravel(), weights=found.ravel())
    mass[0] = 0
    return np.asarray(mass.cumsum() / mass.sum())


def _pooled(found: Array, side: int = MAP_SIDE) -> Array:
    """A map averaged down to at most this side."""
    pool = torch.nn.functional.adaptive_avg_pool2d
    height, width = (min(length, side) for length in found.shape)
    return np.asarray(pool(torch.from_numpy(found)[None], (height, width))[0].numpy())


def _grid_rows(node: str, instrument: str, found: Array) -> list[Row]:
    """A map as rows: what counts as images seen is the pixel, row by row."""
    return [
        {"node": node, "instrument": instrument, "images_seen": number, "value": float(value)}
        for number, value in enumerate(found.ravel())
    ]


def _image_rows(image: Tensor) -> list[Row]:
    """An image [3, H, W] as rows, one number a pixel: red, green and blue as the digits of a number to base 256."""
    small = torch.nn.functional.adaptive_avg_pool2d(image.float().cpu(), min(IMAGE_SIDE, *image.shape[1:]))
    red, green, blue = ((small + 1) * 127.5).round().clamp(0, 255).double().numpy()
    return _grid_rows("all", claims_sdxl.IMAGE, red * 65536 + green * 256 + blue)


def draw(table: polars.DataFrame, config: PixelsConfig) -> dict[str, Drawing]:
    """Fig 4, and the maps of words from the appendix."""
    from recombine.studies.local_scores._shared import sdxl_figures as drawings_sdxl

    return {
        "figure": Drawing(
            drawings_sdxl.pixels(
                table,
                [(place.name, (place.row, place.column)) for place in config.places],
                tuple(config.levels),
                config.words,
                config.apart,
            ),
            "Left: a sample and the places. Centre: where the gradient of the answer at each place lies. Right: how "
            "much the answer at two places changes without a word, over the schedule.",
        ),
        "words": Drawing(
            drawings_sdxl.word_maps(table, config.words), "Where the answer changes when a word is taken out."
        ),
    }


SMOKE = PixelsConfig(steps=3, moments=2, draws=1, batch=32)
LAPTOP = override(SMOKE, {"steps": 20, "moments": 10, "draws": 2})
FULL = PixelsConfig(pipeline=sdxl.FOLDER)

EXPERIMENT = Experiment(
    study="local-scores",
    name="sdxl-pixels",
    question="Is a large text-to-image model local in pixels, and in the words it listens to?",
    figure="Bradley 2026, Fig 4",
    budgets={
        "smoke": Budget({"prompt": SMOKE}, 1, "seconds; random weights: proves the path, shows nothing"),
        "laptop": Budget({"prompt": LAPTOP}, 5, "random weights, seconds on a CPU: what nothing looks like"),
        "full": Budget({"prompt": FULL}, 5, "SDXL from disk, five times two samples, one GPU"),
    },
    claims=claims_sdxl.PIXELS,
    draw=draw,
    notes=(
        "Needs the weights of Stable Diffusion XL on disk; nothing is downloaded, and without them nothing is claimed.",
        "Pixels are those of the latent; the gradient is of the denoised latent, absolute values summed over channels. "
        "The share of a pixel in its own answer is left out: at low noise it is nearly all, in any network.",
        "Random weights are local in pixels and deaf to places too. On `laptop`, means over five seeds: 0.82 of the "
        "gradient is near at low noise and 0.49 at high noise, curves of words overlap by 0.78, a place gives its own "
        "object 0.34. So SD1 to SD4 tell what SDXL shares with its architecture, not what it learned.",
        "Not known of the paper, and chosen here as settings: places, noise levels, sampler, guidance (of the samples; "
        "what is measured is the plain conditional answer), which words are taken out.",
        "A word is taken out of the text, which is then encoded again: later words move up, as in any shorter prompt.",
        "Five seeds of two samples: ten in all, as in the paper.",
    ),
)
