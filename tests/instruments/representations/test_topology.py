"""Bars of shapes known by hand, of the table of tori and codes, and what happens where memory is short."""

import builtins
import itertools
import math
from typing import Any

import numpy as np
import pytest

from recombine.errors import UserError
from recombine.instruments.representations import topology
from recombine.instruments.representations.geometry import torus
from recombine.instruments.representations.null import as_grid, label_code, pixels
from recombine.instruments.representations.topology import Cost, estimate, landmarks, persistence, standing_out
from recombine.worlds.bumps import BumpsWorld

Bar = tuple[float, float]


def circle(count: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def subgrid(step: int, **world: Any) -> np.ndarray:
    return pixels(BumpsWorld(periodic=True, **world))[::step, ::step]


def test_a_gap_makes_a_betti_number() -> None:
    assert standing_out([0.36, 0.36, 0.2, 0.2, 0.2], 1.5) == 2  # the 3D torus, 1.8-fold
    assert standing_out([0.27, 0.27, 0.19, 0.19], 1.5) is None  # stripes, 1.4-fold
    assert standing_out([0.19, 0.6, 0.2, 0.19], 1.5) == 1  # in any order
    assert standing_out([0.6, 0.3, 0.1, 0.1], 1.5) == 2  # the larger of two drops
    assert standing_out([0.45, 0.01], 2.0) == 1
    assert standing_out([0.15] * 20, 1.5) is None
    assert standing_out([0.04, 0.001], 1.5) == 0  # noise
    assert standing_out([], 1.5) == 0


class TestWithGudhi:
    @pytest.fixture(autouse=True)
    def _gudhi(self) -> None:
        pytest.importorskip("gudhi")

    def test_a_circle_is_closed_at_a_third_of_its_turn(self) -> None:
        found = persistence(circle(30))
        assert found.betti == (1, 1, 0)
        assert found.bars[0].tolist()[0] == [0, 1]  # one component lives on
        assert found.bars[0][1:] == pytest.approx(np.tile([0, math.sin(math.pi / 30)], (29, 1)))
        assert found.bars[1] == pytest.approx(np.array([[math.sin(math.pi / 30), math.sin(math.pi / 3)]]))

    def test_an_octahedron_is_hollow(self) -> None:
        found = persistence(np.concatenate([np.eye(3), -np.eye(3)]))
        assert found.bars[2] == pytest.approx(np.array([[math.sqrt(0.5), 1.0]]))
        assert found.betti[1:] == (0, 1)

    def test_two_clusters_are_two(self) -> None:
        one = np.random.default_rng(0).random((20, 5))
        found = persistence(np.concatenate([one, one + 30]))
        assert found.betti[0] == 2
        assert len(found.bars[0]) == 40

    def test_size_place_and_order_do_not_matter(self) -> None:
        points = np.random.default_rng(1).standard_normal((40, 6))
        for one, other in zip(persistence(points).bars, persistence(5 - 0.01 * points[::-1]).bars, strict=True):
            assert other == pytest.approx(one, abs=1e-6)

    # 16 x 16 points: two H1 bars, the next one, the longest of H2; Betti numbers
    @pytest.mark.parametrize(
        ("points", "first", "third", "hollow", "betti"),
        [
            (torus("3D torus", 16, 16), (0.10, 0.46), (0.10, 0.30), (0.30, 0.47), (1, 2, 1)),
            (torus("Clifford torus", 16, 16), (0.14, 0.65), (0.14, 0.20), (0.20, 0.65), (1, 2, 1)),
            (subgrid(2, width=1.0), (0.63, 1.00), (0.63, 0.80), (0.80, 1.00), (1, 2, 1)),
            (subgrid(2, pattern="stripes"), (0.44, 0.71), (0.44, 0.63), (0.63, 0.83), (1, None, None)),
        ],
        ids=["3D torus", "Clifford torus", "pixels", "stripes"],
    )
    def test_known_answers(
        self, points: np.ndarray, first: Bar, third: Bar, hollow: Bar, betti: tuple[int | None, ...]
    ) -> None:
        found = persistence(points)
        assert found.bars[1][:3] == pytest.approx(np.array([first, first, third]), abs=0.006)  # two digits are known
        assert found.bars[2][0] == pytest.approx(hollow, abs=0.006)
        assert found.betti == betti
        assert len(found.rows) == 256

    def test_labels_have_no_holes_that_stand_out(self) -> None:
        found = persistence(as_grid(label_code(BumpsWorld().centres(), 86))[::2, ::2])
        assert found.bars[1][:8] == pytest.approx(np.tile([0.38, 0.53], (8, 1)), abs=0.006)
        assert found.betti == (1, None, 0)

    @pytest.mark.parametrize("width", [2.0, 4.0])
    def test_wider_bumps_on_8_x_8(self, width: float) -> None:
        """Loops are born at the distance of neighbours; the whole is enclosed by that of opposite corners."""
        found = persistence(subgrid(4, width=width))
        alike = np.exp(-(np.array([4, 16]) ** 2) / (8 * width**2))  # overlap of two bumps so far apart on one axis
        if width == 2.0:  # at 4 the tails of a bump meet behind it
            assert found.bars[1][0, 0] == pytest.approx(math.sqrt((1 - alike[0]) / (1 - alike[1] ** 2)), abs=1e-3)
        assert found.betti == (1, 2, 1)

    def test_the_estimate_counts_triangles(self) -> None:
        points = np.random.default_rng(3).standard_normal((25, 3))
        graph = topology._collapsed(points)
        edges = {frozenset(edge) for edge in zip(graph.row.tolist(), graph.col.tolist(), strict=True)}
        corners = itertools.combinations(range(25), 3)
        triangles = sum(all(frozenset(side) in edges for side in itertools.combinations(three, 2)) for three in corners)
        assert estimate(points) == Cost(25, len(edges), triangles)
        assert 0 < triangles < math.comb(25, 3)
        assert estimate(np.eye(6)).triangles == 0  # equidistant points collapse to a tree
        assert Cost(100, 0, 1000).bytes == 1000 * topology.BYTES_A_TRIANGLE + 100**2 * topology.BYTES_A_PAIR

    def test_landmarks_where_memory_is_short(self) -> None:
        points = torus("Clifford torus", 16, 16)
        found = persistence(points, budget=20_000_000)
        assert len(found.rows) == 64  # every second one, along both axes
        assert found.cost.bytes <= 20_000_000
        assert found.bars[1] == pytest.approx(persistence(torus("Clifford torus", 8, 8)).bars[1], abs=1e-6)
        loose = persistence(points.reshape(256, 4), budget=20_000_000)
        assert 64 < len(loose.rows) < 256
        assert loose.cost.bytes <= 20_000_000

    def test_strictly_all_points_or_none(self) -> None:
        points = torus("Clifford torus", 12, 12)
        with pytest.raises(UserError, match=r"144 points .* triangles\) take up to 79 MB.*36 points would do") as error:
            persistence(points, budget=20_000_000, strict=True)
        assert "\n" not in str(error.value)
        assert len(persistence(points, strict=True).rows) == 144


def test_too_many_points_to_list_their_pairs() -> None:
    points = np.random.default_rng(2).random((6_000, 2))
    assert estimate(points) == Cost(6_000, math.comb(6_000, 2), math.comb(6_000, 3))
    with pytest.raises(UserError, match="at least 2 MB"):
        persistence(points, budget=1_000_000)


def test_landmarks_are_a_regular_grid_or_far_apart() -> None:
    grid = torus("Clifford torus", 12, 18)
    rows = landmarks(grid, 80)
    assert rows.tolist() == [18 * x + y for x in range(0, 12, 2) for y in range(0, 18, 2)]
    assert landmarks(grid, 1000).tolist() == list(range(216))
    assert len(set(landmarks(grid, 30).tolist())) == 30  # no subgrid of at least 6 x 6 has so few: farthest points
    line = np.array([[0.0], [1.0], [2.1], [9.0], [10.0]])
    assert landmarks(line, 3).tolist() == [4, 0, 2]
    assert landmarks(line, 99).tolist() == [4, 0, 2, 1, 3]


def test_without_gudhi_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("gudhi"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match=r"pip install 'recombine\[topology\]'"):
        persistence(circle(12))


def test_bad_input() -> None:
    with pytest.raises(UserError, match="NaN"):
        persistence(np.full((8, 2), np.nan))
    with pytest.raises(UserError, match="at least 4"):
        persistence(np.zeros(5))
    with pytest.raises(UserError, match="the same"):
        persistence(np.full((5, 5, 3), 0.3))
