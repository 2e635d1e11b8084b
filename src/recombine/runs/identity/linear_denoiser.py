"""A linear conditional denoiser followed exactly: what it learns at each noise level, and what is sampled from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.diffusion.schedules import EDMSchedule
from recombine.runs.identity.rows import row
from recombine.runs.work import Computation, Row
from recombine.theory.identity.curves import first_times, retreat, setback
from recombine.theory.identity.flow import flow, gaussian_start, positive_start
from recombine.theory.identity.linear_denoiser import (
    Clusters,
    Condition,
    Levels,
    Quadratic,
    learn,
    learn_deep,
    learning_times,
    levels,
    optimum,
    quadratic,
    shared,
)
from recombine.theory.identity.linear_samples import affine_sampler, denoiser

if TYPE_CHECKING:
    from torch import Tensor

Model = Literal["separate", "edm", "best"]
"""Weights of each level; one Theta for all, inside EDM's preconditioning; one (M, K), M always the best for K."""
Spread = Annotated[float, Field(gt=0, le=10)]

SHARE = 0.8  # of the target: a concept is learned, as in the paper's order of concepts
AT_ONCE = 1200  # deep starts times levels integrated together: all of their moments are held
THRESHOLDS = 0.05, 0.01  # of the weaker concept: what counts as lost again

COLUMNS: dict[str, type] = {
    "gap": float, "spread": float, "strong_spread": float, "condition": str, "concept": int,  # 1 is the weaker one
    "start": str, "model": str, "layers": int, "sigma": float, "threshold": float, "time": float, "number": int,
}  # fmt: skip


class LinearDenoiserConfig(Computation):
    """One of three questions, on the same data and the same sampler."""

    kind: Literal["identity-linear-denoiser"] = "identity-linear-denoiser"
    asked: Literal["levels", "order", "swing"] = "levels"
    gaps: tuple[Annotated[float, Field(ge=1, le=4)], ...] = (2.0,)  # mu_2 / mu_1
    spreads: tuple[tuple[Spread, Spread], ...] = ((0.05, 0.05),)  # of both concepts; swing takes the first pair
    models: tuple[Model, ...] = ("separate", "edm")
    sigma_min: float = Field(default=0.002, gt=0)
    sigma_max: float = Field(default=80.0, gt=0)
    steps: int = Field(default=18, ge=2, le=200)  # of the sampler, and so levels
    scale: float = Field(default=0.2, gt=0, le=1)  # a positive U is uniform in (0, scale)
    sign: Literal["positive", "gaussian"] = "positive"  # of U; a gaussian one has `scale` as its deviation
    starts: int = Field(default=400, ge=1)
    span: float = Field(default=30.0, gt=0)  # training time
    moments: int = Field(default=301, ge=3)
    step: float = Field(default=0.05, gt=0)  # of the integration
    shown: int = Field(default=0, ge=0)  # starts whose trajectories are kept

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sigma_min >= self.sigma_max:
            raise ValueError(f"sigma_min {self.sigma_min:g} must lie below sigma_max {self.sigma_max:g}")
        if "best" in self.models and self.asked == "order":
            raise ValueError("model best is for deep denoisers: take separate and edm for the order")
        return self

    def sigmas(self) -> Tensor:
        """From the noisiest level down to 0.  # [steps + 1]"""
        return EDMSchedule(sigma_min=self.sigma_min, sigma_max=self.sigma_max).sigmas(self.steps)

    def rows(self) -> list[Row]:
        """What is asked."""
        ways = {"levels": self._levels, "order": self._order, "swing": self._swing}
        return list(ways[self.asked]())

    def clusters(self, gap: float, spread: tuple[float, float], condition: Condition = "class") -> Clusters:
        """The data; the third dimension is idle, as in the flows of identity mapping."""
        return Clusters(_vector(1.0, gap), _vector(*spread), 3, condition=condition)

    def _cases(self) -> Iterator[tuple[float, Clusters, Row]]:
        """Gap, data, and what they are called."""
        conditions: tuple[Condition, ...] = ("class", "value")
        for gap, spread, condition in product(self.gaps, self.spreads, conditions):
            named = {"gap": gap, "spread": spread[0], "strong_spread": spread[1], "condition": condition}
            yield gap, self.clusters(gap, spread, condition), named

    # At each level

    def _levels(self) -> Iterator[Row]:
        """Learning times of one layer from zero with weights for each level, and how much the best answer uses c."""
        at = levels(self.sigmas()[:-1])
        for _, data, named in self._cases():
            loss = quadratic(data, at)
            times = learning_times(loss, torch.zeros(3, 6), at, data.probe(), SHARE)  # [L, concepts]
            used = optimum(loss)[..., 3:].diagonal(dim1=-2, dim2=-1)  # [L, d]
            limit = -math.log(1 - SHARE) / data.moments()[2]  # of identity mapping, A = E[c c^T]
            for concept in range(2):
                here = {**named, "concept": concept + 1}
                yield row("identity.learning_time", float(limit[concept]), **here)
                for level, sigma in enumerate(at.sigma.tolist()):
                    yield row("level.learning_time", float(times[level, concept]), sigma=sigma, **here)
                    yield row("level.condition_used", float(used[level, concept]), sigma=sigma, **here)

    # In what is generated

    def _order(self) -> Iterator[Row]:
        """When the generated mean of xhat reaches a share of each concept, one layer from zero."""
        times = self.span * torch.linspace(0, 1, self.moments, dtype=torch.float64) ** 2  # early moments finely
        for gap, data, named in self._cases():
            for model in self.models:
                at, loss = self._loss(data, model)
                share = self._generated(learn(loss, torch.zeros_like(loss.cross), times), at, model, gap)  # [T, 2]
                when = first_times(times, share, SHARE)
                for concept in range(2):
                    here = {**named, "model": model, "concept": concept + 1}
                    yield row("samples.learning_time", float(when[concept]), **here)
                    yield row("samples.final", float(share[-1, concept]), **here)

    def _loss(self, data: Clusters, model: Model) -> tuple[Levels, Quadratic]:
        """The levels, and the loss at each of them or of all together."""
        at = levels(self.sigmas()[:-1], "edm" if model == "edm" else None)
        loss = quadratic(data, at)
        return at, loss if model == "separate" else shared(loss)

    def _generated(self, theta: Tensor, at: Levels, model: Model, gap: float) -> Tensor:
        """The mean of the samples of xhat, as shares of both concepts. Theta [*, (L,) d, F].  # [*, 2]"""
        theta = theta if model == "separate" else theta[..., None, :, :]
        mean = affine_sampler(denoiser(theta, at), self.sigmas()).mean(_vector(1.0, gap, 0.0))
        return mean[..., :2] / _vector(1.0, gap)

    # Swing-by

    def _swing(self) -> Iterator[Row]:
        """Retreats of K = U U^T over starts: in the generated mean, at each level, and in identity mapping."""
        times = torch.linspace(0, self.span, self.moments, dtype=torch.float64)
        begin = positive_start if self.sign == "positive" else gaussian_start
        start = begin(self.starts, 3, 3, self.scale, self.seeds.init)
        for gap in self.gaps:
            data = self.clusters(gap, self.spreads[0])
            named = {"gap": gap, "start": self.sign, "layers": 2}
            mapped = self._identity(start, times, data, gap)
            yield from self._counted(mapped, times, gap, {**named, "model": "identity"})
            for model in self.models:
                here = {**named, "model": model}
                made, answers = self._deep(start, times, data, gap, model)
                yield from self._counted(made, times, gap, here)
                if model != "best":
                    yield from self._one_layer(start, times, data, gap, model, {**here, "layers": 1})
                if answers is not None:
                    for level, sigma in enumerate(self.sigmas()[:-1].tolist()):
                        yield from _retreats(answers[:, :, level], {**here, "sigma": sigma})
                    noisiest, identity = (retreat(share)[..., 0] > 0.05 for share in (answers[:, :, 0], mapped))
                    yield row("as_identity", float((noisiest == identity).sum()), **here)

    def _identity(self, start: Tensor, times: Tensor, data: Clusters, gap: float) -> Tensor:
        """f(xhat) of the tied identity map, A = E[c c^T].  # [T, n, 2]"""
        inner = math.ceil(float(times[1]) / self.step)  # steps from one moment to the next
        _, weights = flow(start, data.moments()[2], float(times[1]) / inner, inner * (len(times) - 1), inner)
        return (weights @ data.probe())[..., :2] / _vector(1.0, gap)

    def _deep(
        self, start: Tensor, times: Tensor, data: Clusters, gap: float, model: Model
    ) -> tuple[Tensor, Tensor | None]:
        """The generated mean, and the answers of separate levels to xhat in noise.  # [T, n, 2], [T, n, L, 2]"""
        at, loss = self._loss(data, model)
        made, answers = [], []
        for part in self._parts(start, model):
            theta = learn_deep(loss, part, times, self.step, "trained" if model == "edm" else "best")
            made.append(self._generated(theta, at, model, gap))
            if model == "separate":
                answers.append(denoiser(theta, at).mean(data.probe(), data.probe())[..., :2] / _vector(1.0, gap))
        return torch.cat(made, 1), torch.cat(answers, 1) if answers else None

    def _one_layer(
        self, start: Tensor, times: Tensor, data: Clusters, gap: float, model: Model, named: Row
    ) -> Iterator[Row]:
        """One layer: from zero, and from K(0) = U U^T."""
        at, loss = self._loss(data, model)
        share = self._generated(learn(loss, torch.zeros_like(loss.cross), times), at, model, gap)[:, None]  # [T, 1, 2]
        yield row("retreat.from_zero", float(retreat(share)[0, 0]), **named)
        yield from self._shown(share, times, named)
        begun = [torch.nn.functional.pad(part @ part.mT, (3, 0)) for part in self._parts(start, model)]  # (0, U U^T)
        made = [self._generated(learn(loss, theta, times), at, model, gap) for theta in begun]
        yield from _retreats(torch.cat(made, 1), named)

    def _parts(self, start: Tensor, model: Model) -> Iterator[Tensor]:
        """Starts that are followed together; beside levels if those are separate.  # [n, d, h] or [n, 1, d, h]"""
        for part in torch.split(start, max(1, AT_ONCE // self.steps)):
            yield part[:, None] if model == "separate" else part

    def _counted(self, share: Tensor, times: Tensor, gap: float, named: Row) -> Iterator[Row]:
        yield from _retreats(share, named)
        lost = ((share - 1) * _vector(1.0, gap)).square().sum(-1) / 2  # [T, n]
        yield row("setbacks", float((setback(lost) > 1e-3 * lost.amax(0)).sum()), **named)
        yield from self._shown(share, times, named)

    def _shown(self, share: Tensor, times: Tensor, named: Row) -> Iterator[Row]:
        """Trajectories of the first starts: every moment of the first third of training, then every tenth."""
        fine = len(times) // 3
        for number in range(min(self.shown, share.shape[1])):
            for moment in [*range(fine), *range(fine, len(times), 10)]:
                for concept in range(2):
                    value, time = float(share[moment, number, concept]), float(times[moment])
                    yield row("share", value, number=number, time=time, concept=concept + 1, **named)


def _retreats(share: Tensor, named: Row) -> Iterator[Row]:
    """How many starts lose more of the weaker concept again. share [T, n, 2]."""
    lost = retreat(share)[..., 0]
    yield row("starts", float(len(lost)), **named)
    for threshold in THRESHOLDS:
        yield row("retreats", float((lost > threshold).sum()), threshold=threshold, **named)
    yield row("retreat.median", float(lost.median()), **named)


def _vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
