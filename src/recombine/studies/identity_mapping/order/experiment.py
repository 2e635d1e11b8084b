"""Yang et al. 2025, Fig 2: which of two concepts is learned first, and do the closed forms say when?

*Data.* Clusters at mu_1 e_1, mu_2 e_2 and the origin in 64 dimensions, 5,000 points each, as the released code makes
them. *Model.* One linear layer with a bias, as released, and without, as in Theorem 4.1; four linear layers; a small
start on full batches. *Computed.* The answer to the probe mu_1 e_1 + mu_2 e_2 over training; when each coordinate is at
80% of its target; the same from the closed forms, W(t) without a bias and the affine one with it; the closed forms
against an integration that shares no line with them. *Asked.* Is the concept with the larger a_k = mu_k^2 / clusters +
var_k first, does the order flip where the two are equal, and is the time predicted?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from recombine.errors import UserError
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Row
from recombine.seeds import keys, uniform
from recombine.studies.identity_mapping._shared.flows import row
from recombine.studies.identity_mapping._shared.released import LEARNED, NetsConfig, spaced
from recombine.studies.identity_mapping.order import claims
from recombine.studies.identity_mapping.order.claims import EXACT
from recombine.studies.identity_mapping.order.seen import SEEN
from recombine.theory.identity.flow import affine, answer, augmented, log_residual_slope, one_layer
from recombine.theory.identity.linear_denoiser import first_times
from recombine.worlds.mixture import MixtureWorld

if TYPE_CHECKING:
    import polars
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
        answers = paths.answers[:, :, 0, :2]  # [T, n, 2]
        curves = {"median": answers.median(1).values}
        curves |= {f"start {i}": answers[:, i] for i in range(min(self.shown, self.starts))}
        times = first_times(paths.epochs, answers, LEARNED * targets)  # [n, 2]
        rows = [
            row(f"start {start}", f"time.{k}", time[k - 1])
            for start, time in enumerate(times.tolist())
            for k in CONCEPTS
        ]
        if self.net.layers == 1:
            forms = closed_forms(self.world, paths.epochs * self.time_per_epoch)
            curves |= forms
            for form, curve in forms.items():
                reached = first_times(paths.epochs, curve, LEARNED * targets)  # [2]
                rows += [row(form, f"time.{k}", float(reached[k - 1])) for k in CONCEPTS]
            rows += self._own_rows(paths.epochs, times) + self._exact_rows(paths.epochs)
            if self.slopes:
                rows += self._slope_rows(paths.epochs, answers, forms["affine" if self.net.bias else "plain"])
        kept = spaced(len(paths.epochs), self.moments)
        for node, curve in curves.items():
            for moment in kept:
                epoch, values = float(paths.epochs[moment]), curve[moment].tolist()
                rows += [row(node, f"f.{k}", values[k - 1], epoch) for k in CONCEPTS]
        for form, ratios in located_flips(self.flips, self.world, self.seeds.data).items():
            rows += [row(f"world {number}", f"flip.{form}", ratio) for number, ratio in enumerate(ratios)]
        return rows

    def _own_rows(self, epochs: Tensor, times: Tensor) -> list[Row]:
        """How far off, at worst of the two concepts, the closed form of a start's own weights is in time."""
        flat, time = self.world.replace(dimensions=2), epochs * self.time_per_epoch
        own, probe = self.own_starts(2), flat.probe()
        if self.net.bias:
            curve = affine(augmented(flat), own, time) @ torch.cat([probe, probe.new_ones(1)])
        else:
            curve = answer(flat.second_moment(), own, time, probe)
        predicted = first_times(epochs, curve, LEARNED * probe)  # [n, 2]
        errors = (times / predicted - 1).abs().amax(1)
        return [row(f"start {start}", "own.error", error) for start, error in enumerate(errors.tolist())]

    def _exact_rows(self, epochs: Tensor) -> list[Row]:
        """Theorem 4.1, or its affine form, against an integration, entry by entry, with one idle coordinate."""
        flat, moments = self.world.replace(dimensions=3), epochs[spaced(len(epochs), self.moments)]
        own, time = self.own_starts(3), moments * self.time_per_epoch
        closed = affine(augmented(flat), own, time) if self.net.bias else one_layer(flat.second_moment(), own, time)
        errors = (closed - integrated(flat, own, time)).abs().amax((0, 2, 3))  # [n]
        told = {"closed.worst": float(errors.max()), "closed.within": float((errors < EXACT).sum())}
        return [row("all", name, value) for name, value in {**told, "closed.starts": float(self.starts)}.items()]

    def _slope_rows(self, epochs: Tensor, answers: Tensor, form: Tensor) -> list[Row]:
        """The slope of the log residual over that of the closed form from rest, until that is at 80%."""
        targets, rows = self.world.probe()[:2], []
        until = first_times(epochs, form, LEARNED * targets)
        for k in CONCEPTS:
            window = epochs <= until[k - 1]
            measured = log_residual_slope(epochs[window], targets[k - 1] - answers[window][..., k - 1])  # [n]
            expected = log_residual_slope(epochs[window], targets[k - 1] - form[window][..., k - 1])
            rows.append(row("form", f"slope.{k}", float(expected) / self.time_per_epoch))  # -a_k without a bias
            ratios = (measured / expected).tolist()
            rows += [row(f"start {start}", f"slope.{k}", ratio) for start, ratio in enumerate(ratios)]
        return rows


def closed_forms(world: MixtureWorld, times: Tensor) -> dict[str, Tensor]:
    """The answer to the probe from rest, all weights 0, with a bias ("affine") and without ("plain").  # [T, 2] each"""
    flat = world.replace(dimensions=world.concepts)
    d, probe = flat.dimensions, flat.probe()
    with_one = affine(augmented(flat), probe.new_zeros(1, d, d + 1), times) @ torch.cat([probe, probe.new_ones(1)])
    return {
        "affine": with_one[:, 0],
        "plain": answer(flat.second_moment(), probe.new_zeros(1, d, d), times, probe)[:, 0],
    }


def integrated(world: MixtureWorld, start: Tensor, times: Tensor) -> Tensor:
    """Gradient flow on 1/2 E|f(x) - x|^2, summed cluster by cluster, by Dormand and Prince (8th order).  # [T, n, d, .]

    start [n, d, d], or [n, d, d + 1] with a bias behind the weights.
    """
    from scipy.integrate import solve_ivp

    shape, d = tuple(start.shape), world.dimensions
    centres, spread = world.centres().numpy(), np.zeros(d)
    spread[: world.concepts] = world.variances.numpy()
    seen = np.concatenate([centres, np.ones((len(centres), 1))], 1)[:, : shape[2]]  # what the weights multiply

    def velocity(_: float, flat: NDArray[np.float64]) -> NDArray[np.float64]:
        theta = flat.reshape(shape)
        error = np.einsum("nij,pj->npi", theta, seen) - centres  # at the middle of each cluster
        slope = np.einsum("npi,pj->nij", error, seen) / len(centres)
        slope[..., :d] += (theta[..., :d] - np.eye(d)) * spread  # from the spread about it
        fall: NDArray[np.float64] = -slope.reshape(-1)
        return fall

    found = solve_ivp(
        velocity, (0.0, float(times[-1])), start.numpy().reshape(-1), "DOP853", times.numpy(), rtol=1e-13, atol=1e-14
    )
    return torch.from_numpy(found.y.T.reshape(len(times), *shape))


def located_flips(number: int, like: MixtureWorld, seed: int) -> dict[str, list[float]]:
    """In drawn worlds, the var_1 at which both concepts are learned at once by each closed form, over the rule's.

    mu_1 in (0.5, 2), mu_2 larger by 0.1 to 2, var_2 in (0.01, 0.5). Bisection knows the order only, not the rule.
    """
    found: dict[str, list[float]] = {"affine": [], "plain": []}
    drawn = uniform(keys(seed, "identity flips", torch.arange(number)), (3,)).double().tolist()
    for first, gap, spread in drawn:
        weak = 0.5 + 1.5 * first
        strong, other = weak + 0.1 + 1.9 * gap, 0.01 + 0.49 * spread
        rule = (strong**2 - weak**2) / like.clusters + other
        for form, ratios in found.items():
            low, high = 0.0, 4 * (strong**2 + other)  # where concept 2 is first, and where concept 1 is
            for _ in range(24):
                middle = (low + high) / 2
                world = like.replace(dimensions=2, signals=(weak, strong), spreads=(middle, other))
                slowest = float(torch.linalg.eigvalsh(augmented(world))[0])
                times = torch.linspace(0, 8 / slowest, 800, dtype=torch.float64)
                one, two = first_times(times, closed_forms(world, times)[form], LEARNED * world.probe()).tolist()
                low, high = (middle, high) if one > two else (low, middle)
            ratios.append((low + high) / 2 / rule)
    return found


def draw(table: polars.DataFrame, config: OrderConfig) -> dict[str, Drawing]:
    """Fig 2, and times against the closed forms."""
    from recombine.studies.identity_mapping.order import figures

    caption = "Answers to the probe in concept space, the times at which concepts are learned, and the closed forms."
    return {"figure": Drawing(figures.figure(table), caption)}


def arms(
    like: OrderConfig, variances: tuple[float, ...], fine: tuple[float, ...], deep: int, flips: int
) -> dict[str, OrderConfig]:
    """The released sweeps of mu and var_1, a finer one about the flip, the same without a bias, small, and deep."""
    found: dict[str, OrderConfig] = {}

    def add(name: str, signals: tuple[int, int], variance: float, epochs: int, **changes: object) -> None:
        net, descent = like.net.replace(bias="no-bias" not in name), like.descent.replace(epochs=epochs)
        world = like.world.replace(signals=signals, spreads=(variance, 0.05))
        base = like.replace(world=world.model_dump(), net=net.model_dump(), descent=descent.model_dump())
        found[f"{name}/mu={signals[0]},{signals[1]}/var={variance:g}"] = base.replace(**changes)

    for variance in variances:
        add("bias", (1, 2), variance, 40, flips=flips if variance == variances[0] else 0)
    for signals in ((2, 2), (3, 2)):
        add("bias", signals, 0.05, 40)
    for variance in fine:
        add("bias", (1, 2), variance, 12)
    add("no-bias", (1, 2), 0.05, 24)
    for variance in sorted({*fine, 1.0}):
        add("no-bias", (1, 2), variance, 12)
    for name, epochs in (("small-bias", 24), ("small-no-bias", 14)):
        steps = epochs * like.steps_per_epoch
        rest = {"layers": 1, "bias": name == "small-bias", "scale": 0.01}
        add(name, (1, 2), 0.05, epochs, net=rest, descent={"batch": None, "steps": steps}, slopes=True)
    for signals in ((2, 4), (1, 2)):
        add("deep", signals, 0.05, 40, net={"layers": 4, "width": 64}, starts=deep, datasets=min(4, deep))
    return found


PAPER, FINE = (0.05, 0.1, 0.5, 1.0, 2.0), (0.8, 0.9, 1.1, 1.2)
SMOKE = OrderConfig(count=100, starts=6, datasets=2, every=1, moments=8)
# A quarter of the dimensions and of the steps: the same time of gradient flow in an epoch.
LAPTOP = OrderConfig(world=OrderConfig().world.replace(dimensions=16), count=1_250, starts=40, datasets=2, every=2)

EXPERIMENT = Experiment(
    study="identity-mapping",
    name="order",
    question="Which concept does an identity map learn first, and do the closed forms say when?",
    figure="Yang et al. 2025, Fig 2",
    budgets={
        "smoke": Budget(arms(SMOKE, (0.05, 2.0), (0.9, 1.2), 5, 5), 1, "a few seconds; proves the path"),
        "laptop": Budget(arms(LAPTOP, PAPER, (0.8, 1.2), 10, 20), 1, "40 starts in 16 dimensions, seconds"),
        "full": Budget(arms(OrderConfig(), PAPER, FINE, 20, 200), 1, "200 starts, two minutes on two CPU cores"),
    },
    claims=claims.ORDER,
    draw=draw,
    notes=(
        "images_seen counts thousandths of an epoch; an epoch is 118 steps, also where a step is on all points.",
        "Sigma is read as a variance, as the released code passes it, and there is always a cluster at the origin: "
        "a_k = mu_k^2 / 3 + var_k. Points are mixed once and come in the same order ever after.",
        "A concept is learned when its coordinate of f(probe) first is at 80% of its target, read every 8 steps and "
        "in proportion between; read at epochs only, as on plots, the strong concept's 3 epochs become 4.",
        "Slopes are fitted from the start to the time at which the closed form is at 80%, on full batches with the "
        "start scaled by 0.01: with PyTorch's own start every coordinate carries the slowest rate in its tail.",
        "Deep: run 28 has mu (2, 4), a digest of the paper says (1, 2); both are run.",
    ),
    seen=SEEN,
)
