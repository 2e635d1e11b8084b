"""The conditional local-score machine against a double loop, its limits, and what locality alone composes."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import Tensor

from recombine import seeds
from recombine.denoisers import local_machine
from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.local_machine import ConditionalLocalMachine
from recombine.denoisers.local_score import LocalScoreDenoiser
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError

GRID = 4


def training_set(count: int = 30, side: int = 8, channels: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, channels, side, side, generator=generator) * 2 - 1
    labels = (torch.rand(count, GRID**2, generator=generator) < 0.15).float()
    labels[:, 0] = 0  # so that a prompt can ask for what nobody has
    return images, labels


def noisy(images: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
    noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(1))
    return images + sigma * noise, torch.full((len(images),), sigma)


def by_hand(
    images: Tensor, labels: Tensor, x: Tensor, sigma: float, prompt: Tensor, radius: int, label_radius: int, pixel: bool
) -> Tensor:
    """One image, pixel by pixel, in float64, as the definition reads."""
    side, cell = x.shape[-1], x.shape[-1] // GRID
    images, x, answer = images.double(), x.double(), torch.zeros_like(x.double())
    known, asked = labels.reshape(-1, GRID, GRID), prompt.reshape(GRID, GRID)
    reach = ((2 * radius + 1) * cell - 1) // 2
    for row, column in itertools.product(range(side), repeat=2):
        near, box = [], []
        for at in (row, column):
            here = at // cell
            near.append(slice(max(0, here - label_radius), here + label_radius + 1))
            cells = slice(max(0, here - radius) * cell, (here + radius + 1) * cell)
            box.append(slice(max(0, at - reach), at + reach + 1) if pixel else cells)
        wrong = (known[:, *near] != asked[*near]).sum((1, 2))
        counted = images[wrong == wrong.min()]
        distance = (x - counted)[:, :, *box].square().sum((1, 2, 3))
        answer[:, row, column] = (-distance / (2 * sigma**2)).softmax(0) @ counted[:, :, row, column]
    return answer.float()


@pytest.mark.parametrize("centring", ["cell", "pixel"])
@pytest.mark.parametrize(("radius", "label_radius"), [(0, 0), (1, 1), (1, 0), (0, 2), (2, 4)])
def test_it_is_the_double_loop(centring: Any, radius: int, label_radius: int) -> None:
    images, labels = training_set()
    machine = ConditionalLocalMachine(images, labels, GRID, radius, label_radius, centring, at_once=700)
    unseen = 1 - labels[:1]  # nobody agrees with it in the first cell: the tie rule
    prompts = torch.cat([labels[:2], unseen])
    assert machine.disagreements(prompts)[:2].max() == 0 < machine.disagreements(prompts)[2].max()
    for sigma in (0.05, 0.5, 20.0):
        x, level = noisy(images[5:8], sigma)
        found = machine.denoise(x, level, prompts)
        for one, noised, prompt in zip(found, x, prompts, strict=True):
            exact = by_hand(images, labels, noised, sigma, prompt, radius, label_radius, centring == "pixel")
            assert (one - exact).abs().max() < 1e-5


@pytest.mark.parametrize("sigma", [0.002, 0.05, 0.5, 80.0])
def test_by_products_as_on_a_gpu_it_is_the_same(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = training_set()
    machine = ConditionalLocalMachine(images, labels, GRID, 1, at_once=700)
    x, level = noisy(images[5:8], sigma)
    by_differences = machine.denoise(x, level, labels[:3])
    monkeypatch.setattr(local_machine, "_squared_distance", local_machine._by_products)
    assert (machine.denoise(x, level, labels[:3]) - by_differences).abs().max() < 1e-5
    items = torch.randn(2, 5, 3) + 100
    distance = local_machine._by_products(items + 1e-2, items)
    assert torch.allclose(distance.diagonal(dim1=1, dim2=2), torch.tensor(3e-4), rtol=5e-3)  # float32 would say 0


@pytest.mark.parametrize("centring", ["cell", "pixel"])
@pytest.mark.parametrize("radius", [None, GRID, 99])
def test_fields_as_large_as_the_image_are_the_memoriser_of_images_that_agree(centring: Any, radius: int | None) -> None:
    images, _ = training_set()
    labels = torch.eye(GRID**2)[torch.arange(30) % 3]
    machine = ConditionalLocalMachine(images, labels, GRID, radius, centring=centring)
    memoriser = EmpiricalDenoiser(images, labels)
    for sigma in (0.3, 1.0, 3.0):
        x, level = noisy(images[:6], sigma)
        local, exact = (machine_.denoise(x, level, labels[:6]) for machine_ in (machine, memoriser))
        assert torch.allclose(local, exact, atol=1e-5)


def test_without_a_condition_it_is_the_local_score_machine() -> None:
    images, labels = training_set()
    machine = ConditionalLocalMachine(images, labels, GRID, 1, centring="pixel")
    other = LocalScoreDenoiser(images, torch.zeros(30, 1), patch=5)  # no wider than 3 cells of 2 px
    x, level = noisy(images[:4], 0.7)
    assert torch.allclose(machine.denoise(x, level), other.denoise(x, level, torch.zeros(4, 1)), atol=1e-5)


@pytest.mark.parametrize(("centring", "rows"), [("cell", (2, 8)), ("pixel", (3, 8))])
def test_nothing_outside_of_the_patch_has_any_influence(centring: Any, rows: tuple[int, int]) -> None:
    """Pixel (5, 5) of 8 lies in cell (2, 2) of 4; the fields reach one cell."""
    images, labels = training_set()
    machine = ConditionalLocalMachine(images, labels, GRID, 1, centring=centring)
    x, level = noisy(images[:2], 0.8)
    x.requires_grad_()
    before = machine.denoise(x, level, labels[:2])
    (slope,) = torch.autograd.grad(before[:, :, 5, 5].sum(), x)
    inside = torch.zeros(8, 8, dtype=torch.bool)
    inside[slice(*rows), slice(*rows)] = True
    assert (slope[:, :, ~inside] == 0).all()
    assert (slope[:, :, inside] != 0).all()
    far = x.detach() + 50 * ~inside
    changed = labels[:2].clone()
    changed[:, [0, 1, 2, 3, 4, 8, 12]] = 1 - changed[:, [0, 1, 2, 3, 4, 8, 12]]  # first row and column of cells
    after = machine.denoise(far, level, changed)
    assert torch.equal(before[:, :, 5, 5], after[:, :, 5, 5])
    assert not torch.allclose(before[:, :, 0, 0], after[:, :, 0, 0])


def test_the_gradient_is_the_slope() -> None:
    images, labels = (t.double() for t in training_set())
    machine = ConditionalLocalMachine(images, labels, GRID, 1, at_once=700)
    x, level = noisy(images[:1], 0.8)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda given: machine.denoise(given, level, labels[:1])[:, :, 3, 3], x)
    picked = torch.eye(128, dtype=torch.double)[:6].reshape(6, *x.shape)  # many backward passes in one
    at_once = torch.autograd.grad(machine.denoise(x, level, labels[:1]), x, picked, is_grads_batched=True)[0]
    for one, together in zip(picked, at_once, strict=True):
        alone = torch.autograd.grad(machine.denoise(x, level, labels[:1]), x, one)[0]
        assert torch.allclose(alone, together)


@pytest.mark.parametrize("sigma", [1e-3, 0.0])
def test_as_noise_vanishes_it_answers_with_the_nearest_patch_that_agrees(sigma: float) -> None:
    images, labels = training_set()
    labels[:, 5] = torch.arange(30) % 2  # what image 0 has there, the odd ones disagree with
    machine = ConditionalLocalMachine(images, labels, GRID, 0)
    x = images[1:2] + 0.01  # an odd one is the nearest
    guess = machine.denoise(x, torch.tensor([sigma]), labels[:1])
    cell = (..., slice(2, 4), slice(2, 4))  # cell 5
    distance = (images - x)[cell].square().sum((1, 2, 3))
    distance[1::2] = torch.inf
    assert torch.allclose(guess[cell], images[distance.argmin()][cell], atol=1e-6)


def test_small_noise_keeps_its_digits() -> None:
    """Two images that differ by less than float32 resolves of a squared norm, at noise of the same size."""
    base = torch.full((1, 3, 32, 32), 0.9)
    images = torch.cat([base, base + 1e-4])
    machine = ConditionalLocalMachine(images, torch.zeros(2, 256), 16, None)
    x, level = base + 2e-5, torch.tensor([2e-3])
    exact = EmpiricalDenoiser(images).denoise(x, level)
    assert (machine.denoise(x, level) - exact).abs().max() < 1e-2 * 1e-4


def test_neither_parts_nor_memory_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = training_set()
    x, level = noisy(images[:6], 0.7)
    level[::2] = 0.3
    found = []
    for at_once, remembered in ((1, 10**9), (900, 0), (10**6, 10**9)):
        monkeypatch.setattr(local_machine, "REMEMBERED", remembered)
        machine = ConditionalLocalMachine(images, labels, GRID, 1, at_once=at_once)
        found += [machine.denoise(x, level, labels[:6]) for _ in range(2)]
        assert len(machine._known) == (len(labels[:6].unique(dim=0)) if remembered else 1)
    assert all(torch.allclose(found[0], other, atol=1e-5) for other in found[1:])


def test_fields_may_depend_on_noise() -> None:
    images, labels = training_set()
    x, _ = noisy(images[:4], 0.5)
    level = torch.tensor([9.0, 0.1, 2.0, 0.1])

    def answer(radius: Any, label_radius: Any) -> Tensor:
        return ConditionalLocalMachine(images, labels, GRID, radius, label_radius).denoise(x, level, labels[:4])

    table = answer([(0.0, 0), (1.0, 1), (9.0, None)], lambda sigma: 2 if sigma < 1 else 0)
    for row, fields in enumerate([(None, 0), (0, 2), (1, 0), (0, 2)]):
        assert torch.allclose(table[row], answer(*fields)[row], atol=1e-6)
    assert torch.equal(answer([(0.0, 1)], "same"), answer(1, 1))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"grid": 5}, "labels of 5 x 5 cells"),
        ({"images": torch.zeros(3, 1, 9, 9)}, "9x9 px are no grid of 4 x 4"),
        ({"images": torch.zeros(3, 1, 8, 4)}, "8x4 px are no grid"),
        ({"images": torch.zeros(0, 1, 8, 8), "labels": torch.zeros(0, 16)}, "needs images"),
        ({"labels": torch.full((3, 16), 0.5)}, "grid of 0 and 1"),
        ({"radius": -1}, "0 or more"),
        ({"label_radius": 1.5}, "whole number of cells"),
        ({"radius": [(0.5, 1)]}, "start the lowest pair"),
        ({"centring": "patch"}, "need cell or pixel"),
        ({"at_once": 0}, "1 or more"),
    ],
)
def test_bad_settings_get_one_line(settings: dict[str, Any], says: str) -> None:
    given = {"images": torch.zeros(3, 1, 8, 8), "labels": torch.zeros(3, 16), "grid": GRID} | settings
    with pytest.raises(UserError, match=says) as caught:
        ConditionalLocalMachine(**given)
    assert "\n" not in str(caught.value)


def test_bad_prompts_get_one_line() -> None:
    machine = ConditionalLocalMachine(*training_set(), GRID)
    x, level = torch.zeros(2, 2, 8, 8), torch.ones(2)
    with pytest.raises(UserError, match="x has shape"):
        machine.denoise(x[:, :1], level, torch.zeros(2, 16))
    with pytest.raises(UserError, match="condition has shape"):
        machine.denoise(x, level, torch.zeros(1, 16))
    with pytest.raises(UserError, match="grid of 0 and 1"):
        machine.denoise(x, level, torch.full((2, 16), 0.3))


PIXELS, CELLS, DISC = 32, 16, 2.5


def lay_out(count: int, generator: np.random.Generator) -> np.ndarray:
    """Centres (x, y) of discs that do not touch: tries, and a new start when they are used up.  # [count, 2]"""
    while True:
        placed: list[np.ndarray] = []
        for place in generator.uniform(DISC + 0.5, PIXELS - DISC - 0.5, (400, 2)):
            if all(np.hypot(*(place - other)) >= 2 * DISC + 1.5 for other in placed):
                placed.append(place)
            if len(placed) == count:
                return np.array(placed)


def draw(centres: np.ndarray) -> Tensor:
    """Dark discs with soft edges on white.  # [1, pixels, pixels]"""
    middle = np.arange(PIXELS) + 0.5
    away = np.hypot(middle[None, None] - centres[:, :1, None], middle[None, :, None] - centres[:, 1:, None])
    return torch.tensor(1 - 2 * np.clip(DISC + 0.5 - away, 0, 1).max(0), dtype=torch.float32)[None]


def label(centres: np.ndarray) -> Tensor:
    """1 where a centre lies in the cell.  # [cells * cells]"""
    grid = torch.zeros(CELLS, CELLS)
    column, row = (centres * CELLS / PIXELS).astype(int).T
    grid[row, column] = 1
    return grid.flatten()


def count_discs(image: Tensor) -> int:
    """Connected dark regions of a size."""
    regions, number = ndimage.label(image[0].numpy() < 0)
    return int((np.bincount(regions.ravel(), minlength=number + 1)[1:] >= 6).sum())


def test_locality_alone_draws_more_discs_than_were_ever_seen() -> None:
    """Made of images of 1 to 3 discs, 6 labels."""
    generator = np.random.default_rng(0)
    seen = [lay_out(int(generator.integers(1, 4)), generator) for _ in range(1000)]
    images, labels = torch.stack([draw(one) for one in seen]), torch.stack([label(one) for one in seen])
    asked = [lay_out(6, generator) for _ in range(4)]
    prompts, key = torch.stack([label(one) for one in asked]), seeds.keys(0, "sampling", torch.arange(4))
    drawn = {}
    for radius in (2, None):
        machine = ConditionalLocalMachine(images, labels, CELLS, radius)
        config = SamplerConfig(method="euler", steps=18)
        made = sample(machine.denoise, config, EDMSchedule(), (1, PIXELS, PIXELS), prompts, key)
        drawn[radius] = np.mean([count_discs(one) for one in made])
    assert np.mean([count_discs(draw(one)) for one in asked]) == 6
    assert drawn[2] == pytest.approx(6, abs=0.5)
    assert drawn[None] < 3.5
