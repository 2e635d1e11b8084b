"""Descents: turns of known curves, counts of known starts, rules on tables made by hand, the figure."""

from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.runs.identity.descents import DescentsConfig, example
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.descents.claims import BEFORE, CLAIMS
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import words

EXPERIMENT = EXPERIMENTS["identity-mapping/descents"]
ARMS = arms_of(EXPERIMENT, "smoke")


def judge(claim: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, by_hand(EXPERIMENT, rows))


def test_an_example_keeps_every_turn_and_ends_when_a_tenth_is_left() -> None:
    losses = torch.tensor([4.0, 2, 3, 1, 2, 1, 0.1, 0.05, 0.01], dtype=torch.float64)
    rows = example(torch.arange(9, dtype=torch.float64), losses, 3)
    marks = {(row["instrument"], row["time"], row["value"]) for row in rows if row["instrument"] != "loss"}
    assert marks == {("trough", 1, 2), ("peak", 2, 3), ("trough", 3, 1), ("peak", 4, 2)}
    assert max(row["time"] for row in rows) == 6
    assert {1, 2, 3, 4} <= {row["time"] for row in rows if row["instrument"] == "loss"}


def test_counts_of_both_ways_at_the_paper_s_length() -> None:
    config = DescentsConfig(starts=30, power=2, keep=10)
    rows = config.rows()
    found = {(row.get("way"), row["instrument"]): row["value"] for row in rows}
    fallen = {(row["way"], row["falls"]): row["value"] for row in rows if row["instrument"] == "fallen"}
    assert found[None, "followed"] == 100
    assert found["euler", "starts"] == found["flow", "starts"] == fallen["flow", 1] == 30
    assert fallen["euler", 1] == found["euler", "stayed"] == 30 - found["euler", "lost"] < 30
    assert fallen["flow", 3] == found["euler", "flow often"] >= 8
    assert fallen["flow", 2] >= fallen["flow", 3] > fallen["flow", 4] == 0


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return computed(EXPERIMENT, ARMS)


def test_short_runs_are_not_judged(table: pl.DataFrame) -> None:
    for claim in CLAIMS:
        assert tables.undecided(tables.judge(CLAIMS, claim.id, table), "followed to t = 6")


def setting(arm: str, euler: int, flow: int, **more: int) -> list[dict[str, Any]]:
    concepts = 3 if arm.startswith("triple") else 4
    rows = [{"instrument": "followed", "value": 100}]
    for way, k in (("euler", euler), ("flow", flow)):
        rows += [{"way": way, "instrument": "starts", "value": 1000}]
        rows += [{"way": way, "instrument": "fallen", "falls": concepts, "value": k}]
    rows += [{"way": "euler", "instrument": name, "value": k} for name, k in {"stayed": 600, **more}.items()]
    return [{"arm": arm, "concepts": concepts, **row} for row in rows]


@pytest.mark.parametrize(("claim", "arm"), list(zip("abcdef", BEFORE, strict=True)))
def test_shares_against_those_before(claim: str, arm: str) -> None:
    answer = judge(f"S8{claim}", setting(arm, 5 * BEFORE[arm], 500))
    assert (answer["verdict"], answer["estimate"]) == ("holds", BEFORE[arm] / 200)
    assert judge(f"S8{claim}", setting(arm, 900, 500))["verdict"] == "fails"


@pytest.mark.parametrize(("k", "verdict"), [(100, "holds"), (500, "undecided"), (600, "fails")])
def test_a_minority(k: int, verdict: str) -> None:
    for claim, arm in (("S8g", "triple A"), ("S8j", "quadruple script A2")):
        assert judge(claim, setting(arm, 0, k))["verdict"] == verdict


def test_existing() -> None:
    assert judge("S8", setting("triple A", 0, 1))["verdict"] == "holds"
    assert judge("S8", setting("triple A", 0, 0))["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("cut", "verdict", "more"), [(300, "holds", 0.4), (200, "undecided", 0.0), (100, "fails", -0.4)]
)
def test_who_is_cut(cut: int, verdict: str, more: float) -> None:
    """400 of 1,000 are cut; of the 500 whose flow falls often, so many."""
    answer = judge("S8k", setting("triple A2", 0, 500, **{"flow often": 500, "flow often, cut": cut}))
    assert (answer["verdict"], answer["estimate"]) == (verdict, pytest.approx(more, abs=1e-9))


def test_nothing_measured_is_undecided() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"signals": [1.0, 2.0]}, "2 signals but 3 spreads"), ({"step": 0}, "step"), ({"keep": 0}, "keep")],
)
def test_bad_settings_are_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(DescentsConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_full_is_the_scripts_length_in_every_arm() -> None:
    for arm, config in arms_of(EXPERIMENT, "full").items():
        assert (config.step, config.steps, config.scale) == (0.01, 10_000, 0.1)
        assert config.starts >= 200
        assert config.wanted == (3 if arm.startswith("triple") else 4)


def test_the_figure_draws_the_curve_its_turns_and_the_shares() -> None:
    arm = "triple A2"
    found = computed(EXPERIMENT, {arm: DescentsConfig(starts=12, power=2, keep=10, moments_kept=40)})
    axes = EXPERIMENT.draw(found, ARMS[arm])["figure"].figure.axes
    assert [axes[1].get_title(loc="left"), axes[0].get_title(loc="left")] == ["Triple, A²: 3 falls", "Triple, A"]
    assert [line.get_marker() for line in axes[1].lines] == ["None", "v", "^"]
    assert len(axes[1].lines[1].get_xdata()) == 2
    assert "%" in words(axes[3])
    assert "no start of triple A" in words(axes[0])


def test_an_empty_table_draws_empty_panels() -> None:
    assert "not measured: falls" in words(EXPERIMENT.draw(by_hand(EXPERIMENT, []), ARMS["triple A"])["figure"].figure)
