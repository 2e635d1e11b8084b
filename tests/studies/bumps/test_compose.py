"""Composition of stripes: the baseline's exact answers, and verdicts on made-up tables."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.experiment import make_plan
from recombine.runs.bump_baselines import SampledNearestLabel
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, baseline_of, sampled_nearest_label
from recombine.studies.bumps.crossing.compose.claims import CLAIMS
from recombine.studies.bumps.crossing.compose.experiment import FULL, LAPTOP, PARTS, SMOKE, arms, of_arm
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL
from support.stripes import COMPOSED, LONE, NEAR, Scores, stripes_table

EXPERIMENT = EXPERIMENTS["bumps/compose"]


def table(trained: Mapping[str, Scores], nearest: Mapping[str, Scores]) -> pl.DataFrame:
    return stripes_table(
        *(({"data": data, "model": TRAINED}, scores) for data, scores in trained.items()),
        *(({"data": data, "model": NEAREST}, scores) for data, scores in nearest.items()),
    )


def verdicts(trained: Mapping[str, Scores], nearest: Mapping[str, Scores]) -> dict[str, str]:
    judged = judge_all(CLAIMS, table(trained, nearest), "bumps", "compose", "full")
    return {claim["claim"]: claim["verdict"] for claim in judged}


def test_the_paper_holds_where_stripes_compose() -> None:
    found = verdicts(
        {"2D": NEAR, "2D+1D": COMPOSED, "1D": LONE, "1D+rim": COMPOSED}, {"2D": NEAR, "2D+1D": NEAR, "1D": LONE}
    )
    assert all(found[name] == "holds" for name in ("CR1", "CR2", "CR3", "CR4", "CR5", "CR5n", "CR6", "CR7"))


def test_the_nearest_label_shows_the_2d_pattern_and_nothing_beyond() -> None:
    found = verdicts({"2D": NEAR, "2D+1D": NEAR}, {"2D": COMPOSED, "2D+1D": COMPOSED})
    assert [found[name] for name in ("CR1", "CR2", "CR3")] == ["holds"] * 3
    assert [found[name] for name in ("CR4", "CR5", "CR5n", "CR2n")] == ["fails"] * 4
    assert found["CR6"] == found["CR7"] == "undecided"  # not measured


def test_a_model_that_interpolates_refutes_the_paper() -> None:
    found = verdicts({"2D": COMPOSED}, {"2D": NEAR})
    assert [found[name] for name in ("CR1", "CR2", "CR3", "CR2n")] == ["holds", "fails", "fails", "holds"]
    assert verdicts({"2D": COMPOSED}, {})["CR2n"] == "undecided"  # without the baseline


def test_the_baseline_scores_two_of_seven() -> None:
    """The first and the last held-out label pass, as a label next to the hold-out is less than a pixel away; exact."""
    null = sampled_nearest_label(FULL, 0.25)
    cross = {"kind": "cross", "low": 7.0, "high": 13.0}
    null = override(null, {"world.pixels": 20, "world.margin": 0.0, "split.held_out": cross})
    found = {(row["region"], row["instrument"]): row["value"] for row in null.rows()}
    assert found[SEEN, "darkest.both"] == 1
    assert found[VERTICAL, "darkest.x"] == pytest.approx(2 / 7)
    assert found[VERTICAL, "darkest.y"] == found[HORIZONTAL, "darkest.x"] == 1
    assert found[INTERSECTION, "darkest.both"] == pytest.approx(4 / 49)


def test_lone_stripes_teach_the_baseline_no_crossing() -> None:
    base = override(LAPTOP, {"world.pixels": 12, "split.held_out": {"kind": "cross", "low": 5, "high": 8}})
    null = arms(base, ("1D",), 0.5)[baseline_of("1D")]
    assert isinstance(null, SampledNearestLabel)
    found = {(row["region"], row["instrument"]): row["value"] for row in null.rows()}
    assert found[INTERSECTION, "darkest.both"] < 0.15
    assert found[INTERSECTION, "objects.one"] == 0


def test_every_budget_has_each_set_beside_its_baseline() -> None:
    for budget in EXPERIMENT.budgets.values():
        named = {(of_arm(config)["model"], of_arm(config)["data"]) for config in budget.arms.values()}
        trained = [arm for arm in budget.arms if not arm.startswith(NEAREST)]
        assert set(trained) <= set(PARTS)
        assert named == {(model, data) for model in (TRAINED, NEAREST) for data in trained}
        assert set(budget.arms) == {*trained, *map(baseline_of, trained)}
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_figures_are_drawn_from_any_part_of_the_table() -> None:
    assert EXPERIMENT.draw is not None
    for trained in ({"2D": NEAR, "2D+1D": COMPOSED}, {"2D": NEAR}):
        drawn = EXPERIMENT.draw(table(trained, {"2D": NEAR}), SMOKE)
        shown = [axes for axes in drawn["figure"].figure.axes if axes.get_visible()]
        assert [axes.get_title("left").split(":")[0] for axes in shown] == [f"Trained on {data}" for data in trained]
        assert len(drawn["training"].figure.axes) == 3
    assert len(EXPERIMENT.draw(table({}, {}), SMOKE)) == 2


def test_settings_of_the_training_are_not_the_baselines() -> None:
    plan = make_plan(EXPERIMENT, "smoke", None, {"training.images": 512, "world.width": 0.5})
    works = {run.arm: run.config for run in plan.runs}
    null, run = works[baseline_of("2D")], works["2D"]
    assert isinstance(null, SampledNearestLabel)
    assert null.world.width == 0.5
    assert run.total == 512
