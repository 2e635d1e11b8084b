"""Yang et al. 2025, Fig 10: a map that seems to fail for good at a combination, and what becomes of it later.

*Data.* mu = (0.7, 1.7, 3), sigma = 0.05. *Model.* W = U U^T from U uniform in (0, 0.1), with A and the scripts' A^2:
by the exact flow on U, and as the scripts do, W by Euler's steps of 0.01, and of 0.001. *Computed.* When the weakest
concept is learned (w_11 at one half), over four times the time that is plotted; whether an Euler run ever has an
eigenvalue below zero, which no U U^T has, and whether it has learned the concept in the end. *Asked.* Does the flow
fail, and are the failures of Euler's steps those runs in which W stops being positive semidefinite?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import Field

from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Row
from recombine.studies.identity_mapping._shared.flows import (
    SCRIPTS_TIME,
    FlowsConfig,
    counts,
    curve,
    evenly,
    row,
    spread_over_starts,
    steps_for,
)
from recombine.studies.identity_mapping.failure import claims
from recombine.studies.identity_mapping.failure.seen import SEEN
from recombine.theory.identity.flow import euler_on_w, flow, probe_loss, stages

if TYPE_CHECKING:
    import polars
    from torch import Tensor

LEARNED = 0.5  # of w_11
NEGATIVE = -1e-9  # an eigenvalue below it is not rounding
LOOK = 0.2  # scripts' time from one look at an Euler run to the next
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
        times, weights = flow(start, a, step, steps, keep=max(1, int(LOOK / SCRIPTS_TIME / step)))
        times = SCRIPTS_TIME * times
        escapes = stages(times, weights, len(a), LEARNED).majors[:, 0]  # [n]
        late = ~(escapes <= self.plotted)  # NaN is late
        rows = counts("flow", starts=len(start), late=int(late.sum()), recovered=int(escapes.isfinite().sum()))
        rows += counts("all", followed=self.span)
        rows += [row(f"start {i}", "escape", time) for i, time in enumerate(escapes.tolist())]
        losses = probe_loss(weights, self.probe())  # [T, n]
        kept = evenly(len(times), self.moments_kept)
        rows += spread_over_starts("flow", "loss", times[kept], losses[kept])
        own: int | None = None
        for eta in self.etas:
            counted, clock, stepped, bad = self._stepped(start, a, eta)
            rows += counts(f"euler {eta:g}", **counted)
            if own is None and bad.any():  # a start that Euler loses, while the flow goes on
                own = int(bad.nonzero()[0, 0])
                rows += curve("example flow", "loss", times[kept], losses[kept, own])
            if own is not None:
                few = evenly(len(clock), 2 * self.moments_kept)
                shown = stepped[few, own]
                rows += curve(f"example euler {eta:g}", "loss", clock[few], shown.where(shown < TALLEST, torch.nan))
        return rows

    def _stepped(self, start: Tensor, a: Tensor, eta: float) -> tuple[dict[str, int], Tensor, Tensor, Tensor]:
        """Which Euler runs fail and which stop being semidefinite; their losses [T, n]; who failed in the end [n]."""
        steps = round(self.span / eta)
        times, weights, smallest = euler_on_w(start @ start.mT, a, eta, steps, keep=max(1, round(LOOK / eta)))
        lost = ~(smallest >= NEGATIVE)  # NaN is lost too
        failed = ~(weights[..., 0, 0] >= LEARNED)
        plotted = int((times <= self.plotted).sum()) - 1
        numbers = {"starts": len(start)}
        for name, place in (("plotted", plotted), ("end", len(times) - 1)):
            bad, gone = failed[place], lost[: place + 1].any(0)
            numbers |= {
                f"failed.{name}": int(bad.sum()), f"lost.{name}": int(gone.sum()),
                f"both.{name}": int((bad & gone).sum()), f"neither.{name}": int((~bad & ~gone).sum()),
            }  # fmt: skip
        return numbers, times, probe_loss(weights, self.probe()), failed[-1]


def draw(table: polars.DataFrame, config: FailureConfig) -> dict[str, Drawing]:
    """Fig 10, four times as long."""
    from recombine.studies.identity_mapping.failure import figures

    caption = "The loss at the probe past the end of the paper's figure, and when the flow escapes."
    return {"figure": Drawing(figures.figure(table, config), caption)}


def _arms(**changes: Any) -> dict[str, FailureConfig]:
    return {"A": FailureConfig(power=1, **changes), "A2": FailureConfig(power=2, **changes)}


EXPERIMENT = Experiment(
    study="identity-mapping",
    name="failure",
    question="Does a symmetric two-layer map ever fail for good at a combination?",
    figure="Yang et al. 2025, Fig 10",
    budgets={
        "smoke": Budget(_arms(starts=10, span=40.0, etas=(0.02,), moments_kept=20), 1, "a few seconds"),
        "laptop": Budget(_arms(starts=60, etas=(0.01,)), 1, "half a minute"),
        "full": Budget(_arms(), 1, "a minute on two CPU cores; 300 starts an arm"),
    },
    claims=claims.FAILURE,
    draw=draw,
    notes=(
        "Arm A2 has the scripts' A^2, element by element, in the place of A.",
        "Time is the scripts' (twice that of gradient flow), in thousandths of a unit in the column images_seen; the "
        "paper's figure ends at 100. A start has escaped when w_11 reaches 0.5.",
        "W has lost semidefiniteness where an eigenvalue is below -1e-9; looked at every 0.2 of time.",
    ),
    seen=SEEN,
)
