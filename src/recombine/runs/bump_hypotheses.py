"""What four hypotheses (`theory.percolation.predictions`) predict of the labels that a training set leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Computation, Row
from recombine.settings import Settings
from recombine.theory.percolation.predictions import by_graph, by_lines, by_nearness, by_overlap
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

if TYPE_CHECKING:
    from torch import Tensor

OVERLAP, NEAR, LINES, GRAPH = HYPOTHESES = ("overlap", "near", "lines", "graph")
COLUMNS: dict[str, type] = {"hypothesis": str, "training_set": str}
"""Of predictions: whose, and of which arm's training set."""


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
            for name, right in predictions(trained, each.world).items():
                if new.any():
                    value = right[new].double().mean().item()
                    columns = {"training_set": each.name, "hypothesis": name}
                    found.append({**columns, "instrument": "predicted", "value": value})
        return found


def trained_places(world: BumpsWorld, split: LabelSplit, seed: int) -> Tensor:
    """The pixels, from 0 on, in whose middle a label was trained on.  # [m, 2] int64: x, y"""
    labels = split.labels(world, seed)
    return (labels[world.inside(labels).all(1)] - world.margin).round().long() - 1


def predictions(trained: Tensor, world: BumpsWorld) -> dict[str, Tensor]:
    """Which places each hypothesis predicts to be right.  # [N, N] bool: x, y"""
    return {
        OVERLAP: by_overlap(trained, world.pixels, world.width),
        NEAR: by_nearness(trained, world.pixels),
        LINES: by_lines(trained, world.pixels),
        GRAPH: by_graph(trained, world.pixels),
    }
