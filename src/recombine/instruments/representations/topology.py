"""Persistent homology of a representation: which holes the cloud of its points has, and how long they last.

Liang et al. 2024, Fig. 2: a torus has Betti numbers (1, 2, 1). So have the raw pixels of the bump world: holes show
what a representation keeps of its data, not what a network learned. The Rips complex of n points can take n^3 memory:
its cost is estimated before it is built, and where it is too much fewer points are taken. Needs gudhi (the extra
`topology`).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recombine.errors import UserError

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

BUDGET = 2**30  # bytes
BYTES_A_TRIANGLE = 160  # of the collapsed graph; measured: 2 to 5 on noisy points, 13 to 138 on exact grids with ties
BYTES_A_PAIR = 136  # of points: distances, edges, counting triangles; measured: 74 to 133
FIELD = 11  # homology modulo a prime above 2 tells a torus from a Klein bottle
GAPS = (1.5, 1.5, 2.0)  # H0, H1, H2: how many times longer than the next the last bar that counts is at least
NOISE = 0.05  # of the enclosing radius: a shorter bar is no hole
MOST = 3  # holes of one dimension that are counted


@dataclass(frozen=True)
class Cost:
    """An upper estimate of what a Rips complex up to H2 takes."""

    points: int
    edges: int  # after the edge collapse; of all pairs where already their distances are too many
    triangles: int

    @property
    def bytes(self) -> int:
        """Of memory, at the most that was measured a triangle."""
        return self.triangles * BYTES_A_TRIANGLE + self.points**2 * BYTES_A_PAIR

    def __str__(self) -> str:
        counts = f"{self.points} points ({self.edges:,} edges, {self.triangles:,} triangles)"
        return f"{counts} take up to {_size(self.bytes)}"


@dataclass(frozen=True)
class Persistence:
    """Bars in units of the enclosing radius, at which every hole is closed."""

    bars: tuple[Array, Array, Array]  # H0, H1, H2: [bars, 2] birth and death, the longest first
    rows: Rows  # [landmarks]: the points that were taken
    cost: Cost  # of these

    @property
    def betti(self) -> tuple[int | None, int | None, int | None]:
        """How many bars of each dimension stand out: (1, 2, 1) for a torus."""
        b0, b1, b2 = (standing_out(bars[:, 1] - bars[:, 0], gap) for bars, gap in zip(self.bars, GAPS, strict=True))
        return b0, b1, b2


def persistence(points: ArrayLike, budget: int = BUDGET, strict: bool = False) -> Persistence:
    """Bars of points [n, D] or of a grid [n_x, n_y, D]; of landmarks if all of them do not fit into `budget` bytes.

    With `strict` there are no landmarks: a UserError says what all points would take. Finding that out can take a
    minute for 1,024 points; hand over a coarser grid if 256 of them will do.
    """
    cloud = _cloud(points)
    rows = np.arange(math.prod(cloud.shape[:-1]))
    cost, graph = _estimate(cloud, rows, budget)
    if cost.bytes > budget:
        rows = landmarks(cloud, _certain_to_fit(budget))
        if strict:
            raise UserError(
                f"{cost}, more than {_size(budget)}: raise the budget, or allow landmarks ({len(rows)} points would do)"
            )
        cost, graph = _estimate(cloud, rows, budget)
    return Persistence(_bars(graph), rows, cost)


def estimate(points: ArrayLike, budget: int = BUDGET) -> Cost:
    """What the complex of all points would take; more than `budget` bytes are not used to find out."""
    cloud = _cloud(points)
    return _estimate(cloud, np.arange(math.prod(cloud.shape[:-1])), budget)[0]


def landmarks(points: ArrayLike, count: int) -> Rows:
    """At most `count` of the points: the finest regular subgrid of a grid that has one, else the farthest points.

    A subgrid has the same step everywhere, around a seam too, and at least 6 points along each axis. Farthest points
    start with the one farthest from the mean; each next one is the farthest from all before.  # [landmarks]
    """
    cloud = _cloud(points)
    if cloud.ndim == 3:
        n_x, n_y = cloud.shape[:2]
        for step in range(1, min(n_x, n_y) // 6 + 1):
            if n_x % step == n_y % step == 0 and (n_x // step) * (n_y // step) <= count:
                return np.arange(n_x * n_y).reshape(n_x, n_y)[::step, ::step].flatten()
    flat = cloud.reshape(-1, cloud.shape[-1])
    rows = [int(((flat - flat.mean(0)) ** 2).sum(1).argmax())]
    nearest = np.full(len(flat), np.inf)  # squared distance to the landmarks so far
    while len(rows) < min(count, len(flat)):
        nearest = np.minimum(nearest, ((flat - flat[rows[-1]]) ** 2).sum(1))
        rows.append(int(nearest.argmax()))
    return np.array(rows)


def standing_out(lengths: ArrayLike, gap: float) -> int | None:
    """How many of the bars are holes: those before the largest relative drop, if it is at least `gap`-fold.

    So H1 of a torus has 2 if its second bar is 1.5 times its third, and no other drop is larger. 0 if no bar is longer
    than NOISE; None if some are but none stands out. Only the MOST longest bars count.
    """
    falling = np.sort(np.asarray(lengths, dtype=np.float64))[::-1]
    if not len(falling) or falling[0] <= NOISE:
        return 0
    padded = np.append(falling, np.zeros(MOST + 1)).clip(NOISE, None)  # a bar below NOISE is as good as none
    drops = padded[:MOST] / padded[1 : MOST + 1]
    return int(drops.argmax()) + 1 if drops.max() >= gap else None


def _estimate(cloud: Array, rows: Rows, budget: int) -> tuple[Cost, Any]:
    """The cost of these points, and their collapsed graph (None where it was not made)."""
    n = len(rows)
    if n**2 * BYTES_A_PAIR > budget:
        return Cost(n, math.comb(n, 2), math.comb(n, 3)), None
    graph = _collapsed(cloud.reshape(-1, cloud.shape[-1])[rows])
    joined = np.zeros((n, n), dtype=np.float32)
    joined[graph.row, graph.col] = joined[graph.col, graph.row] = 1
    corners = ((joined @ joined) * joined).sum(dtype=np.float64)  # each triangle six times
    return Cost(n, int(graph.nnz), round(corners / 6)), graph


def _collapsed(flat: Array) -> Any:
    """Edges up to the enclosing radius, in units of it, less those whose collapse leaves the homology unchanged."""
    from scipy.sparse import coo_matrix

    reduce_graph, _ = _gudhi()
    centred = flat - flat.mean(0)
    squares = (centred**2).sum(1)
    distances = np.sqrt((squares[:, None] + squares - 2 * centred @ centred.T).clip(0, None))
    distances /= distances.max(1).min()  # the enclosing radius: from there on all complexes are cones
    first, second = np.nonzero(np.triu(distances <= 1, 1))
    return reduce_graph(coo_matrix((distances[first, second], (first, second)), shape=distances.shape))


def _bars(graph: Any) -> tuple[Array, Array, Array]:
    _, rips = _gudhi()
    machine = rips(
        homology_dimensions=[0, 1, 2], threshold=1.0, input_type="distance coo_matrix", num_collapses=0,
        homology_coeff_field=FIELD,
    )  # fmt: skip
    diagrams = machine.fit_transform([graph])[0]
    bars = [np.asarray(diagram, dtype=np.float64).reshape(-1, 2).clip(None, 1.0) for diagram in diagrams]
    h0, h1, h2 = (each[np.argsort(each[:, 0] - each[:, 1], kind="stable")] for each in bars)
    return h0, h1, h2


def _gudhi() -> tuple[Any, Any]:
    """Edge collapse and implicit Rips persistence; gudhi's simplex tree would list 10^8 simplices of 256 points."""
    try:
        from gudhi.flag_filtration.edge_collapse import reduce_graph
        from gudhi.sklearn import RipsPersistence
    except ImportError as error:
        raise UserError("persistent homology needs gudhi: pip install 'recombine[topology]'") from error
    return reduce_graph, RipsPersistence


def _certain_to_fit(budget: int) -> int:
    """How many points fit whatever their distances are."""
    count = 0
    while Cost(count + 1, math.comb(count + 1, 2), math.comb(count + 1, 3)).bytes <= budget:
        count += 1
    if count < 36:
        raise UserError(f"a budget of {_size(budget)} is too small for persistent homology: give at least 2 MB")
    return count


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _cloud(points: ArrayLike) -> Array:
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim not in (2, 3) or math.prod(cloud.shape[:-1]) < 4:
        raise UserError(f"points of shape {cloud.shape}: give [n, D] or a grid [n_x, n_y, D], at least 4 of them")
    if not np.isfinite(cloud).all():
        raise UserError("the points hold NaN or infinities: leave this layer or checkpoint out")
    if not np.ptp(cloud.reshape(-1, cloud.shape[-1]), axis=0).any():
        raise UserError("all points are the same: there is no shape to measure")
    return cloud
