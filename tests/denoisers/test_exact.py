"""Exact denoisers against closed forms, brute force and autograd."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import seeds
from recombine.denoisers.contract import score
from recombine.denoisers.exact import EmpiricalDenoiser, MixtureDenoiser
from recombine.errors import UserError


def random_mixture(seed=0, components=4, shape=(5,)):
    generator = torch.Generator().manual_seed(seed)
    means = torch.randn(components, *shape, generator=generator, dtype=torch.float64)
    variances = torch.rand(components, generator=generator, dtype=torch.float64) * 0.3 + 0.05
    weights = torch.rand(components, generator=generator, dtype=torch.float64) + 0.1
    return MixtureDenoiser(means, variances, weights)


def random_points(seed, count, shape=(5,)):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 1.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(6,), (3, 2, 4)])
def test_single_gaussian_is_its_closed_form(dtype, shape):
    mean, variance = torch.randn(1, *shape, generator=torch.Generator().manual_seed(0)), 0.3
    denoiser = MixtureDenoiser(mean, torch.tensor([variance]))
    x, sigma = random_points(1, 4, shape).to(dtype), torch.tensor([0.002, 0.1, 1.0, 80.0], dtype=dtype)
    level = sigma.reshape(-1, *(1,) * len(shape))
    guess = denoiser.denoise(x, sigma)
    assert guess.dtype == dtype
    torch.testing.assert_close(guess, ((variance * x + level**2 * mean) / (variance + level**2)).to(dtype))
    normal = torch.distributions.Normal(mean.to(dtype), (variance + level**2).sqrt())
    torch.testing.assert_close(denoiser.log_density(x, sigma), normal.log_prob(x).flatten(1).sum(1))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), log_sigma=st.floats(-5, 5), conditioned=st.booleans())
def test_score_is_the_gradient_of_the_log_density(seed, log_sigma, conditioned):
    mixture = random_mixture(seed)
    x = random_points(seed + 1, 3).requires_grad_()
    sigma = torch.full((3,), math.exp(log_sigma), dtype=torch.float64)
    condition = torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0], [0.2, 0, 3, 1]]) if conditioned else None
    (gradient,) = torch.autograd.grad(mixture.log_density(x, sigma, condition).sum(), x)
    direct = mixture.score(x, sigma, condition)
    torch.testing.assert_close(direct, gradient, rtol=1e-9, atol=1e-9)
    by_denoiser = score(mixture, x, sigma, condition)
    torch.testing.assert_close(by_denoiser, gradient, rtol=1e-6, atol=1e-6)


def test_posterior_mean_equals_integration():
    means, variances, weights = torch.tensor([[-1.0], [0.5]]), torch.tensor([0.1, 0.02]), torch.tensor([0.3, 0.7])
    mixture = MixtureDenoiser(means, variances, weights)
    grid = torch.linspace(-6, 6, 200_001, dtype=torch.float64)
    parts = torch.distributions.Normal(means.double(), variances.double().sqrt()[:, None])
    prior = (weights.double()[:, None] * parts.log_prob(grid).exp()).sum(0)
    for point, sigma in [(-0.2, 0.4), (0.3, 0.05), (4.0, 2.0)]:
        joint = prior * torch.exp(-((point - grid) ** 2) / (2 * sigma**2))
        expected = float((joint * grid).sum() / joint.sum())
        guess = mixture.denoise(torch.tensor([[point]]).double(), torch.tensor([sigma]).double())
        assert float(guess) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_sigmas_stay_finite_and_right(dtype):
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(8, 3, 16, 16, generator=generator)
    mixture = MixtureDenoiser(means, torch.linspace(0.01, 0.2, 8))
    near = (means + 1e-3 * torch.randn(means.shape, generator=generator)).to(dtype)
    tiny = torch.full((8,), 1e-6, dtype=dtype)
    torch.testing.assert_close(mixture.denoise(near, tiny), near)
    assert torch.isfinite(mixture.score(near, torch.zeros(8, dtype=dtype))).all()
    # far in the noise nothing is known about x0 but its prior mean
    guess = mixture.denoise(torch.zeros(1, 3, 16, 16, dtype=dtype), torch.tensor([1e6], dtype=dtype))
    torch.testing.assert_close(guess[0], means.mean(0).to(dtype), rtol=1e-4, atol=1e-5)


def test_point_masses_snap_to_the_nearest():
    means = torch.eye(3)
    mixture = MixtureDenoiser(means, torch.zeros(3))
    torch.testing.assert_close(mixture.denoise(means * 0.9, torch.full((3,), 1e-4)), means)


def test_condition_multiplies_the_prior():
    mixture = random_mixture()
    x, sigma = random_points(3, 4), torch.full((4,), 0.7, dtype=torch.float64)
    alone = torch.cat(
        [
            MixtureDenoiser(mixture.means[k : k + 1], mixture.variances[k : k + 1]).denoise(x, sigma)[k : k + 1]
            for k in range(4)
        ]
    )
    torch.testing.assert_close(mixture.denoise(x, sigma, torch.eye(4)), alone)
    torch.testing.assert_close(mixture.denoise(x, sigma, torch.full((4, 4), 7.0)), mixture.denoise(x, sigma))
    soft = torch.tensor([[0.5, 2.0, 0.0, 1.0]]).expand(4, -1)
    reweighted = MixtureDenoiser(mixture.means, mixture.variances, mixture.weights * soft[0])
    torch.testing.assert_close(mixture.denoise(x, sigma, soft), reweighted.denoise(x, sigma))
    torch.testing.assert_close(mixture.log_density(x, sigma, soft), reweighted.log_density(x, sigma))


def test_labels_group_components():
    base = random_mixture()
    labels = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    grouped = MixtureDenoiser(base.means, base.variances, base.weights, labels)
    x, sigma = random_points(3, 2), torch.ones(2, dtype=torch.float64)
    expected = base.denoise(x, sigma, torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1]]))
    torch.testing.assert_close(grouped.denoise(x, sigma, torch.eye(2)), expected)


def test_samples_have_the_mixture_moments_and_obey_the_condition():
    mixture = MixtureDenoiser(
        torch.tensor([[-2.0, 0], [2, 1], [9, 9]]), torch.tensor([0.25, 1, 0]), torch.tensor([3.0, 1, 0])
    )
    key = seeds.keys(0, "exact", torch.arange(20_000))
    drawn = mixture.sample(key)
    assert drawn.dtype == torch.float32
    torch.testing.assert_close(drawn.mean(0), torch.tensor([-1.0, 0.25]), atol=0.05, rtol=0)
    # law of total variance: 0.75 * 0.25 + 0.25 * 1 + 0.75 * 0.25 * 16 in the first coordinate
    assert float(drawn[:, 0].var()) == pytest.approx(0.4375 + 3, abs=0.1)
    assert not (drawn == 9).all(1).any()
    assert torch.equal(mixture.sample(key[100:103]), drawn[100:103])
    picked = mixture.sample(key[:500], torch.tensor([[0.0, 5, 0]]).expand(500, -1))
    torch.testing.assert_close(picked.mean(0), torch.tensor([2.0, 1.0]), atol=0.2, rtol=0)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_empirical_equals_a_mixture_of_points(chunk, dtype):
    images = random_points(0, 10, (2, 3, 3)).float()
    empirical = EmpiricalDenoiser(images, chunk=chunk)
    points = MixtureDenoiser(images, torch.zeros(10))
    x, sigma = random_points(1, 5, (2, 3, 3)).to(dtype), torch.tensor([1e-3, 0.1, 1.0, 5.0, 1e4], dtype=dtype)
    guess = empirical.denoise(x, sigma)
    assert guess.dtype == dtype
    torch.testing.assert_close(guess, points.denoise(x, sigma), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_empirical_condition_picks_equal_items_only(chunk):
    images = random_points(0, 12, (1, 3, 3))
    conditions = torch.eye(3).repeat(4, 1)
    empirical = EmpiricalDenoiser(images, conditions, chunk=chunk)
    x, sigma = random_points(1, 3, (1, 3, 3)), torch.full((3,), 2.0, dtype=torch.float64)
    guess = empirical.denoise(x, sigma, torch.eye(3))
    for k in range(3):
        expected = EmpiricalDenoiser(images[k::3]).denoise(x[k : k + 1], sigma[:1])
        torch.testing.assert_close(guess[k : k + 1], expected)
    with pytest.raises(UserError, match="kernel_width"):
        empirical.denoise(x, sigma, torch.eye(3) * 0.5)


def test_empirical_kernel_weighs_near_conditions():
    images = torch.tensor([0.0, 1.0]).reshape(2, 1, 1, 1)
    empirical = EmpiricalDenoiser(images, torch.tensor([[0.0], [1.0]]), kernel_width=0.5)
    x, sigma = torch.full((3, 1, 1, 1), 0.5), torch.ones(3)  # x is equally far from both
    guess = empirical.denoise(x, sigma, torch.tensor([[0.5], [0.0], [50.0]]))
    torch.testing.assert_close(guess.flatten(), torch.tensor([0.5, 1 / (1 + math.exp(2)), 1.0]))


def test_wrong_input_is_refused():
    means, variances = torch.zeros(2, 3), torch.ones(2)
    mixture, sigma = MixtureDenoiser(means, variances), torch.ones(4)
    with pytest.raises(UserError, match="2 variances"):
        MixtureDenoiser(means, torch.ones(3))
    with pytest.raises(UserError, match="negative"):
        MixtureDenoiser(means, -variances)
    with pytest.raises(UserError, match="weights 0"):
        MixtureDenoiser(means, variances, torch.zeros(2))
    with pytest.raises(UserError, match="shape"):
        mixture.denoise(torch.zeros(4, 5), sigma)
    with pytest.raises(UserError, match="condition has shape"):
        mixture.denoise(torch.zeros(4, 3), sigma, torch.ones(4, 3))
    with pytest.raises(UserError, match="positive weight"):
        mixture.denoise(torch.zeros(4, 3), sigma, torch.zeros(4, 2))
    with pytest.raises(ValueError, match="one for each image"):
        mixture.denoise(torch.zeros(4, 3), torch.ones(1))
    images = torch.zeros(2, 1, 2, 2)
    with pytest.raises(UserError, match="at least one"):
        EmpiricalDenoiser(images[:0])
    with pytest.raises(UserError, match="one row for each"):
        EmpiricalDenoiser(images, torch.zeros(3, 1))
    with pytest.raises(UserError, match="kernel_width"):
        EmpiricalDenoiser(images, kernel_width=-1)
    with pytest.raises(UserError, match="no conditions"):
        EmpiricalDenoiser(images).denoise(images, torch.ones(2), torch.ones(2, 1))
    with pytest.raises(UserError, match="condition has shape"):
        EmpiricalDenoiser(images, torch.zeros(2, 3)).denoise(images, torch.ones(2), torch.ones(2, 1))
    with pytest.raises(UserError, match="training images"):
        EmpiricalDenoiser(images).denoise(torch.zeros(2, 1, 3, 3), torch.ones(2))
