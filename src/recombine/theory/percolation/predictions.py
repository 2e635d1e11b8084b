"""Which places of a square follow from a set of trained ones: four hypotheses, with nothing to fit.

*Overlap* (Liang et al. 2024): those that overlap the largest cluster of overlapping bumps, if half of the set is in it.
*Near*: those within 2 px of a trained place. *Lines*: those whose row and whose column occur in the set. *Graph*: those
whose row and column are joined by the set. Places are pixels from 0 on, [m, 2] int64: x, y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from recombine.theory.percolation.lattice import Links, link
from recombine.theory.percolation.value_graph import follows

if TYPE_CHECKING:
    from torch import Tensor

THRESHOLD = 0.05  # of the overlap
REACH = 2.0  # px


def by_overlap(trained: Tensor, pixels: int, width: float) -> Tensor:
    """Whether each place overlaps the cluster that holds half of the set.  # [N, N] bool: x, y"""
    links = link(width, THRESHOLD, pixels)
    cluster = largest_cluster(links, trained[:, 0] * pixels + trained[:, 1])
    right = np.zeros(links.sites, dtype=bool)
    if 2 * cluster.sum() >= len(trained):
        right[links.first[cluster[links.second]]] = True
        right[links.second[cluster[links.first]]] = True
    return torch.from_numpy(right).reshape(pixels, pixels)


def largest_cluster(links: Links, sites: Tensor) -> NDArray[np.bool_]:
    """The largest set of these sites that hang together by links among them.  # [all sites] bool"""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    there = np.zeros(links.sites, dtype=bool)
    there[sites.numpy()] = True
    both = there[links.first] & there[links.second]
    shape = (links.sites, links.sites)
    graph = coo_matrix((np.ones(both.sum()), (links.first[both], links.second[both])), shape=shape)
    _, named = connected_components(graph, directed=False)
    largest = np.bincount(named[there]).argmax()
    found: NDArray[np.bool_] = (named == largest) & there
    return found


def by_nearness(trained: Tensor, pixels: int) -> Tensor:
    """Whether a trained label is within reach.  # [N, N] bool"""
    axis = torch.arange(pixels)
    every = torch.cartesian_prod(axis, axis).double()
    return (torch.cdist(every, trained.double()).amin(1) <= REACH + 1e-9).reshape(pixels, pixels)


def by_lines(trained: Tensor, pixels: int) -> Tensor:
    """Whether the column and the row occur in the set.  # [N, N] bool"""
    column, row = (torch.zeros(pixels, dtype=torch.bool).index_fill(0, trained[:, axis], True) for axis in (0, 1))
    return column[:, None] & row[None, :]


def by_graph(trained: Tensor, pixels: int) -> Tensor:
    """Whether column and row are joined.  # [N, N] bool"""
    return follows(trained, pixels, pixels)
