"""Percolation of bumps: overlaps against images, components against scipy's, critical shares against known ones."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from recombine.errors import UserError
from recombine.theory.percolation.lattice import (
    Links,
    critical,
    critical_interval,
    critical_of_order,
    largest_components,
    link,
    neighbours,
    overlap,
    overlap_at,
    sample_size,
    shares,
)
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit, nested_order

THRESHOLDS = (0.005, 0.01, 0.05, 0.1, 0.2, 0.5)
DISTANCES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
OVERLAPS = {
    0.1: (0.044, 5.3e-6, 1.6e-7, 1.4e-11, 1e-27),
    0.3: (0.726, 0.351, 0.181, 0.062, 1.4e-3, 1.5e-5),
    0.5: (0.933, 0.768, 0.566, 0.368, 0.104, 0.018, 1.2e-4),
    0.7: (0.969, 0.880, 0.750, 0.600, 0.317, 0.130, 0.010, 2.9e-4),
    1.0: (0.984, 0.939, 0.869, 0.779, 0.570, 0.368, 0.105, 0.018),
    1.5: (0.993, 0.973, 0.939, 0.895, 0.779, 0.641, 0.368, 0.169),
}
"""g(d), computed independently of this code."""
NEIGHBOURS = {
    0.1: (0, 0, 0, 0, 0, 0), 0.2: (4, 4, 4, 0, 0, 0), 0.3: (20, 20, 12, 8, 4, 0), 0.5: (68, 60, 36, 28, 20, 8),
    0.7: (136, 112, 68, 60, 36, 20), 1.0: (260, 232, 144, 112, 80, 36), 1.5: (592, 516, 340, 260, 176, 68),
}  # fmt: skip
KNOWN = {
    0.2: (0.581, 0.581, 0.581), 0.3: (0.183, 0.183, 0.288, 0.394, 0.581),
    0.5: (0.052, 0.060, 0.101, 0.127, 0.183, 0.394),
    0.7: (0.024, 0.028, 0.052, 0.060, 0.101, 0.183), 1.0: (None, None, 0.023, 0.028, 0.043, 0.101),
    1.5: (None, None, None, None, 0.014, 0.048),
}  # fmt: skip
"""Critical lambdas of 20 other orders; None where at most 0.01 could be said."""
CELLS = [(width, threshold) for width in NEIGHBOURS for threshold in THRESHOLDS]
LAMS = np.arange(3, 1025) / 1024


@cache
def twenty(width: float, threshold: float) -> NDArray[np.float64]:
    """Shares of 20 orders, from three sites on; what has the same links is counted once.  # [20, 1022]"""
    links = link(width, threshold)
    return _of_links(links.first.tobytes(), links.second.tobytes())


@cache
def _of_links(first: bytes, second: bytes) -> NDArray[np.float64]:
    links = Links(1024, np.frombuffer(first, np.int64), np.frombuffer(second, np.int64))
    return np.stack([shares(largest_components(links, nested_order(1024, k))) for k in range(20)])[:, 2:]


def place(x: float, y: float = 16.0) -> torch.Tensor:
    return torch.tensor([x, y], dtype=torch.float64)


# Overlap


@pytest.mark.parametrize(("width", "known"), OVERLAPS.items())
def test_overlap_over_distance(width: float, known: tuple[float, ...]) -> None:
    found = overlap_at(torch.tensor(DISTANCES[: len(known)]), width)
    assert found.tolist() == pytest.approx(list(known), rel=0.04)


@pytest.mark.parametrize("width", [0.1, 0.3, 0.5, 1.0])
def test_the_closed_form_is_that_of_images(width: float) -> None:
    """Two ways along x and y; the second with the images themselves."""
    labels = torch.tensor([[16, 16], [16.5, 16], [17, 16], [17, 17], [18.5, 15], [19, 18]], dtype=torch.float64)
    away = labels - labels[0]
    closed = overlap_at(away[:, 0], width) * overlap_at(away[:, 1], width)
    torch.testing.assert_close(overlap(labels[:1], labels, width), closed, rtol=1e-9, atol=0)
    dark = (1 - BumpsWorld(width=width).render(labels).double()).flatten(1) / 2  # [6, 1024], of float32 images
    drawn = ((dark[:1] * dark).sum(1) / dark[0].square().sum()).sqrt()
    torch.testing.assert_close(drawn, closed, rtol=1e-3, atol=3e-4)


def test_limits_of_the_closed_form() -> None:
    away = torch.tensor([1.0, 2.5, 4.0])
    torch.testing.assert_close(overlap_at(away, 1.5), (-away.double().square() / 36).exp(), rtol=1e-6, atol=0)
    assert float(overlap_at(torch.tensor(1.0), 0.1)) == pytest.approx(math.sqrt(2) * math.exp(-12.5), rel=1e-6)
    assert float(overlap_at(torch.tensor(-2.0), 0.4)) == float(overlap_at(torch.tensor(2.0), 0.4))


@pytest.mark.parametrize(("width", "known"), [(0.1, 16.1), (0.2, 1.55), (0.3, 1.03)])
def test_between_pixels_a_bump_overlaps_another_more_than_itself(width: float, known: float) -> None:
    assert float(overlap(place(16.5), place(17), width)) == pytest.approx(known, rel=0.005)
    assert float(overlap(place(16.5), place(16), width)) == pytest.approx(known, rel=0.005)


def test_not_so_for_wide_bumps_nor_on_a_pixel() -> None:
    for width in (0.5, 0.7, 1.0):
        assert float(overlap(place(16.5), place(17), width)) < 1
    away = torch.linspace(0.01, 6, 300)
    for width in (0.1, 0.2, 0.3, 1.0):
        assert overlap_at(away, width).max() < 1


def test_narrow_bumps_between_pixels_share_a_pixel() -> None:
    assert float(overlap(place(16.5), place(17.5), 0.1)) == pytest.approx(math.sqrt(0.5), rel=1e-6)
    assert float(overlap(place(16.5), place(16.5), 0.001)) == 1  # both sums underflow


# Links


@pytest.mark.parametrize(("width", "known"), NEIGHBOURS.items())
def test_how_many_neighbours(width: float, known: tuple[int, ...]) -> None:
    assert tuple(len(neighbours(width, threshold)) for threshold in THRESHOLDS) == known


def test_the_first_shells() -> None:
    squares = {12: {1, 2, 4}, 20: {1, 2, 4, 5}, 36: {1, 2, 4, 5, 8, 9, 10}}
    for width, threshold in ((0.3, 0.05), (0.3, 0.005), (0.5, 0.05)):
        around = neighbours(width, threshold)
        assert set(around.square().sum(1).tolist()) == squares[len(around)]


@pytest.mark.parametrize(("width", "threshold"), CELLS)
def test_a_site_in_the_middle_is_linked_to_its_neighbours(width: float, threshold: float) -> None:
    links = link(width, threshold)
    middle = 15 * 32 + 15
    ends = [*links.second[links.first == middle].tolist(), *links.first[links.second == middle].tolist()]
    around = neighbours(width, threshold) + 15
    assert sorted(ends) == sorted((around[:, 0] * 32 + around[:, 1]).tolist())
    assert links.degree(middle) == len(ends)


@pytest.mark.parametrize(("width", "threshold", "shift"), [(0.3, 0.05, 0.0), (0.7, 0.1, 0.0), (0.1, 0.3, -0.5)])
def test_links_are_those_of_all_pairs(width: float, threshold: float, shift: float) -> None:
    axis = torch.arange(1, 9, dtype=torch.float64) + shift
    sites = torch.cartesian_prod(axis, axis)
    pairs = overlap(sites[:, None], sites[None], width, 8)
    expected = torch.maximum(pairs, pairs.T) > threshold
    links = link(width, threshold, 8, shift)
    assert set(zip(links.first.tolist(), links.second.tolist(), strict=True)) == {
        (i, j) for i, j in expected.nonzero().tolist() if i < j
    }
    assert len(links.first) == len({*zip(links.first.tolist(), links.second.tolist(), strict=True)})


# Components


def test_every_order_is_nested_and_that_of_training_sets() -> None:
    order = nested_order(1024, 5)
    assert sorted(order.tolist()) == list(range(1024))
    assert not torch.equal(order, nested_order(1024, 6))
    world = BumpsWorld()
    for share in (0.1, 0.5):
        labels = LabelSplit(step=1.0, share=share).labels(world, 5).long()
        assert ((labels[:, 0] - 1) * 32 + labels[:, 1] - 1).tolist() == order[: sample_size(share, 1024)].tolist()


def test_components_by_hand() -> None:
    """Sites 0 to 4 in a row; 2 comes last and joins all."""
    row = Links(5, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))
    assert largest_components(row, torch.tensor([0, 1, 4, 3, 2])).tolist() == [1, 2, 2, 2, 5]
    assert largest_components(row, torch.tensor([0, 2, 4, 1, 3])).tolist() == [1, 1, 1, 3, 5]
    none = Links(5, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert largest_components(none, torch.arange(5)).tolist() == [1] * 5


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(0, 60), st.integers(0, 10**6))
def test_components_are_those_that_scipy_counts(sites: int, count: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(sites, size=(count, 2))
    pairs = np.array(sorted({(min(a, b), max(a, b)) for a, b in drawn.tolist() if a != b}), dtype=np.int64).reshape(
        -1, 2
    )
    order = nested_order(sites, seed)
    found = largest_components(Links(sites, pairs[:, 0], pairs[:, 1]), order)
    for n in range(1, sites + 1):
        there = np.isin(pairs, order[:n]).all(1)
        graph = coo_matrix((np.ones(there.sum()), pairs[there].T), shape=(sites, sites))
        assert found[n - 1] == np.bincount(connected_components(graph, directed=False)[1]).max()


def test_shares_of_the_sampled_and_of_the_lattice() -> None:
    sizes = np.array([1, 1, 3, 4])
    assert shares(sizes).tolist() == [1, 0.5, 1, 1]
    assert shares(sizes, "lattice").tolist() == [0.25, 0.25, 0.75, 1]
    lattice = shares(largest_components(link(1.5, 0.005), nested_order(1024, 0)), "lattice")
    assert critical(np.arange(1, 1025) / 1024, lattice).value == pytest.approx(0.5, abs=0.002)  # it ends at lambda


def test_a_set_without_links_has_components_of_one() -> None:
    np.testing.assert_allclose(twenty(0.1, 0.005)[0], 1 / np.arange(3, 1025))


@pytest.mark.parametrize(
    ("width", "threshold", "known"),
    [(0.2, 0.005, (0.037, 0.039, 0.051, 0.164, 0.994)), (0.3, 0.1, (0.059, 0.070, 0.156, 0.941, 1)),
     (0.3, 0.05, (0.085, 0.173, 0.587, 0.998, 1)), (0.3, 0.005, (0.160, 0.628, 0.984, 1, 1))],
)  # fmt: skip
def test_mean_shares(width: float, threshold: float, known: tuple[float, ...]) -> None:
    """Against 20 other orders: twice the standard error of both, and what rounding leaves."""
    curves = twenty(width, threshold)
    for lam, value in zip((0.1, 0.2, 0.3, 0.5, 0.8), known, strict=True):
        at = curves[:, sample_size(lam, 1024) - 3]
        assert abs(at.mean() - value) < 2 * math.sqrt(2) * at.std(ddof=1) / math.sqrt(20) + 0.003


# The critical share


@pytest.mark.parametrize(("width", "threshold"), CELLS)
def test_critical_shares(width: float, threshold: float) -> None:
    found = critical(LAMS, twenty(width, threshold).mean(0))
    position = THRESHOLDS.index(threshold)
    if NEIGHBOURS[width][position] == 0:
        assert (found.outcome, found.value) == ("never", math.inf)
        return
    known = KNOWN[width][position]
    if known is None:
        assert found.value < 0.013
    else:
        assert found.outcome == "crosses"
        assert found.value == pytest.approx(known, abs=0.02 if known >= 0.06 else 0.005)


@pytest.mark.parametrize(("width", "threshold", "known"), [(0.2, 0.05, 0.5927), (0.3, 0.1, 0.4073)])
def test_a_large_lattice_percolates_where_an_infinite_one_does(width: float, threshold: float, known: float) -> None:
    links = link(width, threshold, 96)
    mean = np.mean([shares(largest_components(links, nested_order(96**2, seed))) for seed in range(6)], axis=0)
    assert critical(np.arange(3, 96**2 + 1) / 96**2, mean[2:]).value == pytest.approx(known, abs=0.01)


def test_crossings_by_hand() -> None:
    lams = [0.1, 0.2, 0.3, 0.4]
    assert critical(lams, [0.1, 0.3, 0.7, 1.0]).value == pytest.approx(0.25)
    assert critical(lams, [0.2, 0.6, 0.4, 0.9]).value == pytest.approx(0.32)  # the last of two
    assert critical(lams, [0.9, 0.2, 0.2, 0.5]).value == pytest.approx(0.4)  # half is enough
    assert critical(lams, [0.9, 0.6, 0.3, 0.1]) == critical(lams, [0.1, 0.6, 0.7, 0.4])
    assert critical(lams, [0.1, 0.6, 0.7, 0.4]).outcome == "never"
    below = critical(lams, [0.5, 0.6, 0.7, 1.0])
    assert (below.outcome, below.value) == ("below", 0.1)


def test_the_critical_share_of_one_order() -> None:
    """Of ten sites: four single ones, then one component that grows: 2 of 5, 3 of 6."""
    sizes = np.array([1, 1, 1, 1, 2, 3, 4, 5, 6, 7])
    assert critical_of_order(sizes).value == pytest.approx(0.6)
    assert critical_of_order(np.ones(10, dtype=np.int64)).outcome == "never"
    always = critical_of_order(np.arange(1, 11))
    assert (always.outcome, always.value) == ("below", pytest.approx(0.3))


def test_the_interval_is_around_the_mean_and_that_of_few_orders_wider() -> None:
    curves = twenty(0.3, 0.005)
    value = critical(LAMS, curves.mean(0)).value
    low, high = critical_interval(LAMS, curves)
    assert low < value < high
    assert 0.01 < high - low < 0.03  # 0.025 for one order, so about 4 x 0.025 / sqrt(20)
    few = critical_interval(LAMS, curves[:5])
    assert few[1] - few[0] > high - low
    assert critical_interval(LAMS, curves) == (low, high)
    assert critical_interval(LAMS, curves[:1]) == (critical(LAMS, curves[0]).value,) * 2


def test_an_interval_may_reach_to_never_and_to_the_first_lambda() -> None:
    lams = [0.1, 0.5, 1.0]
    assert critical_interval(lams, [[0.1, 0.1, 0.1]] * 5) == (math.inf, math.inf)
    assert critical_interval(lams, [[0.9, 0.9, 0.9]] * 5) == (0.1, 0.1)
    assert critical_interval(lams, [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]) == (0.1, math.inf)


# Bad input


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_a_width_that_is_none(width: float) -> None:
    for ask in (
        lambda: overlap(place(1), place(2), width),
        lambda: overlap_at(torch.tensor(1.0), width),
        lambda: neighbours(width, 0.1),
        lambda: link(width, 0.1),
    ):
        with pytest.raises(UserError, match=rf"^width {width:g}: a bump needs a width above 0$"):
            ask()


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_a_threshold_that_is_none(threshold: float) -> None:
    for ask in (lambda: neighbours(1.0, threshold), lambda: link(1.0, threshold)):
        with pytest.raises(UserError, match=rf"^threshold {threshold:g}: .* strictly between 0 and 1 is needed$"):
            ask()


@pytest.mark.parametrize("lam", [0.0, -0.5, 1.01, math.nan])
def test_a_share_that_is_none(lam: float) -> None:
    with pytest.raises(UserError, match=rf"^lambda {lam:g}: .* above 0 and up to 1 is needed$"):
        sample_size(lam, 1024)
    with pytest.raises(UserError, match=r"^lambdas are shares"):
        critical([lam], [0.5])


def test_a_share_of_no_site_and_lambdas_out_of_order() -> None:
    with pytest.raises(UserError, match=r"^lambda 0.0001 takes none of the 1024 sites"):
        sample_size(0.0001, 1024)
    assert sample_size(0.1, 1024) == 102
    assert sample_size(1, 1024) == 1024
    for lams in ([0.2, 0.1], [0.1, 0.1], []):
        with pytest.raises(UserError, match="ascending"):
            critical(lams, [0.5] * len(lams))
