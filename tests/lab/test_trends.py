"""Differences and trends of shares."""

import pytest

from recombine.lab.claims import NotMeasured
from recombine.lab.statistics import proportion_interval
from recombine.lab.trends import (
    falling,
    judge_trend,
    larger,
    listed_shares,
    log_crossing,
    log_slope,
    rising,
    share_difference,
)


def test_a_difference_is_between_the_ends_of_two_intervals() -> None:
    low, high = share_difference((150, 200), (40, 200))
    more, less = (proportion_interval(k, 200, 0.975) for k in (150, 40))
    assert (low, high) == pytest.approx((more[0] - less[1], more[1] - less[0]))
    assert low < 0.55 < high


@pytest.mark.parametrize(
    ("bumps", "verdict"),
    [([5, 80, 160], "holds"), ([160, 80, 5], "fails"), ([80, 80, 82], "undecided"), ([5, 190, 120], "fails"),
     ([5, 82, 80], "holds")],
)  # fmt: skip
def test_a_trend(bumps: list[int], verdict: str) -> None:
    series = {str(number): (k, 200) for number, k in enumerate(bumps)}
    judged = judge_trend(series, 1)
    assert judged.verdict == verdict
    assert judged.estimate == pytest.approx((bumps[-1] - bumps[0]) / 200)
    assert judged.n == 200
    turned = judge_trend(dict(reversed(series.items())), -1)
    assert (turned.verdict, turned.estimate) == (judged.verdict, judged.estimate)


def test_rules_ask_the_table() -> None:
    table = object()
    grows = {1.0: (5, 200), 2.0: (160, 200)}
    assert rising(lambda _: grows)(table).verdict == "holds"
    assert falling(lambda _: grows)(table).verdict == "fails"
    judged = larger(lambda _: (160, 200), lambda _: (5, 100), lambda _: "so many")(table)
    assert (judged.verdict, judged.n, judged.note) == ("holds", 100, "so many")
    with pytest.raises(NotMeasured):
        larger(lambda _: (1, 2), lambda _: (0, 0))(table)
    with pytest.raises(NotMeasured):
        rising(lambda _: {1.0: (1, 2)})(table)


def test_shares_are_listed_by_place_or_name() -> None:
    assert listed_shares({0.5: (1, 4), 2.0: (0, 0)}) == "0.5: 0.250"
    assert listed_shares({"A": (1, 4), "B": (1, 1)}) == "A: 0.250, B: 1.000"


def test_a_level_is_crossed_between_two_places_by_their_logarithm() -> None:
    assert log_crossing({10: 0.2, 40: 1.0}, 0.6) == pytest.approx(20)
    assert log_crossing({10: 0.7, 40: 0.9}, 0.6) == 0
    assert log_crossing({10: 0.1, 40: 0.5}, 0.6) == float("inf")


def test_the_slope_of_a_power_is_its_exponent() -> None:
    assert log_slope({n: 3.0 * n**1.5 for n in (12, 16, 24)}) == pytest.approx(1.5)
