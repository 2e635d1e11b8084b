import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from recombine.lab.claims import (
    MIN_SEEDS,
    Claim,
    Judgement,
    NotMeasured,
    judge_above,
    judge_all,
    judge_below,
    judge_every,
    judge_within,
    verdict_above,
    verdict_below,
    verdict_every,
    verdict_within,
)
from recombine.lab.statistics import bootstrap_interval, mean_interval, proportion_interval


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 200), data=st.data(), level=st.sampled_from([0.9, 0.95, 0.99]))
def test_the_exact_interval_equals_scipys(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    ours = proportion_interval(k, n, level)
    theirs = binomtest(k, n).proportion_ci(confidence_level=level, method="exact")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    mirrored = proportion_interval(n - k, n, level)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx(ours, abs=1e-9)


def test_proportion_edges() -> None:
    assert proportion_interval(0, 0) == (0.0, 1.0)
    assert proportion_interval(5, 5) == pytest.approx((0.025 ** (1 / 5), 1.0))
    for k, n in ((-1, 5), (6, 5)):
        with pytest.raises(ValueError):
            proportion_interval(k, n)


def test_bootstrap_on_degenerate_data() -> None:
    assert bootstrap_interval([]) is None
    assert bootstrap_interval([1.0]) is None
    assert bootstrap_interval([0.3, 0.3, 0.3]) == (0.3, 0.3)
    for broken in ([1.0, math.nan], [1.0, math.inf]):
        with pytest.raises(ValueError, match="finite"):
            bootstrap_interval(broken)


def test_bootstrap_falls_back_where_bca_is_undefined() -> None:
    low, high = bootstrap_interval([0.0, 1.0, 1.0, 1.0, 1.0, 1.0], statistic=np.max, draws=2000) or (9, 9)
    assert 0 <= low <= high == 1.0
    constant = bootstrap_interval([1.0, 2.0, 3.0], statistic=lambda values, axis=-1: np.zeros(values.shape[:-1]))
    assert constant == (0.0, 0.0)


def test_bootstrap_is_reproducible_contains_the_mean_and_narrows() -> None:
    values = np.random.default_rng(1).normal(3.0, 1.0, 80)
    wide, narrow = bootstrap_interval(values[:10]), bootstrap_interval(values)
    assert wide is not None
    assert narrow is not None
    assert bootstrap_interval(values) == narrow
    assert narrow[0] < values.mean() < narrow[1]
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    # For a normal sample the bootstrap must come near the interval of the normal theory.
    half = 1.96 * values.std(ddof=1) / math.sqrt(80)
    assert narrow == pytest.approx((values.mean() - half, values.mean() + half), abs=0.05)


def test_the_interval_of_five_seeds_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(0, 1, (2000, MIN_SEEDS))
    hits = [low <= 0 <= high for low, high in (mean_interval(each) or (9, 9) for each in draws)]
    assert 0.94 < np.mean(hits) < 0.96


def test_the_interval_of_a_mean_by_hand() -> None:
    assert mean_interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), abs=1e-5)
    assert mean_interval([0.3] * 5) == (0.3, 0.3)
    assert mean_interval([1.0]) is None


def test_a_value_that_is_not_finite_leaves_a_claim_open() -> None:
    claim = Claim("X", "something", "more than 0", lambda table: judge_above([1.0, math.nan, 1.0, 1.0, 1.0], 0.0))
    (answer,) = judge_all([claim], pl.DataFrame(), "s", "e", "full")
    assert (answer["verdict"], answer["n"]) == ("undecided", 0)
    assert "finite" in answer["note"]


def test_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        low, high = bootstrap_interval(rng.normal(0, 1, 30), draws=400) or (9, 9)
        hits += low <= 0 <= high
    assert 86 <= hits <= 100


@pytest.mark.parametrize(
    ("interval", "above", "below", "within"),
    [
        ((0.6, 0.7), "holds", "fails", "holds"),
        ((0.4, 0.6), "undecided", "undecided", "undecided"),
        ((0.1, 0.4), "fails", "holds", "fails"),
        ((0.5, 0.5), "fails", "fails", "holds"),  # exactly the bound is neither above nor below
        ((0.5, 0.9), "undecided", "fails", "undecided"),
        ((0.9, math.inf), "holds", "fails", "fails"),
        ((math.nan, 0.9), "undecided", "undecided", "undecided"),
        (None, "undecided", "undecided", "undecided"),
    ],
)
def test_verdicts_look_at_the_whole_interval(interval, above: str, below: str, within: str) -> None:  # type: ignore[no-untyped-def]
    n = MIN_SEEDS
    assert verdict_above(interval, 0.5, n) == above
    assert verdict_below(interval, 0.5, n) == below
    assert verdict_within(interval, 0.5, 0.8, n) == within
    for few in range(MIN_SEEDS):
        assert verdict_above(interval, 0.5, few) == "undecided"
        assert verdict_below(interval, 0.5, few) == "undecided"
        assert verdict_within(interval, 0.5, 0.8, few) == "undecided"


def test_every_seed() -> None:
    assert [verdict_every(k, 5) for k in (5, 4, 0)] == ["holds", "fails", "fails"]
    assert [verdict_every(k, 4) for k in (4, 3)] == ["undecided", "undecided"]
    assert judge_every(4, 5) == Judgement(0.8, proportion_interval(4, 5), 5, "fails")
    assert judge_every(0, 0) == Judgement(None, (0.0, 1.0), 0, "undecided")
    with pytest.raises(ValueError):
        verdict_every(6, 5)


@pytest.mark.parametrize(
    ("value", "above", "below", "within"),
    [
        (0.7, "holds", "fails", "holds"),
        (0.9, "holds", "fails", "fails"),
        (0.2, "fails", "holds", "fails"),
        (0.5, "fails", "fails", "holds"),
    ],
)
def test_the_mean_of_equal_seeds_is_judged_as_a_point(value: float, above: str, below: str, within: str) -> None:
    seeds = [value] * MIN_SEEDS
    assert judge_above(seeds, 0.5) == Judgement(pytest.approx(value), (value, value), 5, above)
    assert judge_below(seeds, 0.5).verdict == below
    assert judge_within(seeds, 0.5, 0.8, "a note") == Judgement(
        pytest.approx(value), (value, value), 5, within, "a note"
    )
    for few in range(1, MIN_SEEDS):
        for judged in (judge_above(seeds[:few], 0.5), judge_below(seeds[:few], 0.5), judge_within(seeds[:few], 0, 1)):
            assert (judged.estimate, judged.n, judged.verdict) == (pytest.approx(value), few, "undecided")


def test_seeds_that_differ_are_judged_by_the_interval_of_their_mean() -> None:
    values = [0.2, 0.8, 0.4, 0.9, 0.6, 0.7]
    interval = mean_interval(values)
    assert interval is not None
    low, high = interval
    assert low < 0.6 < high
    for judged in (judge_above(values, 0.6), judge_below(values, 0.6), judge_within(values, 0.6, 1)):
        assert judged == Judgement(pytest.approx(0.6), interval, 6, "undecided")
    assert judge_above(values, low - 0.01).verdict == judge_below(values, high + 0.01).verdict == "holds"
    assert judge_above(values, high + 0.01).verdict == judge_below(values, low - 0.01).verdict == "fails"
    assert judge_within(values, low - 0.01, high + 0.01).verdict == "holds"
    assert judge_within(values, high + 0.01, 1).verdict == judge_within(values, 0, low - 0.01).verdict == "fails"
    assert judge_above(np.array([values]), 0.6) == judge_above(values, 0.6)


def test_one_seed_has_an_estimate_and_no_interval() -> None:
    assert judge_above([0.9], 0.5) == Judgement(0.9, None, 1, "undecided")


@pytest.mark.parametrize("nothing", [[], np.zeros(0), np.zeros((0, 3))], ids=["list", "array", "no seeds"])
def test_without_a_seed_there_is_nothing_to_judge(nothing: Any) -> None:
    """Not the mean of nothing, which is no number and would be judged as one."""
    for judge in (judge_above, judge_below, lambda values, bound: judge_within(values, bound, 1, "a note")):
        with pytest.raises(NotMeasured, match="no seed has what is compared"):
            judge(nothing, 0.5)
    claim = Claim("A", "more than half", "–", lambda table: judge_above(table["value"], 0.5))
    [judged] = judge_all([claim], table_of([]), "s", "e", "smoke")
    assert (judged["estimate"], judged["interval"], judged["n"], judged["verdict"]) == (None, None, 0, "undecided")
    assert judged["note"] == "no seed has what is compared"


def table_of(values: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"value": values}, schema={"value": pl.Float64})


def test_judge_all_is_ready_for_json_and_stable() -> None:
    def missing(table: pl.DataFrame) -> Judgement:
        raise NotMeasured("reader.color was not read")

    claims = [
        Claim(
            "A", "more than half", ".7", lambda t: Judgement(np.float64(t["value"].mean()), (0.6, math.inf), 5, "holds")
        ),
        Claim("B", "colour last", "yes", missing),
        Claim("C", "never", "–", lambda t: Judgement(math.inf, None, np.int64(5), "undecided", "no seed emerged")),
    ]
    judged = judge_all(claims, table_of([0.5, 1.0]), "concept-graphs", "emergence", "laptop")
    assert json.loads(json.dumps(judged, allow_nan=False)) == judged
    fields = ["claim", "study", "experiment", "budget", "says", "paper", "check", "estimate", "interval", "n",
              "verdict", "note"]  # fmt: skip
    assert [list(claim) for claim in judged] == [fields] * 3
    assert judged[0]["estimate"] == 0.75
    assert judged[0]["interval"] == [0.6, None]
    assert (judged[1]["verdict"], judged[1]["note"], judged[1]["n"]) == ("undecided", "reader.color was not read", 0)
    assert judged[2]["estimate"] is None


def test_judge_all_hides_no_programming_error() -> None:
    broken = Claim("A", "", "", lambda table: table["no such column"])
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        judge_all([broken], table_of([1.0]), "s", "e", "smoke")
    same = Claim("A", "", "", lambda table: judge_every(5, 5))
    with pytest.raises(ValueError, match="'A'"):
        judge_all([same, same], table_of([1.0]), "s", "e", "smoke")
