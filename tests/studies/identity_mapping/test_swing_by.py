"""Swing-by: rules on tables made by hand, small flows and nets with known answers, the figures."""

from typing import Any

import polars as pl
import pytest
import torch

from recombine.errors import UserError
from recombine.lab.table import curves
from recombine.runs.identity.flows import steps_for
from recombine.runs.identity.swing_by import SwingByConfig
from recombine.runs.identity.swing_by_networks import SwingByNetsConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.swing_by.claims import CLAIMS, DEEP, FLOWS_BEFORE, NETS_BEFORE, NONE
from recombine.theory.identity.flow import descents, flow, positive_start, probe_loss
from recombine.training.batched import DescentConfig
from recombine.training.batched_networks import NetConfig
from recombine.worlds.mixture import MixtureWorld
from support import tables
from support.identity_tables import arms_of, by_hand, computed
from support.pictures import words

EXPERIMENT = EXPERIMENTS["identity-mapping/swing-by"]
ARMS = arms_of(EXPERIMENT, "smoke")


Row = dict[str, Any]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return computed(EXPERIMENT, ARMS)


def judge(claim: str, rows: list[Row]) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, by_hand(EXPERIMENT, rows))


# Rows


def test_every_claim_that_can_be_is_judged_at_smoke(table: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(CLAIMS, claim.id, table) for claim in CLAIMS}
    judged = {name for name, answer in answers.items() if answer["n"]}
    assert judged == {"S6", "S6b", "S6m", "S6p", "S6t", "S6h", "S7", "S7w", "S9b", "S9c", "S9d"}
    assert all(answer["note"] for name, answer in answers.items() if name not in judged)
    assert answers["S6m"]["verdict"] == "holds"


def test_the_counts_of_flows_are_those_of_the_flow() -> None:
    config = SwingByConfig(gaps=(2.0,), kinds=("positive",), starts=40, shown=(2.0,), errors_kept=40)
    rows = config.rows()
    found = {row["instrument"]: row["value"] for row in rows if "swings" not in row}
    shown = {(row["instrument"], row.get("concept")): row["value"] for row in rows if row.get("swings")}
    a = torch.tensor([0.5025, 2.0025, 0.0025], dtype=torch.float64)
    _, weights = flow(positive_start(40, 3, 3, 0.2, 0), a, *steps_for(a, 5 / 0.5025))
    truth = descents(probe_loss(weights, torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)), 0.001)
    assert found["bumps"] == int(truth.bump.sum())
    assert found["starts"] == found["monotone"] == 40
    first = int(truth.bump.nonzero()[0, 0])
    assert shown["trough", None] == pytest.approx(float(truth.trough_height[first]))
    assert shown["peak", None] == pytest.approx(float(truth.peak_height[first]))
    assert not [row for row in rows if row["instrument"] == "peak" and row["swings"] is False]
    assert shown["answer", 2] == pytest.approx(2.0, abs=0.01)  # the last one kept: learned


def test_one_layer_on_all_points_never_bumps_and_its_path_is_turned_back() -> None:
    config = SwingByNetsConfig(
        world=MixtureWorld(dimensions=3, signals=(1.0, 2.0), spread_as="variance", origin=True, rotated=True),
        net=NetConfig(layers=1, scale=0.1), descent=DescentConfig(rate=0.5, batch=None, steps=400), count=200,
        starts=4, datasets=2, every=10,
    )  # fmt: skip
    rows = config.rows()
    found = {(row["instrument"], row.get("level")): row["value"] for row in rows if "swings" not in row}
    assert found == {("nets", None): 4, ("bumps", "step"): 0, ("bumps", "epoch"): 0}
    ends = {row["concept"]: row["value"] for row in rows if row["instrument"] == "answer"}
    assert ends == {1: pytest.approx(1, abs=0.05), 2: pytest.approx(2, abs=0.05)}


# Claims on flows


def gaps(arm: str, bumps: dict[float, int], start_law: str = "positive", starts: int = 1000) -> list[Row]:
    return [
        {"arm": arm, "gap": gap, "start_law": start_law, "instrument": name, "value": value}
        for gap, k in bumps.items()
        for name, value in (("starts", starts), ("bumps", k), ("monotone", starts))
    ]


@pytest.mark.parametrize(("k", "verdict"), [(370, "holds"), (480, "undecided"), (700, "fails"), (100, "fails")])
def test_a_share_is_judged_against_the_interval_of_the_one_before(k: int, verdict: str) -> None:
    answer = judge("S6", gaps("A", {1.5: k}))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, k / 1000, 1000)
    assert answer["note"] == "before: 37 of 100, so 0.276 to 0.472"


def test_rising_with_the_gap() -> None:
    rising = {1.1: 10, 1.5: 370, 2.0: 840, 3.0: 980}
    answer = judge("S6c", gaps("A", rising))
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.14))
    assert judge("S6c", gaps("A", rising | {2.0: 300}))["verdict"] == "fails"
    assert judge("S6c", gaps("A", rising | {3.0: 845}))["verdict"] == "undecided"


def test_all_gaps_have_to_agree() -> None:
    right = {gap: 10 * k for gap, k in FLOWS_BEFORE.items()}
    assert judge("S6d", gaps("A", right))["verdict"] == "holds"
    answer = judge("S6d", gaps("A", right | {2.0: 500}))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)


def test_one_training_loss_that_rises_fails() -> None:
    good = gaps("A", {1.5: 1}) + gaps("A2", {1.5: 1})
    assert judge("S6m", good)["verdict"] == "holds"
    bad = [row | ({"value": 999} if (row["arm"], row["instrument"]) == ("A2", "monotone") else {}) for row in good]
    assert (judge("S6m", bad)["verdict"], judge("S6m", bad)["n"]) == ("fails", 2000)


@pytest.mark.parametrize(("agree", "verdict"), [(990, "holds"), (950, "undecided"), (900, "fails")])
def test_the_prediction_has_to_agree(agree: int, verdict: str) -> None:
    rows = gaps("A", {1.5: 1}) + gaps("A2", {1.5: 1})
    rows += tables.rows_of(agree, arm=["A", "A2"], gap=1.5, start_law="positive", instrument="agree")
    assert judge("S6p", rows)["verdict"] == verdict


@pytest.mark.parametrize(("error", "verdict"), [(-0.01, "holds"), (0.2, "fails")])
def test_errors_count_by_their_size(error: float, verdict: str) -> None:
    answer = judge("S6t", tables.rows_of(error, arm="A", gap=2.0, start=range(20), instrument="error.time"))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, abs(error), 20)


def test_positive_against_gaussian() -> None:
    many, few = dict.fromkeys((1.5, 2.0, 3.0), 500), dict.fromkeys((1.5, 2.0, 3.0), 100)
    both = [row for arm in ("A", "A2") for row in gaps(arm, many) + gaps(arm, few, "gaussian")]
    assert (judge("S7p", both)["verdict"], judge("S7p", both)["estimate"]) == ("holds", pytest.approx(0.4))
    turned = [row for arm in ("A", "A2") for row in gaps(arm, few) + gaps(arm, many, "gaussian")]
    assert judge("S7p", turned)["verdict"] == "fails"


# Claims on networks


def networks(found: dict[str, tuple[int, int]], n: int = 200) -> list[Row]:
    rows = [{"arm": arm, "instrument": "nets", "value": n} for arm in found]
    return rows + [
        {"arm": arm, "instrument": "bumps", "level": level, "value": k}
        for arm, counts in found.items()
        for level, k in zip(("step", "epoch"), counts, strict=True)
    ]


def test_the_same_counts_agree_and_others_do_not() -> None:
    answer = judge("S9r", networks(NETS_BEFORE))
    assert (answer["verdict"], answer["n"]) == ("holds", 12)
    other = judge("S9r", networks(NETS_BEFORE | {"run 26": (64, 110)}))
    assert (other["verdict"], other["estimate"]) == ("fails", pytest.approx(11 / 12))
    few = judge("S9r", networks(dict.fromkeys(NETS_BEFORE, (1, 0)), n=10))
    assert tables.undecided(few, "100 or more")


@pytest.mark.parametrize(("bumps", "verdict"), [(100, "holds"), (60, "undecided"), (20, "fails")])
def test_deep_small_nets(bumps: int, verdict: str) -> None:
    assert judge("S9b", networks(dict.fromkeys(DEEP, (bumps, 0))))["verdict"] == verdict


@pytest.mark.parametrize(("bumps", "verdict"), [(180, "holds"), (160, "undecided"), (100, "fails")])
def test_small_start(bumps: int, verdict: str) -> None:
    assert judge("S9c", networks({"run 27 small": (bumps, 0)}))["verdict"] == verdict


@pytest.mark.parametrize(("bumps", "verdict"), [(20, "holds"), (100, "undecided"), (150, "fails")])
def test_once_an_epoch(bumps: int, verdict: str) -> None:
    assert judge("S9d", networks(dict.fromkeys(DEEP, (200, bumps))))["verdict"] == verdict


@pytest.mark.parametrize(("bumps", "verdict"), [(0, "holds"), (10, "undecided"), (40, "fails")])
def test_where_there_should_be_none(bumps: int, verdict: str) -> None:
    assert judge("S9a", networks(dict.fromkeys(NONE, (200, bumps))))["verdict"] == verdict


def test_nothing_measured_is_undecided() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


# Bad input and budgets


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"gaps": [1.0]}, "gaps"), ({"gaps": []}, "gaps"), ({"kinds": ["negative"]}, "kinds"), ({"scale": 0.9}, "scale")],
)
def test_bad_settings_are_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(SwingByConfig(), changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_three_concepts_have_no_plane() -> None:
    world = MixtureWorld(dimensions=3, signals=(1.0, 2.0, 3.0), spreads=(0.1, 0.1, 0.1))
    with pytest.raises(UserError, match="two concepts"):
        SwingByNetsConfig(world=world).check()


def test_full_has_every_run_and_enough_of_them() -> None:
    arms = arms_of(EXPERIMENT, "full")
    assert {"A", "A2", *NETS_BEFORE, *NONE} == set(arms)
    assert arms["A"].starts >= 200
    assert all(arms[arm].starts >= 200 for arm in NETS_BEFORE)
    assert arms["run 29"].world.clusters == 3
    assert arms["run 29"].descent.total(15_000) == 40 * 118


# Figures


def test_the_figures_draw_what_was_measured(table: pl.DataFrame) -> None:
    drawn = EXPERIMENT.draw(table, ARMS["A"])
    assert {"figure", "paths", "paths-networks"} == set(drawn)
    assert "run 27\n0.3 of" in words(drawn["figure"].figure)
    assert "one layer\nd 64" not in words(drawn["figure"].figure)  # not at smoke
    paths = drawn["paths"].figure
    expected = curves(table, "answer", over="time", arm="A", gap=1.5, swings=True, concept=1)[0,][1]
    assert any(list(line.get_xdata()) == expected.tolist() for line in paths.axes[0].lines)
    assert "swings by" in words(paths)
    assert "not measured: paths of A" in words(paths)  # no gap of 3 at smoke


def test_an_empty_table_draws_empty_panels() -> None:
    drawn = EXPERIMENT.draw(by_hand(EXPERIMENT, []), ARMS["A"])
    assert "not measured: bumps of networks" in words(drawn["figure"].figure)
