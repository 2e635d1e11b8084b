"""Are concepts disentangled in a representation? Directions d_i = mu_i - mu_b, their cosines, and their categories.

Bradley 2026, Lemma 2: where features compose (F-CPC), the direction of concept i, its mean representation minus that
of the background, is orthogonal to that of concept j. Means over few draws of noise are noisy, and the same background
is subtracted in every direction, so the plain cosine is biased. Three estimates, each a matrix over concepts:

    naive       means over all draws; where prompts do not share their noise it is biased towards 1/2, the cosine of
                directions that have nothing but a noisy background in common: upwards, where features compose
    background  one half of the background's draws for i, the other one for j: unbiased if prompts do not share their
                noise; biased down if they do, as the plain difference would have cancelled it
    halves      d_i from one half of all draws, d_j from the other one, lengths as well: unbiased in both cases, with
                many draws; with few draws of a weak direction cosines are missing or beyond 1

The two halves are independent, so nothing but the concepts themselves can align their directions. Products are means
over all ways to halve the draws, which have a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from recombine import seeds
from recombine.deferred import no_grad
from recombine.errors import UserError
from recombine.instruments.observation import Denoise

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[np.float64]
Estimate = Literal["naive", "background", "halves"]
ESTIMATES: tuple[Estimate, ...] = get_args(Estimate)
PIECE = 1 << 20  # dimensions multiplied at once in float64


@dataclass(frozen=True)
class Products:
    """Inner products of the directions of K concepts over n draws: all that cosines need."""

    mean: Array  # [K, K] of the mean directions
    halves: Array  # [K, K] of the directions of two halves, mean over all ways to halve the draws
    background_error: float  # expected squared error of the mean background, estimated from its draws


ROUNDING = 1e-5  # of the background's length: a direction that is shorter is what float32 rounds off


class Directions:
    """Gathers the representations of K concepts and the background in one layer, draw by draw."""

    def __init__(self) -> None:
        self.count = 0
        self.total = torch.zeros(0)  # [K, D] sum of directions
        self.drift = torch.zeros(0)  # [D] sum of backgrounds, counted from the first one
        self.first = torch.zeros(0)  # [D]
        self.each = np.zeros(0)  # [K, K] sum over draws of products within a draw
        self.spread = 0.0  # sum over draws of the squared background, counted from the first one

    def add(self, points: Tensor) -> None:
        """One draw: a representation [K + 1, D] of each prompt, the background last."""
        if points.dim() != 2 or len(points) < 3:
            raise UserError(
                f"representations {tuple(points.shape)}: give two concepts or more and, last, the background"
            )
        directions, background = points[:-1] - points[-1:], points[-1]
        differs = directions.norm(dim=1, keepdim=True) > ROUNDING * background.norm()
        directions = torch.where(differs, directions, 0.0)  # rows of a batch differ in their last bits
        if not self.count:
            self.first = background
            self.total, self.drift = torch.zeros_like(directions), torch.zeros_like(background)
            self.each = np.zeros((len(directions), len(directions)))
        moved = background - self.first
        self.total += directions
        self.drift += moved
        self.each += _inner(directions)
        self.spread += float(_inner(moved[None])[0, 0])
        self.count += 1

    def products(self) -> Products:
        """Inner products over all draws so far; at least two."""
        n = self.count
        if n < 2:
            raise UserError(f"{n} draws: give two or more, so that there are two halves")
        summed = _inner(self.total)
        variance = (self.spread - float(_inner(self.drift[None])[0, 0]) / n) / (n - 1)
        return Products(summed / n**2, (summed - self.each) / (n * (n - 1)), variance / n)


def _inner(vectors: Tensor) -> Array:
    """Inner products of vectors [K, D], in float64.  # [K, K]"""
    total = np.zeros((len(vectors), len(vectors)))
    for part in torch.split(vectors, PIECE, 1):
        wide = part.double()
        total += (wide @ wide.T).cpu().numpy()
    return total


def cosines(found: Products, estimate: Estimate = "halves") -> Array:
    """Cosines of the directions of K concepts; 1 on the diagonal.  # [K, K]

    NaN where a concept cannot be distinguished from the background: for `halves`, where its two halves do not agree.
    """
    match estimate:
        case "naive":
            inner, squares = found.mean, np.diag(found.mean)
        case "background":  # (d_i + e)(d_j - e), where 2 e is what two halves of the background differ by
            inner, squares = found.mean - found.background_error, np.diag(found.mean)
        case "halves":
            inner, squares = found.halves, np.diag(found.halves)
    length = np.sqrt(np.where(squares > 0, squares, np.nan))
    cosine = inner / np.outer(length, length)
    np.fill_diagonal(cosine, np.where(np.isnan(length), np.nan, 1.0))
    return np.asarray(cosine)


@dataclass(frozen=True)
class Structure:
    """How much of a matrix of cosines the categories explain."""

    within: float  # mean cosine of two concepts of one category
    between: float  # of two of different ones

    @property
    def gap(self) -> float:
        """within - between."""
        return self.within - self.between

    @property
    def ratio(self) -> float:
        """within / between, as the paper has it: NaN where `between` is not positive, large where it is near 0."""
        return self.within / self.between if self.between > 0 else math.nan


def structure(cosine: Array, categories: Sequence[str]) -> Structure:
    """Mean cosine within and between categories, over the pairs that have one."""
    same = _same(cosine, categories)
    pairs = np.triu(np.ones_like(same), 1) & np.isfinite(cosine)
    inside, outside = cosine[pairs & same], cosine[pairs & ~same]
    return Structure(*(float(part.mean()) if len(part) else math.nan for part in (inside, outside)))


def shuffled_gaps(cosine: Array, categories: Sequence[str], seed: int, count: int = 200) -> Array:
    """The gap when concepts are assigned to categories at random.  # [count]"""
    key = seeds.keys(seed, "shuffled categories", torch.arange(count))
    orders = seeds.bits(key, len(categories)).argsort(1).tolist()  # [count, K]
    return np.array([structure(cosine, [categories[i] for i in order]).gap for order in orders])


def block_means(matrices: Mapping[str, Array]) -> dict[str, Array]:
    """The mean matrix of the layers of each side of the U-Net, by what their names begin with: down, mid, up."""
    sides: dict[str, list[Array]] = {}
    for name, matrix in matrices.items():
        sides.setdefault(name.split("_")[0], []).append(matrix)
    return {side: np.mean(found, 0) for side, found in sides.items()}


@no_grad
def influence(denoise: Denoise, x: Tensor, sigma: Tensor, condition: Tensor, without: Tensor, chunk: int = 8) -> Tensor:
    """How much removing each word changes the answer at every pixel: |D(x, c) - D(x, c without j)| over channels.

    x [n, C, H, W] at sigma [n]; condition [K] is the whole prompt, without [J, K] the prompt less one word each.
    # [J, n, H, W]
    """
    if without.dim() != 2 or condition.shape != without.shape[1:]:
        raise UserError(f"conditions {tuple(condition.shape)} and {tuple(without.shape)}: give [K] and [J, K]")
    prompts = torch.cat([condition[None], without])  # [1 + J, K]
    pairs = torch.cartesian_prod(torch.arange(len(prompts)), torch.arange(len(x))).to(x.device)  # word slowest
    answers = [
        denoise(x[image], sigma[image], prompts[word]) for word, image in (p.T for p in torch.split(pairs, chunk))
    ]
    found = torch.cat(answers).reshape(len(prompts), *x.shape)  # [1 + J, n, C, H, W]
    return (found[1:] - found[:1]).square().sum(2).sqrt()


def coincidence(first: Array, second: Array) -> float:
    """The overlap of two curves: sum of the smaller over sum of the larger values, 1 where they are equal."""
    larger = float(np.maximum(first, second).sum())
    return float(np.minimum(first, second).sum()) / larger if larger > 0 else math.nan


def _same(cosine: Array, categories: Sequence[str]) -> NDArray[np.bool_]:
    if cosine.shape != (len(categories), len(categories)):
        raise UserError(f"{len(categories)} categories for cosines {cosine.shape}: give one for each concept")
    names = np.asarray(categories)
    return np.asarray(names[:, None] == names[None, :])
