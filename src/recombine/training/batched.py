"""Plain gradient descent of thousands of small networks at once, for structured identity mapping (Yang et al. 2025).

Target = input. The loop over steps is the only one; the networks of `training.batched_networks` are the leading axis of
every tensor, and seed i gives the same network in any company (start and order bit by bit; the rest up to the rounding
of a matrix product).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds as randomness
from recombine.deferred import no_grad
from recombine.errors import RunFailed, UserError
from recombine.settings import Settings
from recombine.training.batched_networks import (
    Batch,
    NetConfig,
    answers,
    condensed,
    gradients,
    jacobians,
    make_batch,
    net_keys,
    start,
    with_one,
)

if TYPE_CHECKING:
    from torch import Tensor

LIMIT = 2**26  # numbers that the nets of one chunk may hold at once: 512 MB in float64
CACHED = 2**18  # hidden numbers of a ReLU layer at once, on a CPU: beyond its cache a step takes nearly twice as long

Loss = Literal["mean", "half"]


class DescentConfig(Settings):
    """Plain gradient descent. The last batch of an epoch is smaller where the points do not divide; it is not dropped.

    "fixed" takes the points as they lie, in every epoch alike, as the released code does; where they lie cluster after
    cluster a batch is one cluster, so mix them first. "shuffled" draws an order for each net and epoch. "mean" is the
    squared error averaged over batch and dimensions, as in the released code; "half" is the paper's
    1/2 E|f(x) - x|^2, d/2 times as steep.
    """

    rate: float = Field(default=0.1, gt=0)
    batch: int | None = Field(default=128, ge=1, description="None = all points")
    epochs: int = Field(default=40, ge=0)
    steps: int | None = Field(default=None, ge=0, description="in place of epochs")
    order: Literal["fixed", "shuffled"] = "fixed"
    loss: Loss = "mean"

    def size(self, points: int) -> int:
        """Points in a batch."""
        return min(self.batch or points, points)

    def total(self, points: int) -> int:
        """Steps on so many points."""
        return self.epochs * -(-points // self.size(points)) if self.steps is None else self.steps


@dataclass(frozen=True)
class Trace:
    """What n nets did, at T moments of their training."""

    seeds: tuple[int, ...]
    steps: Tensor  # [T]
    loss: Tensor  # [T, n]: over the training points
    outputs: Tensor  # [T, n, P, d]: at the probes
    jacobian: Tensor | None  # [T, n, d, d]: at the first probe
    probes: Tensor  # [P, d] or [n, P, d]
    kind: Loss


def losses(trace: Trace) -> Tensor:
    """The loss at each probe, in the measure of the training loss.  # [T, n, P]"""
    error = (trace.outputs - trace.probes).square().sum(-1)
    return error * (slope(trace.kind, trace.probes.shape[-1]) / 2)


def slope(loss: Loss, d: int) -> float:
    """c in loss = c/2 E|f(x) - x|^2, so that a step of descent is W - rate * c * (...): 1, or 2/d."""
    return 1.0 if loss == "half" else 2.0 / d


@no_grad
def train(
    net: NetConfig,
    descent: DescentConfig,
    points: Tensor,  # [n, N, d], or [N, d] shared by all
    probes: Tensor,  # [P, d] or [n, P, d]
    seeds: Sequence[int],  # n of them; each is a net
    every: int,  # steps from one observation to the next; the first and the last step are observed too
    dtype: torch.dtype | None = None,  # float32
    jacobian: bool = False,
    loss_points: int | None = None,  # the training loss over so many points, evenly spread, in place of all
    chunk: int | None = None,  # nets at once; by default as many as stay below LIMIT numbers
    device: str = "cpu",
) -> Trace:
    """Train a net for each seed. The trace lies on the CPU, in `dtype`.

    The loss over all points costs a linear net nothing; a ReLU net that is observed at every step wants `loss_points`.
    """
    dtype = dtype or torch.float32
    n, (count, d) = len(seeds), _check(points, probes, seeds, every, dtype)
    if net.layers == 1:
        _check_rate(net, descent, points, seeds)
    total = descent.total(count)
    observed = sorted({*range(0, total, every), total})
    loss = torch.empty(len(observed), n, dtype=dtype)
    outputs = torch.empty(len(observed), n, probes.shape[-2], d, dtype=dtype)
    slopes = torch.empty(len(observed), n, d, d, dtype=dtype) if jacobian else None
    judged = None if loss_points is None else _spread(count, loss_points).to(device)
    chunk = max(1, chunk or _chunk(net, descent, points, device))
    pace = -descent.rate * slope(descent.loss, d)
    for first in range(0, n, chunk):
        part = slice(first, first + chunk)
        mine = seeds[part]
        weights = start(net, d, mine, dtype, device)
        here = (points[part] if points.dim() == 3 else points).to(device, dtype)
        probe = with_one((probes[part] if probes.dim() == 3 else probes).to(device, dtype), net.bias)
        batches = _batches(net, descent, here)
        feed = _feed(net, descent, here, batches, mine)
        shown = _together(net, batches if judged is None else _batches(net, descent, here[..., judged, :]))
        done = 0
        for row, until in enumerate(observed):
            for step in range(done, until):
                for weight, gradient in zip(weights, gradients(net, weights, feed(step)), strict=True):
                    weight.add_(gradient, alpha=pace)
            done = until
            loss[row, part] = _mean_square(net, weights, shown).to("cpu", dtype) * (slope(descent.loss, d) / 2)
            _check_loss(loss[row, part], mine, done, descent.rate)
            outputs[row, part] = answers(net, weights, probe).cpu()
            if slopes is not None:
                slopes[row, part] = jacobians(net, weights, probe[..., 0, :]).cpu()
    return Trace(tuple(seeds), torch.tensor(observed), loss, outputs, slopes, probes.to("cpu", dtype), descent.loss)


def _batches(net: NetConfig, descent: DescentConfig, points: Tensor) -> list[Batch]:
    """An epoch of the points as they lie."""
    return [make_batch(net, part) for part in torch.split(points, descent.size(points.shape[-2]), dim=-2)]


def _together(net: NetConfig, batches: list[Batch]) -> list[Batch]:
    """The same points in as few batches as may be: one for linear nets."""
    if net.activation == "relu":
        return batches
    return [Batch(condensed(torch.cat([batch.rows for batch in batches], -2)), sum(batch.count for batch in batches))]


def _mean_square(net: NetConfig, weights: list[Tensor], batches: list[Batch]) -> Tensor:
    """E|f(x) - x|^2 over all points of these batches, added up in float64.  # [n]"""
    d = weights[-1].shape[1]
    errors = (answers(net, weights, batch.rows) - batch.rows[..., :d] for batch in batches)
    sums = torch.stack([error.square_().sum((1, 2)).double() for error in errors])  # [batches, n]
    return sums.sum(0) / sum(batch.count for batch in batches)


def _feed(
    net: NetConfig, descent: DescentConfig, points: Tensor, batches: list[Batch], seeds: Sequence[int]
) -> Callable[[int], Batch]:
    """What each step is taken from."""
    turns, size = len(batches), batches[0].count
    if descent.order == "fixed" or turns == 1:
        return lambda step: batches[step % turns]
    key = net_keys("order", seeds, points.device)
    whose = torch.arange(len(seeds), device=points.device)[:, None]
    order = torch.empty(0)  # of the epoch under way

    def shuffled(step: int) -> Batch:
        nonlocal order
        epoch, turn = divmod(step, turns)
        if turn == 0:
            order = randomness.bits(key, points.shape[-2], lane=epoch).argsort(dim=1, stable=True)  # [n, N]
        taken = order[:, turn * size : (turn + 1) * size]
        return make_batch(net, points[taken] if points.dim() == 2 else points[whose, taken])

    return shuffled


def _chunk(net: NetConfig, descent: DescentConfig, points: Tensor, device: str) -> int:
    """How many nets at once, from about how many numbers each needs: points, batches, order, what a step makes."""
    (count, d), separate = points.shape[-2:], points.dim() == 3
    size, wide = descent.size(count), max(net.width, d) + 1
    if net.activation == "relu":
        needed = separate * count * (2 * d + 1) + 3 * net.layers * size * wide
    else:
        needed = separate * (count * d + -(-count // size) * (d + 1) ** 2) + 3 * net.layers * wide**2
    chunk = LIMIT // (needed + (descent.order == "shuffled") * 4 * count)
    if net.activation == "relu" and device == "cpu":
        chunk = min(chunk, CACHED // (size * wide))
    return chunk


def _spread(count: int, chosen: int) -> Tensor:
    if not 1 <= chosen <= count:
        raise UserError(f"loss_points {chosen}: between 1 and the {count} training points are needed")
    return torch.arange(chosen) * count // chosen


def _check(points: Tensor, probes: Tensor, seeds: Sequence[int], every: int, dtype: torch.dtype) -> tuple[int, int]:
    """Points a net and dimensions of a point, if all fits together."""
    n = len(seeds)
    if n == 0 or not all(0 <= seed < 2**32 for seed in seeds):
        raise UserError("seeds of nets: give at least one, each from 0 to 2^32 - 1")
    if every < 1:
        raise UserError(f"every {every}: observe every 1 or more steps")
    if dtype not in (torch.float32, torch.float64):
        raise UserError(f"{dtype} is not for these nets: use float32 or float64")
    for name, tensor in (("points", points), ("probes", probes)):
        if tensor.dim() not in (2, 3) or 0 in tensor.shape or (tensor.dim() == 3 and len(tensor) != n):
            raise UserError(f"{name} of shape {list(tensor.shape)}: give [count, d], or [{n}, count, d] for {n} nets")
        if not torch.isfinite(torch.stack(tensor.aminmax())).all():
            raise UserError(f"{name} that are not finite: remove NaN and infinity before training")
    if points.shape[-1] != probes.shape[-1]:
        raise UserError(f"points have {points.shape[-1]} dimensions and probes {probes.shape[-1]}: give the same")
    return points.shape[-2], points.shape[-1]


def _check_rate(net: NetConfig, descent: DescentConfig, points: Tensor, seeds: Sequence[int]) -> None:
    """One layer descends a quadratic whose curvature is that of E[x x^T]: its mean step is stable below 2 / largest."""
    x = with_one(points, net.bias)
    steepest, which = torch.linalg.eigvalsh((x.mT @ x / x.shape[-2]).double())[..., -1].reshape(-1).max(0)
    stable = 2 / (float(steepest) * slope(descent.loss, points.shape[-1])) if steepest > 0 else math.inf
    if descent.rate >= stable:
        whose = f" of seed {seeds[int(which)]}" if points.dim() == 3 else ""
        raise UserError(
            f"rate {descent.rate:g} is unstable on the points{whose}: one layer needs a rate below {stable:.4g}"
        )


def _check_loss(loss: Tensor, seeds: Sequence[int], step: int, rate: float) -> None:
    lost = [seed for seed, fine in zip(seeds, torch.isfinite(loss).tolist(), strict=True) if not fine]
    if lost:
        named = ", ".join(map(str, lost[:5])) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        raise RunFailed(f"the loss is not finite by step {step:,} for seed {named}: lower rate (now {rate:g})")
