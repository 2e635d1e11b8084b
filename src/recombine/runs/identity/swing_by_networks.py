"""The networks of Swing-by (Yang et al. 2025, Figs 3, 13, 14), as the released code trains them.

*Data.* 5,000 points of each cluster, one at the origin among them, the variance 0.05; every net has its own
points and, where the run is rotated, its own rotation. *Model.* Layers with biases and PyTorch's own start,
batches of 128, 40 epochs: small ones (runs 29, 26, 27, run 27 with 0.3 of the start, two layers linear and ReLU), and
those that the paper says do not swing by (one layer; 64 dimensions). *Computed.* In how many nets the loss rises,
after a fall, by more than 1% of its largest, evaluated at every step and once an epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.runs.identity.networks import NetsConfig, mixed
from recombine.runs.identity.rows import curve, row
from recombine.runs.work import Row
from recombine.seeds import fold
from recombine.theory.identity.curves import along_path
from recombine.theory.identity.flow import descents
from recombine.training.batched import Trace, losses, train

if TYPE_CHECKING:
    from torch import Tensor

RISE = 0.01  # of a curve's largest loss
JUDGED = 300  # points that the training loss of ReLU nets is taken over


class SwingByNetsConfig(NetsConfig):
    """Small networks, and whether they swing by."""

    kind: Literal["identity-swing-by-nets"] = "identity-swing-by-nets"
    starts: int = Field(default=200, ge=1)
    datasets: int = Field(default=200, ge=1)
    every: int = Field(default=1, ge=1)
    moments_kept: int = Field(default=100, ge=2)

    def check(self) -> None:
        if self.world.concepts != 2:
            raise UserError("swing-by is about two concepts: set world.signals=[2,4]")

    def rows(self) -> list[Row]:
        """Counts; the rise of each net that has one; curves of the first net with a bump and the first without."""
        trace, turned = self._trained()
        loss = losses(trace)[..., 0].double()  # [T, n]
        epochs = trace.steps.double() / self.steps_per_epoch
        found = descents(loss, RISE)
        whole = descents(loss[self._once_an_epoch(trace)], RISE)
        rows = [row("nets", self.starts)]
        rows += [row("bumps", int(each.bump.sum()), level=level) for level, each in (("step", found), ("epoch", whole))]
        ratios = (found.peak_height / found.trough_height).tolist()
        rows += [row("ratio", ratio, start=i) for i, ratio in enumerate(ratios) if ratio == ratio]
        answers = torch.einsum("tni,nij->tnj", trace.outputs[:, :, 0].double(), turned)  # turned back
        for swings, those in ((True, found.bump), (False, ~found.bump)):
            if those.any():
                chosen = int(those.nonzero()[0, 0])
                shown = {"probe loss": loss[:, chosen], "training loss": trace.loss[:, chosen]}
                trough, peak = int(found.trough[chosen]), int(found.peak[chosen])
                path = Example(epochs, answers[:, chosen], shown, trough, peak)
                rows += path.rows(self.moments_kept, swings=swings)
        return rows

    def _trained(self) -> tuple[Trace, Tensor]:
        """All nets at once, each on its own points; and the rotation of each.  # [n, d, d]"""
        sets = [self._points(number, seed) for number, seed in enumerate(self.data_seeds())]
        each_net = [sets[i % self.datasets] for i in range(self.starts)]
        points, turned = torch.stack([each for each, _ in each_net]), torch.stack([turn for _, turn in each_net])
        probes = (turned @ self.world.probe())[:, None].float()  # [n, 1, d]
        judged = JUDGED if self.net.activation == "relu" else None
        judged = judged and min(judged, points.shape[1])
        trace = train(self.net, self.descent, points, probes, self.net_seeds(), self.every, loss_points=judged)
        return trace, turned

    def _points(self, number: int, seed: int) -> tuple[Tensor, Tensor]:
        """A set of points in the order of its batches, rotated; and the rotation."""
        turned = self.world.rotation(fold(self.seeds.data, f"identity rotation {number}"))
        return (mixed(self.world.points(self.count, seed), seed) @ turned.T).float(), turned

    def _once_an_epoch(self, trace: Trace) -> Tensor:
        """Of the observed steps the last at or before the end of each epoch, and the start."""
        ends = torch.arange(0, int(trace.steps[-1]) + 1, self.steps_per_epoch)
        return torch.searchsorted(trace.steps, ends, right=True) - 1


@dataclass(frozen=True)
class Example:
    """The curves of one start, and where its loss turns."""

    times: Tensor  # [T]
    answer: Tensor  # [T, d]: to the probe
    losses: Mapping[str, Tensor]  # [T] each, that of the probe first
    trough: int  # index of the turn, -1 where there is no bump
    peak: int

    def rows(self, moments_kept: int, **columns: Any) -> list[Row]:
        """The first two coordinates of the answer and the losses where they move, and both turns."""
        shown = [("answer", self.answer[:, k - 1], {"concept": k}) for k in (1, 2)]
        shown += [(name, values, {}) for name, values in self.losses.items()]
        kept = along_path(self.times, torch.stack([values.double() for _, values, _ in shown]), moments_kept)
        rows = [
            each
            for name, values, where in shown
            for each in curve(name, self.times[kept], values[kept], **where, **columns)
        ]
        loss = self.losses["probe loss"]
        turns = (("trough", self.trough), ("peak", self.peak))
        return rows + [
            row(name, float(loss[at]), time=float(self.times[at]), **columns) for name, at in turns if at >= 0
        ]
