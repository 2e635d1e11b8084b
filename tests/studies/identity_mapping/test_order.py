"""The order of two concepts: closed forms, rules on tables made by hand, rows at smoke, the figure."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import make_table
from recombine.settings import override
from recombine.studies.identity_mapping.order.claims import ORDER, crossing, settings, strengths
from recombine.studies.identity_mapping.order.experiment import (
    EXPERIMENT,
    OrderConfig,
    closed_forms,
    integrated,
    located_flips,
)
from recombine.theory.identity.flow import affine, augmented, one_layer
from recombine.theory.identity.linear_denoiser import first_times
from recombine.worlds.mixture import MixtureWorld
from support import tables
from support.pictures import legend, render, words

WORLD = MixtureWorld(dimensions=3, reading="variance", origin=True)
BIAS, PLAIN = "bias/mu=1,2/var=0.05", "no-bias/mu=1,2/var=0.05"


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(ORDER, claim, table)


def told(numbers: Mapping[tuple[str, str, str], float | None]) -> pl.DataFrame:
    """A table of {(arm, node, instrument): value}."""
    return make_table([("s", "e", arm, 0, 0, node, None, what, value) for (arm, node, what), value in numbers.items()])


def timed(arms: Mapping[str, Callable[[int], tuple[float | None, float | None]]], n: int = 20) -> pl.DataFrame:
    """A table of times: {arm: start -> (t_1, t_2)}."""
    return told(
        {
            (arm, f"start {start}", f"time.{k}"): times(start)[k - 1]
            for arm, times in arms.items()
            for start in range(n)
            for k in (1, 2)
        }
    )


# Closed forms


def test_times_from_rest_are_those_worked_out_apart() -> None:
    """20.95 and 3.05 epochs with a bias, 11.4 and 3.2 without, for mu (1, 2), variance 0.05, d 64 and rate 0.1."""
    epochs = torch.linspace(0, 40, 4_001, dtype=torch.float64)
    forms = closed_forms(WORLD, epochs * 0.36875)
    level = 0.8 * WORLD.probe()[:2]
    assert first_times(epochs, forms["affine"], level).tolist() == pytest.approx([20.95, 3.05], abs=0.02)
    rates = 0.36875 * WORLD.second_moment()[:2]
    assert first_times(epochs, forms["plain"], level).tolist() == pytest.approx(
        (math.log(5) / rates).tolist(), rel=1e-4
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_integration_is_the_closed_form(bias: bool) -> None:
    torch.manual_seed(0)
    start = torch.randn(4, 3, 3 + bias, dtype=torch.float64)
    times = torch.linspace(0, 6, 5, dtype=torch.float64)
    closed = affine(augmented(WORLD), start, times) if bias else one_layer(WORLD.second_moment(), start, times)
    assert torch.allclose(integrated(WORLD, start, times), closed, atol=1e-11, rtol=0)


def test_the_flip_is_found_where_the_rule_says() -> None:
    found = located_flips(3, WORLD, 0)
    assert {form: len(ratios) for form, ratios in found.items()} == {"affine": 3, "plain": 3}
    assert np.ravel(list(found.values())).tolist() == pytest.approx([1.0] * 6, abs=1e-4)
    assert located_flips(0, WORLD, 0) == {"affine": [], "plain": []}


# Rules


def test_an_arm_says_what_it_is() -> None:
    assert settings("no-bias/mu=1,2/var=0.05") == ("no-bias", (1.0, 2.0), 0.05)
    assert strengths("bias/mu=3,2/var=0.05") == pytest.approx((3.05, 4 / 3 + 0.05))


@pytest.mark.parametrize(("within", "verdict"), [(40.0, "holds"), (39.0, "fails")])
def test_every_start_must_be_exact(within: float, verdict: str) -> None:
    numbers = {(PLAIN, "all", f"closed.{w}"): v for w, v in (("within", within), ("starts", 40.0), ("worst", 3e-13))}
    answer = judge("S1", told(numbers))
    assert (answer["verdict"], answer["n"], answer["note"]) == (verdict, 40, "largest difference 3.0e-13")
    assert tables.undecided(judge("S1b", told(numbers)))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0005, "holds"), (1.002, "fails")])
def test_one_flip_elsewhere_fails(ratio: float, verdict: str) -> None:
    flips = {(BIAS, f"world {i}", f"flip.{form}"): 1.0 for i in range(5) for form in ("affine", "plain")}
    assert judge("S2", told({**flips, (BIAS, "world 3", "flip.plain"): ratio}))["verdict"] == verdict


def test_a_curve_crosses_in_proportion() -> None:
    at = np.array([0.8, 1.0, 1.2])
    assert crossing(at, np.array([0.3, 0.1, -0.3])) == pytest.approx(1.05)
    assert math.isnan(crossing(at, np.array([0.3, 0.2, 0.1])))


@pytest.mark.parametrize(("flip", "verdict"), [(1.05, "holds"), (1.0, "holds"), (1.3, "fails"), (0.9, "fails")])
@pytest.mark.parametrize(("claim", "nets"), [("S2n", "no-bias"), ("S2b", "bias")])
def test_the_flip_of_trained_nets(claim: str, nets: str, flip: float, verdict: str) -> None:
    """log t_1 / t_2 falls in a line through 0 at the flip; starts scatter a little about it."""

    def times(variance: float) -> Callable[[int], tuple[float, float]]:
        return lambda start: (math.exp(0.7 * (flip - variance) + 0.01 * math.sin(start)), 1.0)

    arms = {f"{nets}/mu=1,2/var={variance:g}": times(variance) for variance in (0.05, 0.8, 1, 1.2, 1.5)}
    answer = judge(claim, timed(arms))
    assert (answer["verdict"], answer["n"]) == (verdict, 20)
    assert answer["estimate"] == pytest.approx(flip, abs=0.01)


def test_an_order_that_never_flips_is_not_judged() -> None:
    arms = {f"bias/mu=1,2/var={variance:g}": lambda start: (2.0, 1.0) for variance in (0.8, 1.2)}
    assert tables.undecided(judge("S2b", timed(arms)), "does not flip")


def test_the_order_of_clear_settings() -> None:
    """(2, 2) is a tie and says nothing; in the others the stronger concept must be first, in every one of them."""
    right: dict[str, Callable[[int], tuple[float | None, float | None]]] = {
        BIAS: lambda start: (None if start else 20.0, 3.0),  # not learned in time is later
        "bias/mu=3,2/var=0.05": lambda start: (1.4, 4.4),
        "bias/mu=2,2/var=0.05": lambda start: (9.0, 1.0),
    }
    answer = judge("S2p", timed(right, 100))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 100)
    wrong = {**right, "bias/mu=1,2/var=2": lambda start: (5.0, 3.0) if start < 20 else (2.0, 3.0)}
    answer = judge("S2p", timed(wrong, 100))
    assert (answer["verdict"], answer["estimate"]) == ("fails", 0.8)


def test_deep_nets_are_judged_by_the_same_order() -> None:
    assert judge("S2d", timed({"deep/mu=2,4/var=0.05": lambda start: (7.0, 1.0)}))["verdict"] == "holds"
    late = judge("S2d", timed({"deep/mu=2,4/var=0.05": lambda start: (None, 1.0)}))
    assert (late["verdict"], late["note"]) == ("holds", "concept 1 is not learned by the end in 20")
    never = judge("S2d", timed({"deep/mu=2,4/var=0.05": lambda start: (None, None)}))
    assert never["verdict"] == "fails"


@pytest.mark.parametrize(("off", "verdict"), [(0.019, "holds"), (0.03, "fails")])
@pytest.mark.parametrize(("claim", "nets"), [("S3", "small-no-bias"), ("S3a", "small-bias")])
def test_slopes_within_two_percent(claim: str, nets: str, off: float, verdict: str) -> None:
    arm = f"{nets}/mu=1,2/var=0.05"
    ratios = {(arm, f"start {i}", f"slope.{k}"): 1 + off * (i == 3 and k == 2) for i in range(10) for k in (1, 2)}
    answer = judge(claim, told(ratios))
    assert (answer["verdict"], answer["n"]) == (verdict, 10)
    assert answer["estimate"] == (1.0 if verdict == "holds" else 0.9)


def with_forms(weak: float, strong: float) -> pl.DataFrame:
    """Nets that need these times, beside the closed forms' of the released setting."""
    forms = {("affine", 1): 20.95, ("affine", 2): 3.05, ("plain", 1): 11.4, ("plain", 2): 3.2}
    numbers = {(BIAS, form, f"time.{k}"): time for (form, k), time in forms.items()}
    return pl.concat([timed({BIAS: lambda start: (weak + start / 100, strong)}), told(numbers)])


@pytest.mark.parametrize(
    ("weak", "strong", "affine_says", "plain_misses"),
    [(21.0, 3.0, "holds", "holds"), (11.4, 3.2, "fails", "fails"), (21.0, 4.0, "fails", "holds")],
)
def test_the_form_with_a_bias_is_right_and_the_other_misses(
    weak: float, strong: float, affine_says: str, plain_misses: str
) -> None:
    table = with_forms(weak, strong)
    assert judge("S3b", table)["verdict"] == affine_says
    assert judge("S3c", table)["verdict"] == plain_misses
    assert judge("S3c", table)["estimate"] == pytest.approx((weak + 0.095) / 11.4)


def test_the_concept_that_is_farther_off_is_told() -> None:
    answer = judge("S3b", with_forms(21.0, 4.0))
    assert answer["estimate"] == pytest.approx(4.0 / 3.05)
    assert "concept 1: 21.09 epochs" in answer["note"]


def test_nets_that_never_learn_are_not_predicted() -> None:
    table = with_forms(21.0, 3.0).with_columns(
        value=pl.when(pl.col("node").str.starts_with("start") & (pl.col("instrument") == "time.1"))
        .then(None)
        .otherwise("value")
    )
    assert judge("S3b", table)["verdict"] == "fails"


@pytest.mark.parametrize(("wrong", "verdict"), [(0, "holds"), (40, "fails")])
def test_the_form_of_the_own_start(wrong: int, verdict: str) -> None:
    errors = {(BIAS, f"start {i}", "own.error"): (None if i % 2 else 0.2) if i < wrong else 0.01 for i in range(200)}
    answer = judge("S3o", told(errors))
    assert (answer["verdict"], answer["estimate"]) == (verdict, 1 - wrong / 200)


def test_an_empty_table_decides_nothing() -> None:
    for claim in ORDER:
        assert tables.undecided(judge(claim.id, make_table([])))


# Rows and the figure


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    rows = [
        ("s", "e", arm, 0, r["images_seen"], r["node"], None, r["instrument"], r["value"])
        for arm, config in EXPERIMENT.budgets["smoke"].arms.items()
        if isinstance(config, OrderConfig)
        for r in config.rows()
    ]
    return make_table(rows)


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    for claim in ("S1", "S1b", "S2", "S3", "S3a"):
        answer = judge(claim, smoke)
        assert answer["n"] >= 5, answer["note"]
    assert {judge(claim, smoke)["verdict"] for claim in ("S1", "S1b", "S2")} == {"holds"}


def test_the_full_budget_has_the_released_settings_and_enough_starts() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    paper = {"bias/mu=1,2/var=0.05", "bias/mu=2,2/var=0.05", "bias/mu=3,2/var=0.05", "bias/mu=1,2/var=0.1",
             "bias/mu=1,2/var=0.5", "bias/mu=1,2/var=1", "bias/mu=1,2/var=2", "deep/mu=2,4/var=0.05"}  # fmt: skip
    assert paper <= set(arms)
    for arm, config in arms.items():
        assert isinstance(config, OrderConfig)
        assert config.starts >= (20 if arm.startswith("deep") else 200)
        assert (config.world.dimensions, config.count, config.world.origin) == (64, 5_000, True)
        assert settings(arm)[1:] == (config.world.signals, config.world.spreads[0])
        assert config.net.bias == ("no-bias" not in arm)
    assert arms["small-bias/mu=1,2/var=0.05"].net.scale == 0.01  # type: ignore[attr-defined]


def test_two_concepts_only() -> None:
    three = override(OrderConfig(), {"world": {"signals": [1, 2, 3], "spreads": [1, 1, 1]}})
    with pytest.raises(UserError, match="two concepts"):
        three.check()


def test_the_figure_names_every_setting(smoke: pl.DataFrame) -> None:
    figure = EXPERIMENT.draw(smoke, None)["figure"].figure
    render(figure)
    assert legend(figure.axes[1]) == ["var$_1$ = 0.05", "var$_1$ = 2"]
    assert "n = 6 starts (c: 5)" in words(figure)


def test_a_figure_of_nothing_says_so() -> None:
    assert "not measured" in words(EXPERIMENT.draw(make_table([]), None)["figure"].figure)
