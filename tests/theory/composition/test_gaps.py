"""What locality costs: the best local score against Gaussian formulas and samples, and composition in features."""

import math

import pytest
import torch

from recombine.errors import UserError
from recombine.theory.composition.error import (
    compare,
    equicoupled,
    error_over_noise,
    fisher,
    local_errors,
    local_fisher,
    noise_quadrature,
    total_correlation,
)
from recombine.theory.composition.families import random_coupled
from recombine.theory.composition.features import (
    Featured,
    cosines,
    expected_cosine,
    generic_map,
    orthogonal_map,
    partial_correlations,
    sampled_cosines,
    shifts,
)
from recombine.theory.composition.laws import gaussian
from recombine.theory.composition.scores import neighbourhoods, pixel_changes
from support.compositions import ALL, exact, keys, points

PAIR = ((0, 1, 2), (3, 4, 5))


# The best local score


def test_the_gaussian_errors_computed_by_hand() -> None:
    sigmas = torch.tensor([0.1, 1.0, 10.0])
    errors = local_errors(equicoupled(0.3), PAIR, sigmas)
    assert errors.mean(1).tolist() == pytest.approx([0.1400, 9.12e-3, 1.279e-7], rel=1e-3)
    relative = (errors / fisher(equicoupled(0.3), sigmas)).mean(1)
    assert relative.tolist() == pytest.approx([8.7e-2, 1.6e-2, 1.3e-5], rel=0.02)


@pytest.mark.parametrize(("rho", "known"), [(0.1, 0.01507), (0.3, 0.14140), (0.6, 0.66910)])
def test_the_divergence_lost_is_the_total_error(rho: float, known: float) -> None:
    covariance = equicoupled(rho)
    start, end = total_correlation(covariance, PAIR, torch.tensor([0.01, 10.0])).tolist()
    assert start - end == pytest.approx(known, abs=1e-5)
    assert error_over_noise(covariance, PAIR, 0.01, 10.0) == pytest.approx(start - end, abs=1e-9)
    whole = float(total_correlation(covariance, PAIR, torch.zeros(1))[0])
    assert whole == pytest.approx(-1.5 * math.log(1 - rho**2), abs=1e-12)  # three canonical correlations of rho
    assert error_over_noise(covariance, PAIR, 0.0, 1e4) == pytest.approx(whole, abs=1e-8)


def test_sampled_errors_are_those_of_the_formula_and_gaps() -> None:
    covariance = equicoupled(0.3)
    law, local = gaussian(covariance), gaussian(equicoupled(0.0))
    for sigma in (0.1, 1.0):
        found = compare(law, local, points(law, 40_000, sigma), sigma)
        known = float(local_errors(covariance, PAIR, torch.tensor([sigma])).mean())
        assert float(found.errors.mean()) == pytest.approx(known, rel=0.02)
        assert float(found.gaps.mean()) == pytest.approx(known, rel=0.1)
        divergence = float(total_correlation(covariance, PAIR, torch.tensor([sigma]))[0])
        error = float(found.log_ratios.std()) / 200  # standard error
        assert float(found.log_ratios.mean()) == pytest.approx(divergence, abs=4 * error)


def test_the_marginal_score_is_nearer_than_any_other_local_one() -> None:
    """On coupled mixtures: the gap is the error, and moving the local law a little makes the error larger."""
    family = random_coupled(exact(), 0)
    law, best = family.at(ALL), family.marginals().at(ALL)
    x = points(law, 20_000, 0.5)
    found = compare(law, best, x, 0.5)
    error = float(found.errors.mean())
    assert float(found.gaps.mean()) == pytest.approx(error, rel=0.05)
    for other in (family.members[0].at(ALL), family.marginals().moved(torch.full((7,), 0.1).double()).at(ALL)):
        assert float(compare(law, other, x, 0.5).errors.mean()) > 1.02 * error


def test_no_coupling_is_no_error() -> None:
    sigmas = torch.tensor([0.0, 1.0])
    assert float(local_errors(equicoupled(0.0), PAIR, sigmas).abs().max()) < 1e-14
    assert torch.equal(local_fisher(equicoupled(0.5), [tuple(range(6))], sigmas), fisher(equicoupled(0.5), sigmas))
    with pytest.raises(UserError, match="smaller"):
        equicoupled(1.0)


def test_the_quadrature_over_noise() -> None:
    sigmas, weights = noise_quadrature(0.5, 3.0, 0.2)
    assert float(weights.sum()) == pytest.approx(9 - 0.25, rel=1e-12)
    assert float(weights @ (1 / (0.2 + sigmas**2))) == pytest.approx(math.log(9.2 / 0.45), rel=1e-12)
    with pytest.raises(UserError, match="noise from 3 to 1"):
        noise_quadrature(3.0, 1.0, 0.2)


# Features


def test_maps() -> None:
    rotation, generic = orthogonal_map(7, 0), generic_map(7, 0, stretch=3.0)
    assert torch.allclose(rotation @ rotation.T, torch.eye(7, dtype=torch.float64), atol=1e-14)
    values = torch.linalg.svdvals(generic)
    assert [float(values[-1]), float(values[0])] == pytest.approx([1 / 3, 3])
    with pytest.raises(UserError, match=r"stretch 0\.5"):
        generic_map(7, 0, stretch=0.5)


def test_only_an_orthogonal_map_keeps_features_independent_under_pixel_noise() -> None:
    clean = exact().at(ALL).joint()
    outside = ~neighbourhoods(exact().blocks, ALL, 7)
    spread = torch.einsum("k,kde->de", clean.weights, clean.covariances)
    sigmas = torch.tensor([0.0, 0.3, 1.0, 3.0])
    for matrix, leaks in ((orthogonal_map(7, 1), False), (generic_map(7, 1), True)):
        partial = partial_correlations(spread, matrix, sigmas)[:, outside].abs().amax(1)
        assert float(partial[0]) < 1e-14  # without noise any map will do
        assert bool((partial[1:] > 0.05).all()) == leaks
        assert bool((partial < 1e-13).all()) != leaks
        law = Featured(clean, matrix)
        change = pixel_changes(law, law.sample(keys(5)), 1.0, 0.3)[:, outside].abs().max()
        assert float(change) > 1e-3 if leaks else float(change) < 1e-12


def test_partial_correlations_of_two() -> None:
    covariance = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    found = partial_correlations(covariance, torch.eye(2, dtype=torch.float64), torch.tensor([0.0, 1.0]))
    assert found[:, 0, 1].tolist() == pytest.approx([0.5, 0.25])  # of two alone it is the correlation


def test_mean_shifts_are_orthogonal_in_features() -> None:
    moved = shifts(exact())
    assert moved.shape == (3, 7)
    assert moved.nonzero().tolist() == [[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 5]]
    assert float(cosines(moved).abs().max()) == 0
    assert float(cosines(moved @ orthogonal_map(7, 0)).abs().max()) < 1e-14
    assert float(cosines(moved @ generic_map(7, 0)).abs().max()) > 0.05
    assert cosines(torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, -2.0]])).tolist() == pytest.approx(
        [0.5**0.5, 0, -(0.5**0.5)]
    )


@pytest.mark.parametrize(("count", "known"), [(50, 0.37), (500, 0.11), (5000, 0.013)])
def test_a_shared_background_mean_biases_the_cosine(count: int, known: float) -> None:
    assert expected_cosine(count, 256, 3.6) == pytest.approx(known, abs=1e-3)
    shared, split = (sampled_cosines(count, 256, 3.6, 2000, 0, split) for split in (False, True))
    assert float(shared.mean()) == pytest.approx(known, abs=0.005)
    assert float(split.mean()) == pytest.approx(0, abs=0.005)


def test_sampled_means_have_the_variance_of_means() -> None:
    """Without shifts to speak of, two differences from one background mean correlate by one half."""
    assert float(sampled_cosines(100, 4096, 1e-9, 50, 0, split=False).mean()) == pytest.approx(0.5, abs=0.01)
    with pytest.raises(UserError, match="two samples"):
        sampled_cosines(1, 256, 3.6, 10, 0, split=True)
