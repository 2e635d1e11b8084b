"""Combinations that follow from a training set: small sets by hand, large random ones by the closed form."""

import math

import pytest
import torch

from recombine.theory.percolation.value_graph import components, follows
from recombine.worlds.holdouts import nested_order


def expected_share(each: float) -> float:
    """The share of combinations that follow, in a large square of which so many to each value were taken at random.

    A value is in the giant component with s = 1 - exp(-each s), both values of a combination with s^2.
    """
    if each <= 1:
        return 0.0
    share = 1.0
    for _ in range(10_000):
        after = 1 - math.exp(-each * share)
        if abs(after - share) < 1e-12:
            break
        share = after
    return share**2


def test_a_path_of_combinations_leads_from_one_value_to_the_other() -> None:
    pairs = torch.tensor([[0, 0], [1, 0], [1, 1], [2, 2]])
    assert follows(pairs, 4, 3).tolist() == [
        [True, True, False],  # (0, 1) follows from (0, 0), (1, 0) and (1, 1)
        [True, True, False],
        [False, False, True],
        [False, False, False],  # does not occur
    ]


def test_a_row_and_a_column_are_enough() -> None:
    cross = torch.tensor([[x, 0] for x in range(5)] + [[0, y] for y in range(1, 7)])
    assert follows(cross, 5, 7).all()


def test_values_that_do_not_occur_are_alone() -> None:
    one, other = components(torch.tensor([[1, 1]]), 3, 2)
    assert len(set(one.tolist()) | set(other.tolist())) == 4
    assert one[1] == other[1]


@pytest.mark.parametrize("each", [0.5, 1.5, 2.0, 3.0, 5.0])
def test_random_sets_are_as_in_the_closed_form(each: float) -> None:
    side = 400
    shares = []
    for seed in range(4):
        taken = nested_order(side**2, seed)[: round(each * side)]
        shares.append(follows(torch.stack([taken // side, taken % side], 1), side, side).double().mean().item())
    assert sum(shares) / len(shares) == pytest.approx(expected_share(each), abs=0.03)


def test_the_threshold_is_one_for_each_value() -> None:
    assert expected_share(1.0) == 0
    assert 0 < expected_share(1.1) < 0.05
    assert expected_share(2.0) == pytest.approx(0.6350, abs=1e-3)
