"""The simulation: the sites of a lattice are taken in a random order, and bumps that overlap are linked."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from recombine.runs.work import Computation, Row
from recombine.theory.percolation.lattice import (
    critical_of_order,
    largest_components,
    link,
    overlap,
    sample_size,
    shares,
)
from recombine.worlds.holdouts import nested_order

COLUMNS: dict[str, type] = {"width": float, "threshold": float, "share": float, "offset": float}
"""Sigma of the bumps, overlap above which two are linked, share lambda of the sites taken, pixels between two."""

WIDTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)
THRESHOLDS = (0.005, 0.01, 0.05, 0.1, 0.2, 0.5)
LAMBDAS = (
    (0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1)  # from 3 sites on
    + tuple(round(0.12 + 0.02 * k, 2) for k in range(29))
    + (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
)
OFFSETS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)  # along one axis, in pixels


class PercolationConfig(Computation):
    """One order of the sites, for every combination of width and threshold."""

    kind: Literal["bumps-percolation-theory"] = "bumps-percolation-theory"
    pixels: int = Field(default=32, ge=2, le=128)
    shift: float = Field(default=0.0, gt=-1, lt=1)  # of the lattice from the middles of the pixels, in x and in y
    widths: tuple[Annotated[float, Field(gt=0, le=4)], ...] = WIDTHS
    thresholds: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = THRESHOLDS
    lambdas: tuple[Annotated[float, Field(gt=0, le=1)], ...] = LAMBDAS

    def check(self) -> None:
        for lam in self.lambdas:
            sample_size(lam, self.pixels**2)

    def rows(self) -> list[Row]:
        """Overlaps of each width; linked neighbours, largest components and critical share of each threshold."""
        return [
            {"width": width, **row}
            for width in self.widths
            for row in self._overlaps(width) + [row for t in self.thresholds for row in self._components(width, t)]
        ]

    def _overlaps(self, width: float) -> list[Row]:
        """How much a bump overlaps the one in the middle, some way along x."""
        place = torch.full((len(OFFSETS), 2), self.pixels // 2 + 1 + self.shift, dtype=torch.float64)
        moved = place + torch.tensor(OFFSETS, dtype=torch.float64)[:, None] * torch.tensor([1.0, 0.0])
        values = overlap(place, moved, width, self.pixels).tolist()
        return [
            {"offset": offset, "instrument": "overlap", "value": value}
            for offset, value in zip(OFFSETS, values, strict=True)
        ]

    def _components(self, width: float, threshold: float) -> list[Row]:
        """The largest component of every share, and from which share on it is half; that is left empty if half never
        hangs together (`percolates` is 0) or always does from three sites on (`percolates` is 1).
        """
        links = link(width, threshold, self.pixels, self.shift)
        sizes = largest_components(links, nested_order(links.sites, self.seeds.data))
        part, found = shares(sizes), critical_of_order(sizes)
        middle = (self.pixels // 2) * (self.pixels + 1)  # the number of the site in the middle of the lattice
        once = {
            "linked neighbours": float(links.degree(middle)),
            "percolates": float(found.outcome != "never"),
            "critical": found.value if found.outcome == "crosses" else None,
        }
        taken = dict.fromkeys(sample_size(lam, links.sites) for lam in self.lambdas)  # each number of sites once
        rows: list[Row] = [
            {"share": n / links.sites, "instrument": "largest", "value": float(part[n - 1])} for n in taken
        ]
        rows += [{"instrument": name, "value": value} for name, value in once.items()]
        return [{"threshold": threshold, **row} for row in rows]
