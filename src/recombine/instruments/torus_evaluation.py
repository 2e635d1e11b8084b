"""Does a network hold a torus? Geometry and topology of its blocks while it learns a periodic world of bumps."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from recombine.diffusion.schedules import Schedule
from recombine.instruments.activations import activations, compact, last_step, stages
from recombine.instruments.bump_evaluation import PlacesEvaluation, place_keys
from recombine.instruments.geometry import Geometry, measure
from recombine.instruments.null_representations import as_grid
from recombine.instruments.observation import Row
from recombine.instruments.topology import persistence
from recombine.training.inference import FastDenoiser
from recombine.training.replica import TrainingConfig
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit

QUANTILES = 41  # of the statistics of ring pairs that a figure shows
SPECTRUM = 15  # principal components whose share is kept
BARS = 3  # of each dimension that are kept
HOMOLOGY_GRID = 16  # places along each axis that homology takes: more cost minutes and say the same


class TorusEvaluation(PlacesEvaluation):
    """That of bumps; and, at some milestones, the activations of every block at the last step of the generation."""

    kind: Literal["torus"] = "torus"
    looks: int = Field(default=5, ge=1, description="milestones at which blocks are looked at, the last included")
    homology: tuple[str, ...] = ("up.0",)  # blocks whose holes are counted at the end; needs the extra `topology`

    def further(
        self, sampler: FastDenoiser, schedule: Schedule, world: BumpsWorld, split: LabelSplit, seed: int,
        training: TrainingConfig, seen: int,
    ) -> list[Row]:  # fmt: skip
        """Rows of every block, at the milestones chosen for it; at the end also distributions and holes."""
        if seen not in self.chosen(training, self.looks):
            return []
        finished = seen == training.total
        device = next(sampler.model.parameters()).device
        labels = self.places(world)
        condition, key = world.condition(labels).to(device), place_keys(world, labels, seed).to(device)
        x, sigma = last_step(sampler.denoise, self.sampler, schedule, world.image_shape, condition, key)
        names = list(stages(sampler.model))
        rows: list[Row] = []
        for name, values in activations(sampler.model, x, sigma, condition, names).items():
            rows += representation_rows(name, as_grid(compact(values)), finished, finished and name in self.homology)
        return rows


def representation_rows(node: str, grid: ArrayLike, whole: bool, holes: bool) -> list[Row]:
    """The numbers of one representation [n_x, n_y, D]; with `whole` also its distributions, with `holes` its bars."""
    points = np.asarray(grid, dtype=np.float64)
    if not np.ptp(points, axis=(0, 1)).any():
        return []  # a block that says the same of every place has no shape
    found = measure(points, SPECTRUM)
    numbers = {f"geometry.{name}": value for name, value in found.numbers().items()}
    if whole:
        numbers |= _distributions(found)
    if holes:
        numbers |= _holes(points)
    return [
        {"node": node, "instrument": name, "value": value if np.isfinite(value) else None}
        for name, value in numbers.items()
    ]


def _distributions(found: Geometry) -> Mapping[str, float]:
    rows = {f"spectrum.{i + 1}": float(share) for i, share in enumerate(found.shares)}
    at = np.linspace(0, 1, QUANTILES)
    for test, pairs in found.tests.items():
        for statistic, values in (("residual", pairs.residual), ("cosines", pairs.cosines.ravel())):
            for k, value in enumerate(np.quantile(values, at)):
                rows[f"{test}.{statistic}.q{k}"] = float(value)
    return rows


def _holes(points: NDArray[np.float64]) -> Mapping[str, float]:
    step = max(1, points.shape[0] // HOMOLOGY_GRID)
    found = persistence(points[::step, ::step])
    rows: dict[str, float] = {}
    for dimension, (bars, betti) in enumerate(zip(found.bars, found.betti, strict=True)):
        rows[f"homology.b{dimension}"] = np.nan if betti is None else float(betti)
        for i, (birth, death) in enumerate(bars[:BARS]):
            rows[f"homology.H{dimension}.{i + 1}.birth"] = float(birth)
            rows[f"homology.H{dimension}.{i + 1}.death"] = float(death)
    return rows
