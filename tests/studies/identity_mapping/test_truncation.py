"""Training without the points near the probe: rules on tables made by hand, rows, the figure."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.runs.identity.truncation import TruncationConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.truncation.claims import CLAIMS
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["identity-mapping/truncation"]
SMALL = TruncationConfig(count=200, starts=6, datasets=2, descent={"epochs": 2})
Row = dict[str, Any]


def judge(claim: str, rows: list[Row]) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, by_hand(EXPERIMENT, rows))


def shifted(shifts: Mapping[str, float], redrawn: float = 0.02, inside: float = 3.0, starts: int = 20) -> list[Row]:
    """In every arm: the shift of start 0 as given, of others 0.01; 1,000 points a dataset, so many inside the first."""
    rows: list[Row] = []
    for arm, shift in shifts.items():
        rows += [{"arm": arm, "instrument": "points", "value": 1_000}]
        rows += [{"arm": arm, "instrument": "inside", "dataset": i, "value": k} for i, k in enumerate((inside, 0.0))]
        for start in range(starts):
            moved = {"shift": shift if start == 0 else 0.01, "redrawn": redrawn}
            rows += [{"arm": arm, "start": start, "instrument": name, "value": value} for name, value in moved.items()]
    return rows


# Rules


@pytest.mark.parametrize(("shift", "verdict", "share"), [(0.049, "holds", 1.0), (0.06, "fails", 0.95)])
@pytest.mark.parametrize(("claim", "arm"), [("S11", "released"), ("S11r", "wide relu")])
def test_no_start_may_move_by_a_twentieth(claim: str, arm: str, shift: float, verdict: str, share: float) -> None:
    answer = judge(claim, shifted({arm: shift}))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, share, 20)
    assert answer["note"] == f"{arm}: median 0.0100, largest {shift:.4f}, 0.15% cut"


def test_one_start_of_one_setting_is_enough_to_fail() -> None:
    answer = judge("S11w", shifted({"wide": 0.01, "weak": 0.01, "round": 0.07}))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", pytest.approx(59 / 60), 60)
    assert tables.undecided(judge("S11w", shifted({"wide": 0.01, "weak": 0.01})), "round")


@pytest.mark.parametrize(("late", "verdict", "n"), [(1.04, "holds", 20), (1.08, "fails", 20), (None, "holds", 19)])
def test_times_are_held_to_the_same_bound(late: float | None, verdict: str, n: int) -> None:
    """Start 0 learns concept 2 later by this much, or not at all; then it is left out."""
    rows = tables.rows_of(1.0, arm="released", instrument="shift.time", start=range(20), concept=[1, 2])
    rows[1]["value"] = late
    answer = judge("S11t", rows)
    assert (answer["verdict"], answer["n"]) == (verdict, n)
    assert tables.undecided(judge("S11u", rows), "wide")


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "holds"), (1.01, "holds"), (1.05, "fails")])
def test_a_delay_is_held_against_that_of_its_own_dataset(factor: float, verdict: str) -> None:
    """Starts learn from two datasets in turn, whose delays are 1.1 and 1.2."""
    arms, concepts = ["wide", "weak", "round"], [1, 2]
    rows = tables.rows_of(
        lambda row: factor * (1.2 if row["start"] % 2 else 1.1),
        arm=arms, instrument="shift.time", start=range(20), concept=concepts,
    )  # fmt: skip
    rows += tables.rows_of(
        lambda row: 1.1 + 0.1 * row["dataset"], arm=arms, instrument="predicted.time", dataset=[0, 1], concept=concepts
    )
    answer = judge("S11p", rows)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(factor), 20)


@pytest.mark.parametrize(("inside", "verdict"), [(0.0, "holds"), (5.0, "holds"), (100.0, "fails")])
@pytest.mark.parametrize(("claim", "arm"), [("S11l", "label"), ("S11n", "released")])
def test_points_inside_are_counted_over_all_datasets(claim: str, arm: str, inside: float, verdict: str) -> None:
    answer = judge(claim, shifted({arm: 0.01}, inside=inside))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, pytest.approx(inside / 2_000), 2_000)


@pytest.mark.parametrize(("redrawn", "verdict"), [(0.02, "holds"), (0.005, "fails")])
def test_a_shift_is_held_against_that_of_other_points(redrawn: float, verdict: str) -> None:
    answer = judge("S11c", shifted({"released": 0.01}, redrawn))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(0.01 / redrawn))


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


# Rows


def read(config: TruncationConfig, instrument: str) -> list[float]:
    return [row["value"] for row in config.rows() if row["instrument"] == instrument]


def test_where_no_point_is_inside_nothing_moves() -> None:
    config = override(SMALL, {"world.spread_as": "deviation"})
    assert read(config, "inside") == [0.0, 0.0]
    assert set(read(config, "shift")) == {0.0}
    assert min(read(config, "redrawn")) > 0


def test_where_points_are_inside_the_path_moves() -> None:
    config = override(SMALL, {"world.spreads": [0.5, 0.5]})
    drawn = [config.world.points(200, seed) for seed in config.data_seeds()]
    inside = [float(((points - config.world.probe()).norm(dim=1) < 0.5).sum()) for points in drawn]
    assert read(config, "inside") == inside
    assert min(inside) > 5
    assert min(read(config, "shift")) > 0


def test_points_that_are_drawn_again_are_the_only_ones_that_differ() -> None:
    world = override(SMALL, {"world.spreads": [0.5, 0.5]}).world
    whole, cut = world.points(200, 1), world.replace(truncated=True).points(200, 1)
    changed = (whole != cut).any(1)
    assert torch.equal(changed, (whole - world.probe()).norm(dim=1) < 0.5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"world": {"signals": [1, 2, 3], "spreads": [1, 1, 1]}}, "two concepts"),
        ({"world.signals": [-1, 2]}, "above 0"),
        ({"world.truncated": True}, "leave world.truncated off"),
    ],
)
def test_other_worlds_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        override(SMALL, changes).check()


# The budgets and the figure


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed(EXPERIMENT, arms_of(EXPERIMENT, "smoke"))


def test_smoke_has_what_the_claims_need(smoke: pl.DataFrame) -> None:
    """But for times: not enough is learned at smoke."""
    for claim in CLAIMS:
        answer = tables.judge(CLAIMS, claim.id, smoke)
        assert answer["n"] >= 5 or claim.id in ("S11t", "S11u", "S11p")


def test_the_full_budget_takes_sigma_both_ways() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    assert arms["label"].world.spread_as == "deviation"  # type: ignore[attr-defined]
    assert arms["released"].world.spread_as == "variance"  # type: ignore[attr-defined]
    assert arms["wide relu"].net.activation == "relu"  # type: ignore[attr-defined]
    assert all(arms[arm].starts >= 200 for arm in ("label", "released", "wide", "weak", "round"))  # type: ignore[attr-defined]


def test_the_figures_say_how_many_points_are_inside(smoke: pl.DataFrame) -> None:
    drawn = EXPERIMENT.draw(smoke, None)
    for drawing in drawn.values():
        render(drawing.figure)
    text = " ".join(words(drawn["figure"].figure).split())
    assert "0.00% inside" in text
    assert "n = 6 starts (ReLU: 5)" in text
    assert len(drawn["paths"].figure.axes) == 4


def test_a_figure_of_nothing_says_so() -> None:
    for drawing in EXPERIMENT.draw(by_hand(EXPERIMENT, []), None).values():
        assert "not measured" in words(drawing.figure)
