import math

import pytest

from recombine.lab.claims import NotMeasured
from recombine.lab.rules import (
    Rule,
    above,
    above_where_least,
    below,
    between,
    combined,
    correlation,
    difference,
    final,
    fixed,
    highest_of,
    in_every_seed,
    least,
    less,
    lowest_of,
    mean,
    ordered,
    rank_correlation,
    ratio,
    rising,
)
from recombine.lab.table import make_table
from support.tables import rows_of


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


TABLE = make_table(
    rows_of(
        lambda row: {"near": 1.0, "far": 2.0}[row["arm"]] + 0.01 * row["seed"],
        arm=["near", "far"], seed=range(5), instrument="time",
    ),
    {},
)  # fmt: skip
NEAR, FAR = final("time", arm="near"), final("time", arm="far")
NEVER = final("time", arm="nowhere")


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (above(FAR, 1.9), "holds"),
        (above(FAR, 3), "fails"),
        (below(NEAR, 2), "holds"),
        (below(NEAR, 0.5), "fails"),
        (between(ratio(FAR, NEAR), 1.5, 2.5), "holds"),
        (between(ratio(FAR, NEAR), 3, 4), "fails"),
        (above(difference(FAR, NEAR), 1 - 1e-9), "holds"),
        (below(lowest_of({"a": FAR, "b": NEAR}), 1.5), "holds"),
        (above(highest_of({"a": FAR, "b": NEAR}), 1.5), "holds"),
        (ordered(NEAR, FAR), "holds"),
        (ordered(FAR, NEAR), "fails"),
        (in_every_seed(rising(NEAR, FAR)), "holds"),
    ],
)
def test_each_rule_has_a_known_answer(rule: Rule, verdict: str) -> None:
    judgement = rule(TABLE)
    assert (judgement.verdict, judgement.n) == (verdict, 5)


def test_few_seeds_decide_nothing() -> None:
    few = TABLE.filter(TABLE["seed"] < 4)
    assert {rule(few).verdict for rule in (above(FAR, 1.9), above(FAR, 3), ordered(NEAR, FAR))} == {"undecided"}


@pytest.mark.parametrize("rule", [above(NEVER, 0), ordered(NEAR, NEVER), between(ratio(FAR, NEVER), 0, 1)])
def test_what_was_not_measured_is_not_judged(rule: Rule) -> None:
    with pytest.raises(NotMeasured):
        rule(TABLE)


def test_a_note_may_be_computed() -> None:
    assert above(FAR, 1, lambda table: f"{table.height} rows")(TABLE).note == "10 rows"
    assert above(FAR, 1, "as it is")(TABLE).note == "as it is"


def test_a_ratio_to_nothing_is_not_finite_and_so_not_judged() -> None:
    nothing = make_table(rows_of(0.0, arm="near", seed=range(5), instrument="time"), {})
    with pytest.raises(NotMeasured, match="finite"):
        above(ratio(NEAR, NEAR), 1)(nothing)


def test_above_where_least_names_the_lowest_mean() -> None:
    found = {0.5: dict.fromkeys(range(5), 0.7), 1.0: dict.fromkeys(range(5), 0.9), 2.0: {}}
    judged = above_where_least(lambda _: found, 0.8, "least at width {:g}", note="; as it is")(TABLE)
    assert (judged.verdict, judged.estimate) == ("fails", pytest.approx(0.7))
    assert judged.note == "least at width 0.5; as it is"
    with pytest.raises(NotMeasured, match="no width"):
        above_where_least(lambda _: {}, 0.8, missing="no width")(TABLE)


def test_values_are_combined_over_shared_seeds() -> None:
    assert combined([{0: 1.0, 1: 2.0}, {1: 3.0, 2: 4.0}], sum) == {1: 5.0}
    assert combined([], sum) == {}


def test_a_fixed_measure_has_what_the_first_seed_has() -> None:
    assert set(fixed(FAR, "missing")(TABLE).values()) == {FAR(TABLE)[0]}
    with pytest.raises(NotMeasured, match="missing"):
        fixed(NEVER, "missing")(TABLE)


def test_correlation_is_nothing_where_nothing_varies() -> None:
    assert correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert correlation([1, 2, 3], [5, 5, 5]) == 0
