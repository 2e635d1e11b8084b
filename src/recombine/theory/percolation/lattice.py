"""Percolation of bumps (Liang et al. 2024, Sec. 3.3 and App. D): which share of a lattice hangs together?

Two bumps are linked if their images overlap by more than a threshold. The sites of an N x N lattice are taken one after
another in a random order, so a smaller share of it is a part of any larger one; asked is how many of the sites taken
the largest linked component holds, and at which share lambda that is half of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from recombine import seeds
from recombine.errors import UserError
from recombine.worlds.bumps import EXPONENT

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
Outcome = Literal["crosses", "never", "below"]

HALF = 0.5
FEWEST = 3  # of one site, and of two, some component always holds half


# Overlap


def overlap(reference: Tensor, other: Tensor, width: float, pixels: int = 32) -> Tensor:
    """O(a, b) = sqrt(sum(a b) / sum(a^2)) of the inverted images a, b of bumps at these places.  # [..., 2] -> [...]

    It is that of x times that of y, as are bumps. Logarithms keep the ratio where both sums underflow.
    """
    _check_width(width)
    axis = torch.arange(1, pixels + 1, dtype=torch.float64)
    a, b = ((axis - place.double()[..., None]).square() / (-EXPONENT * width**2) for place in (reference, other))
    along = (torch.logsumexp(a + b, -1) - torch.logsumexp(2 * a, -1)) / 2  # [..., 2]
    return along.sum(-1).exp()


def overlap_at(distance: Tensor, width: float) -> Tensor:
    """g(d): the overlap with a bump on a pixel, far from the edges, of one so far along an axis.  # any shape

    exp(-d^2 / (16 s^2)) sqrt(T(d / 2) / T(0)) with T(u) the sum of exp(-(k - u)^2 / (2 s^2)) over all whole k; bumps
    at dx and dy from each other overlap by g(dx) g(dy).
    """
    _check_width(width)
    scale = EXPONENT * width**2
    away = distance.double().abs()
    pixel = torch.arange(-(reach := math.ceil(12 * width)), reach + 2, dtype=torch.float64)  # what is left out: e^-72

    def total(shift: Tensor) -> Tensor:
        return (2 * (pixel - shift[..., None]).square() / -scale).exp().sum(-1)

    part = (away / 2).frac()  # T repeats with every pixel
    return (away.square() / (-4 * scale)).exp() * (total(part) / total(torch.zeros(()))).sqrt()


def neighbours(width: float, threshold: float) -> Tensor:
    """Where the neighbours of a lattice site are that overlap it by more than the threshold.  # [z, 2] int64"""
    _check_threshold(threshold)
    _check_width(width)
    reach = math.floor(2 * width * math.sqrt(-EXPONENT * math.log(threshold)))  # g(d) <= exp(-d^2 / (16 s^2))
    steps = torch.arange(-reach, reach + 1)
    along = overlap_at(steps, width)
    linked = along[:, None] * along[None, :] > threshold
    linked[reach, reach] = False  # itself
    return steps[linked.nonzero()]


# Components


@dataclass(frozen=True)
class Links:
    """The pairs of linked sites, each once; site (i, j) of the lattice has number i N + j."""

    sites: int
    first: NDArray[np.int64]  # [links]
    second: NDArray[np.int64]  # [links]

    def degree(self, site: int) -> int:
        """How many neighbours a site has."""
        return int((self.first == site).sum() + (self.second == site).sum())


def link(width: float, threshold: float, pixels: int = 32, shift: float = 0.0) -> Links:
    """Link sites whose images overlap enough, seen from either: images end at the edge, so it may matter from which.

    Sites are in the middle of pixels, or moved from there by `shift` in x and y.
    """
    _check_threshold(threshold)
    _check_width(width)
    places = torch.arange(1, pixels + 1, dtype=torch.float64) + shift
    pairs = torch.stack([places, places[:1].expand(pixels)], 1)  # all at one y, whose factor is 1: that of x is left
    there = overlap(pairs[:, None], pairs[None], width, pixels).numpy()  # [N, N]
    back = there.T
    near = np.argwhere(np.maximum(there, back) > threshold / there.max())  # no other pair can reach the threshold
    here, far = near.T
    factor, returned = there[here, far], back[here, far]
    linked = (np.outer(factor, factor) > threshold) | (np.outer(returned, returned) > threshold)
    x, y = linked.nonzero()
    first, second = here[x] * pixels + here[y], far[x] * pixels + far[y]
    once = first < second
    return Links(pixels**2, first[once], second[once])


def largest_components(links: Links, order: Tensor) -> NDArray[np.int64]:
    """How many sites the largest component has once the first n of the order are there, for every n.  # [sites]

    A link is there when both its sites are. The links that ever join two components are a minimum spanning tree by
    the moment they come, so a forest of N^2 links tells what all of them would.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    moment = np.empty(links.sites, dtype=np.int64)
    moment[order.numpy()] = np.arange(1, links.sites + 1)
    comes = np.maximum(moment[links.first], moment[links.second]).astype(np.float64)
    graph = coo_matrix((comes, (links.first, links.second)), shape=(links.sites, links.sites))
    tree = minimum_spanning_tree(graph.tocsr()).tocoo()
    sequence = np.argsort(tree.data, kind="stable")
    largest = np.ones(links.sites, dtype=np.int64)
    parent, size = list(range(links.sites)), [1] * links.sites
    joins = zip(tree.row[sequence].tolist(), tree.col[sequence].tolist(), tree.data[sequence].tolist(), strict=True)
    for first, second, when in joins:
        one, other = _root(parent, first), _root(parent, second)
        if size[one] < size[other]:
            one, other = other, one
        parent[other] = one
        size[one] += size[other]
        largest[int(when) - 1] = max(largest[int(when) - 1], size[one])
    return np.maximum.accumulate(largest)


def sample_size(lam: float, sites: int) -> int:
    """How many sites a share lambda of them is."""
    if not 0 < lam <= 1:
        raise UserError(f"lambda {lam:g}: a share of the lattice above 0 and up to 1 is needed")
    if not round(lam * sites):
        raise UserError(f"lambda {lam:g} takes none of the {sites} sites: give a larger one")
    return round(lam * sites)


def shares(sizes: NDArray[np.int64], of: Literal["sampled", "lattice"] = "sampled") -> Floats:
    """Largest components of every n as a share of the sites taken, or of the whole lattice.  # [..., sites]"""
    sites = sizes.shape[-1]
    return sizes / (np.arange(1, sites + 1) if of == "sampled" else float(sites))


# The critical share


@dataclass(frozen=True)
class Critical:
    """The lambda from which on the largest component holds half: infinite if it never does, and if it always did the
    first lambda that was tried, of which only this is known: the critical one is not above it."""

    outcome: Outcome
    value: float


def critical(lams: ArrayLike, curve: ArrayLike) -> Critical:
    """The percolation threshold: the last upward crossing of one half, between two shares by a straight line.

    "never" if the curve ends below it.
    """
    at, values = np.asarray(lams, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    _check_lambdas(at)
    found = float(_crossings(at, values[None])[0])
    if math.isinf(found):
        return Critical("never", found)
    return Critical("below" if (values >= HALF).all() else "crosses", found)


def critical_of_order(sizes: NDArray[np.int64]) -> Critical:
    """The same for one order, whose largest component is known for every number of sites; from the third on."""
    lams = np.arange(1, len(sizes) + 1) / len(sizes)
    return critical(lams[FEWEST - 1 :], shares(sizes)[FEWEST - 1 :])


def critical_interval(
    lams: ArrayLike, curves: Any, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentiles of the critical lambda of the mean curve, orders drawn again.  # curves: [orders, lambdas]

    An end may be infinite (never), or the first lambda (that, or below).
    """
    at, values = np.asarray(lams, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    _check_lambdas(at)
    drawn = seeds.uniform(seeds.keys(seed, "bootstrap", torch.arange(draws)), (len(values),))
    picks = (drawn * len(values)).long().numpy()  # [draws, orders]
    found = np.sort(_crossings(at, values[picks].mean(1)))
    tail = (1 - level) / 2
    return float(found[math.floor(tail * (draws - 1))]), float(found[math.ceil((1 - tail) * (draws - 1))])


def _crossings(lams: Floats, curves: Floats) -> Floats:
    """Critical lambdas of several curves; infinite for never, the first lambda for below.  # [n, lambdas] -> [n]"""
    short = curves < HALF
    last = curves.shape[1] - 1 - short[:, ::-1].argmax(1)  # the last lambda with less than half
    found = np.full(len(curves), np.inf)
    found[~short.any(1)] = lams[0]
    for row in np.flatnonzero(short.any(1) & (last < curves.shape[1] - 1)):
        left, right = last[row], last[row] + 1
        rise = (HALF - curves[row, left]) / (curves[row, right] - curves[row, left])
        found[row] = lams[left] + rise * (lams[right] - lams[left])
    return found


def _root(parent: list[int], site: int) -> int:
    while parent[site] != site:
        parent[site] = parent[parent[site]]  # halve the way for the next time
        site = parent[site]
    return site


def _check_width(width: float) -> None:
    if not 0 < width < math.inf:
        raise UserError(f"width {width:g}: a bump needs a width above 0")


def _check_threshold(threshold: float) -> None:
    if not 0 < threshold < 1:
        raise UserError(f"threshold {threshold:g}: an overlap strictly between 0 and 1 is needed")


def _check_lambdas(lams: Floats) -> None:
    if not len(lams) or not ((lams > 0) & (lams <= 1)).all() or (np.diff(lams) <= 0).any():
        raise UserError("lambdas are shares of the lattice: give ascending numbers above 0 and up to 1")
