"""Denoisers that are not trained: each is built as it says, and the rules separate looking up from composing."""

import polars as pl
import pytest

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.local_score import AddedScores, LocalScoreDenoiser
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.columns import DATA
from recombine.studies.bumps.crossing.exact.claims import ADDED, BY_NUMBER, CLAIMS, LOCAL, MODELS, NEAREST, WIDE
from recombine.studies.bumps.crossing.exact.experiment import SETS, SMOKE, STEPS, of_arm
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

EXPERIMENT = EXPERIMENTS["bumps/exact"]
Scores = dict[tuple[str, str], float]  # region, instrument


def table(scores: dict[tuple[str, str], Scores]) -> pl.DataFrame:
    """{(model, training set): its scores}, over five seeds."""
    return make_table(
        [
            {"arm": f"{model} {data}", "model": model, "data": data, "seed": seed, "region": region,
             "instrument": instrument, "value": value + 1e-4 * seed}
            for (model, data), found in scores.items()
            for (region, instrument), value in found.items()
            for seed in range(5)
        ],
        DATA,
    )  # fmt: skip


def verdicts(scores: dict[tuple[str, str], Scores]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, table(scores), "bumps", "exact", "full")}


def test_models_that_look_up_and_one_that_places() -> None:
    near = {(VERTICAL, "darkest.x"): 1 / 3, (HORIZONTAL, "darkest.y"): 1 / 3, (INTERSECTION, "darkest.both"): 1 / 9,
              (INTERSECTION, "fine.both"): 1 / 9, (INTERSECTION, "dark.asked"): 0.4}  # fmt: skip
    places = {(INTERSECTION, "fine.both"): 0.95, (INTERSECTION, "dark.asked"): 0.5}
    scores = {(model, data): near for model in MODELS for data in SETS}
    found = verdicts(scores | {(BY_NUMBER, "2D+1D"): places})
    assert set(found.values()) == {"holds"}


def test_models_that_compose_refute_every_rule_of_looking_up() -> None:
    composed = {(VERTICAL, "darkest.x"): 0.9, (HORIZONTAL, "darkest.y"): 0.9, (INTERSECTION, "darkest.both"): 0.9,
                (INTERSECTION, "fine.both"): 0.9, (INTERSECTION, "dark.asked"): 0.95}  # fmt: skip
    found = verdicts({(model, data): composed for model in MODELS for data in SETS})
    assert [found[name] for name in ("E1", "E2", "E3", "E4", "E5", "E6")] == ["fails"] * 4 + ["holds", "fails"]


@pytest.mark.parametrize(
    ("model", "kind"),
    [(NEAREST, EmpiricalDenoiser), (WIDE, EmpiricalDenoiser), (ADDED, AddedScores),
     (LOCAL, LocalScoreDenoiser), (BY_NUMBER, LocalScoreDenoiser)],
)  # fmt: skip
def test_each_model_is_what_it_says_and_answers(model: str, kind: type) -> None:
    config = override(SMOKE, {"model": model})
    assert isinstance(config.denoiser(), kind)
    found = {(row["region"], row["instrument"]): row["value"] for row in config.rows()}
    assert 0 <= found[SEEN, "darkest.both"] <= 1
    assert 0 <= found[INTERSECTION, "dark.asked"] <= 1


def test_the_baseline_is_right_where_it_saw() -> None:
    found = {(row["region"], row["instrument"]): row["value"] for row in override(SMOKE, {"split.step": 0.5}).rows()}
    assert found[SEEN, "darkest.both"] == 1
    assert found[SEEN, "dark.asked"] == pytest.approx(1, abs=0.02)


def test_every_model_has_every_training_set() -> None:
    for budget in EXPERIMENT.budgets.values():
        assert set(budget.arms) == {f"{model} {data}" for model in STEPS for data in SETS}
        assert all(arm == "{model} {data}".format(**of_arm(config)) for arm, config in budget.arms.items())


def test_the_figure_is_drawn_from_any_part() -> None:
    assert EXPERIMENT.draw is not None
    for scores in ({(NEAREST, "2D"): {(SEEN, "darkest.both"): 1.0}}, {}):
        drawn = EXPERIMENT.draw(table(scores), SMOKE)
        assert [len(each.figure.axes) for each in drawn.values()] == [3, 3, 3]
