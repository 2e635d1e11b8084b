import math

import pytest

from recombine.lab.claims import NotMeasured
from recombine.lab.rules import least, less, mean, rank_correlation


def test_differences_are_of_seeds_that_have_both() -> None:
    assert less({0: 3.0, 1: 5.0, 7: 1.0}, {1: 1.0, 0: 1.0, 2: 9.0}) == {0: 2.0, 1: 4.0}
    with pytest.raises(NotMeasured, match="no seed has both of this and that"):
        less({0: 1.0}, {1: 1.0}, "this and that")


def test_the_least_is_by_its_mean_and_has_a_seed() -> None:
    assert least({"a": {0: 1.0, 1: 3.0}, "b": {0: 1.9}, "c": {}}) == "b"
    with pytest.raises(NotMeasured, match="no arm was measured"):
        least({"c": {}})


def test_the_mean_of_no_seed_is_no_number() -> None:
    assert mean({0: 1.0, 1: 2.0}) == 1.5
    assert math.isnan(mean({}))


def test_what_does_not_vary_is_not_ranked() -> None:
    assert rank_correlation([1, 2, 3], [1, 4, 9]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 3], [5, 5, 5]) == rank_correlation([2, 2], [0, 1]) == 0
