"""Which combinations of two factors follow from those that were seen, if values are joined by being seen together.

The values of both factors are the vertices of a graph, combinations that were seen are its edges. If a model learns
what a value does by comparing combinations that share it, it can tell two values apart from each other's effect only
where a path of such combinations leads from one to the other: (x, y) follows from what was seen if x and y are in one
component. For combinations taken at random this is a percolation too, but its threshold is one combination for each
value: a number that grows with the side of the square of combinations, not with its area.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor


def components(pairs: Tensor, first: int, second: int) -> tuple[Tensor, Tensor]:
    """The component of every value of the first factor and of the second, from pairs [m, 2] of value numbers.

    A value that was never seen is a component of its own.  # [first], [second] int64
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    one, other = pairs[:, 0].numpy(), pairs[:, 1].numpy() + first
    values = first + second
    graph = coo_matrix((np.ones(len(pairs)), (one, other)), shape=(values, values))
    _, named = connected_components(graph, directed=False)
    found = torch.from_numpy(named).long()
    return found[:first], found[first:]


def follows(pairs: Tensor, first: int, second: int) -> Tensor:
    """Whether each combination follows from the pairs; those among them do.  # [first, second] bool"""
    one, other = components(pairs, first, second)
    return one[:, None] == other[None, :]


def expected_share(each: float) -> float:
    """The share of combinations that follow, in a large square of which so many to each value were taken at random.

    A value is in the giant component with s = 1 - exp(-each s), both values of a combination with s^2.
    """
    if each <= 1:
        return 0.0
    share = 1.0
    for _ in range(10_000):
        after = 1 - math.exp(-each * share)
        if abs(after - share) < 1e-12:
            break
        share = after
    return share**2
