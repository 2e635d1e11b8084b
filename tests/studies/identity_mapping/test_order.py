"""The order of two concepts: closed forms, rules on tables made by hand, rows at smoke, the figure."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from recombine.errors import UserError
from recombine.runs.identity.order import OrderConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.order.claims import CLAIMS, Setting, crossing
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import legend, render, words

EXPERIMENT = EXPERIMENTS["identity-mapping/order"]
Row = dict[str, Any]
Times = Callable[[int], tuple[float | None, float | None]]


def judge(claim: str, rows: list[Row]) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, by_hand(EXPERIMENT, rows))


def arm(net: str, one: float = 1, two: float = 2, variance: float = 0.05) -> Row:
    """The columns of an arm."""
    name = f"{net}/mu={one:g},{two:g}/var={variance:g}"
    return {"arm": name, "net": net, "mu_1": one, "mu_2": two, "variance": variance}


def timed(columns: Row, times: Times, n: int = 20) -> list[Row]:
    """The times of an arm: start -> (t_1, t_2)."""
    rows = [{**columns, "instrument": "time", "start": start} for start in range(n)]
    return [row | {"concept": k, "value": times(row["start"])[k - 1]} for row in rows for k in (1, 2)]


# Rules


def test_moments_of_a_setting() -> None:
    assert Setting("", (3.0, 2.0), 0.05).moments == pytest.approx((3.05, 4 / 3 + 0.05))


@pytest.mark.parametrize(("within", "verdict"), [(40.0, "holds"), (39.0, "fails")])
def test_every_start_must_be_exact(within: float, verdict: str) -> None:
    numbers = {"closed.within": within, "closed.starts": 40.0, "closed.worst": 3e-13}
    rows = [{**arm("no-bias"), "instrument": name, "value": value} for name, value in numbers.items()]
    answer = judge("S1", rows)
    assert (answer["verdict"], answer["n"], answer["note"]) == (verdict, 40, "largest difference 3.0e-13")
    assert tables.undecided(judge("S1b", rows))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0005, "holds"), (1.002, "fails")])
def test_one_flip_elsewhere_fails(ratio: float, verdict: str) -> None:
    rows = tables.rows_of(1.0, **arm("bias"), instrument="flip", world=range(5), form=["affine", "plain"])
    rows[3]["value"] = ratio
    assert judge("S2", rows)["verdict"] == verdict


def test_a_curve_crosses_in_proportion() -> None:
    at = np.array([0.8, 1.0, 1.2])
    assert crossing(at, np.array([0.3, 0.1, -0.3])) == pytest.approx(1.05)
    assert math.isnan(crossing(at, np.array([0.3, 0.2, 0.1])))


@pytest.mark.parametrize(("flip", "verdict"), [(1.05, "holds"), (1.0, "holds"), (1.3, "fails"), (0.9, "fails")])
@pytest.mark.parametrize(("claim", "net"), [("S2n", "no-bias"), ("S2b", "bias")])
def test_the_flip_of_trained_nets(claim: str, net: str, flip: float, verdict: str) -> None:
    """log t_1 / t_2 falls in a line through 0 at the flip; starts scatter a little about it."""

    def times(variance: float) -> Times:
        return lambda start: (math.exp(0.7 * (flip - variance) + 0.01 * math.sin(start)), 1.0)

    variances = (0.05, 0.8, 1, 1.2, 1.5)
    rows = [row for variance in variances for row in timed(arm(net, variance=variance), times(variance))]
    answer = judge(claim, rows)
    assert (answer["verdict"], answer["n"]) == (verdict, 20)
    assert answer["estimate"] == pytest.approx(flip, abs=0.01)


def test_an_order_that_never_flips_is_not_judged() -> None:
    rows = [row for variance in (0.8, 1.2) for row in timed(arm("bias", variance=variance), lambda start: (2.0, 1.0))]
    assert tables.undecided(judge("S2b", rows), "does not flip")


def test_the_order_of_clear_settings() -> None:
    """(2, 2) is a tie and says nothing; in the others the stronger concept must be first, in every one of them."""
    right = timed(arm("bias"), lambda start: (None if start else 20.0, 3.0), 100)  # not learned in time is later
    right += timed(arm("bias", 3), lambda start: (1.4, 4.4), 100)
    right += timed(arm("bias", 2), lambda start: (9.0, 1.0), 100)
    answer = judge("S2p", right)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 100)
    wrong = timed(arm("bias", variance=2), lambda start: (5.0, 3.0) if start < 20 else (2.0, 3.0), 100)
    answer = judge("S2p", right + wrong)
    assert (answer["verdict"], answer["estimate"]) == ("fails", 0.8)


@pytest.mark.parametrize(
    ("weak", "strong", "verdict", "note"),
    [(7.0, 1.0, "holds", ""), (None, 1.0, "holds", "concept 1 is not learned by the end in 20"),
     (None, None, "fails", "concept 1 is not learned by the end in 20")],
)  # fmt: skip
def test_deep_nets_are_judged_by_the_same_order(
    weak: float | None, strong: float | None, verdict: str, note: str
) -> None:
    answer = judge("S2d", timed(arm("deep", 2, 4), lambda start: (weak, strong)))
    assert (answer["verdict"], answer["note"]) == (verdict, note)


@pytest.mark.parametrize(("off", "verdict"), [(0.019, "holds"), (0.03, "fails")])
@pytest.mark.parametrize(("claim", "net"), [("S3", "small-no-bias"), ("S3a", "small-bias")])
def test_slopes_within_two_percent(claim: str, net: str, off: float, verdict: str) -> None:
    rows = tables.rows_of(1.0, **arm(net), instrument="slope", start=range(10), concept=[1, 2])
    rows[7]["value"] = 1 + off
    answer = judge(claim, rows)
    assert (answer["verdict"], answer["n"]) == (verdict, 10)
    assert answer["estimate"] == (1.0 if verdict == "holds" else 0.9)


def with_forms(weak: float | None, strong: float) -> list[Row]:
    """Nets that need these times, beside the closed forms' of the released setting."""
    forms = {("affine", 1): 20.95, ("affine", 2): 3.05, ("plain", 1): 11.4, ("plain", 2): 3.2}
    rows = timed(arm("bias"), lambda start: (None if weak is None else weak + start / 100, strong))
    return rows + [{**arm("bias"), "instrument": "time", "form": form, "concept": k, "value": time}
                   for (form, k), time in forms.items()]  # fmt: skip


@pytest.mark.parametrize(
    ("weak", "strong", "affine_says", "plain_misses"),
    [(21.0, 3.0, "holds", "holds"), (11.4, 3.2, "fails", "fails"), (21.0, 4.0, "fails", "holds")],
)
def test_the_form_with_a_bias_is_right_and_the_other_misses(
    weak: float, strong: float, affine_says: str, plain_misses: str
) -> None:
    rows = with_forms(weak, strong)
    assert judge("S3b", rows)["verdict"] == affine_says
    assert judge("S3c", rows)["verdict"] == plain_misses
    assert judge("S3c", rows)["estimate"] == pytest.approx((weak + 0.095) / 11.4)


def test_the_estimate_is_of_the_concept_that_is_farther_off() -> None:
    answer = judge("S3b", with_forms(21.0, 4.0))
    assert answer["estimate"] == pytest.approx(4.0 / 3.05)
    assert "concept 1: 21.09 epochs" in answer["note"]


def test_nets_that_never_learn_are_not_predicted() -> None:
    assert judge("S3b", with_forms(None, 3.0))["verdict"] == "fails"


@pytest.mark.parametrize(("wrong", "verdict"), [(0, "holds"), (40, "fails")])
def test_the_form_of_each_start(wrong: int, verdict: str) -> None:
    rows = [{**arm("bias"), "instrument": "time.error", "start": start, "value": 0.01} for start in range(200)]
    for row in rows[:wrong]:
        row["value"] = None if row["start"] % 2 else 0.2
    answer = judge("S3o", rows)
    assert (answer["verdict"], answer["estimate"]) == (verdict, 1 - wrong / 200)


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


# Rows and the figure


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed(EXPERIMENT, arms_of(EXPERIMENT, "smoke"))


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(CLAIMS, claim.id, smoke) for claim in CLAIMS}
    for claim in ("S1", "S1b", "S2", "S3", "S3a"):
        assert answers[claim]["n"] >= 5, answers[claim]["note"]
    assert {answers[claim]["verdict"] for claim in ("S1", "S1b", "S2")} == {"holds"}


def test_the_full_budget_has_the_released_settings_and_enough_starts() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    paper = {"bias/mu=1,2/var=0.05", "bias/mu=2,2/var=0.05", "bias/mu=3,2/var=0.05", "bias/mu=1,2/var=0.1",
             "bias/mu=1,2/var=0.5", "bias/mu=1,2/var=1", "bias/mu=1,2/var=2", "deep/mu=2,4/var=0.05"}  # fmt: skip
    assert paper <= set(arms)
    for name, config in arms.items():
        assert isinstance(config, OrderConfig)
        columns = EXPERIMENT.arm_columns(arms)[name]
        assert name == arm(columns["net"], columns["mu_1"], columns["mu_2"], columns["variance"])["arm"]
        assert config.starts >= (20 if columns["net"] == "deep" else 200)
        assert (config.world.dimensions, config.count, config.world.origin) == (64, 5_000, True)
        assert config.net.bias == ("no-bias" not in columns["net"])
    assert arms["small-bias/mu=1,2/var=0.05"].net.scale == 0.01  # type: ignore[attr-defined]


def test_two_concepts_only() -> None:
    three = override(OrderConfig(), {"world": {"signals": [1, 2, 3], "spreads": [1, 1, 1]}})
    with pytest.raises(UserError, match="two concepts"):
        three.check()


def test_the_figures_name_every_setting(smoke: pl.DataFrame) -> None:
    drawn = EXPERIMENT.draw(smoke, None)
    for drawing in drawn.values():
        render(drawing.figure)
    assert legend(drawn["figure"].figure.axes[1]) == ["var$_1$ = 0.05", "var$_1$ = 2"]
    assert "n = 6 starts (four layers: 5)" in words(drawn["figure"].figure)
    assert len(legend(drawn["times"].figure.axes[1])) == 4


def test_a_figure_of_nothing_says_so() -> None:
    for drawing in EXPERIMENT.draw(by_hand(EXPERIMENT, []), None).values():
        assert "not measured" in words(drawing.figure)
