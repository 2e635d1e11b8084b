"""Samples of a linear denoiser: by the package's own sampler, and known limits."""

import math

import pytest
import torch
from torch import Tensor, nn

from recombine import seeds
from recombine.denoisers.network import NetworkDenoiser
from recombine.diffusion.samplers import euler
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.theory.identity.curves import retreat, setback
from recombine.theory.identity.linear_denoiser import (
    Clusters,
    Quadratic,
    learn,
    learn_deep,
    levels,
    quadratic,
    shared,
)
from recombine.theory.identity.linear_samples import Affine, affine_sampler, as_denoise, denoiser

SIGMAS = EDMSchedule(sigma_min=0.02, sigma_max=20.0).sigmas(12)  # [13]


def row(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def clusters(spreads=(0.3, 0.5), dimensions=2) -> Clusters:
    return Clusters(row(1, 2), row(*spreads), dimensions)


def random(seed: int, *shape: int) -> Tensor:
    return seeds.normal(seeds.keys(seed, "test", torch.arange(shape[0])), shape[1:]).double()


def in_the_end(loss: Quadratic) -> Tensor:
    return learn(loss, torch.zeros_like(loss.cross), row(1e9))[0]


def assert_close(got: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("prediction", [None, "edm"])
def test_the_sampler_is_the_packages_own(prediction) -> None:
    """Each sample to rounding; the mean and covariance of 40,000 within five standard errors."""
    data, at = clusters(dimensions=3), levels(SIGMAS[:-1], prediction)
    loss = quadratic(data, at, bias=True)
    if prediction is None:
        model = denoiser(learn(loss, random(7, 3, 7) * 0.1, row(1.0))[0], at)
        denoise = as_denoise(model, at)
    else:
        theta = learn(shared(loss), random(7, 3, 7) * 0.1, row(1.0))[0]
        model = denoiser(theta[None], at)
        denoise = NetworkDenoiser(Linear(theta), prediction).denoise
    sampler, condition = affine_sampler(model, SIGMAS), data.probe()
    start = 20 * random(8, 40_000, 3)
    samples = euler(denoise, start, SIGMAS, condition.expand(len(start), -1))
    assert_close(samples, start @ sampler.of_x.T + sampler.mean(condition), 1e-9)
    covariance = sampler.covariance(20.0)
    assert ((samples.mean(0) - sampler.mean(condition)).abs() < 5 * (covariance.diagonal() / len(start)).sqrt()).all()
    scale = covariance.diagonal().outer(covariance.diagonal()).sqrt()
    assert ((samples.T.cov() - covariance).abs() < 5 * scale * math.sqrt(2 / len(start))).all()


class Linear(nn.Module):
    def __init__(self, theta: Tensor) -> None:
        super().__init__()
        self.theta = theta

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor) -> Tensor:
        return torch.cat([x, condition, torch.ones(len(x), 1)], 1) @ self.theta.T


def generated(theta: Tensor, at) -> Tensor:
    return affine_sampler(denoiser(theta, at), SIGMAS).mean(row(1, 2)) / row(1, 2)  # [*, d]


def test_converged_samples_of_the_unseen_combination() -> None:
    """Right but for the share sqrt(v) / sigma_max of the start that Euler keeps; a bias without origin never is."""
    at = levels(SIGMAS[:-1])
    assert_close(generated(in_the_end(quadratic(clusters((0.05, 0.05)), at)), at), row(1, 1), 5e-3)
    # The smallest of the maps that are right on the two clusters: c - (1 / mu_k) (c_1 / mu_1 + c_2 / mu_2 - 1) / 2.25
    stuck = in_the_end(quadratic(clusters((0.05, 0.05)), at, bias=True))
    assert_close(generated(stuck, at), row(5 / 9, 8 / 9), 5e-3)


def test_swing_by_comes_with_depth() -> None:
    """mu (1, 2), spread 0.05: the generated mean turns back for most deep starts, and for no small one-layer start."""
    at = levels(SIGMAS[:-1], "x0")
    loss, times = shared(quadratic(clusters((0.05, 0.05)), at)), torch.linspace(0, 40, 81)
    starts = 0.2 * seeds.uniform(seeds.keys(0, "test", torch.arange(60)), (2, 2)).double()
    deep = generated(learn_deep(loss, starts, times, 0.05)[..., None, :, :], at)  # [T, n, d]
    flat = generated(learn(loss, 0.05 * random(9, 500, 2, 4), times)[..., None, :, :], at)
    rise = [setback(((share - 1) * row(1, 2)).square().sum(-1) / 5) for share in (deep, flat)]
    assert (rise[0] > 1e-3).double().mean() > 0.7  # 0.95 of 200 such starts
    assert (rise[1] < 1e-3).all()
    assert retreat(deep)[:, 0].median() > 0.05  # it is the weak concept that is lost again
    assert retreat(deep)[:, 1].median() < 0.01


def some(count: int) -> Affine:
    return denoiser(torch.zeros(count, 2, 4), levels(torch.ones(count)))


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (lambda: affine_sampler(some(2), row(1, 2, 0)), r"must fall strictly"),
        (lambda: affine_sampler(some(3), row(2, 1, 0)), r"^a denoiser of 3 levels for 2 steps"),
        (lambda: as_denoise(some(1), levels(row(1)))(torch.zeros(1, 2), torch.ones(1), None), r"needs a condition"),
    ],
)
def test_bad_input_is_refused_in_one_line(ask, line) -> None:
    with pytest.raises(UserError, match=line):
        ask()
