"""The linear denoiser: moments by enumeration, flows by scipy, known limits."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from torch import Tensor, nn

from recombine import seeds
from recombine.denoisers.exact import MixtureDenoiser
from recombine.denoisers.network import NetworkDenoiser
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.theory.identity.linear_denoiser import (
    Clusters,
    Quadratic,
    learn,
    learn_deep,
    learning_times,
    levels,
    optimum,
    quadratic,
    shared,
)
from recombine.theory.identity.linear_samples import as_denoise, denoiser

PREDICTIONS = [None, "x0", "edm", "noise", "v"]
SIGMAS = EDMSchedule(sigma_min=0.02, sigma_max=20.0).sigmas(12)  # [13]


def row(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def clusters(spreads=(0.3, 0.5), condition="class", origin=False, dimensions=2) -> Clusters:
    return Clusters(row(1, 2), row(*spreads), dimensions, origin=origin, condition=condition)


def random(seed: int, *shape: int) -> Tensor:
    return seeds.normal(seeds.keys(seed, "test", torch.arange(shape[0])), shape[1:]).double()


def assert_close(got: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


def everything(data: Clusters) -> tuple[Tensor, Tensor, Tensor]:
    """x0, c and eps of equally likely cases with all the moments to second order that the Gaussians have: signs."""
    centres = torch.diag(data.probe())[: len(data.signals)]
    if data.origin:
        centres = torch.cat([centres, torch.zeros(1, data.dimensions)])
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=2 * data.dimensions)), dtype=torch.float64)
    spread = nn.functional.pad(data.spreads, (0, data.dimensions - len(data.spreads)))
    centre, sign = centres.repeat_interleave(len(signs), 0), signs.repeat(len(centres), 1)
    x0 = centre + spread * sign[:, : data.dimensions]
    return x0, centre if data.condition == "class" else x0, sign[:, data.dimensions :]


# The loss


@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize(("condition", "origin", "bias"), [("class", False, False), ("value", True, True)])
def test_the_gradient_is_that_of_the_mean_loss_over_every_case(prediction, condition, origin, bias) -> None:
    data = clusters(condition=condition, origin=origin, dimensions=3)
    sigma = row(0.05, 0.7, 10)
    loss = quadratic(data, levels(sigma, prediction, 0.6), bias)
    theta = random(0, 3, 3, 7 if bias else 6).requires_grad_()
    x0, c, eps = everything(data)
    for level, s in enumerate(sigma):
        x, noise_level = x0 + s * eps, s.expand(len(x0))
        c_in, target = 1.0, x0
        if prediction is not None:
            network = NetworkDenoiser(nn.Identity(), prediction, 0.6)
            c_in, target = network.scales(s)[0], network.target(x0, eps, noise_level)
        phi = torch.cat([c_in * x, c, torch.ones(len(x), int(bias))], 1)
        mean = (phi @ theta[level].T - target).square().sum(1).mean() / 2
        (gradient,) = torch.autograd.grad(mean, theta)
        assert_close(theta[level].detach() @ loss.second[level] - loss.cross[level], gradient[level])


def test_a_shared_loss_is_the_weighted_mean_of_the_levels() -> None:
    loss = quadratic(clusters(), levels(row(1, 2, 3), "edm"))
    picked = shared(loss, row(0, 5, 0))
    assert_close(picked.second, loss.second[1])
    assert_close(picked.cross, loss.cross[1])
    assert_close(shared(loss).second, loss.second.mean(0))


# The flow


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1000),
    log_sigma=st.floats(-4, 1.5),
    prediction=st.sampled_from(PREDICTIONS),
    condition=st.sampled_from(["class", "value"]),
    bias=st.booleans(),
    together=st.booleans(),
)
def test_the_closed_form_is_the_flow(seed, log_sigma, prediction, condition, bias, together) -> None:
    at = levels(math.exp(log_sigma) * row(1, 2), prediction)
    loss = quadratic(clusters(condition=condition), at, bias)
    loss = shared(loss, row(1, 3)) if together else Quadratic(loss.second[0], loss.cross[0])
    start, times = random(seed, *loss.cross.shape), row(0, 0.1, 1, 7)
    c, b = loss.second.numpy(), loss.cross.numpy()
    flow = solve_ivp(
        lambda _, y: -(y.reshape(b.shape) @ c - b).ravel(),
        (0, 7),
        start.numpy().ravel(),
        t_eval=times.numpy(),
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    assert_close(learn(loss, start, times), torch.from_numpy(flow.y.T.reshape(-1, *b.shape)))


def test_starts_and_levels_are_followed_side_by_side() -> None:
    at = levels(SIGMAS[:-1])
    loss, times = quadratic(clusters(), at, bias=True), row(0.3, 2)
    starts = random(1, 5, 2, 5)
    many = learn(loss, starts[:, None], times)  # [T, n, L, d, F]
    alone = learn(Quadratic(loss.second[7], loss.cross[7]), starts[3], times)
    assert many.shape == (2, 5, 12, 2, 5)
    assert_close(many[:, 3, 7], alone, 1e-12)


def in_the_end(loss: Quadratic) -> Tensor:
    return learn(loss, torch.zeros_like(loss.cross), row(1e9))[0]


def test_the_converged_denoiser_is_wieners() -> None:
    sigma, v = row(20, 1, 0.1), row(0.3, 0.5).square()
    theta = in_the_end(quadratic(clusters(), levels(sigma)))
    share = v / (v + sigma[:, None] ** 2)  # [L, d]
    assert_close(theta[..., :2], torch.diag_embed(share))
    assert_close(theta[..., 2:], torch.diag_embed(1 - share))
    value = in_the_end(quadratic(clusters(condition="value"), levels(sigma)))
    assert_close(value, torch.cat([torch.zeros(2, 2), torch.eye(2)], 1).double().expand(3, -1, -1))


@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_the_converged_denoiser_is_the_exact_posterior_mean_of_the_class(prediction, bias) -> None:
    data, at = clusters((0.4, 0.4), origin=True), levels(row(5, 0.5, 0.05), prediction)
    loss = quadratic(data, at, bias)
    means = torch.tensor([[1.0, 0], [0, 2], [0, 0]]).double()
    exact = MixtureDenoiser(means, torch.full((3,), 0.16, dtype=torch.float64))
    x, label = random(2, 9, 2), torch.arange(3).repeat(3)
    sigma = at.sigma.repeat_interleave(3)
    answer = as_denoise(denoiser(in_the_end(loss), at), at)(x, sigma, means[label])
    assert_close(answer, exact.denoise(x, sigma, torch.eye(3)[label]), 1e-9)
    assert_close(optimum(loss), in_the_end(loss), 1e-9)


@pytest.mark.parametrize("rest", ["trained", "best", "fixed"])
def test_the_deep_flow_is_scipys(rest) -> None:
    loss = quadratic(clusters((0.3, 0.5)), levels(row(0.8)), bias=True)
    c, b = loss.second[0].numpy(), loss.cross[0].numpy()
    given, other = [2, 3], [0, 1, 4]
    u0, times = 0.5 * random(3, 2, 3).numpy(), row(0, 0.5, 3)
    best = b @ np.linalg.pinv(c)

    def rest_of(k, trained):
        if rest == "trained":
            return trained
        if rest == "fixed":
            return best[:, other]
        return np.linalg.solve(c[np.ix_(other, other)], (b[:, other] - k @ c[np.ix_(given, other)]).T).T

    def theta_of(y):
        u, theta = y[:6].reshape(2, 3), np.zeros((2, 5))
        theta[:, given] = u @ u.T
        theta[:, other] = rest_of(u @ u.T, y[6:].reshape(2, 3))
        return u, theta

    def slope(_, y):
        u, theta = theta_of(y)
        gradient = theta @ c - b
        return -np.concatenate([((gradient[:, given] + gradient[:, given].T) @ u).ravel(), gradient[:, other].ravel()])

    y0 = np.concatenate([u0.ravel(), np.zeros(6)])
    flow = solve_ivp(slope, (0, 3), y0, t_eval=times.numpy(), method="DOP853", rtol=1e-12, atol=1e-13)
    expected = torch.from_numpy(np.stack([theta_of(y)[1] for y in flow.y.T]))
    off = [learn_deep(loss, torch.from_numpy(u0), times, h, rest)[:, 0] - expected for h in (0.04, 0.02, 0.002)]
    assert off[2].abs().max() < 1e-10
    assert 10 < off[0].abs().max() / off[1].abs().max() < 24  # 2^4: RK4


# Limits


@pytest.mark.parametrize("condition", ["class", "value"])
def test_in_much_noise_the_condition_follows_the_one_layer_identity_map(condition) -> None:
    """f_k = (1 - e^{-a_k t}) z_k + sum_i e^{-a_i t} w_ki(0) z_i with a = diag E[c c^T]; x tells nothing."""
    data, at = clusters((0.3, 0.5), condition), levels(row(3e3))
    a = row(1, 4) / 2 + (row(0.09, 0.25) if condition == "value" else 0)
    start, z, times = random(4, 2, 4), data.probe(), row(0.2, 1, 4)
    model = denoiser(learn(quadratic(data, at), start[None], times), at)
    left = torch.exp(-a * times[:, None])
    assert_close(model.mean(z)[:, 0], (1 - left) * z + (left * z) @ start[:, 2:].T, 1e-5)
    assert model.of_x.abs().max() < 1e-5


def test_in_little_noise_the_answer_is_x() -> None:
    at = levels(row(1e-4))
    model = denoiser(in_the_end(quadratic(clusters(), at)), at)
    assert_close(model.of_x[0], torch.eye(2).double(), 1e-6)
    assert model.of_condition.abs().max() < 1e-6
    for prediction in ("edm", "noise", "v"):  # whatever the weights
        model = denoiser(random(5, 1, 2, 5), levels(row(1e-4), prediction))
        assert_close(model.of_x[0], torch.eye(2).double(), 1e-3)
        assert max(model.of_condition.abs().max(), model.constant.abs().max()) < 1e-3


@pytest.mark.parametrize(("factor", "passes"), [(0.9, True), (1.1, False)])
def test_the_answer_passes_one_below_the_level_where_sigma_squared_is_av_over_a_plus_v(factor, passes) -> None:
    a, v = row(1, 4) / 2, row(0.09, 0.25)
    at = levels((factor * a * v / (a + v)).sqrt())
    theta = learn(quadratic(clusters(), at), torch.zeros(2, 4), torch.logspace(-2, 3, 400))
    share = denoiser(theta, at).mean(row(1, 2), row(1, 2)) / row(1, 2)  # [T, L, d]
    own = share.diagonal(dim1=1, dim2=2)  # level p is made for concept p
    assert ((own.amax(0) > 1 + 1e-6) == passes).all()


def test_beside_the_best_m_the_gap_between_concepts_closes_with_the_noise() -> None:
    """K sees a (v + sigma^2) / (a + v + sigma^2): each w_pp is a logistic of that rate."""
    at, start = levels(row(10, 0.5, 0.05)), torch.diag(row(0.1, 0.1))
    theta = learn_deep(quadratic(clusters((0.1, 0.1)), at), start, row(1.0), 0.005, "best")[0]
    a, free = row(1, 4) / 2, 0.01 + at.sigma[:, None] ** 2
    rate, final = a * free / (a + free), (at.sigma**2 / (at.sigma**2 + 0.01))[:, None]
    expected = final / (1 + (final / 0.01 - 1) * torch.exp(-4 * rate * final))
    assert_close(theta[..., 2:].diagonal(dim1=1, dim2=2), expected, 1e-8)


# Learning times


def test_learning_times_are_when_the_answer_is_there() -> None:
    data, at = clusters(origin=True), levels(SIGMAS[:-1])
    loss, start, z = quadratic(data, at, bias=True), random(6, 2, 5) * 0.05, data.probe()
    times = learning_times(loss, start, at, z)  # [L, concepts]
    for level, concept in [(0, 0), (5, 1), (11, 0)]:
        at_last = float(times[level, concept])
        share = (
            denoiser(learn(loss, start, at_last * row(0.5, 0.999, 1)), at).mean(z, z)[:, level, concept] / z[concept]
        )
        assert float(share[2]) == pytest.approx(0.9, abs=1e-9)
        assert (share[:2] < 0.9).all()


def test_learning_times_at_the_edges() -> None:
    data, far = clusters(), levels(row(1e3))
    zero = torch.zeros(2, 4)
    assert_close(learning_times(quadratic(data, far), zero, far, data.probe())[0], math.log(10) / (row(1, 4) / 2), 1e-4)
    near = levels(row(0.1))  # what x does not tell, the condition alone never says
    assert learning_times(quadratic(data, near), zero, near, data.probe(), clean=torch.zeros(2)).isnan().all()
    edm = levels(row(0.001, 1), "edm")  # x passes through from the start; one Theta for both levels
    times = learning_times(shared(quadratic(data, edm)), zero, edm, data.probe(), reached=0.5)
    assert (times[0] == 0).all()
    assert (times[1] > 0).all()


def test_conditioned_on_the_class_the_order_of_concepts_turns_round_with_the_noise() -> None:
    """A weak concept of wide spread is first where x is trusted (a + v) and last where it is not (a)."""
    data, at = clusters((2.0, 0.05)), levels(row(20, 0.1))
    early = learning_times(quadratic(data, at), torch.zeros(2, 4), at, data.probe())
    assert early[0, 0] > early[0, 1]
    assert early[1, 0] < early[1, 1]
    given_value = quadratic(clusters((2.0, 0.05), "value"), at)
    early = learning_times(given_value, torch.zeros(2, 4), at, data.probe())
    assert (early[:, 0] < early[:, 1]).all()


# Bad input


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (lambda: Clusters(row(1, 2), row(1), 2), r"^signals \(2,\) and spreads \(1,\) .* for every concept"),
        (lambda: Clusters(row(1, 2), row(1, 1), 1), r"no more concepts than dimensions$"),
        (lambda: Clusters(row(1, math.nan), row(1, 1), 2), r"must be finite"),
        (lambda: Clusters(row(1, 2), row(1, -1), 2), r"not negative$"),
        (lambda: Clusters(row(1, 2), row(1, 1), 2, condition="name"), r"^condition 'name': there are: class, value$"),
        (lambda: levels(row(1, 0)), r"finite sigmas above 0$"),
        (lambda: shared(quadratic(clusters(), levels(row(1, 2))), row(1)), r"for each of the 2 noise levels"),
        (lambda: shared(quadratic(clusters(), levels(row(1, 2))), row(0, 0)), r"not all 0$"),
        (lambda: deep(step=1.0), r"^step 1 of a deep denoiser: .* at most 0\.\d+ to be stable$"),
        (lambda: deep(step=0.0), r"^step 0 of a deep denoiser: .* above 0"),
        (lambda: deep(rest="free"), r"^rest 'free' of a deep denoiser: there are: trained, best, fixed$"),
        (lambda: deep(times=row(1, 1)), r"must grow strictly"),
        (lambda: deep(start=torch.full((2, 2), math.inf)), r"not finite"),
        (lambda: deep(prediction="noise"), r"^K = U U\^T cannot be negative"),
    ],
)
def test_bad_input_is_refused_in_one_line(ask, line) -> None:
    with pytest.raises(UserError, match=line):
        ask()


def deep(start=None, times=None, step=0.01, rest="trained", prediction=None) -> Tensor:
    loss = quadratic(clusters(), levels(row(1.0), prediction))
    return learn_deep(loss, torch.eye(2) if start is None else start, row(0, 1) if times is None else times, step, rest)
