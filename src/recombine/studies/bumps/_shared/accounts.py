"""What four accounts of learning say of a set of labels: which of those that were never seen would be right?

*Overlap* (Liang et al. 2024): those that overlap the largest cluster of overlapping bumps, if half of the set is in it.
*Near*: those that lie within 2 px of one that was seen, the reach that `lesion` finds. *Lines*: those whose row and
whose column were seen. *Graph*: those whose row and column are joined by what was seen (`theory.value_graph`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Computation, Row
from recombine.settings import Settings
from recombine.theory.percolation.lattice import Links, link
from recombine.theory.percolation.value_graph import follows
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

if TYPE_CHECKING:
    from torch import Tensor

OVERLAP, NEAR, LINES, GRAPH = ACCOUNTS = ("overlap", "near", "lines", "graph")
THRESHOLD = 0.05
REACH = 2.0


class NamedSet(Settings):
    """A training set as an account sees it."""

    name: str
    world: BumpsWorld
    split: LabelSplit


class AccountsConfig(Computation):
    """The share of the labels never seen that each account calls right, set by set."""

    kind: Literal["bumps-accounts"] = "bumps-accounts"
    sets: tuple[NamedSet, ...] = Field(min_length=1)

    @classmethod
    def of(cls, runs: dict[str, BumpsRun]) -> AccountsConfig:
        """Of the training sets of these runs."""
        return cls(sets=tuple(NamedSet(name=name, world=run.world, split=run.split) for name, run in runs.items()))

    def rows(self) -> list[Row]:
        """Node: the set."""
        found: list[Row] = []
        for each in self.sets:
            seen = seen_places(each.world, each.split, self.seeds.data)
            new = torch.ones(each.world.pixels, each.world.pixels, dtype=torch.bool)
            new[seen[:, 0], seen[:, 1]] = False
            for name, told in RULES.items():
                if new.any():
                    value = told(each.world, seen)[new].double().mean().item()
                    found.append({"node": each.name, "instrument": f"account.{name}", "value": value})
        return found


def seen_places(world: BumpsWorld, split: LabelSplit, seed: int) -> Tensor:
    """The pixels, from 0 on, in whose middle a label was seen.  # [m, 2] int64: x, y"""
    labels = split.labels(world, seed)
    return (labels[world.inside(labels).all(1)] - world.margin).round().long() - 1


def by_overlap(world: BumpsWorld, seen: Tensor) -> Tensor:
    """Whether each place overlaps the cluster that holds half of the set.  # [N, N] bool: x, y"""
    links = link(world.width, THRESHOLD, world.pixels)
    cluster = largest_cluster(links, seen[:, 0] * world.pixels + seen[:, 1])
    told = np.zeros(links.sites, dtype=bool)
    if 2 * cluster.sum() >= len(seen):
        told[links.first[cluster[links.second]]] = True
        told[links.second[cluster[links.first]]] = True
    return torch.from_numpy(told).reshape(world.pixels, world.pixels)


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


def by_nearness(world: BumpsWorld, seen: Tensor) -> Tensor:
    """Whether one was seen within reach.  # [N, N] bool"""
    axis = torch.arange(world.pixels)
    every = torch.cartesian_prod(axis, axis).double()
    return (torch.cdist(every, seen.double()).amin(1) <= REACH + 1e-9).reshape(world.pixels, world.pixels)


def by_lines(world: BumpsWorld, seen: Tensor) -> Tensor:
    """Whether the column and the row were seen.  # [N, N] bool"""
    column, row = (torch.zeros(world.pixels, dtype=torch.bool).index_fill(0, seen[:, axis], True) for axis in (0, 1))
    return column[:, None] & row[None, :]


def by_graph(world: BumpsWorld, seen: Tensor) -> Tensor:
    """Whether column and row are joined.  # [N, N] bool"""
    return follows(seen, world.pixels, world.pixels)


RULES: dict[str, Callable[[BumpsWorld, Tensor], Tensor]] = {
    OVERLAP: by_overlap, NEAR: by_nearness, LINES: by_lines, GRAPH: by_graph,
}  # fmt: skip
