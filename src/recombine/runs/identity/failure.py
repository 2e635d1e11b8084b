"""When the weakest of three concepts is learned, by the exact flow and by Euler on W; which Euler runs are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import Field

from recombine.runs.identity.flows import SCRIPTS_TIME, FlowsConfig, steps_for
from recombine.runs.identity.rows import counts, curve, each_start, spread_over_starts
from recombine.runs.work import Row
from recombine.theory.identity.curves import evenly
from recombine.theory.identity.flow import euler_on_w, flow, probe_loss, stages

if TYPE_CHECKING:
    from torch import Tensor

LEARNED = 0.5  # of w_11
NEGATIVE = -1e-9  # an eigenvalue below it is not rounding
OBSERVED = 0.2  # scripts' time from one observation of a run to the next
TALLEST = 1e3  # a loss above it is not drawn


class FailureConfig(FlowsConfig):
    """Three concepts, the weakest of them far behind."""

    kind: Literal["identity-failure"] = "identity-failure"
    signals: tuple[float, ...] = Field(default=(0.7, 1.7, 3.0), min_length=2)
    spreads: tuple[float, ...] = (0.05, 0.05, 0.05)
    scale: float = Field(default=0.1, gt=0, le=1)
    starts: int = Field(default=300, ge=1)
    etas: tuple[Annotated[float, Field(gt=0, le=0.1)], ...] = (0.01, 0.001)  # Euler's steps
    plotted: float = Field(default=100.0, gt=0, description="the scripts' time at the end of the paper's figure")
    span: float = Field(default=400.0, gt=0, description="the scripts' time that is followed")
    moments_kept: int = Field(default=160, ge=2)

    def rows(self) -> list[Row]:
        """When each start escapes; counts of each way; losses over time."""
        a, start = self.moments(), self.draw_starts()
        step, steps = steps_for(a, self.span / SCRIPTS_TIME)
        times, weights = flow(start, a, step, steps, keep=max(1, int(OBSERVED / SCRIPTS_TIME / step)))
        times = SCRIPTS_TIME * times
        escapes = stages(times, weights, len(a), LEARNED).majors[:, 0]  # [n]
        late = ~(escapes <= self.plotted)  # NaN is late
        recovered = int(escapes.isfinite().sum())
        rows = counts({"starts": len(start), "late": int(late.sum()), "recovered": recovered}, way="flow")
        rows += counts({"followed": self.span}) + each_start("escape", escapes)
        losses = probe_loss(weights, self.probe())  # [T, n]
        kept = evenly(len(times), self.moments_kept)
        rows += spread_over_starts("loss", times[kept], losses[kept], way="flow")
        chosen: int | None = None  # a start that Euler loses, while the flow goes on
        for eta in self.etas:
            counted, clock, stepped, bad = self._stepped(start, a, eta)
            rows += counted
            if chosen is None and bad.any():
                chosen = int(bad.nonzero()[0, 0])
                rows += curve("example.loss", times[kept], losses[kept, chosen], way="flow")
            if chosen is not None:
                few = evenly(len(clock), 2 * self.moments_kept)
                shown = stepped[few, chosen]
                shown = shown.where(shown < TALLEST, torch.nan)
                rows += curve("example.loss", clock[few], shown, way="euler", eta=eta)
        return rows

    def _stepped(self, start: Tensor, a: Tensor, eta: float) -> tuple[list[Row], Tensor, Tensor, Tensor]:
        """Which Euler runs fail and which stop being semidefinite; times [T], losses [T, n], who failed at last [n]."""
        steps = round(self.span / eta)
        times, weights, smallest = euler_on_w(start @ start.mT, a, eta, steps, keep=max(1, round(OBSERVED / eta)))
        lost = ~(smallest >= NEGATIVE)  # NaN is lost too
        failed = ~(weights[..., 0, 0] >= LEARNED)
        plotted = int((times <= self.plotted).sum()) - 1
        rows = counts({"starts": len(start)}, way="euler", eta=eta)
        for at, place in (("plotted", plotted), ("end", len(times) - 1)):
            bad, gone = failed[place], lost[: place + 1].any(0)
            kinds = {"failed": bad, "lost": gone, "both": bad & gone, "neither": ~bad & ~gone}
            rows += counts({name: int(those.sum()) for name, those in kinds.items()}, way="euler", eta=eta, at=at)
        return rows, times, probe_loss(weights, self.probe()), failed[-1]
