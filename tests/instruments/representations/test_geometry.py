"""Known answers for the geometry of tori, pixels and other codes that are not learned; then invariances."""

from functools import cache

import numpy as np
import pytest

from recombine.errors import UserError
from recombine.instruments.representations.geometry import (
    TESTS,
    Geometry,
    additive_fraction,
    bump_additive_fraction,
    bump_participation_ratio,
    measure,
    participation_ratio,
    ring_tests,
    spectrum,
    torus,
    wasserstein,
    width_with,
)
from recombine.instruments.representations.null import as_grid, label_code, pixels, pooled, random_layer
from recombine.worlds.bumps import BumpsWorld

SEEN = BumpsWorld(periodic=True)


@cache
def code(name: str) -> np.ndarray:
    kind, _, value = name.partition(" ")
    if kind == "pixels":
        return pixels(BumpsWorld(width=float(value), periodic=True))
    if kind == "noisy":
        clean = np.concatenate([torus("Clifford torus", 32, 32), np.zeros((32, 32, 252))], 2)
        return clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    images = SEEN.render(SEEN.centres())
    return {
        "plain": lambda: pixels(BumpsWorld()),
        "stripes": lambda: pixels(BumpsWorld(pattern="stripes", periodic=True)),
        "labels": lambda: as_grid(label_code(SEEN.centres(), 86)),
        "random": lambda: as_grid(random_layer(images, 256, int(value))),
        "pooled": lambda: as_grid(pooled(images, 8)),
        "3D": lambda: torus("3D torus", 32, 32),
        "Clifford": lambda: torus("Clifford torus", 32, 32),
    }[kind]()


@cache
def measured(name: str) -> Geometry:
    return measure(code(name))


def numbers_of(found: Geometry) -> dict[str, float]:
    """{"participation ratio": ..., "x on y.overlap": ..., "x on y.residual to 3D torus": ...}"""
    numbers = {}
    for row in found.rows():
        name = row["instrument"].split(".", 1)[1]
        test = f"{row['rings']}." if "rings" in row else ""
        numbers[f"{test}{name}" + (f" to {row['torus']}" if "torus" in row else "")] = row["value"]
    return numbers


# participation ratio, top-4 share, then overlap and residual of x on y, x on x, y on y; additive fraction if known
TABLE = {
    "3D": (2.4096, 1, 0.5, 0.5, 0.742, 0.258, 1, 0, 0.9),
    "Clifford": (4, 1, 0, 1, 1, 0, 1, 0, 1),
    "pixels 0.5": (341.6, 0.024, 0.011, 0.992, 0.024, 0.996, 0.024, 0.996, 0.143),
    "pixels 1": (81.54, 0.093, 0.042, 0.970, 0.082, 0.972, 0.082, 0.972, 0.271),
    "pixels 2": (20.62, 0.320, 0.106, 0.917, 0.196, 0.868, 0.196, 0.868, 0.477),
    "pixels 3.8": (6.95, 0.719, 0.078, 0.925, 0.410, 0.604, 0.410, 0.604, 0.744),
    "pixels 4.5": (5.80, 0.810, 0.048, 0.952, 0.506, 0.497, 0.506, 0.497, 0.815),
    "plain": (83.4, 0.094, 0.040, 0.971, 0.079, 0.973, 0.079, 0.973, None),
    "stripes": (16.50, 0.344, 0, 1, 1, 0.656, 1, 0.656, 1),
    "labels": (12.9, 0.466, 0, 1, 1, 0.534, 1, 0.534, 1),
    "pooled": (14.3, 0.344, 0.125, 0.886, 0.238, 0.827, 0.238, 0.827, None),
}


@pytest.mark.parametrize("name", TABLE)
def test_known_answers(name: str) -> None:
    ratio, top, *pairs, additive = TABLE[name]
    found = measured(name)
    assert found.participation_ratio == pytest.approx(ratio, rel=0.004)  # the table has three or four digits
    assert found.shares[:4].sum() == pytest.approx(top, abs=6e-4)
    means = [value for test in TESTS for value in (found.tests[test].overlap.mean(), found.tests[test].residual.mean())]
    assert means == pytest.approx(pairs, abs=6e-4)
    assert additive is None or found.additive_fraction == pytest.approx(additive, abs=6e-4)


def test_tori_are_exact() -> None:
    clifford, torus_3d = measured("Clifford"), measured("3D")
    assert clifford.participation_ratio == pytest.approx(4, abs=1e-12)
    assert torus_3d.participation_ratio == pytest.approx(25 / 10.375, abs=1e-12)  # variances 2.25, 2.25 and 0.5
    assert participation_ratio(torus("3D torus", 32, 32, hole=3)) == pytest.approx(100 / 45.375, abs=1e-12)
    assert torus_3d.shares == pytest.approx([0.45, 0.45, 0.1])
    assert torus_3d.tests["x on y"].cosines == pytest.approx(np.tile([1.0, 0.0], (1024, 1)), abs=1e-12)
    between = np.abs(np.cos(2 * np.pi * np.arange(1, 32) / 32))  # of two poloidal circles: along z, and across
    assert torus_3d.tests["x on x"].cosines[:31, 0] == pytest.approx(np.ones(31), abs=1e-12)
    assert torus_3d.tests["x on x"].cosines[:31, 1] == pytest.approx(between, abs=1e-12)
    assert between.mean() == pytest.approx(0.623, abs=5e-4)
    assert clifford.tests["x on x"].cosines == pytest.approx(np.ones((992, 2)), abs=1e-12)
    assert (clifford.own_floor["x"], torus_3d.own_floor["y"]) == pytest.approx((0, 0), abs=1e-12)
    with pytest.raises(ValueError, match="Klein"):
        torus("Klein bottle", 8, 8)


def test_a_random_layer() -> None:
    """Over eight seeds; the tolerance is three standard deviations of one seed: that of the table is one such draw."""
    draws = [measured(f"random {seed}") for seed in range(8)]
    expected = {"participation ratio": 70.1, "top-4 share": 0.119, "additive fraction": 0.250}
    expected |= {"x on y.overlap": 0.050, "x on x.overlap": 0.067, "y on y.overlap": 0.070}
    expected |= {"x on y.residual": 0.965, "x on x.residual": 0.968, "y on y.residual": 0.968}
    for name, value in expected.items():
        values = [numbers_of(draw)[name] for draw in draws]
        assert np.mean(values) == pytest.approx(value, abs=3 * np.std(values, ddof=1) + 5e-4), name
        assert np.mean(values) == pytest.approx(value, rel=0.06), name


def test_noise_hides_parallel_rings_from_the_residual() -> None:
    """One draw of noise: its 262,144 numbers move the means in the third digit."""
    found, numbers = measured("noisy"), numbers_of(measured("noisy"))
    assert found.participation_ratio == pytest.approx(19.2, abs=0.15)
    assert numbers["top-4 share"] == pytest.approx(0.450, abs=0.003)
    assert [numbers[f"{test}.overlap"] for test in TESTS] == pytest.approx([0.002, 0.738, 0.742], abs=0.005)
    assert [numbers[f"{test}.residual"] for test in TESTS] == pytest.approx([0.994, 0.748, 0.747], abs=0.005)
    assert numbers["x on x.residual in plane"] == pytest.approx(1 - 0.738, abs=0.005)


@pytest.mark.parametrize("name", ["stripes", "labels"])
def test_parallel_rings_are_left_with_their_own_floor(name: str) -> None:
    found = measured(name)
    assert found.tests["x on x"].residual == pytest.approx(np.full(992, found.own_floor["x"]), abs=1e-6)
    assert found.tests["x on x"].residual_in_plane == pytest.approx(np.zeros(992), abs=1e-6)


@pytest.mark.parametrize(("name", "width"), [("pixels 1", 1.0), ("pixels 2", 2.0)])
def test_rings_of_pixels_follow_the_autocorrelation_of_a_bump(name: str, width: float) -> None:
    pairs = measured(name).tests["x on x"]
    steps = np.minimum(np.arange(1, 32), 32 - np.arange(1, 32))
    both = np.tile(np.exp(-(steps**2) / (8 * width**2)), (2, 1)).T
    assert pairs.cosines[:31] == pytest.approx(both, abs=2e-3 if width == 2 else 1e-6)  # the tails meet at width 2
    assert pairs.cosines.mean() == pytest.approx((np.sqrt(8 * np.pi) * width - 1) / 31, abs=5e-4)
    assert pairs.overlap.mean() == pytest.approx((np.sqrt(4 * np.pi) * width - 1) / 31, abs=5e-4)


def test_distances_to_the_tori() -> None:
    names = [(test, statistic) for test in TESTS for statistic in ("cosines", "residual")]
    from_3d = [measured("3D").distances[*name, "Clifford torus"] for name in names]
    assert from_3d == pytest.approx([0.5, 0.5, 0.189, 0.258, 0, 0], abs=5e-4)
    from_pixels = [measured("pixels 1").distances[*name, "Clifford torus"] for name in names]
    assert from_pixels == pytest.approx([0.145, 0.030, 0.871, 0.972, 0.871, 0.972], abs=6e-4)
    swapped = [measured("3D").distances[*name, "3D torus, swapped"] for name in names]
    assert swapped == pytest.approx([0, 0, 0.189, 0.258, 0.189, 0.258], abs=5e-4)
    assert max(value for key, value in measured("3D").distances.items() if key[2] == "3D torus") < 1e-12


def test_wasserstein_by_hand() -> None:
    assert wasserstein([0, 1, 2], [3, 2, 1]) == 1
    assert wasserstein([[0, 1], [0, 1]], [[1, 1], [0, 0]]) == 0
    from scipy.stats import wasserstein_distance

    one, other = np.random.default_rng(3).random((2, 50))
    assert wasserstein(one, other) == pytest.approx(wasserstein_distance(one, other))


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0, 3.8, 4.5, 8.0])
def test_the_width_of_a_known_bump_comes_back(width: float) -> None:
    found = measured(f"pixels {width:g}")
    assert found.participation_ratio == pytest.approx(bump_participation_ratio(width, 32, 32), rel=1e-5)
    assert found.additive_fraction == pytest.approx(bump_additive_fraction(width, 32, 32), rel=1e-5)
    assert found.width_by_ratio == pytest.approx(width, rel=1e-3)
    assert found.width_by_additive == pytest.approx(width, rel=1e-3)


def test_widths_that_no_bump_has() -> None:
    assert measured("Clifford").width_by_ratio is None  # no bump has a participation ratio as low as 4
    assert measured("Clifford").width_by_additive is None
    assert "width by ratio" not in numbers_of(measured("Clifford"))
    assert width_with(bump_participation_ratio, 1_023.5, 32, 32) is None
    assert bump_additive_fraction(8.0, 32, 32) == pytest.approx(0.965, abs=5e-4)
    no_square = bump_additive_fraction(1.5, 12, 16)
    assert width_with(bump_additive_fraction, no_square, 12, 16) == pytest.approx(1.5, rel=1e-4)


@pytest.fixture(scope="module")
def uneven() -> np.ndarray:
    """A grid of 5 x 7 points with nothing regular about it."""
    return np.random.default_rng(5).standard_normal((5, 7, 40)) * np.geomspace(3, 0.1, 40)


def test_moving_turning_and_scaling_change_nothing(uneven: np.ndarray) -> None:
    generator = np.random.default_rng(6)
    turn = np.linalg.qr(generator.standard_normal((40, 40)))[0]
    moved = 7.5 * uneven @ turn + 100 * generator.standard_normal(40)
    one, other = measure(uneven), measure(moved)
    assert numbers_of(other) == pytest.approx(numbers_of(one), rel=1e-9, abs=1e-9)
    for test in TESTS:
        assert other.tests[test].cosines == pytest.approx(one.tests[test].cosines, abs=1e-9)
        assert other.tests[test].residual == pytest.approx(one.tests[test].residual, abs=1e-9)


def test_more_dimensions_than_points_change_nothing(uneven: np.ndarray) -> None:
    basis = np.linalg.qr(np.random.default_rng(7).standard_normal((300, 40)))[0]
    assert numbers_of(measure(uneven @ basis.T)) == pytest.approx(numbers_of(measure(uneven)), rel=1e-9, abs=1e-9)


def test_swapping_the_axes_swaps_the_rings(uneven: np.ndarray) -> None:
    one, other = measure(uneven), measure(uneven.swapaxes(0, 1))
    assert other.tests["x on x"].cosines == pytest.approx(one.tests["y on y"].cosines)
    assert other.tests["y on y"].residual == pytest.approx(one.tests["x on x"].residual)
    assert np.sort(other.tests["x on y"].overlap) == pytest.approx(np.sort(one.tests["x on y"].overlap))
    assert other.additive_fraction == pytest.approx(one.additive_fraction)
    assert other.participation_ratio == pytest.approx(one.participation_ratio)


def test_against_plain_linear_algebra(uneven: np.ndarray) -> None:
    flat = uneven.reshape(35, 40) - uneven.mean((0, 1))
    variances = np.linalg.eigvalsh(np.cov(flat.T))[::-1]
    assert spectrum(uneven)[:34] == pytest.approx(variances[:34] / variances.sum())
    assert participation_ratio(uneven) == pytest.approx(variances.sum() ** 2 / (variances**2).sum())
    ring, other = uneven[1] - uneven[1].mean(0), uneven[:, 4] - uneven[:, 4].mean(0)
    plane = np.linalg.svd(other)[2][:2].T  # [D, 2]
    pairs = ring_tests(uneven)["x on y"]
    assert pairs.residual[1 * 7 + 4] == pytest.approx(((ring - ring @ plane @ plane.T) ** 2).sum() / (ring**2).sum())
    cosines = np.linalg.svd(np.linalg.svd(ring)[2][:2] @ plane)[1]
    assert pairs.cosines[1 * 7 + 4] == pytest.approx(cosines)
    assert pairs.overlap[1 * 7 + 4] == pytest.approx((cosines**2).mean())
    assert ring_tests(uneven)["x on x"].residual.shape == (5 * 4,)


def test_additive_fraction_by_hand() -> None:
    generator = np.random.default_rng(8)
    of_x, of_y = generator.standard_normal((6, 1, 9)), generator.standard_normal((1, 8, 9))
    assert additive_fraction(of_x + of_y) == pytest.approx(1)
    signs = np.where(np.arange(6)[:, None] % 2 == np.arange(8) % 2, 1.0, -1.0)  # a checkerboard: interaction alone
    assert additive_fraction(np.stack([signs, signs], 2)) == pytest.approx(0, abs=1e-12)


def test_what_does_not_vary_is_not_a_number() -> None:
    of_x = np.broadcast_to(np.random.default_rng(9).standard_normal((6, 1, 9)), (6, 8, 9))
    pairs = ring_tests(of_x)
    assert np.isnan(pairs["x on y"].residual).all()  # with x fixed nothing moves
    assert np.isnan(pairs["x on x"].cosines).all()
    assert pairs["y on y"].overlap == pytest.approx(np.ones(56))
    constant = measure(np.full((6, 8, 9), 0.3))
    assert np.isnan([constant.participation_ratio, constant.additive_fraction]).all()
    assert constant.width_by_ratio is None
    assert np.isnan(constant.distances["x on y", "residual", "Clifford torus"])


def test_bad_input() -> None:
    with pytest.raises(UserError, match="n_x, n_y, D"):
        measure(np.zeros((1024, 8)))
    with pytest.raises(UserError, match="NaN"):
        measure(np.full((4, 4, 4), np.nan))
