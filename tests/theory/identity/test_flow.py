"""Identity mapping: closed forms against an independent integrator, terms against autograd, the paper's own numbers."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from torch import Tensor

from recombine.errors import UserError
from recombine.seeds import keys, normal, uniform
from recombine.theory.identity.flow import (
    affine,
    answer,
    augmented,
    descents,
    euler_on_w,
    factors_of,
    flow,
    gaussian_start,
    log_residual_slope,
    motion,
    one_layer,
    positive_start,
    probe_loss,
    stages,
    terms,
    training_loss,
)
from recombine.worlds.mixture import MixtureWorld

few = settings(max_examples=8, deadline=None)
numbers = st.integers(0, 10_000)
sizes = st.integers(1, 4)


def draw(seed: int, *shape: int) -> Tensor:
    return normal(keys(seed, "test", torch.arange(1)), shape)[0].double()


def moments(seed: int, d: int) -> Tensor:
    return 0.01 + 2 * uniform(keys(seed, "moments", torch.arange(d))).double()


def integrate(slope: Callable[[Tensor], Tensor], start: Tensor, times: Tensor) -> Tensor:
    """The same by scipy, to the last digits.  # [T, *start]"""

    def flat(_: float, y: np.ndarray) -> np.ndarray:
        return slope(torch.from_numpy(y.copy()).reshape(start.shape)).numpy().ravel()

    span = (float(times[0]), float(times[-1]))
    found = solve_ivp(flat, span, start.numpy().ravel(), "DOP853", times.numpy(), rtol=1e-12, atol=1e-13)
    return torch.from_numpy(found.y.T.copy()).reshape(len(times), *start.shape)


def assert_same(one: Tensor, other: Tensor, within: float = 1e-10) -> None:
    torch.testing.assert_close(one, other.expand_as(one), rtol=0, atol=within)


TIMES = torch.tensor([0.0, 0.3, 1.0, 4.0], dtype=torch.float64)


# One layer


@few
@given(numbers, sizes)
def test_one_layer_is_what_integration_finds(seed: int, d: int) -> None:
    a, start, identity = moments(seed, d), draw(seed, 2, d, d), torch.eye(d, dtype=torch.float64)
    a[-1] = 0  # an idle coordinate stays
    found = one_layer(a, start, TIMES)
    assert_same(found, integrate(lambda w: -(w - identity) @ torch.diag(a), start, TIMES))
    z = draw(seed + 1, d)
    assert_same(answer(a, start, TIMES, z), found @ z)


def test_theorem_4_1_as_printed() -> None:
    """f_k = 1[k <= s] (1 - exp(-a_k t)) z_k + sum_i exp(-a_i t) w_ki(0) z_i, for z on the first s coordinates."""
    a = torch.tensor([0.7, 1.9, 0], dtype=torch.float64)
    z = torch.tensor([1, 2, 0], dtype=torch.float64)
    start, t = draw(0, 1, 3, 3), 1.3
    decay = torch.exp(-a * t)
    printed = torch.tensor([1, 1, 0]) * (1 - decay) * z + start[0] @ (decay * z)
    assert_same(answer(a, start, torch.tensor([t], dtype=torch.float64), z)[0, 0], printed, 1e-14)


@few
@given(numbers, st.integers(1, 3), st.booleans())
def test_a_layer_with_bias_is_what_integration_finds(seed: int, concepts: int, origin: bool) -> None:
    """Also without the origin, where C has a direction that is hardly learned."""
    signals = tuple((1 + moments(seed, concepts)).tolist())
    world = MixtureWorld(dimensions=concepts, signals=signals, spreads=(0.05,) * concepts, origin=origin)
    moment, start = augmented(world), draw(seed, 2, concepts, concepts + 1)
    cross = moment[:concepts]  # B = E[x phi^T]
    assert_same(affine(moment, start, TIMES), integrate(lambda theta: -(theta @ moment - cross), start, TIMES))


def test_augmented_moments_are_those_of_the_points() -> None:
    world = MixtureWorld(dimensions=3, signals=(1.0, 2.0), spreads=(0.3, 0.1), origin=True)
    points = world.points(20_000, 0)
    phi = torch.cat([points, torch.ones(len(points), 1, dtype=torch.float64)], 1)
    assert_same(phi.T @ phi / len(phi), augmented(world), 0.01)


def test_a_bias_without_the_origin_leaves_the_probe_unlearned() -> None:
    """Without spread and origin one direction of (x, 1) never occurs; with the origin everything is learned."""
    start = 0.1 * draw(0, 20, 2, 3)
    z = torch.tensor([1.0, 2, 1], dtype=torch.float64)
    for origin, learned in ((False, False), (True, True)):
        world = MixtureWorld(dimensions=2, signals=(1.0, 2.0), spreads=(0.0, 0.0), origin=origin)
        off = affine(augmented(world), start, torch.tensor([1e4]))[0] @ z - z[:2]
        assert bool((off.norm(dim=1) < 1e-6).all()) is learned


def test_log_residuals_fall_at_the_rate_of_their_moment() -> None:
    a = torch.tensor([0.5, 2.0], dtype=torch.float64)
    z = torch.tensor([1.0, 2.0], dtype=torch.float64)
    times = torch.linspace(0.5, 4, 30, dtype=torch.float64)
    exact = log_residual_slope(times, z - answer(a, torch.zeros(1, 2, 2), times, z))
    assert_same(exact, -a[None], 1e-12)
    small = log_residual_slope(times, z - answer(a, gaussian_start(50, 2, 2, 1e-4, 0), times, z))
    assert (small / -a - 1).abs().max() < 0.02
    assert float(log_residual_slope(times, -torch.exp(-3 * times))) == pytest.approx(-3)


# Two layers


@few
@given(numbers, sizes, sizes)
def test_terms_add_up_to_the_motion_of_the_factors(seed: int, d: int, h: int) -> None:
    """W' = U' U^T + U U'^T with U' from autograd of the training loss is 2 (G - S - N)."""
    a, factors = moments(seed, d), draw(seed, 3, d, h).requires_grad_()
    (gradient,) = torch.autograd.grad(training_loss(factors @ factors.mT, a).sum(), factors)
    factors = factors.detach()
    motion = -(gradient @ factors.mT + factors @ gradient.mT)
    growth, suppression, noise = terms(factors @ factors.mT, a)
    assert_same(2 * (growth - suppression - noise) / (1 + motion.abs().max()), motion / (1 + motion.abs().max()))


def test_terms_by_hand() -> None:
    w, a = [[0.5, 0.2, 0.1], [0.2, 0.4, 0.3], [0.1, 0.3, 0.6]], [1.0, 2.0, 3.0]
    growth, suppression, noise = terms(torch.tensor([w], dtype=torch.float64), torch.tensor(a, dtype=torch.float64))
    assert float(growth[0, 0, 1]) == pytest.approx(0.2 * (1 + 2))
    assert float(suppression[0, 0, 1]) == pytest.approx(0.5 * 0.2 * (0.5 * (3 + 2) + 0.4 * (6 + 1)))
    assert float(noise[0, 0, 1]) == pytest.approx(0.5 * 0.1 * 0.3 * (1 + 2 + 6))
    assert float((growth - suppression)[0, 1, 1]) == pytest.approx(2 * 2 * 0.4 * 0.6)
    assert float(noise[0, 1, 1]) == pytest.approx(0.5 * (0.2**2 * (4 + 2) + 0.3**2 * (4 + 6)))


@few
@given(numbers, sizes, sizes)
def test_flow_is_what_integration_of_the_gradient_finds(seed: int, d: int, h: int) -> None:
    """On U: at h < d the motion of W is unstable towards a higher rank, and integration would leave it."""
    a, start = moments(seed, d), 0.3 * draw(seed, 2, d, h)
    times, weights = flow(start, a, 0.005, 600, keep=200)

    def slope(u: Tensor) -> Tensor:
        u.requires_grad_()
        (gradient,) = torch.autograd.grad(training_loss(u @ u.mT, a).sum(), u)
        return -gradient

    factors = integrate(slope, start, times)
    assert_same(weights, factors @ factors.mT, 1e-7)


def test_motion_is_the_difference_along_the_flow() -> None:
    """W(t + h) - W(t - h) over 2 h, of the flow that steps U by its own formula."""
    a, start, step = moments(0, 3), positive_start(5, 3, 3, 0.5, 0), 1e-4
    _, weights = flow(start, a, step, 2)
    middle = weights[1]
    found = motion(factors_of(middle), a)
    torch.testing.assert_close(found, (weights[2] - weights[0]) / (2 * step), rtol=0, atol=1e-7)


def test_flow_is_of_the_fourth_order() -> None:
    """Half the step, a sixteenth of the error."""
    a, start = moments(0, 3), positive_start(4, 3, 3, 0.5, 0)
    exact = flow(start, a, 0.0025, 400, keep=400)[1][-1]
    errors = [(flow(start, a, 1 / n, n, keep=n)[1][-1] - exact).abs().max() for n in (20, 40)]
    assert 13 < errors[0] / errors[1] < 19


def test_flow_stays_positive_semidefinite_and_eigenvalues_move_towards_one() -> None:
    a, start = moments(1, 4), torch.cat([gaussian_start(30, 4, 4, s, 0) for s in (0.1, 1.0)])
    times, weights = flow(start, a, 0.01, 1000, keep=20)
    assert_same(times, 0.2 * torch.arange(51, dtype=torch.float64), 1e-14)
    eigenvalues = torch.linalg.eigvalsh(weights)
    assert eigenvalues.min() > -1e-12
    assert (eigenvalues.amax(2).diff(dim=0).sign() * (1 - eigenvalues.amax(2)[1:])).min() > -1e-9
    assert (training_loss(weights, a).diff(dim=0) < 1e-12).all()


def test_the_step_that_is_named_is_stable_and_a_larger_one_refused() -> None:
    a, start = torch.tensor([4.5, 0.5], dtype=torch.float64), gaussian_start(50, 2, 2, 2.0, 1)
    with pytest.raises(UserError, match=r"^step 0.5 is too large to be stable: take [0-9.e-]+ or less$") as refusal:
        flow(start, a, 0.5, 10)
    named = float(str(refusal.value).split("take ")[1].split(" ")[0])
    losses = training_loss(flow(start, a, named, 2000, keep=1)[1], a)
    assert (losses.diff(dim=0) <= 1e-12).all()
    flow(start, torch.zeros(2), 100.0, 1)  # nothing moves: any step will do


def test_euler_steps_on_w_as_the_scripts_do() -> None:
    """With a small step it is the flow at half the speed; one step is the printed formula."""
    a, start = moments(2, 3), positive_start(5, 3, 3, 0.2, 0)
    weights = start @ start.mT
    times, slow, _ = euler_on_w(weights, a, 1e-3, 2000, keep=2000)
    assert times.tolist() == [0, 2]
    assert_same(slow[-1], flow(start, a, 0.01, 100, keep=100)[1][-1], 3e-3)
    growth, suppression, noise = terms(weights, a**2)
    assert_same(euler_on_w(weights, a**2, 0.01, 1)[1][1], weights + 0.01 * (growth - suppression - noise), 1e-14)


def test_euler_diverges_only_where_semidefiniteness_is_lost() -> None:
    """The paper's failure (Fig 10): integrated on U the same starts all recover, at t ~ 120 in the scripts' time."""
    mu = torch.tensor([0.7, 1.7, 3.0], dtype=torch.float64)
    a, start = mu**2 / 3 + 0.0025, positive_start(60, 3, 3, 0.1, 0)
    _, weights, smallest = euler_on_w(start @ start.mT, a, 0.01, 6000, keep=100)
    lost = (smallest < -1e-6).any(0)
    diverged = ~weights[-1].isfinite().flatten(1).all(1)
    assert 10 <= int(diverged.sum()) <= 50
    assert bool(lost[diverged].all())
    assert smallest[-1][diverged].isnan().all()
    times, weights = flow(start, a**2, 0.04, 5000, keep=25)  # at the scripts' a^2
    learned = 2 * stages(times, weights, 3, level=0.5).majors[:, 0]
    assert learned.isfinite().all()
    assert 100 < learned.median() < 160


# The paper's numbers


@pytest.mark.parametrize(("other", "low", "high"), [(1.1, 0, 5), (1.5, 28, 54), (2.0, 70, 92), (3.0, 92, 100)])
def test_bumps_become_the_rule_with_the_gap(other: float, low: float, high: float) -> None:
    """About 1, 37, 84, 98 % of released starts (uniform / 5, d = h = 3) rise by 0.1 % while the training loss falls."""
    a = torch.tensor([0.5025, other**2 / 2 + 0.0025, 0.0025], dtype=torch.float64)
    probe = torch.tensor([1.0, other, 0.0], dtype=torch.float64)
    _, weights = flow(positive_start(200, 3, 3, 0.2, 0), a, 0.05, 300)
    assert low <= 100 * float(descents(probe_loss(weights, probe), 0.001).bump.double().mean()) <= high
    assert (training_loss(weights, a).diff(dim=0) < 1e-12).all()


def test_stages_come_in_order() -> None:
    """The stronger concept, then the minor suppressed, then the weaker concept."""
    a = torch.tensor([0.5, 4.5, 0.0025], dtype=torch.float64)
    times, weights = flow(positive_start(100, 3, 3, 0.1, 0), a, 0.05, 300)
    found = stages(times, weights, 2, level=0.8)
    assert found.pairs == [(0, 1)]
    weak, strong = found.majors.T
    ordered = (strong < found.suppressed[:, 0]) & (found.suppressed[:, 0] < weak)
    assert ordered.double().mean() > 0.95
    assert (found.peaks[:, 0] < found.suppressed[:, 0]).all()


def test_stages_by_hand() -> None:
    times = torch.tensor([0.0, 1, 2, 3])
    weights = torch.zeros(4, 2, 2, 2)
    weights[:, 0, 0, 0] = torch.tensor([0, 0.5, 0.8, 1])
    weights[:, 0, 0, 1] = torch.tensor([0.1, -0.4, -0.3, -0.1])
    weights[:, 1, 0, 1] = torch.tensor([0.1, 0.2, 0.3, 0.4])
    found = stages(times, weights, 2, level=0.8)
    assert [[float(x) for x in row] for row in found.majors] == [[2, pytest.approx(math.nan, nan_ok=True)]] + [
        [pytest.approx(math.nan, nan_ok=True)] * 2
    ]
    torch.testing.assert_close(found.peaks, torch.tensor([[1], [math.nan]]), equal_nan=True)
    torch.testing.assert_close(found.heights, torch.tensor([[0.4], [0.4]]))
    torch.testing.assert_close(found.suppressed, torch.tensor([[3], [math.nan]]), equal_nan=True)


def test_descents_by_hand() -> None:
    curves = {
        "falls": [4, 3, 2, 1, 0.5, 0],
        "bump": [4, 1, 2, 3, 1, 0],
        "ripple": [4, 1, 1.03, 1, 0.5, 0],
        "twice": [4, 2, 3, 1, 2, 0],
        "still rising": [4, 1, 2, 3, 3, 3.5],
        "rises first": [1, 4, 3, 2, 1, 0],
        "flat": [1, 1, 1, 1, 1, 1],
        "not finite": [4, 1, 2, 3, 1, math.inf],
    }
    found = descents(torch.tensor(list(curves.values())).T, 0.01)
    assert found.falls.tolist() == [1, 2, 1, 3, 1, 1, 0, 0]
    assert found.bump.tolist() == [False, True, False, True, True, False, False, False]
    assert found.trough.tolist() == [-1, 1, -1, 1, 1, -1, -1, -1]
    assert found.peak.tolist() == [-1, 3, -1, 2, 5, -1, -1, -1]
    assert found.trough_height[found.bump].tolist() == [1, 2, 1]
    assert found.peak_height[found.bump].tolist() == [3, 3, 3.5]
    assert found.peak_height[~found.bump].isnan().all()


def test_losses_by_hand() -> None:
    weights = torch.tensor([[[1.0, 2.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    a, z = torch.tensor([3.0, 2.0], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert training_loss(weights, a).tolist() == [0.5 * (4 + 1) * 2, 0]
    assert probe_loss(weights, z).tolist() == [0.5 * (16 + 4), 0]
    world = MixtureWorld(dimensions=3, spreads=(0.3, 0.2))
    points, random = world.points(40_000, 0), draw(0, 3, 3)
    empirical = ((points @ random.T - points) ** 2).sum(1).mean() / 2
    assert float(training_loss(random, world.second_moment())) == pytest.approx(float(empirical), rel=0.01)


# Starts and bad input


def test_starts_have_their_law_and_do_not_depend_on_how_many() -> None:
    positive, gaussian = positive_start(2000, 3, 4, 0.2, 0), gaussian_start(2000, 3, 4, 0.2, 0)
    assert positive.shape == gaussian.shape == (2000, 3, 4)
    assert 0 < positive.min() < positive.max() < 0.2
    assert float(positive.mean()) == pytest.approx(0.1, rel=0.01)
    assert float(gaussian.std()) == pytest.approx(0.2, rel=0.02)
    assert torch.equal(positive[:5], positive_start(5, 3, 4, 0.2, 0))
    assert not torch.equal(positive, positive_start(2000, 3, 4, 0.2, 1))


@pytest.mark.parametrize("integrator", [flow, euler_on_w])
def test_bad_input_is_refused_in_one_line(integrator: Callable[..., object]) -> None:
    good, a = torch.eye(2)[None] / 9, torch.ones(2)
    for start, moment, step, steps, keep, message in (
        (good * math.nan, a, 0.1, 1, 1, r"^the start is not finite: give finite weights$"),
        (good, a * math.inf, 0.1, 1, 1, r"^a holds second moments: .* 0 or more$"),
        (good, -a, 0.1, 1, 1, r"^a holds second moments: .* 0 or more$"),
        (good, torch.ones(3), 0.1, 1, 1, r"^start \(1, 2, 2\) and a \(3,\) do not fit: .*$"),
        (good, a, 0.0, 1, 1, r"^step 0, steps 1, keep 1: .*$"),
        (good, a, math.nan, 1, 1, r"^step nan, steps 1, keep 1: .*$"),
        (good, a, 0.1, -1, 1, r"^step 0.1, steps -1, keep 1: .*$"),
        (good, a, 0.1, 1, 0, r"^step 0.1, steps 1, keep 0: .*$"),
    ):
        with pytest.raises(UserError, match=message):
            integrator(start, moment, step, steps, keep)
