"""Beyond Yang et al. 2025: from identity mapping to diffusion, a linear conditional denoiser followed exactly.

*Data.* Two concepts mu = (1, gap); a denoiser is told the class, c = mu_p e_p, or the value, c = x0, and sees x0 with
noise sigma. *Model.* D = M x + K c, one layer from zero (closed form), or K = U U^T. Weights apart at each level, one
Theta for all levels inside EDM's preconditioning, or one (M, K) for all with M the best for the present K.
*Computed.* When each concept is learned at each sigma; the mean of what an Euler sampler makes of the unseen condition
xhat = sum_p mu_p e_p, exactly, over training; how often the weaker concept is gained and lost again there (a retreat:
Swing-by), beside the flow of identity mapping from the same U. *Asked.* Which concept comes first, at which noise, and
when told what? Does Swing-by reach the samples, from which levels does it come, and is it as frequent?
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from recombine.diffusion.schedules import EDMSchedule
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Computation, Row
from recombine.studies.identity_mapping.linear_denoiser import claims
from recombine.studies.identity_mapping.linear_denoiser.seen import SEEN
from recombine.theory.identity.flow import flow, gaussian_start, positive_start
from recombine.theory.identity.linear_denoiser import (
    Clusters,
    Levels,
    Quadratic,
    Told,
    affine_sampler,
    denoiser,
    first_times,
    learn,
    learn_deep,
    learning_times,
    levels,
    optimum,
    quadratic,
    retreat,
    setback,
    shared,
)

if TYPE_CHECKING:
    import polars
    from torch import Tensor

Model = Literal["apart", "edm", "best"]
Spread = Annotated[float, Field(gt=0, le=10)]

SHARE = 0.8  # of the target: a concept is learned, as in the paper's order of concepts
AT_ONCE = 1200  # deep starts times levels integrated together: all of their moments are held


class LinearDenoiserConfig(Computation):
    """One of three questions, on the same data and the same sampler."""

    kind: Literal["identity-linear-denoiser"] = "identity-linear-denoiser"
    asked: Literal["levels", "order", "swing"] = "levels"
    gaps: tuple[Annotated[float, Field(ge=1, le=4)], ...] = (2.0,)  # mu_2 / mu_1
    spreads: tuple[tuple[Spread, Spread], ...] = ((0.05, 0.05),)  # of both concepts; swing takes the first pair
    models: tuple[Model, ...] = ("apart", "edm")
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
            raise ValueError("model best is for deep denoisers: take apart and edm for the order")
        return self

    def sigmas(self) -> Tensor:
        """From the noisiest level down to 0.  # [steps + 1]"""
        return EDMSchedule(sigma_min=self.sigma_min, sigma_max=self.sigma_max).sigmas(self.steps)

    def rows(self) -> list[Row]:
        """What is asked."""
        ways = {"levels": self._levels, "order": self._order, "swing": self._swing}
        return list(ways[self.asked]())

    def clusters(self, gap: float, spread: tuple[float, float], told: Told = "class") -> Clusters:
        """The data; the third dimension is idle, as in the flows of identity mapping."""
        return Clusters(_row(1.0, gap), _row(*spread), 3, told=told)

    # At each level

    def _levels(self) -> Iterator[Row]:
        """Learning times of one layer from zero with weights apart, and how much of the best answer the condition is.

        `images_seen` is sigma in millionths.
        """
        at = levels(self.sigmas()[:-1])
        for gap, spread, told in self._cases():
            data = self.clusters(gap, spread, told)
            loss = quadratic(data, at)
            times = learning_times(loss, torch.zeros(3, 6), at, data.probe(), SHARE)  # [L, concepts]
            used = optimum(loss)[..., 3:].diagonal(dim1=-2, dim2=-1)  # [L, d]
            limit = -math.log(1 - SHARE) / data.moments()[2]  # of identity mapping, A = E[c c^T]
            for concept in range(2):
                node = f"{_case(gap, spread, told)},concept={concept + 1}"
                yield _say(0, node, "limit", float(limit[concept]))
                for level, sigma in enumerate(at.sigma.tolist()):
                    seen = round(1e6 * sigma)
                    yield _say(seen, node, "time", float(times[level, concept]))
                    yield _say(seen, node, "used", float(used[level, concept]))

    def _cases(self) -> Iterator[tuple[float, tuple[float, float], Told]]:
        tellings: tuple[Told, ...] = ("class", "value")
        for gap in self.gaps:
            for spread in self.spreads:
                for told in tellings:
                    yield gap, spread, told

    # In what is generated

    def _order(self) -> Iterator[Row]:
        """When the generated mean of xhat reaches a share of each concept, one layer from zero."""
        times = self.span * torch.linspace(0, 1, self.moments, dtype=torch.float64) ** 2  # early moments finely
        for gap, spread, told in self._cases():
            data = self.clusters(gap, spread, told)
            for model in self.models:
                at, loss = self._loss(data, model)
                share = self._generated(learn(loss, torch.zeros_like(loss.cross), times), at, model, gap)  # [T, 2]
                when = first_times(times, share, SHARE)
                for concept in range(2):
                    node = f"{_case(gap, spread, told)},model={model},concept={concept + 1}"
                    yield _say(0, node, "time", float(when[concept]))
                    yield _say(0, node, "final", float(share[-1, concept]))

    def _loss(self, data: Clusters, model: Model) -> tuple[Levels, Quadratic]:
        """The levels, and the loss at each of them or of all together."""
        at = levels(self.sigmas()[:-1], "edm" if model == "edm" else None)
        loss = quadratic(data, at)
        return at, loss if model == "apart" else shared(loss)

    def _generated(self, theta: Tensor, at: Levels, model: Model, gap: float) -> Tensor:
        """The mean of the samples of xhat, as shares of both concepts. Theta [*, (L,) d, F].  # [*, 2]"""
        theta = theta if model == "apart" else theta[..., None, :, :]
        mean = affine_sampler(denoiser(theta, at), self.sigmas()).mean(_row(1.0, gap, 0.0))
        return mean[..., :2] / _row(1.0, gap)

    # Swing-by

    def _swing(self) -> Iterator[Row]:
        """Retreats of K = U U^T over starts: in the generated mean, at each level apart, and in identity mapping.

        `images_seen` is sigma in millionths for a level, time in thousandths for a trajectory.
        """
        times = torch.linspace(0, self.span, self.moments, dtype=torch.float64)
        begin = positive_start if self.sign == "positive" else gaussian_start
        start = begin(self.starts, 3, 3, self.scale, self.seeds.init)
        for gap in self.gaps:
            data = self.clusters(gap, self.spreads[0])
            name = f"gap={gap:g},start={self.sign},model="
            mapped = self._identity(start, times, data, gap)
            yield from self._told(mapped, times, gap, f"{name}identity")
            for model in self.models:
                made, answers = self._deep(start, times, data, gap, model)
                yield from self._told(made, times, gap, f"{name}{model}")
                if model != "best":
                    yield from self._flat(start, times, data, gap, model, f"{name}flat-{model}")
                if answers is not None:
                    for level, sigma in enumerate(self.sigmas()[:-1].tolist()):
                        yield from _counts(answers[:, :, level], f"{name}level,sigma={sigma:.3g}", round(1e6 * sigma))
                    noisiest, alone = (retreat(share)[..., 0] > 0.05 for share in (answers[:, :, 0], mapped))
                    yield _say(0, f"{name}apart", "alike", float((noisiest == alone).sum()))

    def _identity(self, start: Tensor, times: Tensor, data: Clusters, gap: float) -> Tensor:
        """f(xhat) of the tied identity map, A = E[c c^T].  # [T, n, 2]"""
        inner = math.ceil(float(times[1]) / self.step)  # steps from one moment to the next
        _, weights = flow(start, data.moments()[2], float(times[1]) / inner, inner * (len(times) - 1), inner)
        return (weights @ data.probe())[..., :2] / _row(1.0, gap)

    def _deep(
        self, start: Tensor, times: Tensor, data: Clusters, gap: float, model: Model
    ) -> tuple[Tensor, Tensor | None]:
        """The generated mean, and the answers of levels apart to xhat in noise.  # [T, n, 2], [T, n, L, 2]"""
        at, loss = self._loss(data, model)
        made, answers = [], []
        for part in self._parts(start, model):
            theta = learn_deep(loss, part, times, self.step, "trained" if model == "edm" else "best")
            made.append(self._generated(theta, at, model, gap))
            if model == "apart":
                answers.append(denoiser(theta, at).mean(data.probe(), data.probe())[..., :2] / _row(1.0, gap))
        return torch.cat(made, 1), torch.cat(answers, 1) if answers else None

    def _flat(self, start: Tensor, times: Tensor, data: Clusters, gap: float, model: Model, node: str) -> Iterator[Row]:
        """One layer: from zero, and from K(0) = U U^T."""
        at, loss = self._loss(data, model)
        share = self._generated(learn(loss, torch.zeros_like(loss.cross), times), at, model, gap)[:, None]  # [T, 1, 2]
        yield _say(0, node, "zero", float(retreat(share)[0, 0]))
        yield from self._drawn(share, times, node)
        begun = [
            torch.nn.functional.pad(part @ part.mT, (3, 0)) for part in self._parts(start, model)
        ]  # (M, K) = (0, U U^T)
        made = [self._generated(learn(loss, theta, times), at, model, gap) for theta in begun]
        yield from _counts(torch.cat(made, 1), node)

    def _parts(self, start: Tensor, model: Model) -> Iterator[Tensor]:
        """Starts that are followed together; beside levels if those are apart.  # [n, d, h] or [n, 1, d, h]"""
        for part in torch.split(start, max(1, AT_ONCE // self.steps)):
            yield part[:, None] if model == "apart" else part

    def _told(self, share: Tensor, times: Tensor, gap: float, node: str) -> Iterator[Row]:
        yield from _counts(share, node)
        lost = ((share - 1) * _row(1.0, gap)).square().sum(-1) / 2  # [T, n]
        yield _say(0, node, "setback", float((setback(lost) > 1e-3 * lost.amax(0)).sum()))
        yield from self._drawn(share, times, node)

    def _drawn(self, share: Tensor, times: Tensor, node: str) -> Iterator[Row]:
        """Trajectories of the first starts: every moment of the first third of training, then every tenth."""
        fine = len(times) // 3
        for number in range(min(self.shown, share.shape[1])):
            for moment in [*range(fine), *range(fine, len(times), 10)]:
                seen = round(1000 * float(times[moment]))
                for concept in range(2):
                    value = float(share[moment, number, concept])
                    yield _say(seen, f"{node},number={number}", f"share.{concept + 1}", value)


def _counts(share: Tensor, node: str, seen: int = 0) -> Iterator[Row]:
    """How many starts lose more of the weaker concept again. share [T, n, 2]."""
    lost = retreat(share)[..., 0]
    yield _say(seen, node, "starts", float(len(lost)))
    yield _say(seen, node, "retreat.05", float((lost > 0.05).sum()))
    yield _say(seen, node, "retreat.01", float((lost > 0.01).sum()))
    yield _say(seen, node, "retreat.median", float(lost.median()))


def _case(gap: float, spread: tuple[float, float], told: Told) -> str:
    return f"gap={gap:g},spread={spread[0]:g}:{spread[1]:g},told={told}"


def _row(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _say(seen: int, node: str, instrument: str, value: float) -> Row:
    return {"images_seen": seen, "node": node, "instrument": instrument, "value": None if math.isnan(value) else value}


def draw(table: polars.DataFrame, config: LinearDenoiserConfig) -> dict[str, Drawing]:
    """Learning times over noise; the generated mean in concept space; how often it retreats."""
    from recombine.studies.identity_mapping.linear_denoiser import figures as drawings

    return {
        "figure": Drawing(drawings.learning(table), "When each concept is learned, over the noise level."),
        "trajectories": Drawing(drawings.trajectories(table), "The generated mean of the unseen combination."),
        "swing": Drawing(drawings.swing(table), "How often the weaker concept is gained and lost again."),
    }


SPREADS = ((0.05, 0.05), (0.3, 0.05), (0.6, 0.05), (1.0, 0.05), (1.2, 0.05), (1.25, 0.05), (1.6, 0.05), (2.0, 0.05))
"""Of the weaker concept, from narrow to wide; told the value, 1.226 makes both equal."""


def arms(
    starts: int, steps: int, gaps: tuple[float, ...], span: float, moments: int
) -> dict[str, LinearDenoiserConfig]:
    """The closed forms, and a gap of the deep denoisers an arm."""
    deep = LinearDenoiserConfig(asked="swing", starts=starts, steps=steps, span=span, moments=moments)
    every: tuple[Model, ...] = ("apart", "edm", "best")
    return {
        "levels": LinearDenoiserConfig(asked="levels", spreads=SPREADS, steps=40),
        "order": LinearDenoiserConfig(asked="order", spreads=SPREADS, moments=2001),
        **{
            f"gap-{gap:g}": deep.replace(
                gaps=(gap,), models=every, shown=8 if gap == 2 else 0, step=0.05 if gap <= 2 else 0.025
            )
            for gap in gaps
        },
        "gaussian": deep.replace(gaps=(2.0,), models=("edm",), sign="gaussian"),
    }


EXPERIMENT = Experiment(
    study="identity-mapping",
    name="linear-denoiser",
    question="What is left of identity mapping in a denoiser that is told concepts, and in its samples?",
    figure="beyond Yang et al. 2025 (Sec. 5; what reviewers asked for)",
    budgets={
        "smoke": Budget(arms(6, 4, (2.0,), 10.0, 41), 1, "seconds"),
        "laptop": Budget(arms(60, 8, (1.5, 2.0, 3.0), 30.0, 151), 1, "half a minute, on a CPU"),
        "full": Budget(arms(400, 12, (1.1, 1.5, 2.0, 3.0), 30.0, 301), 1, "minutes, on a CPU"),
    },
    claims=claims.LINEAR,
    draw=draw,
    notes=(
        "Time is that of gradient flow. `images_seen` is sigma in millionths where something is said of a noise level, "
        "time in thousandths along a trajectory, else 0.",
        "A retreat is how much of the weaker concept's share is lost again on the way, not counting what exceeds its "
        "last value: 0.05 and 0.01 are counted. A setback is a rise of the generated mean's loss by more than 0.1% of "
        "its largest; an overshoot makes one too, so Swing-by is judged by the retreat. With Gaussian starts a dip "
        "below the first value is a retreat as well, though nothing had been gained.",
        "Levels are those of the sampler (Karras et al.'s grid, 0.002 to 80), all with the same weight in training. "
        "edm: one Theta for all of them, M trained from zero. best: one (M, K), M always the best for the present K. "
        "apart: weights of their own at each level, M the best.",
        "A concept counts as learned at 0.8 of its target, as in the paper's order of concepts. The answer of a level "
        "to xhat is the mean over noise of D(xhat + sigma eps, xhat).",
        "The rules are not blind: they were written after pilots, of 2,000 starts with a coarser sampler and of 100 "
        "starts at mu_2 = 2 and three spreads with this one. None was changed after the run at full.",
    ),
    seen=SEEN,
)
