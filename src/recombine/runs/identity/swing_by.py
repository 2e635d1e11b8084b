"""Flows over a sweep of gaps, from several kinds of start: how often the loss at the probe rises again."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from recombine.runs.identity.flows import moments, probe, steps_for
from recombine.runs.identity.rows import BLOCK, RIPPLE, blocks, counts, row
from recombine.runs.identity.swing_by_networks import Example
from recombine.runs.work import Computation, Row
from recombine.theory.identity.bump import Bump, predicted_bump
from recombine.theory.identity.flow import (
    Descents,
    descents,
    flow,
    gaussian_start,
    positive_start,
    probe_loss,
    training_loss,
)

if TYPE_CHECKING:
    from torch import Tensor

Start = Literal["positive", "gaussian", "wide"]
WIDE = 64
DIMENSIONS = 3
LASTS = 5.0  # over the a of the weaker concept: how long a flow is followed
ROUNDING = 1e-12  # a training loss that rises by less has not risen


class SwingByConfig(Computation):
    """Flows over a sweep of gaps, from several kinds of start."""

    kind: Literal["identity-swing-by"] = "identity-swing-by"
    gaps: tuple[Annotated[float, Field(gt=1, le=5)], ...] = Field(default=(1.1, 1.5, 2.0, 3.0, 4.0), min_length=1)
    spread: float = Field(default=0.05, ge=0)
    kinds: tuple[Start, ...] = Field(default=("positive", "gaussian", "wide"), min_length=1)
    power: Literal[1, 2] = 1
    scale: float = Field(default=0.2, gt=0, le=0.3)
    starts: int = Field(default=1000, ge=1)
    wide_starts: int = Field(default=500, ge=1)
    shown: tuple[float, ...] = (1.5, 3.0)  # gaps whose curves are kept, of one start with a bump and one without
    moments_kept: int = Field(default=120, ge=2)
    errors_kept: int = Field(default=200, ge=0)

    def rows(self) -> list[Row]:
        """Rates of every gap and kind; for positive starts the prediction, and curves of two of them."""
        return [each for gap in self.gaps for kind in self.kinds for each in self._rates(gap, kind)]

    def _rates(self, gap: float, kind: Start) -> list[Row]:
        """Counts; of positive starts also what the prediction says, and examples."""
        where, z = {"gap": gap, "start_law": kind}, probe((1.0, gap), 1)
        a = moments((1.0, gap), (self.spread,) * 2, 1, self.spread) ** self.power
        step, steps = steps_for(a, LASTS / float(a[0]))
        totals: Counter[str] = Counter()
        rows: list[Row] = []
        wanted = {True, False} if gap in self.shown else set()
        for number, start in enumerate(blocks(self._start(kind))):
            times, weights = flow(start, a, step, steps)
            losses, training = probe_loss(weights, z), training_loss(weights, a)  # [T, n] each
            found = descents(losses, RIPPLE)
            falling = (training.diff(dim=0) < ROUNDING).all(0)
            totals.update(starts=len(start), bumps=int(found.bump.sum()), monotone=int(falling.sum()))
            if kind != "positive":
                continue
            expected = predicted_bump(start @ start.mT, a, z, times, RIPPLE)
            totals.update(predicted=int(expected.bump.sum()), agree=int((expected.bump == found.bump).sum()))
            rows += self._errors(where, number * BLOCK, times, found, expected)
            for swings in [each for each in (True, False) if each in wanted and (found.bump == each).any()]:
                wanted.remove(swings)
                chosen = int((found.bump == swings).nonzero()[0, 0])
                shown = {"probe loss": losses[:, chosen], "training loss": training[:, chosen],
                         "predicted loss": expected.losses[:, chosen]}  # fmt: skip
                path = Example(times, weights[:, chosen] @ z, shown, int(found.trough[chosen]), int(found.peak[chosen]))
                rows += path.rows(self.moments_kept, swings=swings, **where)
        return counts(totals, **where) + rows

    def _errors(self, where: dict[str, Any], first: int, times: Tensor, found: Descents, expected: Bump) -> list[Row]:
        """Relative errors of the predicted peak, of the first starts, where both have one."""
        late = (expected.peak_time / times[found.peak.clamp(min=0)] - 1).tolist()
        high = (expected.peak_height / found.peak_height - 1).tolist()
        both = (expected.bump & found.bump).nonzero()[:, 0].tolist()
        return [
            row(f"error.{what}", error[place], start=first + place, **where)
            for place in both
            if first + place < self.errors_kept
            for what, error in (("time", late), ("height", high))
        ]

    def _start(self, kind: Start) -> Tensor:
        """U: [n, 3, 3], or [n, 3, 64] with entries so much smaller that W is as large as before."""
        if kind == "positive":
            return positive_start(self.starts, DIMENSIONS, DIMENSIONS, self.scale, self.seeds.init)
        if kind == "gaussian":
            return gaussian_start(self.starts, DIMENSIONS, DIMENSIONS, self.scale, self.seeds.init)
        even = self.scale * math.sqrt(DIMENSIONS / WIDE)
        return gaussian_start(self.wide_starts, DIMENSIONS, WIDE, even, self.seeds.init)
