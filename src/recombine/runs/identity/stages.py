"""The stages of two concepts in a symmetric two-layer flow: entries of W, the terms that move them, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.runs.identity.flows import FlowsConfig, steps_for
from recombine.runs.identity.rows import curve, each_start, spread_over_starts
from recombine.runs.work import Row
from recombine.theory.identity.curves import along_path
from recombine.theory.identity.flow import factors_of, flow, motion, probe_loss, stages, terms, training_loss

if TYPE_CHECKING:
    from torch import Tensor

ENTRIES = ((1, 1), (2, 2), (1, 2), (1, 3), (2, 3), (3, 3))  # of the symmetric W


class StagesConfig(FlowsConfig):
    """Two concepts and an idle coordinate."""

    kind: Literal["identity-stages"] = "identity-stages"
    idle: int = Field(default=1, ge=1)
    span: float = Field(default=10.0, gt=0, description="time of the flow: the scripts' 2,000 steps of 0.01 are 10")
    level: float = Field(default=0.8, gt=0, lt=1, description="at which a major is learned")
    remnant: float = Field(default=0.5, gt=0, lt=1, description="of its peak, below which a minor is suppressed")
    moments_kept: int = Field(default=120, ge=2)

    def check(self) -> None:
        if len(self.signals) != 2 or self.signals[0] == self.signals[1]:
            raise UserError("stages are of two concepts, one of them stronger: set signals=[1,1.5]")

    def rows(self) -> list[Row]:
        """Errors and times of every start; entries, terms and losses over time, of start 0 and over all starts."""
        a, start = self.moments(), self.draw_starts()
        times, weights = flow(start, a, *steps_for(a, self.span))
        rows = self._errors(start, a) + self._times(times, weights)
        medians = [weights[..., i - 1, j - 1].median(1).values for i, j in ENTRIES[:3]]
        kept = along_path(times, torch.stack(medians), self.moments_kept)
        times, weights = times[kept], weights[kept]  # [T], [T, n, d, d]
        growth, suppression, noise = (2 * term[..., 0, 1] for term in terms(weights, a))  # as they add up in w12'
        shown: list[tuple[str, Tensor, dict[str, int]]] = [
            ("weight", weights[..., i - 1, j - 1], {"i": i, "j": j}) for i, j in ENTRIES
        ]
        shown += [("growth", growth, {}), ("suppression", suppression, {}), ("noise", noise, {})]
        shown += [("motion", growth - suppression - noise, {}), ("training loss", training_loss(weights, a), {})]
        for instrument, values, where in [*shown, ("probe loss", probe_loss(weights, self.probe()), {})]:
            rows += spread_over_starts(instrument, times, values, **where)
            rows += curve(instrument, times, values[:, 0], start=0, **where)
        return rows

    def _errors(self, start: Tensor, a: Tensor) -> list[Row]:
        """Of each start, and of what it has become half-way through its stages: W' against the terms."""
        grown = factors_of(flow(start, a, *steps_for(a, 1 / float(a.max())))[1][-1])
        worst, factor = torch.zeros(len(start), dtype=torch.float64), []
        for factors in (start, grown):
            growth, suppression, noise = terms(factors @ factors.mT, a)
            moved, printed = motion(factors, a), growth - suppression - noise
            worst = torch.maximum(worst, (moved - 2 * printed).abs().flatten(1).amax(1))
            factor.append((moved * printed).sum((1, 2)) / (printed**2).sum((1, 2)))  # least squares
        return each_start("error", worst) + each_start("factor", torch.stack(factor).mean(0))

    def _times(self, times: Tensor, weights: Tensor) -> list[Row]:
        """When each start passes through its stages; the stronger concept is the first."""
        found = stages(times, weights, 2, self.level, self.remnant)
        strong, weak = (1, 0) if self.signals[1] > self.signals[0] else (0, 1)
        passed = {"first major": found.majors[:, strong], "minor peak": found.peaks[:, 0],
                  "minor suppressed": found.suppressed[:, 0], "second major": found.majors[:, weak]}  # fmt: skip
        return [each for stage, when in passed.items() for each in each_start("stage", when, stage=stage)]
