"""Yang et al. 2025, Figs 15 and 16: does the answer to the probe depend on a few training points near it?

*Data.* Two concepts and the origin in 64 dimensions, as released; then the same points, but those within min(mu) / 2 of
the probe drawn again until they are outside; and, as a yardstick, other points of the same law. *Model.* One linear
layer with a bias, and two layers with ReLU. *Computed.* How many points lie inside at all; for each start, the largest
distance between the two paths of f(probe), over |probe|, and how much later a concept is learned; the same between two
sets of points of the same law. *Asked.* Is the path the same, and is it where truncation takes something away?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity_networks import NetsConfig, Paths
from recombine.runs.work import Row
from recombine.studies.identity_mapping._shared.rows import per_start, row
from recombine.theory.identity.curves import first_times, spaced
from recombine.theory.identity.flow import affine
from recombine.theory.identity.order import LEARNED

if TYPE_CHECKING:
    from torch import Tensor


CONCEPTS = (1, 2)


class TruncationConfig(NetsConfig):
    """Two concepts, with and without the points near the probe."""

    kind: Literal["identity-truncation"] = "identity-truncation"
    every: int = Field(default=24, ge=1)
    moments: int = Field(default=40, ge=2, description="of a curve that is kept")

    def check(self) -> None:
        if self.world.concepts != 2 or min(self.world.signals) <= 0:
            raise UserError("truncation is about two concepts with signals above 0: set world.signals=[1,2]")
        if self.world.truncated:
            raise UserError("truncation makes the truncated world itself: leave world.truncated off")

    def rows(self) -> list[Row]:
        """Points inside; shifts of the paths and of the times; the median paths."""
        probe = self.world.probe()
        radius = min(self.world.signals) / 2
        drawn = [self.world.points(self.count, seed) for seed in self.data_seeds()]
        inside = [int(((points - probe).norm(dim=1) < radius).sum()) for points in drawn]
        rows = [row("inside", found, dataset=number) for number, found in enumerate(inside)]
        rows += [row("points", len(drawn[0])), *(row("probe", float(probe[k - 1]), concept=k) for k in CONCEPTS)]

        whole = self.paths(probe[None])
        # Where no point is inside, the truncated points are the same points.
        cut = self.paths(probe[None], self.world.replace(truncated=True)) if any(inside) else whole
        other = self.paths(probe[None], kind="other points")
        for instrument, path in (("shift", cut), ("redrawn", other)):
            rows += per_start(instrument, (path.answers - whole.answers)[:, :, 0].norm(dim=-1).amax(0) / probe.norm())
            later = self._times(path) / self._times(whole)  # [n, 2]
            rows += [each for k in CONCEPTS for each in per_start(f"{instrument}.time", later[:, k - 1], concept=k)]
        for name, path in (("whole", whole), ("cut", cut)):
            median = path.answers[:, :, 0, :2].median(1).values  # [T, 2]
            rows += [
                row("answer.median", float(median[moment, k - 1]), points=name, concept=k,
                    epoch=float(path.epochs[moment]))
                for moment in spaced(len(whole.epochs), self.moments)
                for k in CONCEPTS
            ]  # fmt: skip
        return rows + self._predicted() + self._cloud(drawn[0], radius)

    def _times(self, path: Paths) -> Tensor:
        """When each concept is learned.  # [n, 2]"""
        return first_times(path.epochs, path.answers[:, :, 0, :2], LEARNED * self.world.probe()[:2])

    def _predicted(self) -> list[Row]:
        """How much later the affine form learns each concept on the truncated points of a dataset, from rest."""
        if self.net.layers > 1 or not self.net.bias:
            return []
        flat, rows = self.world.replace(dimensions=2), []
        epochs = torch.linspace(0, self.descent.epochs, 50 * self.descent.epochs + 1, dtype=torch.float64)
        probe = torch.cat([flat.probe(), flat.probe().new_ones(1)])
        for number, seed in enumerate(self.data_seeds()):
            learned = []
            for world in (flat, flat.replace(truncated=True)):
                points = world.points(self.count, seed)
                inputs = torch.cat([points, torch.ones_like(points[:, :1])], 1)
                moments = inputs.T @ inputs / len(inputs)  # [3, 3]
                theta = affine(moments, points.new_zeros(1, 2, 3), epochs * self.time_per_epoch)[:, 0]
                learned.append(first_times(epochs, theta @ probe, LEARNED * flat.probe()))
            later = (learned[1] / learned[0]).tolist()
            rows += [row("predicted.time", later[k - 1], dataset=number, concept=k) for k in CONCEPTS]
        return rows

    def _cloud(self, points: Tensor, radius: float) -> list[Row]:
        """A hundred points of each cluster, for the eye."""
        probe, few = self.world.probe(), min(100, self.count)
        shown = torch.cat([part[:few] for part in points.reshape(self.world.clusters, self.count, -1)])
        inside = ((shown - probe).norm(dim=1) < radius).tolist()
        return [
            row("x", place[k - 1], point=number, inside=near, concept=k)
            for number, (place, near) in enumerate(zip(shown[:, :2].tolist(), inside, strict=True))
            for k in CONCEPTS
        ]


def arms(like: TruncationConfig, relu: int, epochs: int) -> dict[str, TruncationConfig]:
    """The labelled and the released sigma, and where truncation bites: wide clusters, weak signals; one with ReLU."""
    settings: dict[str, dict[str, Any]] = {
        "label": {"spread_as": "deviation"},
        "released": {},
        "wide": {"spreads": (0.5, 0.5)},
        "weak": {"signals": (0.5, 1.0), "spreads": (0.5, 0.5)},
        "round": {"signals": (2.0, 2.0), "spreads": (1.0, 1.0)},
    }
    found = {name: like.replace(world=like.world.replace(**change).model_dump()) for name, change in settings.items()}
    nets = {"layers": 2, "activation": "relu", "width": like.world.dimensions}
    descent = like.descent.replace(epochs=epochs).model_dump()
    small = {"net": nets, "descent": descent, "starts": relu, "datasets": min(2, relu)}
    return {**found, "wide relu": found["wide"].replace(**small)}


LAPTOP = TruncationConfig(
    world=TruncationConfig().world.replace(dimensions=16), count=1_250, starts=40, datasets=2, every=6
)

EXPERIMENT = Experiment(
    question="Does the answer to the probe depend on the few training points that lie near it?",
    figure="Yang et al. 2025, Figs 15 and 16",
    budgets={
        "smoke": Budget(arms(TruncationConfig(count=100, starts=6, datasets=2), 5, 2), 1, "seconds; proves the path"),
        "laptop": Budget(arms(LAPTOP, 10, 20), 1, "40 starts in 16 dimensions, seconds"),
        "full": Budget(arms(TruncationConfig(), 20, 12), 1, "200 starts, two minutes on two CPU cores"),
    },
    columns={"start": int, "dataset": int, "point": int, "inside": bool, "points": str, "concept": int, "epoch": float},
    assumptions=(
        "An epoch is 118 steps.",
        "label: sigma 0.05 as a standard deviation, as figures are labelled; released: as a variance, as the code has "
        "it. wide: variance 0.5; weak: the same with mu (0.5, 1); round: mu (2, 2), variance 1.",
        "A point inside is drawn again; all others, their order and the start are the same, so that paths differ by "
        "truncation alone. Redrawn: the same start, all points drawn anew, none cut.",
        "Unchanged means: the largest distance between the two paths of a start is below 5% of |probe|. A path "
        "can be the same and be walked later: S11t and S11u, added after a first run, hold the times to the same 5%.",
        "S11p, also added, compares the delay with that of the affine form on the truncated points' own second "
        "moments. Intervals are over starts; there are four datasets, as the bands of starts show.",
    ),
)
