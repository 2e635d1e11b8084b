"""Two concepts in released networks: when each is learned, and the same from closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.runs.identity.networks import NetsConfig
from recombine.runs.identity.rows import counts, each_start, row
from recombine.runs.work import Row
from recombine.theory.identity.curves import first_times, spaced
from recombine.theory.identity.flow import affine, answer, augmented, log_residual_slope, one_layer
from recombine.theory.identity.order import EXACT, LEARNED, closed_forms, integrated, located_flips

if TYPE_CHECKING:
    from torch import Tensor


CONCEPTS = (1, 2)


class OrderConfig(NetsConfig):
    """Two concepts, and which is learned first."""

    kind: Literal["identity-order"] = "identity-order"
    moments: int = Field(default=30, ge=2, description="of a curve that is kept")
    shown: int = Field(default=3, ge=0, description="starts whose curves are kept")
    slopes: bool = False  # of the log residual of each start
    flips: int = Field(default=0, ge=0, description="drawn worlds in which the closed forms' flip is located")

    def check(self) -> None:
        if self.world.concepts != 2 or min(self.world.signals) <= 0:
            raise UserError("order is about two concepts with signals above 0: set world.signals=[1,2]")

    def rows(self) -> list[Row]:
        """Times and curves of every start and form; how exact the closed form is; slopes and flips where asked."""
        targets = self.world.probe()[:2]
        paths = self.paths(self.world.probe()[None])
        epochs, answers = paths.epochs, paths.answers[:, :, 0, :2]  # [T], [T, n, 2]
        times = first_times(epochs, answers, LEARNED * targets)  # [n, 2]
        rows = [each for k in CONCEPTS for each in each_start("time", times[:, k - 1], concept=k)]
        rows += self._curve_rows("answer.median", epochs, answers.median(1).values)
        for start in range(min(self.shown, self.starts)):
            rows += self._curve_rows("answer", epochs, answers[:, start], start=start)
        if self.net.layers == 1:
            forms = closed_forms(self.world, epochs * self.time_per_epoch)
            for form, path in forms.items():
                rows += self._curve_rows("answer", epochs, path, form=form)
                reached = first_times(epochs, path, LEARNED * targets).tolist()  # [2]
                rows += [row("time", reached[k - 1], form=form, concept=k) for k in CONCEPTS]
            rows += self._predicted_rows(epochs, times) + self._exact_rows(epochs)
            if self.slopes:
                form = "affine" if self.net.bias else "plain"
                rows += self._slope_rows(epochs, answers, form, forms[form])
        for form, ratios in located_flips(self.flips, self.world, self.seeds.data).items():
            rows += [row("flip", ratio, form=form, world=number) for number, ratio in enumerate(ratios)]
        return rows

    def _curve_rows(self, instrument: str, epochs: Tensor, path: Tensor, **columns: Any) -> list[Row]:
        """Both coordinates of an answer at the moments that are kept. path [T, 2]."""
        kept = spaced(len(epochs), self.moments)
        return [
            row(instrument, float(path[moment, k - 1]), epoch=float(epochs[moment]), concept=k, **columns)
            for moment in kept
            for k in CONCEPTS
        ]

    def _predicted_rows(self, epochs: Tensor, times: Tensor) -> list[Row]:
        """How far off, at worst of the two concepts, the closed form of each start's weights is in time."""
        flat, time = self.world.replace(dimensions=2), epochs * self.time_per_epoch
        weights, probe = self.one_layer_starts(2), flat.probe()
        if self.net.bias:
            path = affine(augmented(flat), weights, time) @ torch.cat([probe, probe.new_ones(1)])
        else:
            path = answer(flat.second_moment(), weights, time, probe)
        predicted = first_times(epochs, path, LEARNED * probe)  # [n, 2]
        return each_start("time.error", (times / predicted - 1).abs().amax(1))

    def _exact_rows(self, epochs: Tensor) -> list[Row]:
        """Theorem 4.1, or its affine form, against an integration, entry by entry, with one idle coordinate."""
        flat, moments = self.world.replace(dimensions=3), epochs[spaced(len(epochs), self.moments)]
        start, time = self.one_layer_starts(3), moments * self.time_per_epoch
        closed = affine(augmented(flat), start, time) if self.net.bias else one_layer(flat.second_moment(), start, time)
        errors = (closed - integrated(flat, start, time)).abs().amax((0, 2, 3))  # [n]
        within = float((errors < EXACT).sum())
        return counts({"closed.worst": float(errors.max()), "closed.within": within, "closed.starts": self.starts})

    def _slope_rows(self, epochs: Tensor, answers: Tensor, form: str, path: Tensor) -> list[Row]:
        """The slope of the log residual over that of the closed form from rest, until that is at 80%."""
        targets, rows = self.world.probe()[:2], []
        until = first_times(epochs, path, LEARNED * targets)
        for k in CONCEPTS:
            window = epochs <= until[k - 1]
            measured = log_residual_slope(epochs[window], targets[k - 1] - answers[window][..., k - 1])  # [n]
            expected = log_residual_slope(epochs[window], targets[k - 1] - path[window][..., k - 1])
            # Of the form itself in its time: -a_k without a bias.
            rows.append(row("slope", float(expected) / self.time_per_epoch, form=form, concept=k))
            rows += each_start("slope", measured / expected, concept=k)
        return rows
