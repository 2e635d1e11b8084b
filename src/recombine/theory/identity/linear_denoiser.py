"""A linear conditional denoiser on the data of structured identity mapping (Yang et al. 2025), followed exactly.

*Data.* Cluster p of s is x0 = mu_p e_p + diag(spread) z in R^d; the denoiser is conditioned on c = mu_p e_p ("class")
or on c = x0 ("value") and gets x = x0 + sigma eps. *Denoiser.* D(x, c) = M x + K c + b with weights for each sigma, or
one (M, K, b) for all of them inside a preconditioning. *Dynamics.* With phi = (x, c[, 1]), C = E[phi phi^T] and
B = E[x0 phi^T] the gradient flow of 1/2 E|D - x0|^2 is Theta' = -(Theta C - B), a sum of exponentials; K = U U^T is
integrated. *Samples.* They are exact too: see `theory.identity.linear_samples`.

Conditioned on the class, without bias, coordinates do not mix. With a = mu_p^2 / clusters and v = spread_p^2:
    C = [[a + v + sigma^2, a], [a, a]],   B = (a + v, a),   optimum M = v / (v + sigma^2), K = sigma^2 / (v + sigma^2).
- sigma -> infinity: M is pinned to 0 at the rate sigma^2, and K' = -(K - I) A with A = E[c c^T]: the one-layer identity
  map, with a = mu^2 / clusters for the class (the spread plays no part) and a + v for the value.
- sigma -> 0: the optimum is D = x, the condition is not used. With a skip (edm, noise, v), D = x whatever the weights.
- From 0, the answer D(c, c) to a concept passes 1 and returns from above where sigma^2 < a v / (a + v), else it comes
  from below.
- If M is always the best for the present K, K learns from a (v + sigma^2) / (a + v + sigma^2): where that is small, the
  gap between the concepts, and with it the ground for Swing-by, closes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch

from recombine.denoisers.configs import Prediction
from recombine.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

Condition = Literal["class", "value"]
Rest = Literal["trained", "best", "fixed"]

_RK4_REACH = 2.7  # RK4 is stable on the real axis to -2.785


@dataclass(frozen=True)
class Clusters:
    """The data: signals mu [s] and spreads [s] (standard deviations) in the first s of d dimensions, float64."""

    signals: Tensor
    spreads: Tensor
    dimensions: int
    origin: bool = False  # one more cluster, at 0
    condition: Condition = "class"  # what c is

    def __post_init__(self) -> None:
        signals, spreads = self.signals, self.spreads
        if signals.dim() != 1 or signals.shape != spreads.shape or not 1 <= len(signals) <= self.dimensions:
            raise UserError(
                f"signals {tuple(signals.shape)} and spreads {tuple(spreads.shape)} in {self.dimensions} dimensions: "
                "give one of each for every concept, and no more concepts than dimensions"
            )
        if not bool(torch.isfinite(signals).all()) or not bool(torch.isfinite(spreads).all() & (spreads >= 0).all()):
            raise UserError("signals must be finite, spreads finite and not negative")
        if self.condition not in get_args(Condition):
            raise UserError(f"condition '{self.condition}': there are: {', '.join(get_args(Condition))}")

    def probe(self) -> Tensor:
        """The condition no training sample has: every concept at once, sum_p mu_p e_p.  # [d]"""
        return self._padded(self.signals)

    def moments(self) -> tuple[Tensor, Tensor, Tensor]:
        """E[x0] and the diagonals of E[x0 x0^T] and E[c c^T] = E[x0 c^T]; E[c] = E[x0].  # [d], [d], [d]"""
        count = len(self.signals) + self.origin
        of_class = self._padded(self.signals).square() / count
        clean = of_class + self._padded(self.spreads).square()
        return self._padded(self.signals) / count, clean, of_class if self.condition == "class" else clean

    def _padded(self, values: Tensor) -> Tensor:
        return torch.nn.functional.pad(values.double(), (0, self.dimensions - len(values)))


@dataclass(frozen=True)
class Levels:
    """Noise levels, and D = c_skip x + c_out (M c_in x + K c + b) at each.  # [L] each"""

    sigma: Tensor
    c_in: Tensor
    c_skip: Tensor
    c_out: Tensor


def levels(sigma: Tensor, prediction: Prediction | None = None, sigma_data: float = 0.5) -> Levels:
    """Levels at sigma [L] for a prediction of the Denoiser contract; for none, D = M x + K c + b as it is."""
    from recombine.denoisers.network import NetworkDenoiser

    if sigma.dim() != 1 or len(sigma) == 0 or not bool((torch.isfinite(sigma) & (sigma > 0)).all()):
        raise UserError("the noise levels of a linear denoiser must be a list of finite sigmas above 0")
    sigma = sigma.double()
    if prediction is None:
        return Levels(sigma, torch.ones_like(sigma), torch.zeros_like(sigma), torch.ones_like(sigma))
    return Levels(sigma, *NetworkDenoiser(torch.nn.Identity(), prediction, sigma_data).scales(sigma))


@dataclass(frozen=True)
class Quadratic:
    """The loss tr(Theta C Theta^T) / 2 - tr(Theta B^T) + constant of weights Theta = (M, K[, b])."""

    second: Tensor  # C  # [*, F, F]
    cross: Tensor  # B  # [*, d, F]


def quadratic(data: Clusters, at: Levels, bias: bool = False) -> Quadratic:
    """The loss 1/2 E|M c_in x + K c + b - y|^2 at each level, y = (x0 - c_skip x) / c_out.  # [L, F, F], [L, d, F]

    Unscaled, y = x0. For `noise` it is DDPM's loss, for `edm` that of Karras et al. with their weight 1 / c_out^2.
    """
    mean, clean, given = data.moments()
    noise = at.sigma.square()[:, None].expand(-1, data.dimensions)  # [L, d]
    c_in, c_skip, c_out = (scale[:, None] for scale in (at.c_in, at.c_skip, at.c_out))
    second = torch.cat(
        [_block(c_in**2 * (clean + noise), c_in * given), _block(c_in * given, given.expand_as(noise))], dim=-2
    )
    cross = _block(c_in * ((1 - c_skip) * clean - c_skip * noise) / c_out, (1 - c_skip) / c_out * given)
    if bias:
        ones = torch.cat([c_in * mean, mean.expand_as(noise)], dim=-1)  # E[phi]  # [L, 2d]
        corner = torch.ones_like(at.sigma)[:, None, None]
        below = torch.cat([ones[:, None], corner], dim=-1)  # [L, 1, F]
        second = torch.cat([torch.cat([second, ones[:, :, None]], dim=-1), below], dim=-2)
        cross = torch.cat([cross, ((1 - c_skip) / c_out * mean)[:, :, None]], dim=-1)
    return Quadratic(second, cross)


def shared(loss: Quadratic, weights: Tensor | None = None) -> Quadratic:
    """The loss of one Theta for all levels: their average, weighted by weights [L].  # [F, F], [d, F]"""
    weights = torch.ones(len(loss.second)) if weights is None else weights
    if weights.shape != loss.second.shape[:1] or bool((weights < 0).any()) or not float(weights.sum()) > 0:
        raise UserError(f"give one weight of 0 or more for each of the {len(loss.second)} noise levels, not all 0")
    share = (weights.double() / weights.double().sum())[:, None, None]
    return Quadratic((share * loss.second).sum(0), (share * loss.cross).sum(0))


def optimum(loss: Quadratic) -> Tensor:
    """The Theta of least loss (of these the smallest): the best linear, or Wiener, denoiser.  # [*, d, F]"""
    _, basis, target = _modes(loss)
    return target @ basis.mT


def learn(loss: Quadratic, start: Tensor, times: Tensor) -> Tensor:
    """Theta(t) of Theta' = -(Theta C - B), from start [*, d, F], in closed form.  # [T, *, d, F]

    Leading axes of start broadcast with those of the loss: [n, 1, d, F] starts at [L] levels give [T, n, L, d, F].
    """
    rates, basis, target = _modes(loss)
    begun = start.double() @ basis  # [*, d, F]
    left = torch.exp(-rates[..., None, :] * times.double().reshape(-1, *(1,) * begun.dim()))  # [T, *, 1, F]
    return (target + (begun - target) * left) @ basis.mT


def learn_deep(
    loss: Quadratic,
    start: Tensor,  # U  # [*, d, h]
    times: Tensor,  # [T]
    step: float,
    rest: Rest = "trained",
) -> Tensor:
    """Theta(t) with two symmetric layers K = U U^T on the condition's path, by RK4 in steps of at most `step`.

    The rest of Theta, (M[, b]), is `trained` by its own gradient from 0, always the `best` for the present K (the limit
    of a fast rest), or `fixed` at the joint optimum. Leading axes of start are as in `learn`.  # [T, *, d, F]
    """
    if rest not in get_args(Rest):
        raise UserError(f"rest '{rest}' of a deep denoiser: there are: {', '.join(get_args(Rest))}")
    if float(times[0]) < 0 or bool((times.diff() <= 0).any()):
        raise UserError("the times to keep must grow strictly, from 0 or later")
    if not bool(torch.isfinite(start).all()):
        raise UserError("a start holds numbers that are not finite: give it finite weights")
    d, h = start.shape[-2:]
    in_c = torch.arange(d, 2 * d)
    other = torch.tensor([*range(d), *range(2 * d, loss.cross.shape[-1])])
    best = optimum(loss)
    if bool((best[..., in_c].diagonal(dim1=-2, dim2=-1).sum(-1) < 0).any()):
        raise UserError("K = U U^T cannot be negative, as the loss of this prediction wants: take x0, edm or none")
    c_given, c_other = loss.second[..., in_c[:, None], in_c], loss.second[..., other[:, None], other]
    _check_step(step, start.double(), best[..., in_c], c_given, c_other if rest == "trained" else None)
    given, tie = best[..., other], torch.zeros_like(loss.second[..., in_c[:, None], other])  # [*, d, F - d]
    if rest == "best":  # the rest of least loss beside K: (B_rest - K C_given,rest) C_rest^-1
        inverse = torch.linalg.pinv(c_other, hermitian=True)
        given, tie = loss.cross[..., other] @ inverse, loss.second[..., in_c[:, None], other] @ inverse

    def weights(state: Tensor) -> Tensor:  # Theta = (M, K[, b])
        k = state[..., :h] @ state[..., :h].mT
        beside = state[..., h:] if rest == "trained" else given - k @ tie
        return torch.cat([beside[..., :d], k, beside[..., d:]], dim=-1)

    def slope(state: Tensor) -> Tensor:
        gradient = weights(state) @ loss.second - loss.cross  # of the loss in Theta
        in_k = gradient[..., in_c]
        in_u = (in_k + in_k.mT) @ state[..., :h]
        return -torch.cat([in_u, gradient[..., other]], dim=-1) if rest == "trained" else -in_u

    lead = (start[..., 0, 0] + loss.second[..., 0, 0]).shape
    state = start.double().expand(*lead, d, h)  # U, and the rest beside it if that is trained
    if rest == "trained":
        state = torch.nn.functional.pad(state, (0, len(other)))
    kept, now = [], 0.0
    for time in times.tolist():
        steps = math.ceil((time - now) / step)
        for _ in range(steps):
            state = _rk4(slope, state, (time - now) / steps)
        now = time
        kept.append(weights(state))
    return torch.stack(kept)


def learning_times(
    loss: Quadratic,
    start: Tensor,  # Theta(0)  # [d, F] or [L, d, F]
    at: Levels,
    condition: Tensor,  # [d]
    reached: float = 0.9,
    clean: Tensor | None = None,  # [d]
) -> Tensor:
    """When each level first answers a concept of the condition to this share; NaN where never.  # [L, concepts]

    The answer is D(x, condition) for x = clean + sigma eps in the mean over eps; clean is the condition itself if not
    given, and 0 for an x that holds nothing. Concepts are the coordinates at which the condition is not 0. The answer
    is a sum of exponentials; its first crossing is looked for on a fine grid of times and then bisected.
    """
    rates, basis, target = _modes(loss)
    condition = condition.double()
    clean = condition if clean is None else clean.double()
    count = len(at.sigma)
    ones = torch.ones(count, loss.cross.shape[-1] - 2 * len(condition), dtype=torch.float64)  # for a bias
    inputs = torch.cat([at.c_in[:, None] * clean, condition.expand(count, -1), ones], dim=-1)  # [L, F]
    moved = at.c_out[:, None, None] * (inputs[:, None, :] @ basis)  # [L, 1, F]
    concepts = condition != 0
    final = (at.c_skip[:, None] * clean + (target * moved).sum(-1))[:, concepts] / condition[concepts]
    gap = ((start.double() @ basis - target) * moved)[:, concepts] / condition[concepts, None]  # [L, concepts, F]

    rates = rates.expand(count, -1)  # [L, F]

    def share(time: Tensor) -> Tensor:  # [..., L, concepts]
        return final + (gap * torch.exp(-rates[:, None, :] * time[..., None])).sum(-1)

    slowest = torch.where(rates > 0, rates, math.inf).amin(-1)
    first, last = 1e-4 / rates.amax(-1), 60 / slowest  # [L]
    along = torch.linspace(0, 1, 600, dtype=torch.float64)[:, None]
    grid = torch.cat([torch.zeros(1, count), first * (last / first) ** along])[..., None]  # [601, L, 1]
    there = share(grid) >= reached  # [601, L, concepts]
    index = there.int().argmax(0)  # the first
    grid = grid.expand(there.shape)
    low, high = grid.gather(0, (index - 1).clamp(min=0)[None])[0], grid.gather(0, index[None])[0]
    for _ in range(60):
        middle = (low + high) / 2
        early = share(middle) < reached
        low, high = torch.where(early, middle, low), torch.where(early, high, middle)
    return torch.where(there.any(0), high, math.nan)


def _modes(loss: Quadratic) -> tuple[Tensor, Tensor, Tensor]:
    """Rates and eigenvectors of C, and the optimum in their basis; a rate of 0 has an optimum of 0.

    # [*, F], [*, F, F], [*, d, F]
    """
    rates, basis = torch.linalg.eigh(loss.second)
    floor = rates.shape[-1] * torch.finfo(torch.float64).eps * rates.amax(-1, keepdim=True)
    rates = torch.where(rates > floor, rates, 0.0)  # directions the data never show stay as they start
    slow = rates[..., None, :]
    return rates, basis, torch.where(slow > 0, loss.cross @ basis / slow, 0.0)


def _block(left: Tensor, right: Tensor) -> Tensor:
    """Two diagonals [L, d] as matrices, side by side.  # [L, d, 2d]"""
    return torch.cat([torch.diag_embed(left), torch.diag_embed(right)], dim=-1)


def _rk4(slope: Callable[[Tensor], Tensor], state: Tensor, step: float) -> Tensor:
    one = slope(state)
    two = slope(state + step / 2 * one)
    three = slope(state + step / 2 * two)
    four = slope(state + step * three)
    return state + step / 6 * (one + 2 * two + 2 * three + four)


def _check_step(step: float, start: Tensor, target: Tensor, c_given: Tensor, c_rest: Tensor | None) -> None:
    """Refuse a step that RK4 could not take: the curvature is at most 6 |C_given| max(|U|^2, |K*|) + |C_rest|."""
    size = max(float(torch.linalg.matrix_norm(start, 2).max()) ** 2, float(torch.linalg.matrix_norm(target, 2).max()))
    curvature = 6 * size * torch.linalg.matrix_norm(c_given, 2)
    if c_rest is not None:
        curvature = curvature + torch.linalg.matrix_norm(c_rest, 2)
    stable = _RK4_REACH / float(curvature.max())
    if not 0 < step <= stable:
        raise UserError(f"step {step:g} of a deep denoiser: it must be above 0 and at most {stable:.3g} to be stable")
