"""The failure that is none: a small computation at full length, rules on tables made by hand, the figure."""

from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.runs.identity.failure import FailureConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.failure.claims import CLAIMS
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import words

EXPERIMENT = EXPERIMENTS["identity-mapping/failure"]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Twelve starts, with the scripts' step."""
    return computed(EXPERIMENT, {"A2": FailureConfig(starts=12, power=2, etas=(0.01,), moments_kept=20)})


def judge(claim: str, rows: list[Row]) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, by_hand(EXPERIMENT, rows))


def test_every_start_recovers_and_eulers_failures_are_those_that_are_lost(table: pl.DataFrame) -> None:
    answer = tables.judge(CLAIMS, "S12", table)
    assert (answer["verdict"], answer["n"]) == ("holds", 12)
    found = {(row["way"], row["instrument"], row["at"]): row["value"] for row in table.iter_rows(named=True)}
    assert found["flow", "late", None] >= 6
    failed, lost, both = (found["euler", name, "end"] for name in ("failed", "lost", "both"))
    assert 0 < failed == lost == both < 12
    assert found["euler", "neither", "end"] == 12 - failed
    assert found["euler", "failed", "plotted"] > found["euler", "both", "plotted"]  # some are only unfinished


def flown(arm: str, recovered: int, late: int = 200, followed: float = 400) -> list[Row]:
    numbers = {"starts": 300, "recovered": recovered, "late": late}
    rows = [{"arm": arm, "way": "flow", "instrument": name, "value": k} for name, k in numbers.items()]
    return [*rows, {"arm": arm, "instrument": "followed", "value": followed}]


@pytest.mark.parametrize(("claim", "arm"), [("S12", "A2"), ("S12b", "A")])
def test_one_that_does_not_recover_fails(claim: str, arm: str) -> None:
    assert judge(claim, flown(arm, 300))["verdict"] == "holds"
    assert judge(claim, flown(arm, 299))["verdict"] == "fails"
    assert tables.undecided(judge(claim, flown(arm, 10, followed=40)), "followed to t = 40")


@pytest.mark.parametrize(("late", "verdict"), [(285, "holds"), (265, "undecided"), (100, "fails")])
def test_unfinished(late: int, verdict: str) -> None:
    assert judge("S12c", flown("A2", 300, late))["verdict"] == verdict


@pytest.mark.parametrize(("time", "verdict"), [(120.0, "holds"), (90.0, "fails")])
def test_the_typical_escape(time: float, verdict: str) -> None:
    rows = tables.rows_of(lambda row: time + row["start"] % 7 - 3, arm="A2", instrument="escape", start=range(70))
    answer = judge("S12d", flown("A2", 300) + rows)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, time, 70)


def stepped(arm: str, eta: float, failed: int, lost: int, both: int) -> list[Row]:
    where = {"arm": arm, "way": "euler", "eta": eta}
    numbers = {"failed": failed, "lost": lost, "both": both, "neither": 300 - failed - lost + both}
    rows = [{**where, "at": "end", "instrument": name, "value": k} for name, k in numbers.items()]
    return [*rows, {**where, "instrument": "starts", "value": 300}]


@pytest.mark.parametrize(("claim", "arm"), [("S12e", "A2"), ("S12f", "A")])
def test_failed_and_lost_have_to_be_the_same(claim: str, arm: str) -> None:
    small = stepped(arm, 0.001, 50, 50, 50)
    same = judge(claim, flown(arm, 300) + stepped(arm, 0.01, 100, 100, 100) + small)
    assert (same["verdict"], same["n"]) == ("holds", 600)
    crossed = judge(claim, flown(arm, 300) + stepped(arm, 0.01, 100, 100, 99) + small)
    assert (crossed["verdict"], crossed["estimate"]) == ("fails", pytest.approx(598 / 600))


@pytest.mark.parametrize(("few", "verdict"), [(50, "holds"), (140, "undecided"), (290, "fails")])
def test_fewer_with_small_steps(few: int, verdict: str) -> None:
    rows = flown("A2", 300) + stepped("A2", 0.01, 150, 150, 150) + stepped("A2", 0.001, few, few, few)
    answer = judge("S12g", rows)
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx((150 - few) / 300))


@pytest.mark.parametrize(("claim", "arm", "k"), [("S12i", "A2", 235), ("S12j", "A", 145)])
def test_as_often_as_before(claim: str, arm: str, k: int) -> None:
    assert judge(claim, flown(arm, 300) + stepped(arm, 0.01, k, k, k))["verdict"] == "holds"
    assert judge(claim, flown(arm, 300) + stepped(arm, 0.01, 20, 20, 20))["verdict"] == "fails"


def test_nothing_measured_is_undecided() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


@pytest.mark.parametrize(
    ("changes", "said"), [({"etas": [0.0]}, "etas"), ({"span": -1}, "span"), ({"etas": [0.5]}, "etas")]
)
def test_bad_settings_are_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(FailureConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_full_steps_as_the_scripts_and_ten_times_finer() -> None:
    for config in arms_of(EXPERIMENT, "full").values():
        assert config.etas == (0.01, 0.001)
        assert config.starts >= 200
        assert config.span >= 4 * config.plotted


def test_the_figures_mark_the_end_of_the_paper_s(table: pl.DataFrame) -> None:
    drawn = EXPERIMENT.draw(table, FailureConfig(starts=12, power=2, etas=(0.01,)))
    figure = drawn["figure"].figure
    losses, escapes = figure.axes[2:]
    assert "figure ends" in words(losses)
    assert sum(patch.get_height() for patch in escapes.patches) == 12
    assert "12 of 12 escape" in escapes.get_title(loc="left")
    assert "step 0.01" in words(drawn["euler"].figure.axes[1])
    assert "not measured: loss" in words(figure)  # arm A was not computed
