"""When the probe's loss swings by: an analytic prediction for two concepts and a small start (Yang et al. 2025, Fig 5).

Let a_1 > a_2 > 0 be the two concepts, all other coordinates idle (a_k far below a_2), and W(0) = U U^T small. Of the
exact W' = 2 (G - S - N) of `theory.identity.flow` four steps keep what matters, each with a closed form.

1. w_11' = 4 a_1 w_11 (1 - w_11): logistic. With D = 1 - w + w exp(4 a_1 t) and w = w_11(0), w_11 = w exp(4 a_1 t) / D,
   and its integral is log(D) / (4 a_1).
2. w_k1' = w_k1 [2 (a_1 + a_k) - (3 a_1 + a_k) w_11], so w_k1 = w_k1(0) exp(2 (a_1 + a_k) t) D^-p with
   p = (3 a_1 + a_k) / (4 a_1): a minor grows with the first concept and falls like exp(-(a_1 - a_k) t) once that is
   learned.
3. The rest grows and is eaten by the minors: w_kl' = 2 (a_k + a_l) w_kl - (2 a_1 + a_k + a_l) w_k1 w_l1. The integral
   is elementary: w_kl = c_kl exp(2 (a_k + a_l) t) with
   c_kl = w_kl(0) - (1 - D^-q) w_k1(0) w_l1(0) / w and q = (2 a_1 + a_k + a_l) / (4 a_1).
   The second concept starts anew from the *Schur complement* of the first, w_22 - w_12^2 / w_11: only what the first
   did not carry with it. As it saturates, steps 1 and 2 hold for it with c_22 for w and, for D,
   E = 1 - c_22 + c_22 exp(4 a_2 t); the minor between both takes the factor E^-r with r = (a_1 + 3 a_2) / (4 a_2).
4. The minors also push w_11 down, by 2 (a_1 + a_k) w_k1^2 a unit of time: a linear response around the logistic.

The trough and the bump follow: the minor first draws the second concept along, z_1 w_12 in the place of z_2 w_22; it is
suppressed at the rate a_1 - a_2 before w_22 has grown out of its Schur complement, and the loss rises in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from recombine.errors import UserError
from recombine.theory.identity.flow import descents, probe_loss

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-300  # a seed of exactly nothing, so that its logarithm is a number


class Bump(NamedTuple):
    """The predicted curve of each start, and its bump; NaN where there is none."""

    losses: Tensor  # [T, n]
    bump: Tensor  # [n] bool
    trough_time: Tensor  # [n]
    trough_height: Tensor  # [n]
    peak_time: Tensor  # [n]
    peak_height: Tensor  # [n]


def predicted_bump(start: Tensor, a: Tensor, z: Tensor, times: Tensor, threshold: float = 0.001) -> Bump:
    """The bump in the predicted probe loss, as `descents` finds it: start W(0) [n, d, d], probe z [d], times [T]."""
    losses = probe_loss(predicted_weights(start, a, times), z.double())  # [T, n]
    found = descents(losses, threshold)
    trough, peak = (times[index.clamp(min=0)].where(found.bump, torch.nan) for index in (found.trough, found.peak))
    return Bump(losses, found.bump, trough, found.trough_height, peak, found.peak_height)


def predicted_weights(start: Tensor, a: Tensor, times: Tensor) -> Tensor:
    """W(t) by the four steps. The first two coordinates are the concepts, in any order.  # [T, n, d, d]

    Step 4 is summed over the times given: a grid as fine as that of `flow`.
    """
    start, a, order = _strong_first(start, a)
    times = times.double()
    t = times[:, None]
    first, second = a[0], a[1]
    seed, column = start[:, 0, 0], start[:, :, 0]  # [n], [n, d]
    log_d = torch.logaddexp(torch.log1p(-seed), seed.log() + 4 * first * t)  # [T, n]: exp(4 a t) would overflow

    carried = (2 * first + a[:, None] + a) / (4 * first)  # [d, d]
    explained = column[:, :, None] * column[:, None, :] / seed[:, None, None]
    left = start + explained * torch.expm1(-carried * log_d[..., None, None])  # c: [T, n, d, d]
    major = left[:, :, 1, 1].clamp(min=TINY)  # c_22
    log_e = torch.logaddexp(torch.log1p(-major), major.log() + 4 * second * t)  # [T, n]

    weights = left * torch.exp(2 * (a[:, None] + a) * times[:, None, None, None])  # the idle block; the rest follows
    weights[..., 1] = left[..., 1] * _grown(second, a, t, log_e)
    weights[:, :, 1, 1] = torch.exp(major.log() + 4 * second * t - log_e)
    weights[..., 0] = column * _grown(first, a, t, log_d)
    weights[:, :, 1, 0] *= torch.exp(-(first + 3 * second) / (4 * second) * log_e)
    logistic = torch.exp(seed.log() + 4 * first * t - log_d)
    push = 2 * ((first + a[1:]) * weights[:, :, 1:, 0] ** 2).sum(-1)  # [T, n]
    weights[:, :, 0, 0] = logistic - _response(times, seed, first, log_d, push)
    weights[:, :, 0, 1:] = weights[:, :, 1:, 0]
    weights[:, :, 1, 2:] = weights[:, :, 2:, 1]
    return weights[:, :, order][:, :, :, order]


def saddle_peak(start: Tensor, a: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Time and height of the bump's peak by hand, for a wide gap: NaN where none is expected.  # [n], [n]

    Between the two concepts D = w exp(4 a_1 t) and E = 1, so the probe's second coordinate is
    z_1 M exp(-(a_1 - a_2) t) + z_2 C exp(4 a_2 t) with M = w_12 w^-p of step 2 and C the Schur complement.
    It is lowest where both move equally fast. There is a bump only if that comes after the peak of the minor, where
    w exp(4 a_1 t) / (1 - w) = 2 (a_1 + a_2) / (a_1 - a_2); necessary rather than sufficient, as the fall of the minor
    also relieves the first coordinate.
    """
    order = [0, 1] if a[0] >= a[1] else [1, 0]
    strong, weak = z.double()[order]
    start, a, _ = _strong_first(start, a)
    first, second = a[0], a[1]
    seed, minor = start[:, 0, 0], start[:, 0, 1]
    left = (start[:, 1, 1] - minor**2 / seed).clamp(min=TINY)
    drawn = minor * seed ** (-(3 * first + second) / (4 * first))
    time = ((first - second) * strong * drawn / (4 * second * weak * left)).log() / (first + 3 * second)
    turn = ((1 - seed) / seed * 2 * (first + second) / (first - second)).log() / (4 * first)
    minor_then = drawn * torch.exp(-(first - second) * time)
    second_then = strong * minor_then + weak * left * torch.exp(4 * second * time)
    height = ((second_then - weak) ** 2 + (weak * minor_then) ** 2) / 2
    expected = time > turn
    return time.where(expected, torch.nan), height.where(expected, torch.nan)


def _grown(rate: Tensor, a: Tensor, t: Tensor, log_d: Tensor) -> Tensor:
    """Step 2: what a concept's minors have grown by, exp(2 (a_1 + a_k) t) D^-p.  # [T, n, d]"""
    return torch.exp(2 * (rate + a) * t[..., None] - (3 * rate + a) / (4 * rate) * log_d[..., None])


def _response(times: Tensor, seed: Tensor, rate: Tensor, log_d: Tensor, push: Tensor) -> Tensor:
    """Step 4: r' = 4 a_1 (1 - 2 w_11) r + push, by the trapezium rule along its solution w_11 (1 - w_11).  # [T, n]"""
    log_free = (seed * (1 - seed)).log() + 4 * rate * times[:, None] - 2 * log_d
    response = [torch.zeros_like(seed)]
    for number, span in enumerate(times.diff()):
        carried = torch.exp(log_free[number + 1] - log_free[number])
        response.append(carried * (response[-1] + span / 2 * push[number]) + span / 2 * push[number + 1])
    return torch.stack(response)


def _strong_first(start: Tensor, a: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """W(0) and a in float64 with the stronger concept first, and the order that undoes it (it is its own inverse)."""
    if len(a) < 2 or start.ndim != 3 or start.shape[1:] != (len(a), len(a)):
        raise UserError(f"start {tuple(start.shape)} and a {tuple(a.shape)} do not fit: give [n, d, d] and [d], d > 1")
    if not (a[:2] > 0).all():
        raise UserError("the first two of a are the concepts: give second moments above 0")
    majors = start.diagonal(dim1=1, dim2=2)[:, :2]
    if not ((majors > 0) & (majors < 1)).all():
        raise UserError("the prediction is for a small start: give w_11 and w_22 between 0 and 1")
    order = [0, 1, *range(2, len(a))] if a[0] >= a[1] else [1, 0, *range(2, len(a))]
    return start.double()[:, order][:, :, order], a.double()[order], order
