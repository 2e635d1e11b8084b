"""Which combinations of two factors follow from the training set, if values are joined by occurring together in it.

The values of both factors are the vertices of a graph, trained combinations are its edges. If a model learns what a
value does by comparing combinations that share it, it can separate the effects of two values only where a path of such
combinations leads from one to the other: (x, y) follows if x and y are in one component. For combinations taken at
random this is a percolation too, but its threshold is one combination for each value: a number that grows with the side
of the square of combinations, not with its area.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor


def components(pairs: Tensor, first: int, second: int) -> tuple[Tensor, Tensor]:
    """The component of every value of the first factor and of the second, from pairs [m, 2] of value numbers.

    A value that does not occur is a component by itself.  # [first], [second] int64
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
