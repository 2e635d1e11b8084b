"""What four hypotheses predict of a training set: which of the labels that it leaves out would be right?

*Overlap* (Liang et al. 2024): those that overlap the largest cluster of overlapping bumps, if half of the set is in it.
*Near*: those within 2 px of a trained label, the reach that `lesion` finds. *Lines*: those whose row and whose column
occur in the set. *Graph*: those whose row and column are joined by the set (`theory.percolation.value_graph`).
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

OVERLAP, NEAR, LINES, GRAPH = HYPOTHESES = ("overlap", "near", "lines", "graph")
COLUMNS: dict[str, type] = {"hypothesis": str, "training_set": str}
"""Of predictions: whose, and of which arm's training set."""
THRESHOLD = 0.05
REACH = 2.0


class NamedSet(Settings):
    """The training set of an arm."""

    name: str
    world: BumpsWorld
    split: LabelSplit


class Predictions(Computation):
    """The share of the labels not trained on that each hypothesis predicts to be right, set by set."""

    kind: Literal["bumps-hypotheses"] = "bumps-hypotheses"
    sets: tuple[NamedSet, ...] = Field(min_length=1)

    @classmethod
    def of(cls, runs: dict[str, BumpsRun]) -> Predictions:
        """Of the training sets of these runs."""
        return cls(sets=tuple(NamedSet(name=name, world=run.world, split=run.split) for name, run in runs.items()))

    def rows(self) -> list[Row]:
        """A row for every set and hypothesis."""
        found: list[Row] = []
        for each in self.sets:
            trained = trained_places(each.world, each.split, self.seeds.data)
            new = torch.ones(each.world.pixels, each.world.pixels, dtype=torch.bool)
            new[trained[:, 0], trained[:, 1]] = False
            for name, predict in RULES.items():
                if new.any():
                    value = predict(each.world, trained)[new].double().mean().item()
                    columns = {"training_set": each.name, "hypothesis": name}
                    found.append({**columns, "instrument": "predicted", "value": value})
        return found


def trained_places(world: BumpsWorld, split: LabelSplit, seed: int) -> Tensor:
    """The pixels, from 0 on, in whose middle a label was trained on.  # [m, 2] int64: x, y"""
    labels = split.labels(world, seed)
    return (labels[world.inside(labels).all(1)] - world.margin).round().long() - 1


def by_overlap(world: BumpsWorld, trained: Tensor) -> Tensor:
    """Whether each place overlaps the cluster that holds half of the set.  # [N, N] bool: x, y"""
    links = link(world.width, THRESHOLD, world.pixels)
    cluster = largest_cluster(links, trained[:, 0] * world.pixels + trained[:, 1])
    right = np.zeros(links.sites, dtype=bool)
    if 2 * cluster.sum() >= len(trained):
        right[links.first[cluster[links.second]]] = True
        right[links.second[cluster[links.first]]] = True
    return torch.from_numpy(right).reshape(world.pixels, world.pixels)


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


def by_nearness(world: BumpsWorld, trained: Tensor) -> Tensor:
    """Whether a trained label is within reach.  # [N, N] bool"""
    axis = torch.arange(world.pixels)
    every = torch.cartesian_prod(axis, axis).double()
    return (torch.cdist(every, trained.double()).amin(1) <= REACH + 1e-9).reshape(world.pixels, world.pixels)


def by_lines(world: BumpsWorld, trained: Tensor) -> Tensor:
    """Whether the column and the row occur in the set.  # [N, N] bool"""
    column, row = (torch.zeros(world.pixels, dtype=torch.bool).index_fill(0, trained[:, axis], True) for axis in (0, 1))
    return column[:, None] & row[None, :]


def by_graph(world: BumpsWorld, trained: Tensor) -> Tensor:
    """Whether column and row are joined.  # [N, N] bool"""
    return follows(trained, world.pixels, world.pixels)


RULES: dict[str, Callable[[BumpsWorld, Tensor], Tensor]] = {
    OVERLAP: by_overlap, NEAR: by_nearness, LINES: by_lines, GRAPH: by_graph,
}  # fmt: skip
