"""Parts of a phase diagram of Swing-by: over how many starts of each cell the loss of the unseen combination bumps.

A cell is a gap, a start, a width, a dimension and a depth; see the experiment identity-mapping/phase-diagram.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.runs.work import Computation, Row
from recombine.seeds import fold
from recombine.theory.identity.bump import predicted_bump
from recombine.theory.identity.flow import REACH, descents, flow, gaussian_start, positive_start, training_loss
from recombine.training.batched import DescentConfig, train
from recombine.training.batched_networks import NetConfig

if TYPE_CHECKING:
    from torch import Tensor

Sign = Literal["positive", "quarter", "half", "symmetric", "gaussian"]
BELOW: dict[Sign, float] = {"positive": 0.0, "quarter": 0.25, "half": 0.5, "symmetric": 1.0}
"""How far below zero the entries of a uniform start reach, as a share of how far above."""
NET_STARTS: dict[Sign, tuple[Literal["positive", "torch", "gaussian"], float]] = {
    "positive": ("positive", 1.0), "symmetric": ("torch", 1.0), "gaussian": ("gaussian", math.sqrt(3)),
}  # fmt: skip
"""The start of a net with the same entries, and what its scale is multiplied with beside sqrt(fan in)."""

RELEASED_WIDTH = 3  # of the released script's U
GROWTH = 30.0  # a flow lasts until the weaker concept could have grown by exp of this
AT_ONCE = 1000  # flows in a batch
RIPPLE = 1e-9  # a training loss that rises by less than this share of its first value does not rise


@dataclass(frozen=True)
class Cell:
    """One point of the diagram."""

    gap: float
    scale: float
    sign: Sign
    width: int
    dimensions: int
    layers: int  # 0: the flow with tied weights

    def seed_name(self, even: bool) -> str:
        """What the seeds of the cell's starts are made from: this text is part of their bits."""
        model, size = f"net{self.layers}" if self.layers else "tied", "even" if even else "plain"
        name = f"gap={self.gap:g},scale={self.scale:g},start={self.sign},h={self.width},d={self.dimensions}"
        return f"{name},model={model},size={size}"


COLUMNS: dict[str, type] = {
    "gap": float, "scale": float, "start": str, "width": int, "dimensions": int, "layers": int, "even": bool,
    "power": int,
}  # fmt: skip
"""What makes a cell; layers 0 is the flow with tied weights, `even` a scale divided by sqrt(width / 3)."""


class PhaseConfig(Computation):
    """A part of the diagram: every combination of what is listed."""

    kind: Literal["identity-phase-diagram"] = "identity-phase-diagram"
    power: Literal[1, 2] = 1  # the flow's A, or A^2
    gaps: tuple[Annotated[float, Field(ge=1, le=4)], ...] = (1.5, 2.0, 3.0)  # mu_2 / mu_1
    scales: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.2,)
    signs: tuple[Sign, ...] = ("positive",)
    widths: tuple[Annotated[int, Field(ge=1, le=256)] | None, ...] = (None,)  # of U; None: as wide as d
    dimensions: tuple[Annotated[int, Field(ge=2, le=64)], ...] = (3,)
    layers: tuple[Annotated[int, Field(ge=2, le=6)], ...] = ()  # of untied nets; none: the flow with tied weights
    even: bool = False  # scale times sqrt(3 / width), so that W(0) is as large at any width
    spread: float = Field(default=0.05, gt=0)
    starts: int = Field(default=200, ge=1)
    threshold: float = Field(default=0.001, gt=0, lt=1)  # of the largest loss: what counts as a rise
    moments_kept: int = Field(default=1500, ge=10)  # of a flow or training, at most
    patience: float = Field(default=100, gt=0)  # times 1 / a of the weaker concept: how long nets are trained

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.layers and (self.widths != (None,) or self.power != 1 or not set(self.signs) <= set(NET_STARTS)):
            known = ", ".join(NET_STARTS)
            raise ValueError(f"nets are as wide as d, have A itself, and start {known}: change widths, power or signs")
        return self

    def cells(self) -> list[Cell]:
        """Every combination."""
        lists = (self.gaps, self.scales, self.signs, self.widths, self.dimensions, self.layers or (0,))
        return [Cell(gap, scale, sign, h or d, d, layers) for gap, scale, sign, h, d, layers in product(*lists)]

    def rows(self) -> list[Row]:
        """Counts for each cell; cells of one shape are integrated together."""
        alike: dict[tuple[float, int, int], list[Cell]] = defaultdict(list)
        rows: list[Row] = []
        for cell in self.cells():
            if cell.layers:
                rows += self._count(cell, *self._descend(cell))
            else:
                alike[cell.gap, cell.dimensions, cell.width].append(cell)
        per_batch = max(1, AT_ONCE // self.starts)
        for cells in alike.values():
            for first in range(0, len(cells), per_batch):
                rows += self._flow(cells[first : first + per_batch])
        return rows

    def moments(self, cell: Cell) -> tuple[Tensor, Tensor]:
        """a, and the probe.  # [d], [d]"""
        a = torch.full((cell.dimensions,), self.spread**2, dtype=torch.float64)
        a[:2] += torch.tensor([1.0, cell.gap**2], dtype=torch.float64) / 2
        probe = torch.zeros_like(a)
        probe[:2] = torch.tensor([1.0, cell.gap], dtype=torch.float64)
        return a**self.power, probe

    def _start(self, cell: Cell) -> Tensor:
        """U of each start.  # [n, d, h]"""
        seed = fold(self.seeds.init, cell.seed_name(self.even))
        scale = cell.scale * (math.sqrt(RELEASED_WIDTH / cell.width) if self.even else 1.0)
        shape = (self.starts, cell.dimensions, cell.width)
        if cell.sign == "gaussian":
            return gaussian_start(*shape, scale, seed)
        below = BELOW[cell.sign]
        return scale * ((1 + below) * positive_start(*shape, 1.0, seed) - below)

    def _flow(self, cells: list[Cell]) -> list[Row]:
        """Flows of cells that differ in the start alone."""
        a, probe = self.moments(cells[0])
        start = torch.cat([self._start(cell) for cell in cells])
        top = max(1.0, float(torch.linalg.eigvalsh(start @ start.mT).max()))
        step = min(0.1, 0.9 * REACH / (6 * top)) / float(a.max())
        steps = math.ceil(GROWTH / (4 * float(a[:2].min())) / step)
        times, weights = flow(start, a, step, steps, keep=math.ceil(steps / self.moments_kept))  # [K], [K, n, d, d]
        rows: list[Row] = []
        for number, cell in enumerate(cells):
            mine = slice(number * self.starts, (number + 1) * self.starts)
            part = weights[:, mine]
            predicted = None
            if bool((part[0].diagonal(dim1=1, dim2=2)[:, :2] < 1).all()):  # the analytic curve is for small starts
                predicted = predicted_bump(part[0], a, probe, times, self.threshold).bump
            rows += self._count(cell, part @ probe, training_loss(part, a), part[0], predicted)
        return rows

    def _descend(self, cell: Cell) -> tuple[Tensor, Tensor, Tensor]:
        """Answers to the probe, training loss and the first map of untied nets.  # [T, n, d], [T, n], [n, d, d]"""
        a, probe = self.moments(cell)
        kind, factor = NET_STARTS[cell.sign]
        scale = cell.scale * factor * math.sqrt(cell.dimensions)
        net = NetConfig(layers=cell.layers, width=cell.width, bias=False, start=kind, scale=scale)
        rate = 0.05 / float(a.max())
        steps = math.ceil(self.patience / float(a[:2].min()) / rate)
        descent = DescentConfig(rate=rate, batch=None, steps=steps, loss="half")
        points = torch.diag((cell.dimensions * a).sqrt())  # d points whose second moments are A: the population's loss
        first = fold(self.seeds.init, cell.seed_name(self.even))
        nets = range(first, first + self.starts)
        trace = train(
            net, descent, points, probe[None], nets, math.ceil(steps / self.moments_kept), torch.float64, jacobian=True
        )
        assert trace.jacobian is not None
        return trace.outputs[:, :, 0], trace.loss, trace.jacobian[0]

    def _count(
        self,
        cell: Cell,
        answers: Tensor,  # to the probe  # [T, n, d]
        trained: Tensor,  # training loss  # [T, n]
        first: Tensor,  # the map at the start  # [n, d, d]
        predicted: Tensor | None = None,  # [n] bool
    ) -> list[Row]:
        """What is counted over the starts of a cell."""
        errors = (answers - self.moments(cell)[1]).square() / 2
        probed = errors.sum(-1)
        found, of_concepts = descents(probed, self.threshold), descents(errors[..., :2].sum(-1), self.threshold)
        helped = first[:, 0, 1] + first[:, 1, 0] > 0  # the minor of both concepts is positive
        counts = {
            "flows": float(self.starts),
            "bumps": float(found.bump.sum()),
            "bumps.concepts": float(of_concepts.bump.sum()),  # without what the idle coordinates answer
            "bumps.helped": float((found.bump & helped).sum()),
            "rises": float((trained.diff(dim=0).amax(0) > RIPPLE * trained[0]).sum()),
            "unfinished": float((probed[-1] > 0.01 * probed.amax(0)).sum()),
        }
        if bool(found.bump.any()):
            height = (found.peak_height - found.trough_height) / probed.amax(0)
            counts["height"] = float(height[found.bump].median())
        if predicted is not None:
            counts |= {"predicted": float(predicted.sum()), "agree": float((predicted == found.bump).sum())}
        where = {"gap": cell.gap, "scale": cell.scale, "start": cell.sign, "width": cell.width,
                 "dimensions": cell.dimensions, "layers": cell.layers, "even": self.even,
                 "power": self.power}  # fmt: skip
        return [{"instrument": name, "value": value, **where} for name, value in counts.items()]
