"""Exact dynamics of structured identity mapping (Yang et al. 2025, Sec. 4): linear maps that learn to give x back.

The loss is L = 1/2 E||f(x) - x||^2 with E[x x^T] = A = diag(a), and time is that of gradient flow on L. One layer,
f = W x, has a closed form, with a bias or without. Two layers with tied weights, f = U U^T x, follow
W' = 2 (G - S - N) for W = U U^T (growth, suppression, noise); the paper prints W' = G - S - N, half as fast.
Everything is float64 and batched over starts n; d is the dimension, s the number of concepts, h the hidden width.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.worlds.mixture import MixtureWorld

if TYPE_CHECKING:
    from torch import Tensor

REACH = 2.785  # classical Runge-Kutta of order four is stable on u' = -r u for steps below this over r


# One layer


def one_layer(a: Tensor, start: Tensor, times: Tensor) -> Tensor:
    """Theorem 4.1: W' = -(W - I) A has W = I + (W(0) - I) exp(-A t). a [d], start [n, d, d].  # [T, n, d, d]"""
    identity = torch.eye(len(a), dtype=torch.float64, device=a.device)
    return identity + (start.double() - identity) * _decay(a, times)[:, None, None, :]


def answer(a: Tensor, start: Tensor, times: Tensor, z: Tensor) -> Tensor:
    """f(z, t) = W(t) z of that layer, without W(t) in between. z [d].  # [T, n, d]"""
    left = _decay(a, times) * z.double()  # [T, d]: exp(-a t) z
    return z.double() - left[:, None] + torch.einsum("nki,ti->tnk", start.double(), left)


def affine(moments: Tensor, start: Tensor, times: Tensor) -> Tensor:
    """One layer with a bias, f = Theta phi with phi = (x, 1) and `moments` C = E[phi phi^T] [d + 1, d + 1].

    Theta' = -(Theta C - B) with B = E[x phi^T], the upper rows of C. So [I 0] always solves Theta C = B, and
    Theta = [I 0] + (Theta(0) - [I 0]) exp(-C t); where C is singular a part of the start stays for good.
    start [n, d, d + 1].  # [T, n, d, d + 1]
    """
    rates, axes = torch.linalg.eigh(moments.double())  # [d + 1], [d + 1, d + 1]
    target = torch.eye(len(rates) - 1, len(rates), dtype=torch.float64, device=axes.device)
    left = (start.double() - target) @ axes  # [n, d, d + 1]
    found: Tensor = target + (left * _decay(rates.clamp(min=0), times)[:, None, None, :]) @ axes.T
    return found


def augmented(world: MixtureWorld) -> Tensor:
    """C = E[phi phi^T] of a world's points x with a one behind them, phi = (x, 1).  # [d + 1, d + 1]"""
    moments = torch.diag(torch.cat([world.second_moment(), torch.ones(1, dtype=torch.float64)]))
    moments[-1, :-1] = moments[:-1, -1] = world.mean()
    return moments


def _decay(rates: Tensor, times: Tensor) -> Tensor:
    """exp(-rate t).  # [T, d]"""
    return torch.exp(-times.double()[:, None] * rates.double())


# Two layers with tied weights


def terms(weights: Tensor, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Growth G, suppression S and noise N of a symmetric W; W' = 2 (G - S - N).  # three of [..., d, d]

    N_ij sums w_ki w_kj over k other than i and j: exactly what remains once the diagonal of W is taken out.
    """
    row, column = a[:, None], a[None, :]  # a_i, a_j
    majors = weights.diagonal(dim1=-2, dim2=-1)
    off_diagonal = 1 - torch.eye(len(a), dtype=weights.dtype, device=weights.device)  # 1[i != j]
    minors = weights * off_diagonal
    growth = weights * (row + column)
    pull = majors[..., :, None] * (3 * row + column) + off_diagonal * majors[..., None, :] * (3 * column + row)
    noise = (row + column) * (minors @ minors) / 2 + minors @ (row * minors)
    return growth, weights * pull / 2, noise


def motion(factors: Tensor, a: Tensor) -> Tensor:
    """W' = U' U^T + U U'^T with U' the gradient of the loss, found without its formula. factors [n, d, h]."""
    with torch.enable_grad():
        free = factors.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(training_loss(free @ free.mT, a).sum(), free)
    moved: Tensor = -(gradient @ factors.mT + factors @ gradient.mT)
    return moved


def factors_of(weights: Tensor) -> Tensor:
    """A U with U U^T = W.  # [n, d, d]"""
    found, axes = torch.linalg.eigh(weights)
    factors: Tensor = axes * found.clamp(min=0).sqrt()[:, None, :]
    return factors


def flow(start: Tensor, a: Tensor, step: float, steps: int, keep: int = 1) -> tuple[Tensor, Tensor]:
    """Gradient flow on U [n, d, h] by Runge and Kutta: U' = P U with P = (I - W) A + A (I - W).

    Stepping U rather than W keeps W = U U^T positive semidefinite. Every eigenvalue of W obeys
    lam' = 4 lam (1 - lam) v^T A v with v its eigenvector, so none passes max(1, lam(0)) = top, and no direction of U
    decays faster than 6 max(a) top: what the step is held against. Every `keep`-th step is returned, the start first.
    # times [K], W [K, n, d, d]
    """
    factors, a = _checked(start, a, step, steps, keep)
    squares = factors.mT @ factors if factors.shape[2] < factors.shape[1] else factors @ factors.mT
    top = max(1.0, float(torch.linalg.eigvalsh(squares).max())) if squares.numel() else 1.0
    fastest = 6 * float(a.max()) * top
    if step * fastest > REACH:
        raise UserError(f"step {step:g} is too large to be stable: take {0.9 * REACH / fastest:.2g} or less")
    both = a[:, None] + a  # P is (I - W) with entry ij times a_i + a_j

    def slope(u: Tensor) -> Tensor:
        return (torch.diag(2 * a) - both * (u @ u.mT)) @ u

    kept = [factors @ factors.mT]
    for number in range(1, steps + 1):
        first = slope(factors)
        second = slope(factors + step / 2 * first)
        third = slope(factors + step / 2 * second)
        fourth = slope(factors + step * third)
        factors = factors + step / 6 * (first + 2 * (second + third) + fourth)
        if number % keep == 0:
            kept.append(factors @ factors.mT)
    return _times(step, steps, keep), torch.stack(kept)


def euler_on_w(start: Tensor, a: Tensor, step: float, steps: int, keep: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """The released scripts' integrator: W <- W + step (G - S - N) from W [n, d, d].

    The step differs from one on U by its second order, so W may lose positive semidefiniteness and then diverge: the
    smallest eigenvalue shows it, NaN where W is not finite. Time is step * number as the scripts count it; in the
    time of `flow` it is half as much.
    # times [K], W [K, n, d, d], smallest eigenvalue [K, n]
    """
    weights, a = _checked(start, a, step, steps, keep)
    both = a[:, None] + a
    kept = [weights]
    for number in range(1, steps + 1):
        half = step / 2 * (torch.diag(2 * a) - both * weights) @ weights  # P W / 2, and V = (P W + W P) / 2
        weights = weights + half + half.mT
        if number % keep == 0:
            kept.append(weights)
    history = torch.stack(kept)
    finite = history.isfinite().all(-1).all(-1)  # [K, n]
    smallest = torch.linalg.eigvalsh(history.where(finite[..., None, None], 0.0))[..., 0]
    return _times(step, steps, keep), history, smallest.where(finite, math.nan)


def positive_start(n: int, d: int, h: int, scale: float, seed: int) -> Tensor:
    """U with entries uniform in (0, scale): the released scripts', with scale 1/5 or 1/10.  # [n, d, h]"""
    return scale * seeds.uniform(seeds.keys(seed, "identity positive", torch.arange(n)), (d, h)).double()


def gaussian_start(n: int, d: int, h: int, scale: float, seed: int) -> Tensor:
    """U with normal entries of standard deviation `scale`.  # [n, d, h]"""
    return scale * seeds.normal(seeds.keys(seed, "identity gaussian", torch.arange(n)), (d, h)).double()


def _checked(start: Tensor, a: Tensor, step: float, steps: int, keep: int) -> tuple[Tensor, Tensor]:
    """The start and a in float64, or one line that says what is wrong."""
    if start.ndim != 3 or a.ndim != 1 or start.shape[1] != len(a):
        raise UserError(f"start {tuple(start.shape)} and a {tuple(a.shape)} do not fit: give [n, d, h] and [d]")
    if not start.isfinite().all():
        raise UserError("the start is not finite: give finite weights")
    if not a.isfinite().all() or (a < 0).any():
        raise UserError("a holds second moments: give finite numbers that are 0 or more")
    if not (math.isfinite(step) and step > 0) or steps < 0 or keep < 1:
        raise UserError(f"step {step:g}, steps {steps}, keep {keep}: give a step above 0, steps from 0, keep from 1")
    return start.double(), a.double()


def _times(step: float, steps: int, keep: int) -> Tensor:
    return step * torch.arange(0, steps + 1, keep, dtype=torch.float64)


# What is measured on a trajectory


def training_loss(weights: Tensor, a: Tensor) -> Tensor:
    """1/2 E||W x - x||^2 = 1/2 ||(W - I) A^(1/2)||^2. weights [..., d, d].  # [...]"""
    off = weights - torch.eye(len(a), dtype=weights.dtype, device=weights.device)
    return ((off**2).sum(-2) * a).sum(-1) / 2


def probe_loss(weights: Tensor, z: Tensor) -> Tensor:
    """1/2 ||W z - z||^2: halved as the training loss is, and no mean over dimensions. weights [..., d, d].  # [...]"""
    return ((weights @ z - z) ** 2).sum(-1) / 2


def log_residual_slope(times: Tensor, residual: Tensor) -> Tensor:
    """The least-squares slope of log |residual| over time: -a_k for coordinate k of one layer. [T, ...].  # [...]"""
    centred = times.double() - times.double().mean()
    logs = residual.double().abs().log()
    covariance: Tensor = torch.tensordot(centred, logs - logs.mean(0), dims=1)
    return covariance / (centred**2).sum()


class Stages(NamedTuple):
    """When the entries of W come and go, in kept times; NaN where they do not."""

    majors: Tensor  # [n, s]: when w_ii first reaches the level
    pairs: list[tuple[int, int]]  # the concepts (i, j), i < j, of each minor
    peaks: Tensor  # [n, pairs]: when |w_ij| is largest; NaN where it still grows at the end
    heights: Tensor  # [n, pairs]: |w_ij| there
    suppressed: Tensor  # [n, pairs]: when, after its peak, |w_ij| first falls below `remnant` of it


def stages(times: Tensor, weights: Tensor, concepts: int, level: float = 0.8, remnant: float = 0.5) -> Stages:
    """Growth of the majors, rise and suppression of the minors between concepts. weights [T, n, d, d]."""
    majors = weights.diagonal(dim1=-2, dim2=-1)[..., :concepts]
    pairs = list(combinations(range(concepts), 2))
    rows, columns = [i for i, _ in pairs], [j for _, j in pairs]
    minors = weights[..., rows, columns].abs()  # [T, n, pairs]
    heights, top = minors.max(0)
    number = torch.arange(len(times), device=times.device)[:, None, None]
    peaks = times[top].where(top < len(times) - 1, math.nan)
    suppressed = _first(times, (minors < remnant * heights) & (number > top))
    return Stages(_first(times, majors >= level), pairs, peaks, heights, suppressed)


def _first(times: Tensor, reached: Tensor) -> Tensor:
    """The first time at which something is so, NaN where never. reached [T, ...].  # [...]"""
    return times[reached.int().argmax(0)].where(reached.any(0), math.nan)


class Descents(NamedTuple):
    """How often each curve falls, and its first bump: the first trough and the peak behind it."""

    falls: Tensor  # [n] int64
    bump: Tensor  # [n] bool: whether it rises after a fall
    trough: Tensor  # [n] int64: index of the first trough; -1 without a bump
    trough_height: Tensor  # [n]; NaN without a bump
    peak: Tensor  # [n] int64: index of the highest point before the next fall
    peak_height: Tensor  # [n]


def descents(losses: Tensor, threshold: float) -> Descents:
    """Falls and rises larger than `threshold` of each curve's largest loss [T, n]; smaller ones are ripples.

    The thresholds in use are 0.001 for flows and 0.01 for networks. A curve that is not finite has no falls.
    """
    finite = losses.isfinite().all(0)
    curves = losses.double().where(finite, 0.0)
    least = threshold * curves.amax(0)
    shape, device = curves.shape[1:], curves.device
    falling = torch.zeros(shape, dtype=torch.bool, device=device)
    falls, rises = (torch.zeros(shape, dtype=torch.int64, device=device) for _ in range(2))
    trough, peak = (torch.full(shape, -1, dtype=torch.int64, device=device) for _ in range(2))
    extreme, place = curves[0].clone(), torch.zeros_like(falls)  # of the present fall or rise
    for number, loss in enumerate(curves):
        turned = torch.where(falling, loss - extreme, extreme - loss) > least
        first_rise = turned & falling & (rises == 0)
        first_peak = turned & ~falling & (rises == 1) & (peak < 0)
        trough = place.where(first_rise, trough)
        peak = place.where(first_peak, peak)
        rises, falls = rises + (turned & falling), falls + (turned & ~falling)
        falling = falling ^ turned
        further = turned | torch.where(falling, loss < extreme, loss > extreme)
        extreme, place = loss.where(further, extreme), torch.where(further, number, place)
    bump = rises > 0
    peak = place.where(bump & (peak < 0), peak)  # still rising, or not yet fallen, at the end
    heights = [curves.gather(0, index.clamp(min=0)[None])[0].where(bump, math.nan) for index in (trough, peak)]
    return Descents(falls, bump, trough, heights[0], peak, heights[1])
