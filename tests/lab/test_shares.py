"""Rules about shares: known counts, known verdicts."""

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, verdict_below
from recombine.lab.shares import all_of, as_before, judge_median, rises, share_above, share_below
from recombine.lab.table import make_table

EMPTY = make_table([], {})


def of(k: int, n: int = 1000):  # type: ignore[no-untyped-def]
    """A share that needs no table."""

    def share(table: pl.DataFrame) -> tuple[int, int]:
        return k, n

    return share


@pytest.mark.parametrize(("k", "above", "below"), [(600, "holds", "fails"), (500, "undecided", "undecided"),
                                                   (400, "fails", "holds")])  # fmt: skip
def test_a_share_against_a_bound(k: int, above: str, below: str) -> None:
    assert share_above(of(k), 0.5)(EMPTY).verdict == above
    assert share_below(of(k), 0.5, lambda table: "said")(EMPTY).verdict == below
    assert share_below(of(k), 0.5, lambda table: "said")(EMPTY).note == "said"


@pytest.mark.parametrize(("k", "verdict"), [(370, "holds"), (480, "undecided"), (700, "fails")])
def test_the_share_found_before_allows_its_exact_interval(k: int, verdict: str) -> None:
    answer = as_before(of(k), (37, 100), "more")(EMPTY)
    assert (answer.verdict, answer.estimate, answer.n) == (verdict, k / 1000, 1000)
    assert answer.note == "before: 37 of 100, so 0.276 to 0.472; more"


def test_everything_and_rises() -> None:
    assert all_of(of(1000))(EMPTY).verdict == "holds"
    assert all_of(of(999))(EMPTY).verdict == "fails"
    assert rises(of(100), of(300))(EMPTY).verdict == "holds"
    assert rises(of(300), of(100))(EMPTY).verdict == "fails"
    assert rises(of(300), of(310))(EMPTY).verdict == "undecided"


def test_nothing_counted_is_not_measured() -> None:
    with pytest.raises(NotMeasured, match="no start"):
        share_above(of(0, 0), 0.5)(EMPTY)


def test_a_median_by_its_bootstrap() -> None:
    answer = judge_median(np.arange(101.0), lambda interval, n: verdict_below(interval, 70, n))
    assert (answer.estimate, answer.n, answer.verdict) == (50.0, 101, "holds")
