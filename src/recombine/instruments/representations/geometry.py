"""The shape of a representation of two periodic variables: its dimension, its rings, and how far it is from a torus.

Liang et al. 2024, Sec. 3.1 and App. C. H [n_x, n_y, D] holds what a network (or an image) has at x = i, y = j. The
ring "x fixed" at i is H[i, :], the ring "y fixed" at j is H[:, j]; each is centred on its own mean and has a plane,
spanned by its first two principal components. Two tests compare planes: by principal cosines, since the two components
of a circle are arbitrary and cosines between single ones mean nothing, and by what is left of a ring projected on
another's plane. Everything is unchanged if H is moved, turned or scaled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recombine.errors import UserError
from recombine.instruments.observation import Row
from recombine.worlds.bumps import EXPONENT

Array = NDArray[np.float64]

TESTS = ("x on y", "x on x", "y on y")
TORI = ("Clifford torus", "3D torus", "3D torus, swapped")  # swapped: x runs around the tube instead of the hole
FLAT = 1e-12  # a ring whose second principal component has less of the whole variance a point than this has no plane
WIDTHS = np.geomspace(0.2, 100.0, 2_000)  # of bumps to compare with: a narrower one fits into its own pixel


@dataclass(frozen=True)
class Pairs:
    """One test over pairs of rings. Where a ring has no plane there is NaN."""

    cosines: Array  # [pairs, 2] principal cosines of the two planes, the larger first
    residual: Array  # [pairs] r: the share of the first ring's variance that is not in the second ring's plane

    @property
    def overlap(self) -> Array:
        """S = |U1' U2|_F^2 / 2: 0 for orthogonal planes, 1 for parallel ones.  # [pairs]"""
        return np.asarray((self.cosines**2).mean(1))

    @property
    def residual_in_plane(self) -> Array:
        """r2 = 1 - S: what r would be if the first ring were a circle in its own plane.  # [pairs]"""
        return 1 - self.overlap


@dataclass(frozen=True)
class Geometry:
    """All numbers of one representation."""

    participation_ratio: float
    shares: Array  # [k] of the variance in each principal component, the largest first
    additive_fraction: float  # of the variance that is a function of x plus a function of y
    tests: dict[str, Pairs]  # by TESTS
    own_floor: dict[str, float]  # "x", "y": the mean share of an x-fixed (y-fixed) ring outside of its own plane
    distances: dict[tuple[str, str, str], float]  # (test, "cosines" | "overlap" | "residual", torus): Wasserstein-1
    width_by_ratio: float | None  # of periodic bumps whose pixels have this participation ratio, in steps of the grid
    width_by_additive: float | None  # ... that have this additive fraction

    def rows(self) -> list[Row]:
        """Every number, means over pairs of rings; a width that no bump has is left out.

        `rings` is the test that a number is of, `torus` the ideal one that a distance is to.
        """
        plain = {"participation ratio": self.participation_ratio, "additive fraction": self.additive_fraction}
        plain |= {f"top-{count} share": float(self.shares[:count].sum()) for count in (2, 4)}
        plain |= {f"own floor.{axis}": value for axis, value in self.own_floor.items()}
        for name, width in (("ratio", self.width_by_ratio), ("additive fraction", self.width_by_additive)):
            if width is not None:
                plain[f"width by {name}"] = width
        rows: list[Row] = [{"instrument": f"geometry.{name}", "value": value} for name, value in plain.items()]
        for test, pairs in self.tests.items():
            means = {"cosine": pairs.cosines, "overlap": pairs.overlap, "residual": pairs.residual,
                     "residual in plane": pairs.residual_in_plane}  # fmt: skip
            rows += [
                {"instrument": f"geometry.{name}", "rings": test, "value": float(values.mean())}
                for name, values in means.items()
            ]
        rows += [
            {"instrument": f"distance.{statistic}", "rings": test, "torus": torus, "value": value}
            for (test, statistic, torus), value in self.distances.items()
        ]
        return rows


def measure(representation: ArrayLike, top: int = 16) -> Geometry:
    """Everything at once; `top` principal components keep their share."""
    reduced = _reduced(representation)
    tests, floors = _ring_tests(reduced)
    ratio, additive = participation_ratio(reduced), additive_fraction(reduced)
    distances = {}
    for torus in TORI:
        ideal = _torus_tests(torus, *reduced.shape[:2])
        for name, pairs in tests.items():
            for statistic in ("cosines", "overlap", "residual"):
                distances[name, statistic, torus] = wasserstein(
                    getattr(pairs, statistic), getattr(ideal[name], statistic)
                )
    return Geometry(
        participation_ratio=ratio,
        shares=spectrum(reduced)[:top],
        additive_fraction=additive,
        tests=tests,
        own_floor=floors,
        distances=distances,
        width_by_ratio=width_with(bump_participation_ratio, ratio, *reduced.shape[:2]),
        width_by_additive=width_with(bump_additive_fraction, additive, *reduced.shape[:2]),
    )


def participation_ratio(representation: ArrayLike) -> float:
    """(sum l)^2 / sum l^2 over the principal variances l: how many directions share the variance."""
    gram = _gram(representation)
    return float(_ratio(np.trace(gram) ** 2, (gram**2).sum()))


def spectrum(representation: ArrayLike) -> Array:
    """Shares of the variance of the principal components, the largest first.  # [min(points, D)]"""
    variances = np.linalg.eigvalsh(_gram(representation))[::-1].clip(0, None)
    return np.asarray(_ratio(variances, variances.sum()))


def additive_fraction(representation: ArrayLike) -> float:
    """The share of variance of the main effects of x and of y, as in a two-way analysis of variance.

    1 if H[i, j] = f(i) + g(j), the factorised code; what is missing is the interaction of x and y.
    """
    grid = _grid(representation)
    centred = grid - grid.mean((0, 1))
    of_x, of_y = (centred.mean(1) ** 2).sum() / len(grid), (centred.mean(0) ** 2).sum() / grid.shape[1]
    return float(_ratio(of_x + of_y, (centred**2).sum() / (len(grid) * grid.shape[1])))


def ring_tests(representation: ArrayLike) -> dict[str, Pairs]:
    """The pairs of rings of each test.

    "x on y": every x-fixed ring on the plane of every y-fixed one; "x on x" and "y on y": every ordered pair of two.
    """
    return _ring_tests(_reduced(representation))[0]


def wasserstein(one: ArrayLike, other: ArrayLike) -> float:
    """Wasserstein-1 distance of two samples of equal size: the mean distance of their sorted values."""
    left, right = (np.sort(np.asarray(sample, dtype=np.float64), axis=None) for sample in (one, other))
    return float(np.abs(left - right).mean())


def torus(name: str, n_x: int, n_y: int, hole: float = 2.0, tube: float = 1.0) -> Array:
    """An ideal torus on a regular grid of angles: one of TORI. `hole` and `tube` are R and r.  # [n_x, n_y, 3 or 4]"""
    if name not in TORI:
        raise ValueError(f"{name!r} is none of {TORI}")
    x, y = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (n_x, n_y)), indexing="ij")
    if name == "Clifford torus":
        return np.stack([np.cos(x), np.sin(x), np.cos(y), np.sin(y)], -1)
    around, along = (x, y) if name == "3D torus" else (y, x)
    reach = hole + tube * np.cos(along)
    return np.stack([reach * np.cos(around), reach * np.sin(around), tube * np.sin(along)], -1)


def bump_participation_ratio(width: float, n_x: int, n_y: int) -> float:
    """Of the pixels of a periodic bump at every place of the grid."""
    variances = np.outer(_bump_modes(width, n_x), _bump_modes(width, n_y))
    variances[0, 0] = 0  # the mean image
    return float(variances.sum() ** 2 / (variances**2).sum())


def bump_additive_fraction(width: float, n_x: int, n_y: int) -> float:
    """Of the pixels of a periodic bump at every place of the grid."""
    variances = np.outer(_bump_modes(width, n_x), _bump_modes(width, n_y))
    variances[0, 0] = 0
    return float((variances[0].sum() + variances[:, 0].sum()) / variances.sum())


def width_with(statistic: Callable[[float, int, int], float], value: float, n_x: int, n_y: int) -> float | None:
    """The width s_eff of the periodic bump whose pixels have this statistic, in steps of the grid.

    A conjunctive code of that width explains the number without any factorisation. Widths are searched up to the first
    turn of the statistic (the participation ratio falls to 4.5 near 10 of 32 px and then rises a little), so that the
    answer is unique; None for a value that no bump among WIDTHS has.
    """
    values = _over_widths(statistic, n_x, n_y)  # monotone
    rising = values[0] < values[-1]
    if not values.min() <= value <= values.max():
        return None
    order = slice(None) if rising else slice(None, None, -1)
    logs = np.log(WIDTHS[: len(values)])
    return float(np.exp(np.interp(value, values[order], logs[order])))


@cache
def _over_widths(statistic: Callable[[float, int, int], float], n_x: int, n_y: int) -> Array:
    """The statistic at WIDTHS, as far as it goes one way.  # [at most widths]"""
    values = np.array([statistic(float(width), n_x, n_y) for width in WIDTHS])
    steps = np.diff(values)
    turned = np.flatnonzero(steps * np.sign(steps[np.abs(steps).argmax()]) <= 0)
    turned = turned[turned > np.abs(steps).argmax()]
    return values[: turned[0] + 1] if len(turned) else values


def _bump_modes(width: float, pixels: int) -> Array:
    """Power of a periodic bump's profile in each Fourier mode.  # [pixels]

    An image is the product of two profiles and all places are its shifts, so the principal variances of the pixels are
    the products of these; those with one mode 0 belong to x alone or y alone.
    """
    away = np.minimum(np.arange(pixels), pixels - np.arange(pixels))
    return np.asarray(np.abs(np.fft.fft(np.exp(-(away**2) / (EXPONENT * width**2)))) ** 2)


@cache
def _torus_tests(name: str, n_x: int, n_y: int) -> dict[str, Pairs]:
    return _ring_tests(torus(name, n_x, n_y))[0]


def _ring_tests(grid: Array) -> tuple[dict[str, Pairs], dict[str, float]]:
    """Pairs of every test and mean own floors; `grid` should be of few dimensions."""
    spread = ((grid - grid.mean((0, 1))) ** 2).sum(-1).mean()
    x_rings, y_rings = (rings - rings.mean(1, keepdims=True) for rings in (grid, grid.swapaxes(0, 1)))
    x_planes, y_planes = _planes(x_rings, spread), _planes(y_rings, spread)
    every = np.ones((len(x_rings), len(y_rings)), dtype=bool)
    return {
        "x on y": _pairs(x_rings, x_planes, y_planes, every),
        "x on x": _pairs(x_rings, x_planes, x_planes, ~np.eye(len(x_rings), dtype=bool)),
        "y on y": _pairs(y_rings, y_planes, y_planes, ~np.eye(len(y_rings), dtype=bool)),
    }, {"x": _own_floor(x_rings, x_planes), "y": _own_floor(y_rings, y_planes)}


def _planes(rings: Array, spread: float) -> Array:
    """The first two principal components of each centred ring, NaN if it has no two.  # [rings, 2, D]"""
    _, values, components = np.linalg.svd(rings, full_matrices=False)
    flat = ~(values[:, 1] ** 2 / rings.shape[1] > FLAT * spread)
    return np.where(flat[:, None, None], np.nan, components[:, :2])


def _pairs(rings: Array, own: Array, planes: Array, kept: NDArray[np.bool_]) -> Pairs:
    """Each of `rings`, with its `own` plane, against each of `planes`, where `kept`."""
    products = np.einsum("iad,jbd->ijab", own, planes, optimize=True)[kept]  # [pairs, 2, 2]
    a, b, c, d = products.reshape(-1, 4).T
    # The singular values of a 2 x 2 matrix: stable where they are equal, as they are for parallel circles.
    centre, spread = np.hypot(a + d, c - b) / 2, np.hypot(a - d, b + c) / 2
    cosines = np.stack([centre + spread, np.abs(centre - spread)], 1).clip(None, 1)
    inside = (np.einsum("ipd,jbd->ijpb", rings, planes, optimize=True) ** 2).sum((2, 3))  # [rings, planes]
    residual = 1 - _ratio(inside, (rings**2).sum((1, 2))[:, None])
    return Pairs(cosines, np.where(np.isnan(cosines[:, 0]), np.nan, residual[kept].clip(0, None)))


def _own_floor(rings: Array, planes: Array) -> float:
    inside = (np.einsum("ipd,ibd->ipb", rings, planes) ** 2).sum((1, 2))
    return float((1 - _ratio(inside, (rings**2).sum((1, 2)))).mean().clip(0, None))


def _ratio(part: ArrayLike, whole: ArrayLike) -> Array:
    """part / whole, and NaN without a warning where nothing varies."""
    whole = np.asarray(whole, dtype=np.float64)
    return np.asarray(part, dtype=np.float64) / np.where(whole > 0, whole, np.nan)


def _reduced(representation: ArrayLike) -> Array:
    """The same points in at most as many dimensions as there are points.  # [n_x, n_y, at most n_x n_y]"""
    grid = _grid(representation)
    points = _points(grid)
    if points.shape[1] > len(points):
        points = np.asarray(np.linalg.qr(points.T, mode="r")).T  # points = r' q': lengths and angles are those of r
    return points.reshape(*grid.shape[:2], -1)


def _gram(representation: ArrayLike) -> Array:
    """The smaller one of the two matrices that have the principal variances as eigenvalues."""
    points = _points(representation)
    return np.asarray(points @ points.T if len(points) < points.shape[1] else points.T @ points)


def _points(representation: ArrayLike) -> Array:
    """All points, centred.  # [n_x n_y, D]"""
    grid = _grid(representation)
    points = grid.reshape(-1, grid.shape[2])
    return np.asarray(points - points.mean(0))


def _grid(representation: ArrayLike) -> Array:
    grid = np.asarray(representation, dtype=np.float64)
    if grid.ndim != 3 or min(grid.shape[:2]) < 3 or grid.shape[2] < 2:
        raise UserError(f"a representation of shape {grid.shape}: give [n_x, n_y, D], at least [3, 3, 2]")
    if not np.isfinite(grid).all():
        raise UserError("the representation holds NaN or infinities: leave this layer or checkpoint out")
    return np.asarray(grid - grid[0, 0])  # what does not vary is exactly 0, not rounding
