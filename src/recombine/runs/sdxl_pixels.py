"""What is measured of a text-to-image pipeline in pixels: gradient maps, the influence of words, and one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.samplers import Denoise, euler
from recombine.errors import UserError
from recombine.instruments.locality.gradients import Views, everywhere, heat_maps
from recombine.instruments.representations.features import Array, coincidence, influence
from recombine.runs import sdxl
from recombine.runs.work import Row
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.adapters import Pipeline

ARM = "prompt"
PROMPT = "a beautiful photograph with a horse in the middle, a dog on the left, and a cat on the right"  # Fig 4
MAP, IMAGE = "map", "image"
NEAR, NEAR_CHANCE = "gradient.near", "gradient.near.chance"  # of all pixels but the pixel itself
ITSELF = "gradient.itself"  # the share of the pixel itself
WORD, WORD_MAP, SAME, LOCAL = "word.influence", "word.map", "word.overlap", "word.share of its object"
MAP_SIDE, IMAGE_SIDE = 32, 64  # of what is kept to be drawn

COLUMNS = {
    "place": str,
    "other": str,  # the place that the curves of a place are compared with
    "level": str,  # of noise: low, mid, high
    "word": str,  # that is taken out of the prompt
    "step": int,  # of the schedule
    "row": int,  # of a map or an image
    "column": int,
    "channel": str,  # of an image
}


class Place(Settings):
    """A place in the image, as shares of its sides, and the word for the object that the prompt puts there, if any."""

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
    """One prompt, the places and noise levels at which the model is measured, and how its samples are drawn."""

    kind: Literal["sdxl-pixels"] = "sdxl-pixels"
    prompt: str = PROMPT
    words: tuple[str, ...] = ("beautiful", "photograph", "horse", "middle", "dog", "left", "cat", "right")
    places: tuple[Place, ...] = PLACES
    compared: tuple[str, str] = Field(default=("left", "right"), description="two places whose curves are compared")
    levels: dict[str, float] = Field(
        default={"low": 0.1, "mid": 0.5, "high": 0.9}, description="noise levels, as shares of the schedule's steps"
    )
    near: float = Field(default=1 / 16, gt=0, description="what is near a place: a radius, as a share of the side")
    steps: int = Field(default=30, ge=3, description="of the sampler")
    moments: int = Field(default=10, ge=2, description="steps at which words are taken out")
    guidance: float = Field(default=5.0, ge=1, description="of the samples; what is measured is the plain answer")
    draws: int = Field(default=2, ge=1, description="samples")

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        said = self.prompt.replace(",", " ").split()
        for word in self.words:
            if said.count(word) != 1:
                raise ValueError(f"'{word}' is {said.count(word)} times in the prompt: take words that are there once")
        if absent := [place.word for place in self.places if place.word not in (None, *self.words)]:
            raise ValueError(f"'{absent[0]}' is the word of a place and not among the words that are taken out")
        if absent := [name for name in self.compared if name not in [place.name for place in self.places]]:
            raise ValueError(f"no place '{absent[0]}'; there are: {', '.join(place.name for place in self.places)}")
        return self

    @no_grad
    def rows(self) -> list[Row]:
        """Maps, their mass near the place, the influence of words, and one sample."""
        pipeline = self.opened()
        prompts = pipeline.encode([self.prompt, *(without(self.prompt, word) for word in self.words)])  # [1 + J, K]
        path = self._path(pipeline, prompts[0])
        rows = [sdxl.trained_row(pipeline), *_image_rows(pipeline.decode(path.final[:1])[0])]
        return rows + self._map_rows(pipeline, prompts[0], path) + self._word_rows(pipeline, prompts, path)

    def _path(self, pipeline: Pipeline, condition: Tensor) -> Path:
        """The pipeline's samples at an even grid of its steps, from noise to image."""
        chosen = np.linspace(len(pipeline.sigmas) - 1, 0, self.steps).round().astype(int)
        sigmas = torch.cat([pipeline.sigmas[chosen.tolist()], torch.zeros(1, dtype=torch.float64)])
        key = seeds.keys(self.seeds.sampling, "sdxl pixels", torch.arange(self.draws)).to(condition.device)
        x = sdxl.start(pipeline, float(sigmas[0]), key)
        kept: list[Tensor] = []
        guided = _in_batches(_guided(pipeline.denoiser.denoise, self.guidance), self.batch)
        every = condition.expand(self.draws, -1)
        final = euler(guided, x, sigmas, every, callback=lambda step, sigma, x, x0: kept.append(x))
        return Path(chosen.tolist(), sigmas[:-1].float().to(x.device), torch.stack(kept), final)

    def _pixels(self, pipeline: Pipeline) -> Tensor:
        """The latent pixel of each place.  # [p, 2]"""
        _, height, width = pipeline.latent_shape
        return torch.tensor([[int(place.row * height), int(place.column * width)] for place in self.places])

    def _map_rows(self, pipeline: Pipeline, condition: Tensor, path: Path) -> list[Row]:
        """The gradient map of every place and noise level, and how much of it is near the place."""
        steps = np.array(path.steps)
        at = [int(np.abs(steps - share * (len(pipeline.sigmas) - 1)).argmin()) for share in self.levels.values()]
        pixels = self._pixels(pipeline)
        views = Views(
            path.x[at], path.sigma[at], condition.expand(self.draws, -1),
            pixels.to(path.x.device).expand(self.draws, -1, -1),
        )  # fmt: skip
        at_once = 1 if sdxl.is_sdxl(pipeline) else None
        maps = heat_maps(everywhere(pipeline.denoiser.denoise), views, at_once)  # [p, S, H, W]
        radius = round(self.near * max(maps.shape[-2:]))
        rows: list[Row] = []
        for place, pixel, at_levels in zip(self.places, pixels.tolist(), maps, strict=True):
            for level, found in zip(self.levels, at_levels.double().numpy(), strict=True):
                where = {"place": place.name, "level": level}
                mass, area = mass_by_distance(found, pixel), mass_by_distance(np.ones_like(found), pixel)
                measured = {
                    ITSELF: found[*pixel] / found.sum(),
                    NEAR: mass[min(radius, len(mass) - 1)],
                    NEAR_CHANCE: area[min(radius, len(area) - 1)],
                }
                rows += [{**where, "instrument": name, "value": float(value)} for name, value in measured.items()]
                small = _pooled(found)
                rows += _grid_rows(MAP, small / small.max(), **where)
        return rows

    def _word_rows(self, pipeline: Pipeline, prompts: Tensor, path: Path) -> list[Row]:
        """The influence of every word at every place and step, its map, the overlap of two places, objects' shares."""
        pixels = self._pixels(pipeline)
        moments = np.unique(np.linspace(0, len(path.steps) - 1, self.moments).round().astype(int)).tolist()
        changes = np.zeros((len(self.words), len(self.places), len(moments)))
        maps = np.zeros((len(self.words), *pipeline.latent_shape[1:]))
        for number, moment in enumerate(moments):
            sigma = path.sigma[moment].expand(self.draws)
            found = influence(pipeline.denoiser.denoise, path.x[moment], sigma, prompts[0], prompts[1:], self.batch)
            mean = found.mean(1).double().cpu().numpy()  # [J, H, W]
            changes[:, :, number] = mean[:, pixels[:, 0], pixels[:, 1]]
            maps += mean / len(moments)
        rows: list[Row] = [
            {"place": place.name, "word": word, "step": path.steps[moment], "instrument": WORD,
             "value": float(changes[j, i, number])}
            for i, place in enumerate(self.places)
            for j, word in enumerate(self.words)
            for number, moment in enumerate(moments)
        ]  # fmt: skip
        for word, where in zip(self.words, maps, strict=True):
            rows += _grid_rows(WORD_MAP, _pooled(where), word=word)
        by_place = {place.name: changes[:, i] for i, place in enumerate(self.places)}  # [J, moments] each
        one, other = self.compared
        overlap = coincidence(by_place[one], by_place[other])
        rows.append({"place": one, "other": other, "instrument": SAME, "value": overlap})
        objects = [self.words.index(place.word) for place in self.places if place.word]
        for place in self.places:
            total = by_place[place.name][objects].sum()
            if place.word and total > 0:
                share = float(by_place[place.name][self.words.index(place.word)].sum() / total)
                rows.append({"place": place.name, "instrument": LOCAL, "value": share})
        return rows


@dataclass(frozen=True)
class Path:
    """Samples on their way from noise to image."""

    steps: list[int]  # of the schedule
    sigma: Tensor  # [S]
    x: Tensor  # the latents there  # [S, n, C, H, W]
    final: Tensor  # [n, C, H, W]


def without(prompt: str, word: str) -> str:
    """The prompt less a word that is in it once."""
    said = prompt.split()
    kept = [one for one in said if one.strip(",") != word]
    if len(kept) != len(said) - 1:
        raise UserError(f"'{word}' is {len(said) - len(kept)} times in the prompt '{prompt}', not once")
    return " ".join(kept)


def mass_by_distance(found: Array, pixel: list[int]) -> Array:
    """The share of a map [H, W] up to each Chebyshev distance from a pixel, which is left out itself.  # [distances]

    At low noise the answer is nearly the noisy image, so the pixel itself would hide all the rest.
    """
    row, column = np.indices(found.shape)
    away = np.maximum(np.abs(row - pixel[0]), np.abs(column - pixel[1]))
    mass = np.bincount(away.ravel(), weights=found.ravel())
    mass[0] = 0
    return np.asarray(mass.cumsum() / mass.sum())


def _guided(denoise: Denoise, scale: float) -> Denoise:
    """Classifier-free guidance."""
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


def _pooled(found: Array, side: int = MAP_SIDE) -> Array:
    """A map averaged down to at most this side."""
    pool = torch.nn.functional.adaptive_avg_pool2d
    height, width = (min(length, side) for length in found.shape)
    return np.asarray(pool(torch.from_numpy(found)[None], (height, width))[0].numpy())


def _grid_rows(instrument: str, found: Array, **where: Any) -> list[Row]:
    """A map [H, W] as rows."""
    return [{**where, "row": row, "column": column, "instrument": instrument, "value": float(value)}
            for (row, column), value in np.ndenumerate(found)]  # fmt: skip


def _image_rows(image: Tensor) -> list[Row]:
    """An image [3, H, W] in [-1, 1], made small, as rows of 0 to 255."""
    small = torch.nn.functional.adaptive_avg_pool2d(image.float().cpu(), min(IMAGE_SIDE, *image.shape[1:]))
    levels = ((small + 1) * 127.5).round().clamp(0, 255).double().numpy()
    channels = zip(("red", "green", "blue"), levels, strict=True)
    return [row for channel, found in channels for row in _grid_rows(IMAGE, found, channel=channel)]
