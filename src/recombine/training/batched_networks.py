"""Many small fully connected networks as batched matrices: their start, their answers, their gradients written out.

A layer with a bias is one matrix [[W, b], [0, 1]] on points that end in a 1; its last row never moves, and the last
layer has none. The gradient of a linear network depends on a batch only through E[x x^T], so a batch of any size is
condensed, exactly, into a few rows with the same second moments: at most d + 1, and 3 where the points lie in a plane.
ReLU networks get every point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds as randomness
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

KEYS = "multi" + "tude"  # the first word of every key: part of the bits of each start and order


class NetConfig(Settings):
    """A fully connected network. Its three starts differ in one thing at a time:

    "torch" is that of nn.Linear, U(+-1/sqrt(fan in)) for weights and biases; "positive" is its absolute value, net by
    net; "gaussian" has the same variance, 1 / (3 fan in).
    """

    layers: int = Field(default=2, ge=1, description="weight matrices")
    width: int = Field(default=64, ge=1, description="of hidden layers")
    bias: bool = True
    activation: Literal["linear", "relu"] = "linear"
    start: Literal["torch", "gaussian", "positive"] = "torch"
    scale: float = Field(default=1.0, ge=0, description="multiplies the start")


def start(
    net: NetConfig, d: int, seeds: Sequence[int], dtype: torch.dtype | None = None, device: str = "cpu"
) -> list[Tensor]:
    """The matrices of each net before training, from the first layer to the last.  # each [n, out (+ 1), in (+ 1)]"""
    dtype = dtype or torch.float32
    key = net_keys("start", seeds, device)
    widths = [d, *[net.width] * (net.layers - 1), d]
    weights = []
    for layer in range(net.layers):
        before, after = widths[layer : layer + 2]
        # Biases from a lane of their own: without them the weights are the same.
        parts = [_numbers_of_start(net, key, (after, before), before, 2 * layer)]
        if net.bias:
            parts.append(_numbers_of_start(net, key, (after, 1), before, 2 * layer + 1))
        weight = torch.cat(parts, 2).to(dtype) * net.scale
        if net.bias and layer < net.layers - 1:
            one = weight.new_zeros(len(seeds), 1, before + 1)
            one[..., -1] = 1
            weight = torch.cat([weight, one], 1)
        weights.append(weight)
    return weights


@dataclass(frozen=True)
class Batch:
    """Points that end in a 1 where there are biases; or fewer rows that stand for `count` such points."""

    rows: Tensor  # [(n,) R, d (+ 1)]
    count: int


def make_batch(net: NetConfig, points: Tensor) -> Batch:
    """What a step needs of these points.  # [(n,) B, d]"""
    rows = with_one(points, net.bias)
    return Batch(condensed(rows) if net.activation == "linear" else rows, points.shape[-2])


def gradients(net: NetConfig, weights: list[Tensor], batch: Batch) -> list[Tensor]:
    """The gradient of 1/2 E|f(x) - x|^2 in each matrix, by hand: forward, then back.  # each as its matrix"""
    d = weights[-1].shape[1]
    hidden = [batch.rows]
    for weight in weights[:-1]:
        hidden.append(_through(weight, hidden[-1]))  # [n, R, width (+ 1)]
        if net.activation == "relu":
            hidden[-1].relu_()  # the 1 stays 1
    pull = (_through(weights[-1], hidden[-1]) - batch.rows[..., :d]) / batch.count  # [n, R, d]
    found = []
    for k in range(net.layers - 1, -1, -1):
        found.append(pull.mT @ hidden[k])
        if k > 0:
            pull = pull @ weights[k]  # [n, R, width (+ 1)]
            if net.activation == "relu":
                pull.mul_(hidden[k] > 0)
            if net.bias:
                pull[..., -1] = 0  # the row [0, 1] of the layer below stays
    return found[::-1]


def answers(net: NetConfig, weights: list[Tensor], points: Tensor) -> Tensor:
    """f of each net at these points, which end in a 1 where there are biases.  # [(n,) P, d (+ 1)] -> [n, P, d]"""
    for weight in weights[:-1]:
        points = _through(weight, points)
        if net.activation == "relu":
            points = points.relu_()
    return _through(weights[-1], points)


def _through(weight: Tensor, rows: Tensor) -> Tensor:
    """Rows through a layer; rows that all nets share go through as one matrix product, 2.4 times as fast.

    # [n, out, in], [(n,) R, in] -> [n, R, out]
    """
    return rows @ weight.mT if rows.dim() == 3 else (weight @ rows.mT).mT


def jacobians(net: NetConfig, weights: list[Tensor], point: Tensor) -> Tensor:
    """df/dx of each net at one point: the product of the weights, each through the units that are on.  # [n, d, d]"""
    d = weights[-1].shape[1]
    hidden = point.expand(len(weights[0]), -1).unsqueeze(2)  # [n, d (+ 1), 1]
    product = weights[0][..., :d]  # without the bias
    for below, weight in pairwise(weights):
        hidden = below @ hidden
        if net.activation == "relu":
            product, hidden = product * (hidden > 0), hidden.relu()
        product = weight @ product
    return product


def net_keys(name: str, seeds: Sequence[int], device: str | torch.device) -> Tensor:
    """A key for each net, which knows nothing of the others.  # [n]"""
    return randomness.keys(0, f"{KEYS} {name}", torch.tensor(list(seeds), dtype=torch.int64, device=device))


def _numbers_of_start(net: NetConfig, key: Tensor, shape: tuple[int, int], fan_in: int, lane: int) -> Tensor:
    bound = 1 / math.sqrt(fan_in)
    if net.start == "gaussian":
        return randomness.normal(key, shape, lane) * (bound / math.sqrt(3))
    drawn = (2 * randomness.uniform(key, shape, lane) - 1) * bound
    return drawn.abs() if net.start == "positive" else drawn


def with_one(points: Tensor, bias: bool) -> Tensor:
    """Points that end in a 1, which is what a bias multiplies.  # [..., d] -> [..., d + 1]"""
    return torch.cat([points, torch.ones_like(points[..., :1])], -1) if bias else points


def condensed(rows: Tensor) -> Tensor:
    """Fewer rows with the same sum of x x^T: its eigenvectors times the roots of its eigenvalues.  # [(n,) R, d (+ 1)]

    In float64. What is left out, below 1e-14 of the largest eigenvalue, is rounding.
    """
    x = rows.double()
    values, vectors = torch.linalg.eigh(x.mT @ x)  # ascending
    rank = max(1, int((values > 1e-14 * values[..., -1:]).sum(-1).max()))  # the largest among the nets
    roots: Tensor = values.clamp(min=0).sqrt().unsqueeze(-2) * vectors
    return roots[..., -rank:].mT.to(rows.dtype)
