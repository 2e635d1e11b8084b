"""Does a network hold a torus? Geometry and topology of its blocks while it learns a periodic world of bumps."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from recombine.instruments.bumps.evaluation import PlacesEvaluation
from recombine.instruments.bumps.subject import Subject, place_keys
from recombine.instruments.observation import Row
from recombine.instruments.representations.activations import activations, compact, last_step, stages
from recombine.instruments.representations.geometry import Geometry, measure
from recombine.instruments.representations.null import as_grid
from recombine.instruments.representations.topology import persistence

QUANTILES = 41  # of the statistics of ring pairs that a figure shows
SPECTRUM = 15  # principal components whose share is kept
BARS = 3  # of each dimension that are kept
HOMOLOGY_GRID = 16  # places along each axis that homology takes: more cost minutes and say the same


class TorusEvaluation(PlacesEvaluation):
    """That of bumps and, at some milestones, the activations of every block at the last step of the generation."""

    kind: Literal["torus"] = "torus"
    probes: int = Field(default=5, ge=1, description="milestones at which blocks are measured, the last included")
    homology: tuple[str, ...] = ("up.0",)  # blocks whose holes are counted at the end; needs the extra `topology`

    def further(self, subject: Subject) -> list[Row]:
        """Rows of every block, at the milestones chosen for it; at the end also distributions and holes."""
        if subject.seen not in self.chosen(subject.training, self.probes):
            return []
        finished = subject.seen == subject.training.total
        world, model, device = subject.world, subject.sampler.model, subject.device
        labels = self.places(world)
        key = place_keys(world, labels, subject.seeds.sampling).to(device)
        condition = world.condition(labels).to(device)
        denoise, schedule = subject.sampler.denoise, subject.schedule
        x, sigma = last_step(denoise, self.sampler, schedule, world.image_shape, condition, key)
        rows: list[Row] = []
        for name, values in activations(model, x, sigma, condition, list(stages(model))).items():
            node = {"block": name, "trained": True}
            rows += representation_rows(node, as_grid(compact(values)), finished, finished and name in self.homology)
        return rows


def representation_rows(of: Row, grid: ArrayLike, whole: bool, holes: bool) -> list[Row]:
    """The numbers of one representation [n_x, n_y, D], which columns `of` name; with `whole` also its distributions,
    with `holes` its bars.
    """
    points = np.asarray(grid, dtype=np.float64)
    if not np.ptp(points, axis=(0, 1)).any():
        return []  # a block that is the same for every place has no shape
    found = measure(points, SPECTRUM)
    rows = found.rows()
    if whole:
        rows += _distributions(found)
    if holes:
        rows += _holes(points)
    return [{**of, **row, "value": row["value"] if np.isfinite(row["value"]) else None} for row in rows]


def _distributions(found: Geometry) -> list[Row]:
    rows: list[Row] = [
        {"instrument": "spectrum", "component": i + 1, "value": float(share)} for i, share in enumerate(found.shares)
    ]
    at = np.linspace(0, 1, QUANTILES)
    for test, pairs in found.tests.items():
        for statistic, values in (("residual", pairs.residual), ("cosines", pairs.cosines.ravel())):
            rows += [
                {"instrument": f"pairs.{statistic}", "rings": test, "quantile": float(q), "value": float(value)}
                for q, value in zip(at, np.quantile(values, at), strict=True)
            ]
    return rows


def _holes(points: NDArray[np.float64]) -> list[Row]:
    step = max(1, points.shape[0] // HOMOLOGY_GRID)
    found = persistence(points[::step, ::step])
    rows: list[Row] = []
    for dimension, (bars, betti) in enumerate(zip(found.bars, found.betti, strict=True)):
        count = np.nan if betti is None else float(betti)
        rows.append({"instrument": "homology.betti", "dimension": dimension, "value": count})
        for i, ends in enumerate(bars[:BARS]):
            place = {"dimension": dimension, "bar": i + 1}
            rows += [
                {"instrument": f"homology.{name}", **place, "value": float(end)}
                for name, end in zip(("birth", "death"), ends, strict=True)
            ]
    return rows
