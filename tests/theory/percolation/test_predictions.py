"""Four hypotheses on sets small enough to see what follows."""

import torch

from recombine.theory.percolation.lattice import link
from recombine.theory.percolation.predictions import by_graph, by_lines, by_nearness, by_overlap, largest_cluster

CORNERS = torch.tensor([[0, 0], [5, 5]])


def places(found: torch.Tensor) -> set[tuple[int, ...]]:
    return {tuple(place) for place in found.nonzero().tolist()}


def test_near_is_within_two_pixels() -> None:
    found = by_nearness(torch.tensor([[0, 0]]), 6)
    assert places(found) == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)}


def test_lines_are_columns_and_rows_that_occur() -> None:
    assert places(by_lines(CORNERS, 6)) == {(0, 0), (0, 5), (5, 0), (5, 5)}


def test_a_graph_needs_a_path() -> None:
    assert places(by_graph(CORNERS, 6)) == {(0, 0), (5, 5)}
    joined = torch.tensor([[0, 0], [5, 5], [0, 5]])
    assert places(by_graph(joined, 6)) == {(0, 0), (0, 5), (5, 0), (5, 5)}


def test_overlap_needs_half_of_the_set_in_one_cluster() -> None:
    pair = torch.tensor([[0, 0], [1, 0]])
    found = places(by_overlap(pair, 8, 0.5))
    assert {(2, 0), (0, 1), (1, 1)} <= found  # neighbours of the pair
    assert (7, 7) not in found
    lone = torch.tensor([[0, 0], [3, 3], [7, 0], [0, 7], [7, 7]])
    assert places(by_overlap(lone, 8, 0.1)) == set()  # no two of five overlap


def test_the_largest_cluster_leaves_the_rest_out() -> None:
    cluster = largest_cluster(link(0.3, 0.05, 4), torch.tensor([0, 1, 15]))
    assert cluster.nonzero()[0].tolist() == [0, 1]
