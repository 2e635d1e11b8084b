"""Asked to be local: arms, rules on tables where the answer is known, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.denoisers.configs import LocalityPenalty
from recombine.denoisers.soft import SoftNetwork
from recombine.errors import UserError
from recombine.instruments.scenes.counting import RECALL
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.kinds import read_run
from recombine.runs.scenes import ScenesRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores._shared.label_recall import beyond
from recombine.studies.local_scores.locality.claims import CHANCE, GRADIENT, REMOVED
from recombine.studies.local_scores.soft.claims import LOCAL, soft_arm, weights
from support.pictures import legend, render, words

LENGTH, EXPERIMENT = EXPERIMENTS["local-scores/length"], EXPERIMENTS["local-scores/soft"]
COUNTS = (1, 2, 3, 4, 6, 8, 12)
Models = Mapping[float | None, tuple[int, float]]  # weight (none: Exp 2L) -> K_max and C
HELPED: Models = {0: (2, 0.4), 0.1: (3, 0.5), 1: (6, 0.7), 10: (8, 0.9), None: (12, 1.0)}
USELESS: Models = {0: (3, 0.4), 0.1: (3, 0.4), 1: (3, 0.4), 10: (3, 0.4), None: (12, 1.0)}
HARMED: Models = {0: (6, 0.9), 0.1: (4, 0.7), 1: (3, 0.5), 10: (0, 0.4), None: (12, 1.0)}


def table_of(models: Models, seeds: int = 5, chance: float = 0.2) -> pl.DataFrame:
    rows = []
    for weight, (longest, c) in models.items():
        arm = LOCAL if weight is None else soft_arm(weight)
        for seed in range(seeds):
            found: list[tuple[int | None, str, float]] = []
            for k in COUNTS:
                recall = 0.97 - 1e-3 * seed if k <= longest else 0.6 - 0.02 * (k - longest)
                found += [(k, RECALL, recall), (k, "count.chance", chance)]
            shaken = min(1.0, c + 1e-3 * seed)
            found += [(None, REMOVED, shaken), (None, GRADIENT, shaken)]
            found += [(None, name, 0.25) for name in set(CHANCE.values())]
            at = {"arm": arm, "seed": seed, "images_seen": 100, "penalty": weight}
            rows += [{**at, "labels": labels, "instrument": name, "value": value} for labels, name, value in found]
    return make_table(rows, EXPERIMENT.columns)


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {each["claim"]: each["verdict"] for each in judge_all(EXPERIMENT.claims, table, "s", "e", "full")}


def test_a_penalty_that_helps_holds_every_claim() -> None:
    assert set(verdicts(table_of(HELPED)).values()) == {"holds"}


def test_a_penalty_that_does_nothing_refutes_all_but_that_it_costs_nothing() -> None:
    found = verdicts(table_of(USELESS))
    assert found.pop("SF3") == "holds"
    assert set(found.values()) == {"fails"}


def test_a_penalty_that_harms_refutes_every_claim() -> None:
    assert set(verdicts(table_of(HARMED)).values()) == {"fails"}


def test_recall_that_is_chance_is_no_gain() -> None:
    crowded = table_of(HELPED).with_columns(
        value=pl.when((pl.col("instrument") == "count.chance") & (pl.col("arm") == soft_arm(10)))
        .then(0.97)
        .otherwise("value")
    )
    found = verdicts(crowded)
    assert (found["SF2b"], found["SF2c"]) == ("holds", "fails")


def test_what_was_not_measured_is_not_judged() -> None:
    assert set(verdicts(table_of(HELPED, seeds=4)).values()) == {"undecided"}
    some = {weight: model for weight, model in HELPED.items() if weight != 0}
    judged = {each["claim"]: each for each in judge_all(EXPERIMENT.claims, table_of(some), "s", "e", "full")}
    assert judged["SF2b"]["note"] == "no penalty, or no network without one, was measured"
    assert judged["SF2"]["verdict"] == "holds"
    few: Models = {weight: HELPED[weight] for weight in (0, 10)}
    assert verdicts(table_of(few))["SF1"] == verdicts(table_of(few))["SF4"] == "undecided"
    assert set(verdicts(make_table([], EXPERIMENT.columns)).values()) == {"undecided"}


def test_weights_are_a_column() -> None:
    table = table_of(HELPED)
    assert weights(table) == [0, 0.1, 1, 10]
    assert beyond(table, soft_arm(0))[0] == pytest.approx(0.6 - 0.02 * (2 + 4 + 6 + 10) / 4)


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_without_a_penalty_it_is_the_run_of_length(budget: str) -> None:
    arms, known = EXPERIMENT.budgets[budget].arms, LENGTH.budgets[budget].arms  # type: ignore[index]
    assert arms[soft_arm(0)].address == known["2 1-3"].address
    assert arms[LOCAL].address == known["2L 1-3"].address
    plain = arms[soft_arm(0)]
    assert isinstance(plain, ScenesRun)
    of_arm = EXPERIMENT.arm_columns(arms)
    assert of_arm[LOCAL]["penalty"] is None
    for arm, run in arms.items():
        run.check()
        assert isinstance(run, ScenesRun)
        if weight := of_arm[arm]["penalty"]:
            assert arm == soft_arm(weight)
            assert run.penalty is not None
            assert (run.penalty.weight, run.locality) == (weight, plain.locality)
            assert run.locality is not None
            assert run.penalty.reach == run.locality.reach  # what is penalised is what C calls far
            assert run.replace(penalty=None, machine=plain.machine and plain.machine.model_dump()) == plain
    assert len({run.address for run in arms.values()}) == len(arms)


def test_a_run_with_a_penalty_has_a_network_with_one_and_is_read_back() -> None:
    run = EXPERIMENT.budgets["smoke"].arms[soft_arm(10)]
    assert isinstance(run, ScenesRun)
    network = run.model().network
    assert isinstance(network, SoftNetwork)
    assert network.weight == 10
    assert read_run(run.model_dump(mode="json")) == run
    weaker = run.replace(penalty=LocalityPenalty(weight=1, reach=1).model_dump())
    assert weaker.architecture == run.architecture != run.replace(penalty=None).architecture


def test_penalties_that_make_no_sense_are_refused() -> None:
    arms = EXPERIMENT.budgets["smoke"].arms
    with pytest.raises(UserError, match="nothing to be penalised for"):
        arms[LOCAL].replace(penalty=LocalityPenalty().model_dump()).check()
    with pytest.raises(UserError, match="give at most 3"):
        override(arms[soft_arm(1)], {"penalty.reach": 4}).check()
    with pytest.raises(UserError, match="adds a place to a grid label"):
        override(arms[soft_arm(1)], {"labels.form": "list"}).check()


def test_the_figure_shows_every_weight_and_is_drawn_from_any_part() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[soft_arm(0)]
    figure = EXPERIMENT.draw(table_of(HELPED), config)["figure"].figure
    assert legend(figure.axes[0]) == ["weight 0", "weight 0.1", "weight 1", "weight 10", "Exp 2L"]
    assert "n = 5 seeds" in words(figure)
    assert len(figure.axes) == 3
    part = EXPERIMENT.draw(table_of({1: (3, 0.5)}, seeds=1).filter(pl.col("instrument") == RECALL), config)
    assert "not measured" in words(part["figure"].figure)
    assert render(part["figure"].figure)
    assert "no penalty was measured" in words(
        EXPERIMENT.draw(make_table([], EXPERIMENT.columns), config)["figure"].figure
    )
