"""The conditional local-score machine: what a model that is local, and knows its training set by heart, would answer.

Bradley 2026; the machine without conditions is Kamb and Ganguli 2024, Eqs. 7-8. For each cell of the image, training
images count whose label grid agrees with the prompt in the label receptive field around it, each by how likely its
patch of pixels is to have become this one. This is the posterior mean of the patch's own law given its own labels,
hence the best local conditional score of the training set. With receptive fields as large as the image it memorizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import torch

from recombine.denoisers.contract import per_image
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

Radius = int | None  # in cells; None is the whole image
RadiusAtNoise = Radius | Callable[[float], Radius] | Sequence[tuple[float, Radius]]  # of sigma, or from which sigma on
Centring = Literal["cell", "pixel"]

REMEMBERED = 2**28  # bytes of label agreement that are kept between calls
LEAST_SIGMA = 1e-10  # below it the nearest patch has long won, and float32 ends


class ConditionalLocalMachine:
    """A training set, and the receptive fields of each place of the image.

    Centred on a "cell", a whole cell is answered from the patch of 2 radius + 1 cells around it, as by the patch
    network; on a "pixel", each pixel from the largest box of odd side, with the pixel in its middle, that is no wider
    than such a patch. The label receptive field is always that of the cell. Where no training image agrees with the
    prompt, those with the fewest disagreeing cells count. Radii may depend on noise: a function of sigma, or pairs of a
    sigma and the radius from there on, of which one starts at 0.
    """

    def __init__(
        self,
        images: Tensor,  # [N, C, H, H]
        labels: Tensor,  # [N, grid * grid] of 0 and 1, row by row
        grid: int = 16,
        radius: RadiusAtNoise = 2,
        label_radius: RadiusAtNoise | Literal["same"] = "same",
        centring: Centring = "cell",
        at_once: int = 2**20,  # numbers held at a time, about: how many images are read at once
    ) -> None:
        if len(images) == 0 or images.dim() != 4 or labels.shape != (len(images), grid**2):
            raise UserError(f"a local machine needs images and labels of {grid} x {grid} cells, one for each, not "
                            f"{tuple(images.shape)} and {tuple(labels.shape)}")  # fmt: skip
        height, width = images.shape[2:]
        if height != width or height % grid:
            raise UserError(f"images of {height}x{width} px are no grid of {grid} x {grid} cells")
        if centring not in get_args(Centring) or at_once < 1:
            raise UserError(f"centring = '{centring}' and at_once = {at_once}: need cell or pixel, and 1 or more")
        self.radius: RadiusAtNoise = radius
        self.label_radius: RadiusAtNoise = radius if label_radius == "same" else label_radius
        for radius_at_noise in (self.radius, self.label_radius):
            _radius_at(radius_at_noise, 0.0, grid)
        self.shape, self.grid, self.centring, self.at_once = images.shape[1:], grid, centring, at_once
        self.side = height // grid if centring == "cell" else 1  # of what is answered at once, a unit, in pixels
        self.items = self._cut(images.to(torch.promote_types(images.dtype, torch.float32)))  # [units, N, D]
        self.labels = _whole(labels).to(images.device).T.contiguous()  # [cells, N]
        self._known: dict[tuple[bytes, int], tuple[Tensor, Tensor]] = {}

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None = None) -> Tensor:
        """The guess of every cell or pixel; without a condition all training images count.  # [n, C, H, H]"""
        if x.shape[1:] != self.shape:
            raise UserError(f"x has shape {tuple(x.shape[1:])}, the training images {tuple(self.shape)}")
        asked = None if condition is None else self._asked(condition, len(x))
        units = self._cut(x.to(self.items.dtype))  # [units, n, D]
        noise = per_image(sigma.to(units.dtype), x).flatten().clamp_min(LEAST_SIGMA)  # [n]
        radii = [tuple(_radius_at(r, s, self.grid) for r in (self.radius, self.label_radius)) for s in sigma.tolist()]
        together = max(1, self.at_once // (128 * len(units)))  # prompts
        order, parts = [], []
        for radius, label_radius in sorted(set(radii)):  # a sampler's batch shares its noise level: one pair
            rows = [row for row, pair in enumerate(radii) if pair == (radius, label_radius)]
            for start in range(0, len(rows), together):
                some = rows[start : start + together]
                agree = None if asked is None else [self._agreement(asked[row], label_radius)[0] for row in some]
                parts.append(self._guess(units[:, some], noise[some], radius, agree))
                order += some
        back = torch.tensor(order).argsort().to(x.device)
        return self._joined(torch.cat(parts, 1)[:, back]).to(x.dtype)

    def disagreements(self, condition: Tensor, sigma: float = 0.0) -> Tensor:
        """How many cells of a receptive field even the images that count have wrong.  # [n, grid, grid]"""
        reach = _radius_at(self.label_radius, sigma, self.grid)
        fewest = [self._agreement(prompt, reach)[1] for prompt in self._asked(condition, len(condition))]
        return torch.stack(fewest).reshape(-1, self.grid, self.grid)

    def _guess(self, x: Tensor, sigma: Tensor, radius: int, agree: list[Tensor] | None) -> Tensor:
        """The weighted mean over training images, read a part at a time.  # x, guess: [units, n, D]"""
        units, count, _ = x.shape
        reach = radius if self.centring == "cell" else ((2 * radius + 1) * (self.shape[1] // self.grid) - 1) // 2
        chunk = max(1, self.at_once // (units * count))
        lowest = torch.finfo(x.dtype).min  # finite, so that a part in which nothing counts leaves no nan
        highest = x.new_full((units, count, 1), lowest)
        total, weighted = torch.zeros_like(highest), torch.zeros_like(x)
        for start in range(0, self.items.shape[1], chunk):
            item = self.items[:, start : start + chunk]  # [units, k, D]
            logits = _box_sum(_squared_distance(x, item), reach) / (-2 * sigma.square())[:, None]  # [units, n, k]
            if agree is not None:
                counts = torch.stack([known[:, start : start + chunk] for known in agree], 1)  # [cells, n, k]
                logits = logits.masked_fill(~self._spread(counts), -torch.inf)
            now = torch.maximum(highest, logits.detach().amax(2, keepdim=True))
            share, rescale = _weights(logits - now), (highest - now).exp()
            total = total * rescale + share.sum(2, keepdim=True)
            weighted = weighted * rescale + share @ item
            highest = now
        return weighted / total

    def _agreement(self, prompt: Tensor, radius: int) -> tuple[Tensor, Tensor]:
        """Which training images count at each cell, and how many cells they have wrong.  # [cells, N] bool, [cells]

        It depends on the label only, so the steps of a sampler share it.
        """
        key = (prompt.numpy().tobytes(), radius)
        if key not in self._known:
            cells, count = self.labels.shape
            prompt = prompt.to(self.labels.device)[:, None]
            wrong = torch.empty_like(self.labels)
            chunk = max(1, self.at_once // cells)
            for start in range(0, count, chunk):
                part = self.labels[:, start : start + chunk]
                wrong[:, start : start + chunk] = _box_sum((part != prompt).float(), radius).short()
            fewest = wrong.amin(1)
            while self._known and (len(self._known) + 1) * wrong.numel() > REMEMBERED:
                del self._known[next(iter(self._known))]  # the oldest
            self._known[key] = wrong == fewest[:, None], fewest
        return self._known[key]

    def _asked(self, condition: Tensor, count: int) -> Tensor:
        """The prompts as whole numbers.  # [n, cells] on the CPU"""
        if condition.shape != (count, self.grid**2):
            raise UserError(f"condition has shape {tuple(condition.shape)}, not {(count, self.grid**2)}")
        return _whole(condition).cpu()

    def _spread(self, counts: Tensor) -> Tensor:
        """What holds for a cell, for each of its units.  # [cells, ...] -> [units, ...]"""
        times = self.shape[1] // self.side // self.grid
        if times == 1:
            return counts
        maps = counts.reshape(self.grid, self.grid, *counts.shape[1:])
        return maps.repeat_interleave(times, 0).repeat_interleave(times, 1).flatten(0, 1)

    def _cut(self, images: Tensor) -> Tensor:
        """Images as units, row by row.  # [n, C, H, H] -> [units, n, D]"""
        across = self.shape[1] // self.side
        tiles = images.reshape(len(images), -1, across, self.side, across, self.side)
        return tiles.permute(2, 4, 0, 1, 3, 5).reshape(across**2, len(images), -1)

    def _joined(self, units: Tensor) -> Tensor:
        """Units put together to images.  # [units, n, D] -> [n, C, H, H]"""
        across = self.shape[1] // self.side
        tiles = units.reshape(across, across, units.shape[1], self.shape[0], self.side, self.side)
        return tiles.permute(2, 3, 0, 4, 1, 5).reshape(-1, *self.shape)


def _squared_distance(x: Tensor, item: Tensor) -> Tensor:
    """Between the same unit of every x and every item.  # [units, n, D], [units, k, D] -> [units, n, k]"""
    if x.is_cuda:
        return _by_products(x, item)  # no fast kernel for differences is there
    # By differences: |x|^2 - 2 x item + |item|^2 would lose in float32 the digits that 1 / sigma^2 brings up.
    return torch.cdist(x, item, compute_mode="donot_use_mm_for_euclid_dist").square()


def _by_products(x: Tensor, item: Tensor) -> Tensor:
    """The same by |x|^2 - 2 x item + |item|^2, in float64, which has digits to lose."""
    long, other = x.double(), item.double()
    size, others = long.square().sum(2, keepdim=True), other.square().sum(2)[:, None]
    return torch.baddbmm(size + others, long, other.mT, alpha=-2).clamp_min(0).to(x.dtype)


def _weights(logits: Tensor) -> Tensor:
    """exp, and 0 below 1e-34: a CPU computes with numbers at the end of float32 fifty times slower."""
    return torch.nn.functional.threshold(logits.clamp_min(-80).exp(), 1e-34, 0.0)


def _box_sum(values: Tensor, radius: int) -> Tensor:
    """Sums over the square of `radius` around every place of a square map, cut off at the border.  # [places, ...]

    As products with a band of ones: unlike in differences of running sums, what lies outside adds exactly nothing.
    """
    side = round(len(values) ** 0.5)
    place = torch.arange(side, device=values.device)
    band = ((place[:, None] - place).abs() <= radius).to(values.dtype)
    down = (band @ values.reshape(side, -1)).reshape(side, side, -1)
    return (band @ down).reshape(values.shape)


def _radius_at(given: RadiusAtNoise, sigma: float, grid: int) -> int:
    """The radius at this noise level in cells, at most the grid's side, which reaches everything from everywhere."""
    radius: object = given
    if callable(given):
        radius = given(sigma)
    elif isinstance(given, Sequence):
        started = [pair for pair in given if sigma >= pair[0]]
        if not started:
            raise UserError(f"no radius for sigma = {sigma:g}: start the lowest pair of a table of radii at 0")
        radius = max(started, key=lambda pair: pair[0])[1]
    if radius is None:
        return grid
    if not isinstance(radius, int) or radius < 0:
        raise UserError(f"radius = {radius}: give a whole number of cells, 0 or more, or None for the whole image")
    return min(radius, grid)


def _whole(labels: Tensor) -> Tensor:
    """Labels as whole numbers: only they can agree exactly."""
    if not bool((labels.float() == labels.float().round()).all()):
        raise UserError("a local machine compares labels cell by cell: give a grid of 0 and 1")
    return labels.to(torch.int16)
