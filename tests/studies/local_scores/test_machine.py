"""Local machines: arms are what they say, the rules tell local from global, and figures are drawn from any part."""

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.instruments.scenes.counting import RECALL
from recombine.instruments.scenes.machine_evaluation import TIED
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.local_machine import LocalMachineConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.length.arms import TRAINED, experiments
from recombine.studies.local_scores.machine.claims import explained, machine_arm
from recombine.studies.local_scores.machine.experiment import MACHINES, NETWORKS, SMOKE
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["local-scores/machine"]
Curve = dict[int, float]


def table_of(measured: dict[str, dict[str, Curve]], seeds: int = 5) -> pl.DataFrame:
    """Arm -> instrument -> value at each number of labels; seeds differ a little."""
    return make_table(
        [
            {"arm": arm, "seed": seed, "labels": k, "instrument": instrument, "value": value - 1e-3 * seed}
            for arm, instruments in measured.items()
            for instrument, curve in instruments.items()
            for k, value in curve.items()
            for seed in range(seeds)
        ],
        EXPERIMENT.columns,
    )


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {c["claim"]: c["verdict"] for c in judge_all(EXPERIMENT.claims, table, "local-scores", "machine", "full")}


def level(value: float, counts: tuple[int, ...] = (1, 3, 6, 9, 12)) -> Curve:
    return dict.fromkeys(counts, value)


def machines(local: Curve, middle: Curve, whole: Curve) -> dict[str, dict[str, Curve]]:
    by_radius: dict[int | None, Curve] = {2: local, 4: middle, None: whole}
    return {machine_arm(*machine): {RECALL: by_radius[machine[2]], TIED: level(0.2)} for machine in MACHINES}


def network(local: float, noise: float, whole: float, recall: float = 0.95) -> dict[str, Curve]:
    measured = {"local.r2": local, "local.r2.noise": noise, "global.r2": whole, "local.r2.shuffled": -0.6,
                "network.recall": recall, "local.recall": 0.97, "global.recall": 0.3}  # fmt: skip
    return {f"machine.{name}": level(value, (1, 3, 6, 9)) for name, value in measured.items()}


FALLING = {1: 1.0, 3: 0.8, 6: 0.6, 9: 0.5, 12: 0.4}
FAILING = {1: 1.0, 3: 0.4, 6: 0.2, 9: 0.1, 12: 0.1}
AS_HOPED = {
    "2L 1-3": network(0.8, 0.6, 0.2), "2 1-3": network(0.3, 0.2, 0.4, recall=0.3),
    **machines(level(0.98), FALLING, FAILING),
}  # fmt: skip
UNHOPED = {
    "2L 1-3": network(0.3, 0.3, 0.4, recall=0.5), "2 1-3": network(0.8, 0.8, 0.4),
    **machines(FAILING, FAILING, level(0.98)),
}  # fmt: skip


def test_local_machines_that_generalize_and_predict_hold_every_claim() -> None:
    assert set(verdicts(table_of(AS_HOPED)).values()) == {"holds"}


def test_machines_the_other_way_round_refute_every_claim() -> None:
    assert set(verdicts(table_of(UNHOPED)).values()) == {"fails"}


def test_without_networks_only_machines_are_judged() -> None:
    found = verdicts(table_of(machines(level(0.98), FALLING, FAILING)))
    assert {name for name, verdict in found.items() if verdict == "undecided"} == {
        "MA4", "MA4b", "MA4c", "MA4d", "MA5",
    }  # fmt: skip
    assert set(verdicts(table_of(AS_HOPED, seeds=4)).values()) == {"undecided"}
    few = {arm: {RECALL: {1: 1.0, 3: 0.9}} for arm in machines({}, {}, {})}
    assert verdicts(table_of(few))["MA3a"] == "undecided"


def test_what_is_explained_is_the_mean_over_numbers_of_labels() -> None:
    found = explained("2L")(table_of({"2L 1-3": {"machine.local.r2": {1: 0.9, 6: 0.5}}}, seeds=1))
    assert found == {0: pytest.approx(0.7)}


def test_arms_are_the_networks_of_length_and_machines_as_named() -> None:
    for name, budget in EXPERIMENT.budgets.items():
        shared = experiments(name, NETWORKS)
        assert {arm: budget.arms[arm].address for arm in shared} == {arm: w.address for arm, w in shared.items()}
        for experiment, objects, radius in MACHINES:
            config = budget.arms[machine_arm(experiment, objects, radius)]
            assert isinstance(config, LocalMachineConfig)
            assert config.labels.labelled == ("all" if experiment == "1" else "one")
            assert config.split.objects == TRAINED[objects]
            assert (
                config.receptive_fields.radius
                == config.receptive_fields.label_radius
                == (config.labels.grid if radius is None else radius)
            )
            config.check()


def test_a_machine_draws_its_images_and_locality_goes_beyond() -> None:
    small = override(
        SMOKE, {"split.images": 300, "labels.labelled": "one", "evaluation.counts": (1, 6), "evaluation.layouts": 4,
                "evaluation.sampler.steps": 8, "receptive_fields": {"radius": 1, "label_radius": 1}},
    )  # fmt: skip
    local = {(row["labels"], row["instrument"]): row["value"] for row in small.rows()}
    whole = override(small, {"receptive_fields": {"radius": 8, "label_radius": 8}})
    everything = {(row["labels"], row["instrument"]): row["value"] for row in whole.rows()}
    assert local[1, RECALL] == everything[1, RECALL] == 1
    assert local[6, RECALL] > 0.8 > everything[6, RECALL] + 0.2
    assert local[6, TIED] < 1 == everything[6, TIED]


def test_what_a_machine_cannot_be_asked_is_refused_in_a_line() -> None:
    with pytest.raises(UserError, match="cell by cell"):
        override(SMOKE, {"labels.form": "list"}).check()
    with pytest.raises(UserError, match="raise world"):
        override(SMOKE, {"evaluation.counts": (13,)}).check()


def test_figures_show_what_there_is_and_say_what_is_missing() -> None:
    drawings = EXPERIMENT.draw(table_of(AS_HOPED), SMOKE)
    assert "Exp 2 labels, k = 4" in words(drawings["figure"].figure)
    assert "local machine, same noise" in words(drawings["prediction"].figure)
    only = EXPERIMENT.draw(table_of(machines(level(0.98), FALLING, FAILING), seeds=1), SMOKE)
    assert "no machine was compared" in words(only["prediction"].figure).replace("\n", " ")
    assert "n = 1 seed" in words(only["figure"].figure)
    for drawing in only.values():
        assert render(drawing.figure)
