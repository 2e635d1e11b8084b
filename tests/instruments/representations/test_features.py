"""Directions of concepts: known answers on made-up means, the bias of a shared background, and a network of random
weights, which has no categories but those of its input.
"""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor

from recombine import seeds
from recombine.denoisers.adapters import recording, tiny_pipeline
from recombine.errors import UserError
from recombine.instruments.representations.features import (
    ESTIMATES,
    Directions,
    Estimate,
    Products,
    Structure,
    block_means,
    coincidence,
    cosines,
    influence,
    shuffled_gaps,
    structure,
)

CATEGORIES = ["a", "a", "a", "b", "b", "b"]


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gathered(draws: Tensor) -> Products:
    """Of representations [draws, K + 1, D]."""
    found = Directions()
    for points in draws:
        found.add(points)
    return found.products()


def exact(directions: Tensor) -> Products:
    """Two draws without any noise, about a background that is far from 0."""
    background = 7 + normal(directions.shape[1], seed=9)
    return gathered(torch.cat([directions + background, background[None]]).expand(2, -1, -1))


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_without_noise_all_estimates_are_the_cosine(estimate: Estimate) -> None:
    directions = normal(5, 40)
    unit = directions / directions.norm(dim=1, keepdim=True)
    assert np.allclose(cosines(exact(directions), estimate), (unit @ unit.T).numpy(), atol=1e-10)


def drawn(directions: Tensor, draws: int, shared: bool, seed: int) -> Tensor:
    """Noisy representations: unit noise, of each prompt's own or the same for all prompts.  # [draws, K + 1, D]"""
    count, width = directions.shape
    means = torch.cat([directions, torch.zeros(1, width, dtype=torch.float64)])
    return means + normal(draws, 1 if shared else count + 1, width, seed=seed)


def test_products_are_means_over_all_ways_to_halve_the_draws() -> None:
    points = drawn(normal(3, 5, seed=1), 4, False, 2)  # [4, 4, 5]
    found = gathered(points)
    halves, plain, split = [], [], []
    for one in combinations(range(4), 2):
        two = [draw for draw in range(4) if draw not in one]
        first, second, whole = points[list(one)].mean(0), points[two].mean(0), points.mean(0)
        halves.append((first[:-1] - first[-1]) @ (second[:-1] - second[-1]).T)
        split.append((whole[:-1] - first[-1]) @ (whole[:-1] - second[-1]).T)
        plain.append((whole[:-1] - whole[-1]) @ (whole[:-1] - whole[-1]).T)
    assert np.allclose(found.halves, torch.stack(halves).mean(0))
    assert np.allclose(found.mean, torch.stack(plain).mean(0))
    assert np.allclose(found.mean - found.background_error, torch.stack(split).mean(0))


def mean_cosine(shared: bool, estimate: Estimate, draws: int = 50, trials: int = 60) -> float:
    """Mean cosine of the directions of an F-CPC, which is 0: D = 256, |d|^2 = 3.6, as in the fact sheet."""
    directions = torch.zeros(2, 256, dtype=torch.float64)
    directions[0, :128], directions[1, 128:] = (3.6 / 128) ** 0.5, (3.6 / 128) ** 0.5
    found = [gathered(drawn(directions, draws, shared, seed)) for seed in range(trials)]
    return float(np.nanmean([cosines(products, estimate)[0, 1] for products in found]))


def test_a_shared_background_biases_the_naive_cosine_and_halves_remove_it() -> None:
    # numerator |noise of the background|^2 = 256 / 50, lengths 3.6 + 2 * 256 / 50
    assert mean_cosine(False, "naive") == pytest.approx(5.12 / 13.84, abs=0.02)
    assert mean_cosine(False, "background") == pytest.approx(0, abs=0.03)
    assert mean_cosine(False, "halves") == pytest.approx(0, abs=0.1)


def test_with_shared_noise_the_split_background_is_biased_down_and_halves_are_not() -> None:
    assert mean_cosine(True, "naive") == pytest.approx(0, abs=1e-6)
    assert mean_cosine(True, "background") == pytest.approx(-5.12 / 3.6, abs=0.2)
    assert mean_cosine(True, "halves") == pytest.approx(0, abs=1e-6)


def test_more_draws_less_bias() -> None:
    assert mean_cosine(False, "naive", draws=500, trials=20) == pytest.approx(0.512 / 4.624, abs=0.03)


def test_halves_keep_a_true_cosine() -> None:
    directions = torch.zeros(2, 64, dtype=torch.float64)
    directions[0, 0], directions[1, :2] = 3.0, torch.tensor([1.5, 1.5 * 3**0.5])
    found = [cosines(gathered(drawn(directions, 40, False, seed)))[0, 1] for seed in range(40)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)


def test_a_concept_without_a_direction_has_no_cosine() -> None:
    directions = torch.zeros(3, 8, dtype=torch.float64)
    directions[0, 0] = directions[1, 0] = 1
    found = cosines(exact(directions))
    assert found[0, 1] == pytest.approx(1)
    assert np.isnan(found[2]).all()
    assert structure(found, ["a", "a", "b"]).within == pytest.approx(1)


def test_categories_are_found_where_they_are() -> None:
    kinds = np.repeat(np.eye(2), 3, 0)
    cosine = 0.1 + 0.6 * kinds @ kinds.T
    np.fill_diagonal(cosine, 1)
    found = structure(cosine, CATEGORIES)
    assert (found.within, found.between) == (pytest.approx(0.7), pytest.approx(0.1))
    assert (found.gap, found.ratio) == (pytest.approx(0.6), pytest.approx(7))
    chance = shuffled_gaps(cosine, CATEGORIES, 0)
    assert abs(chance.mean()) < 0.1
    assert (chance >= found.gap - 1e-9).mean() == pytest.approx(0.1, abs=0.07)  # 2 of 20 ways to part six in threes


def test_a_ratio_to_nothing_is_no_number() -> None:
    assert math.isnan(Structure(0.5, -0.1).ratio)


def test_sides_of_a_network_are_averaged() -> None:
    found = block_means({"down_blocks.1": np.zeros((2, 2)), "down_blocks.2": np.ones((2, 2)), "mid_block": np.eye(2)})
    assert found["down"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert list(found) == ["down", "mid"]


def local_denoiser(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    """Word 0 acts on the left half, word 1 on the right half, word 2 on everything alike, as much as there is noise."""
    assert condition is not None
    half = x.shape[3] // 2
    words = condition[:, :, None, None, None].expand(-1, -1, *x.shape[1:])  # [n, 3, C, H, W]
    answer = x + sigma[:, None, None, None] * words[:, 2]
    answer[..., :half] += words[:, 0][..., :half]
    answer[..., half:] += words[:, 1][..., half:]
    return answer


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_influence_is_where_a_word_acts(chunk: int) -> None:
    x, sigma = normal(2, 4, 6, 8), torch.tensor([1.0, 3.0], dtype=torch.float64)
    prompt = torch.ones(3, dtype=torch.float64)
    found = influence(local_denoiser, x, sigma, prompt, prompt - torch.eye(3, dtype=torch.float64), chunk)
    assert found.shape == (3, 2, 6, 8)
    left, right = torch.zeros(6, 8), torch.zeros(6, 8)
    left[:, :4], right[:, 4:] = 2, 2  # the norm over four channels of a change of 1
    assert torch.allclose(found[0], left.double().expand(2, -1, -1))
    assert torch.allclose(found[1], right.double().expand(2, -1, -1))
    assert torch.allclose(found[2], (2 * sigma)[:, None, None].expand(-1, 6, 8))


def test_curves_that_coincide() -> None:
    one = np.array([1.0, 2.0, 3.0])
    assert coincidence(one, one) == 1
    assert coincidence(one, 2 * one) == pytest.approx(0.5)
    assert coincidence(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 0
    assert math.isnan(coincidence(0 * one, 0 * one))


# --- a network of random weights -------------------------------------------------------------------------------------

WORDS = [f"{letter}{number}" for letter in "abcd" for number in range(4)]
KINDS = [word[0] for word in WORDS]


def gaps(seed: int, named_kind: bool) -> tuple[float, float]:
    """Gaps of within- and between-category cosines of the input and, mean over blocks, of a random network.

    With `named_kind` every prompt names its category too, so that the input has structure.
    """
    pipeline = tiny_pipeline(seed)
    prompts = [f"{kind} {word}" if named_kind else word for kind, word in zip(KINDS, WORDS, strict=True)]
    condition = pipeline.encode([*prompts, ""])  # [K + 1, numbers]
    gathered_by = {layer: Directions() for layer in pipeline.blocks}
    count = len(condition)
    with torch.no_grad(), recording(pipeline.blocks, lambda layer, hidden: gathered_by[layer].add(hidden.flatten(1))):
        for draw in range(2):
            x = normal(1, 4, 16, 16, seed=100 * seed + draw).float()  # smaller than it wants, which takes less time
            pipeline.denoiser.denoise(10 * x.expand(count, -1, -1, -1), torch.full((count,), 10.0), condition)
    blocks = [structure(cosines(found.products()), KINDS).gap for found in gathered_by.values()]
    text = cosines(gathered(condition.expand(2, -1, -1)))
    return structure(text, KINDS).gap, float(np.mean(blocks))


def test_a_random_network_has_no_categories_of_its_own() -> None:
    found = np.array([gaps(seed, False) for seed in range(6)])  # [seeds, 2]
    assert abs(found[:, 1].mean()) < 0.03
    assert abs(found[:, 0].mean()) < 0.03


def test_a_random_network_shows_the_categories_of_its_input() -> None:
    found = np.array([gaps(seed, True) for seed in range(4)])
    assert found[:, 0].min() > 0.1
    assert found[:, 1].min() > 0.1
    assert found[:, 1].mean() < found[:, 0].mean() + 0.03, "it passes on its input, and adds nothing"


def test_wrong_use_is_one_line() -> None:
    with pytest.raises(UserError, match="two concepts"):
        gathered(normal(2, 2, 4))
    with pytest.raises(UserError, match="1 draws: give two"):
        gathered(normal(1, 3, 4))
    with pytest.raises(UserError, match="one for each concept"):
        structure(np.eye(3), ["a", "b"])
    with pytest.raises(UserError, match=r"give \[K\]"):
        influence(local_denoiser, normal(1, 4, 2, 2), torch.ones(1), torch.ones(3), torch.ones(1, 2))


def test_what_rounding_leaves_is_no_direction() -> None:
    found = Directions()
    for draw in range(4):
        background = torch.full((1, 50), 3.0 + draw)
        noise = 1e-6 * seeds.normal(seeds.keys(draw, "rounding", torch.arange(2)), (50,))
        found.add(torch.cat([background + noise, background]))
    assert np.isnan(cosines(found.products())).all()
