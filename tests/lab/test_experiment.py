from dataclasses import replace
from typing import Any

import pytest

from recombine.errors import UserError
from recombine.lab.experiment import BUDGETS, Budget, Experiment, find_experiment, make_plan
from recombine.lab.report.conclude import command_of, variant
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.adversarial import experiment as adversarial
from recombine.studies.concept_graphs.emergence.experiment import FULL, SMOKE
from recombine.studies.local_scores.length.claims import arm_of

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]
ARMS = {"one": SMOKE, "two": override(SMOKE, {"training.rate": 2e-3})}
TWO_ARMS = replace(EXPERIMENT, name="arms", budgets={"smoke": Budget(ARMS, 3, "seconds")})


def test_the_registry_finds_by_address_and_names_the_nearest() -> None:
    assert find_experiment(EXPERIMENTS, "concept-graphs/emergence") is EXPERIMENT
    for wrong in ("concept-graph/emergence", "concept-graphs/emergance", "emergence"):
        with pytest.raises(UserError, match="did you mean 'concept-graphs/emergence'"):
            find_experiment(EXPERIMENTS, wrong)
    with pytest.raises(UserError, match="recombine list"):
        find_experiment(EXPERIMENTS, "zzz")


def test_a_plan_is_arms_times_seeds_and_seeds_alone_tell_the_runs_of_an_arm_apart() -> None:
    plan = make_plan(TWO_ARMS, "smoke")
    assert [(run.arm, run.seed) for run in plan.runs] == [(arm, seed) for arm in ARMS for seed in range(3)]
    assert len({run.address for run in plan.runs}) == 6
    for run in plan.runs:
        assert run.config.seeds == Seeds.all(run.seed)
        assert run.config.replace(seeds=Seeds().model_dump()) == ARMS[run.arm]
    assert plan.runs[0].address == SMOKE.address


def test_more_seeds_keep_the_runs_of_fewer() -> None:
    few, many = (make_plan(TWO_ARMS, "smoke", seeds) for seeds in (2, 5))
    assert {run.address for run in few.runs} < {run.address for run in many.runs}


def test_overrides_reach_every_arm() -> None:
    plan = make_plan(TWO_ARMS, "smoke", 1, {"training.images": 2048, "split.train": ["000", "111"]})
    assert {run.config.training.images for run in plan.runs} == {2048}
    assert {run.config.split.train for run in plan.runs} == {("000", "111")}
    assert [run.config.training.rate for run in plan.runs] == [1e-3, 2e-3]
    assert plan.overrides["training.images"] == 2048


def test_only_one_run_is_changed_where_only_it_is_asked_for() -> None:
    length = EXPERIMENTS["local-scores/length"]
    with pytest.raises(UserError, match="unknown key"):
        make_plan(length, "full", 1, {"network.judged": "cell"})
    (run,) = make_plan(length, "full", 1, {"network.judged": "cell"}, "2L 1-3:0").runs
    assert run.config.network.judged == "cell"
    with pytest.raises(UserError, match="--only 2L:0: this plan has 1 1-3:0, "):
        make_plan(length, "full", 1, {}, "2L:0")


def test_some_arms_of_a_plan() -> None:
    plan = make_plan(TWO_ARMS, "smoke", 2, arms=["two"])
    assert [(run.arm, run.seed) for run in plan.runs] == [("two", 0), ("two", 1)]
    assert variant(plan) != variant(make_plan(TWO_ARMS, "smoke", 2)) == "smoke"
    assert "--arm two" in command_of(plan)
    with pytest.raises(UserError, match="--arm three: this plan has one, two"):
        make_plan(TWO_ARMS, "smoke", arms=["one", "three"])


def test_an_override_of_a_seed_takes_effect_or_is_refused() -> None:
    """Silently training the run that was not asked for would be the worst answer."""
    try:
        data = [run.config.seeds.data for run in make_plan(TWO_ARMS, "smoke", 1, {"seeds.data": 7}).runs]
    except UserError:
        data = [7, 7]  # refused: as good
    assert data == [7, 7]


def test_the_seed_of_a_run_is_the_seed_of_the_run_it_starts_from() -> None:
    """Arm `two` goes on from arm `one`, seed by seed; a seed that was set holds for both."""
    arms = {"one": SMOKE, "two": ARMS["two"].replace(start=SMOKE.model_dump())}
    experiment = replace(TWO_ARMS, budgets={"smoke": Budget(arms, 3, "seconds")})
    for overrides in ({}, {"seeds.data": 7}):
        runs = make_plan(experiment, "smoke", overrides=overrides).runs
        starts = [run.config.start for run in runs if run.arm == "two"]
        assert starts == [run.config for run in runs if run.arm == "one"]
        assert [start.seeds.order for start in starts if start] == [0, 1, 2]
    assert [start.seeds.data for start in starts if start] == [7, 7, 7]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"training.images": 96, "network.channels": 4, "world.pixels": 16},
        {"prediction": "x0", "world.conditioning": "binary", "seeds.data": 7},
        {"evaluation.points": 2, "evaluation.first": 10, "split.count": 9},
    ],
)
def test_the_start_of_every_child_is_an_arm_of_the_plan(overrides: dict[str, Any]) -> None:
    """Whatever is changed: else the arm and the start would be two trainings, and the children start from neither."""
    runs = make_plan(adversarial.EXPERIMENT, "smoke", 2, overrides).runs
    base = {run.seed: run.address for run in runs if run.arm == adversarial.BASE}
    children = [run for run in runs if run.arm != adversarial.BASE]
    assert len(children) == 12
    for run in children:
        assert isinstance(run.config, RunConfig)
        assert run.config.start is not None
        assert run.config.start.address == base[run.seed]
    assert len({run.address for run in runs}) == 14
    plain = {run.address for run in make_plan(adversarial.EXPERIMENT, "smoke", 2).runs}
    assert plain.isdisjoint(run.address for run in runs) == bool(overrides)


def test_only_keeps_one_run_and_a_wrong_one_is_told_which_there_are() -> None:
    kept = make_plan(TWO_ARMS, "smoke", only="two:1").runs
    assert [(run.arm, run.seed) for run in kept] == [("two", 1)]
    for wrong in ("two:3", "three:0", "two", "two:01", ""):
        with pytest.raises(UserError, match="one:0, one:1, one:2, two:0, two:1, two:2"):
            make_plan(TWO_ARMS, "smoke", only=wrong)


@pytest.mark.parametrize("budget", ["laptop", "full", "huge", ""])
def test_a_budget_that_is_not_there(budget: str) -> None:
    with pytest.raises(UserError, match=f"no budget '{budget}': choose from smoke"):
        make_plan(TWO_ARMS, budget)


@pytest.mark.parametrize("seeds", [0, -3])
def test_no_seeds(seeds: int) -> None:
    with pytest.raises(UserError, match="at least one seed"):
        make_plan(TWO_ARMS, "smoke", seeds)


def test_an_arm_that_cannot_be_run_stops_the_plan() -> None:
    with pytest.raises(UserError, match="trains on nothing"):
        make_plan(TWO_ARMS, "smoke", overrides={"split.train": []})


SAME_RUN = {arm_of("1", "1"), arm_of("2", "1")}  # trained on one object, told all of one or one of one


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.address)
def test_every_experiment_of_the_house_is_whole(experiment: Experiment) -> None:
    assert set(experiment.budgets) == set(BUDGETS)
    ids = [claim.id for claim in experiment.claims]
    assert ids
    assert len(set(ids)) == len(ids)
    assert all(claim.says and claim.paper for claim in experiment.claims)
    for budget in BUDGETS:
        plan = make_plan(experiment, budget)
        arms: dict[str, set[str]] = {}
        for run in plan.runs:
            arms.setdefault(run.address, set()).add(run.arm)
        assert all(len(own) == 1 or own == SAME_RUN for own in arms.values())
    full = experiment.budgets["full"]
    trained = any(isinstance(config, RunConfig) for config in full.arms.values())
    assert full.seeds >= (5 if trained else 1)  # a computation has its own, hundreds of starts at once


def test_the_two_arms_of_emergence_differ_in_what_the_network_is_told_alone() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    assert set(arms) == {"continuous", "binary"}
    assert arms["continuous"] == FULL
    assert arms["binary"] == override(FULL, {"world.conditioning": "binary"})
