"""Composition of stripes: the memoriser's exact answers, and verdicts on made-up tables."""

from collections.abc import Mapping

import pytest

from recombine.lab.claims import judge_all
from recombine.lab.experiment import make_plan
from recombine.settings import override
from recombine.studies.bumps._shared.memoriser import MemoriserConfig, memoriser
from recombine.studies.bumps.crossing.compose.claims import COMPOSE, null_of
from recombine.studies.bumps.crossing.compose.experiment import EXPERIMENT, FULL, LAPTOP, SMOKE, arms
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL
from support.stripes import COMPOSED, LONE, RECALL, Scores, table


def verdicts(scores: Mapping[str, Scores]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(COMPOSE, table(scores), "bumps", "compose", "full")}


def test_the_paper_holds_where_stripes_compose() -> None:
    nulls = {null_of(arm): RECALL for arm in ("2D", "2D+1D")} | {null_of("1D"): LONE}
    found = verdicts({"2D": RECALL, "2D+1D": COMPOSED, "1D": LONE, "1D+rim": COMPOSED} | nulls)
    assert all(found[name] == "holds" for name in ("C1", "C2", "C3", "C4", "C5", "C5n", "C6", "C7"))


def test_a_model_that_recalls_shows_the_2d_pattern_and_nothing_beyond() -> None:
    found = verdicts({"2D": RECALL, "2D+1D": RECALL, null_of("2D"): COMPOSED, null_of("2D+1D"): COMPOSED})
    assert [found[name] for name in ("C1", "C2", "C3")] == ["holds"] * 3
    assert [found[name] for name in ("C4", "C5", "C5n", "C2n")] == ["fails"] * 4
    assert found["C6"] == found["C7"] == "undecided"  # not measured


def test_a_model_that_interpolates_refutes_the_paper() -> None:
    found = verdicts({"2D": COMPOSED, null_of("2D"): RECALL})
    assert [found[name] for name in ("C1", "C2", "C3", "C2n")] == ["holds", "fails", "fails", "holds"]


def test_the_memoriser_scores_two_of_seven() -> None:
    """The first and the last held-out label pass, as a label next to the hold-out is less than a pixel away; exact."""
    null = memoriser(FULL, 0.25)
    cross = {"kind": "cross", "low": 7.0, "high": 13.0}
    null = override(null, {"world.pixels": 20, "world.margin": 0.0, "split.held_out": cross})
    found = {(row["node"], row["instrument"]): row["value"] for row in null.rows()}
    assert found[SEEN, "darkest.both"] == 1
    assert found[VERTICAL, "darkest.x"] == pytest.approx(2 / 7)
    assert found[VERTICAL, "darkest.y"] == found[HORIZONTAL, "darkest.x"] == 1
    assert found[INTERSECTION, "darkest.both"] == pytest.approx(4 / 49)


def test_lone_stripes_teach_a_memoriser_no_crossing() -> None:
    base = override(LAPTOP, {"world.pixels": 12, "split.held_out": {"kind": "cross", "low": 5, "high": 8}})
    null = arms(base, ("1D",), 0.5)[null_of("1D")]
    assert isinstance(null, MemoriserConfig)
    found = {(row["node"], row["instrument"]): row["value"] for row in null.rows()}
    assert found[INTERSECTION, "darkest.both"] < 0.15
    assert found[INTERSECTION, "objects.one"] == 0


def test_every_budget_has_each_set_beside_its_memoriser() -> None:
    for budget in EXPERIMENT.budgets.values():
        trained = [arm for arm in budget.arms if not arm.startswith("memoriser")]
        assert trained
        assert set(budget.arms) == {*trained, *map(null_of, trained)}
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    for scores in ({"2D": RECALL, "2D+1D": COMPOSED, null_of("2D"): RECALL}, {"2D": RECALL}):
        drawing = EXPERIMENT.draw(table(scores), SMOKE)["figure"]
        assert len(drawing.figure.axes) == len([arm for arm in scores if not arm.startswith("memoriser")]) + 3


def test_settings_of_the_training_are_not_the_memorisers() -> None:
    plan = make_plan(EXPERIMENT, "smoke", None, {"training.images": 512, "world.width": 0.5})
    works = {run.arm: run.config for run in plan.runs}
    null, run = works[null_of("2D")], works["2D"]
    assert isinstance(null, MemoriserConfig)
    assert null.world.width == 0.5
    assert run.total == 512
