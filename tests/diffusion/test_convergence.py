"""Each sampler converges at the order it declares, on problems whose solution is known."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from recombine.denoisers.exact import MixtureDenoiser
from recombine.diffusion import samplers
from recombine.diffusion.samplers import ORDER

# The last step, to sigma = 0, is first order by design, so the order is measured down to a sigma above 0.
HIGH, LOW = 10.0, 0.1


def slope(steps, errors):
    return float(-np.polyfit(np.log(steps), np.log(errors), 1)[0])


def grid(count, high=HIGH, low=LOW):
    root = torch.linspace(high ** (1 / 7), low ** (1 / 7), count + 1, dtype=torch.float64)
    return root**7


@pytest.fixture(scope="module")
def flow():
    """An exact mixture, a few starts, and where the probability-flow ODE takes them."""
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    mixture = MixtureDenoiser(means, torch.tensor([0.3, 0.2, 0.25]), torch.tensor([0.5, 0.3, 0.2]))
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64) * HIGH

    def velocity(log_sigma, flat):  # dx / dlog sigma = x - x0
        x = torch.from_numpy(flat).reshape(6, 4)
        return (x - mixture.denoise(x, torch.full((6,), math.exp(log_sigma), dtype=torch.float64))).flatten().numpy()

    span = (math.log(HIGH), math.log(LOW))
    solution = solve_ivp(velocity, span, x.flatten().numpy(), method="DOP853", rtol=1e-12, atol=1e-12)
    return mixture, x, torch.from_numpy(solution.y[:, -1]).reshape(6, 4)


@pytest.mark.parametrize("method", ["ddim", "euler", "heun", "multistep"])
def test_flow_converges_at_the_declared_order(flow, method):
    mixture, x, end = flow
    counts = [64, 128, 256]
    errors = [float((getattr(samplers, method)(mixture.denoise, x, grid(n)) - end).norm()) for n in counts]
    assert errors[-1] < 0.05
    assert slope(counts, errors) == pytest.approx(ORDER[method], abs=0.25)


def spread(method, count, data_variance, **options):
    """The variance a sampler gives data N(0, data_variance), started from the exact marginal at the highest sigma.

    The denoiser is linear, so the result is a weighted sum of the start and the noises, and no chance is needed: row 0
    carries the weight of the start, row i + 1 that of the noise of step i.
    """

    def denoise(x, sigma, condition):
        return x * data_variance / (data_variance + sigma[:, None] ** 2)

    unit = torch.eye(count + 1, dtype=torch.float64)
    start = unit[:, :1] * math.sqrt(data_variance + HIGH**2)
    sampler = getattr(samplers, method)
    weights = sampler(denoise, start, grid(count), noise=lambda step: unit[:, step + 1 : step + 2], **options)
    return float(weights.square().sum())


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ancestral", {"variance": "beta"}),
        ("ancestral", {"variance": "posterior"}),
        ("ddim", {"eta": 0.5}),
        ("ddim", {"eta": 1.0}),
    ],
)
def test_drawn_variance_converges_at_the_declared_order(method, options):
    counts = [64, 128, 256]
    errors = [abs(spread(method, n, 0.25, **options) - (0.25 + LOW**2)) for n in counts]
    assert slope(counts, errors) == pytest.approx(ORDER[method], abs=0.25)


def test_each_ancestral_variance_is_exact_for_the_data_it_is_made_for():
    """beta_t for data N(0, 1), the posterior's variance for a single point (Ho et al. 2020, Sec. 3.2)."""
    assert spread("ancestral", 5, 1.0, variance="beta") == pytest.approx(1 + LOW**2, rel=1e-12)
    assert spread("ancestral", 5, 0.0, variance="posterior") == pytest.approx(LOW**2, rel=1e-12)
    assert spread("ancestral", 5, 0.0, variance="beta") > 2 * LOW**2
