"""Whether the way a condition enters decides what composes: the arms by name, the claims on known accuracies."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.conditioning.claims import CLAIMS, held_out
from recombine.studies.concept_graphs.emergence import experiment as emergence
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/conditioning"]

CONDITIONS, ENTRIES, MARKS = ("continuous", "binary", "masked"), ("sum", "added", "joint"), ("", "-plain")
ARMS = tuple(f"{conditions}-{entry}{mark}" for conditions, entry, mark in product(CONDITIONS, ENTRIES, MARKS))
CONTRASTS: dict[str, tuple[str, str]] = {
    "C1": ("-sum", "-joint"),
    "C2": ("-sum", "-added"),
    "C3": ("continuous-", "binary-"),
    "C4": ("continuous-", "masked-"),
    "C5": ("", "-plain"),
}
"""Claim -> the mark of the arms that should be better, and of those they are compared with."""

Accuracy = Callable[[str, int], float]
"""Arm and seed -> product accuracy at distance 1 at the end."""


def table_of(accuracy: Accuracy, seeds: Iterable[int] = range(5), arms: Iterable[str] = ARMS) -> pl.DataFrame:
    """Other distances, and the evaluation before the last, read the opposite."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        value = accuracy(arm, seed)
        return {"reader.product": value if seen == 200 and tables.from_origin(node) == 1 else 1 - value}

    return tables.table_of(
        readings, arms, tables.nodes_of(3), (100, 200), seeds, of_arm=of_arm, columns=EXPERIMENT.columns
    )


def of_arm(arm: str) -> dict[str, Any]:
    conditions, entry, *plain = arm.split("-")
    way = {"sum": "multiply", "added": "add", "joint": "joint"}[entry]
    return {"conditions": conditions, "entry": way, "attention": not plain}


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def is_better(claim: str, arm: str) -> bool:
    better, worse = CONTRASTS[claim]
    return not arm.endswith(worse) if claim == "C5" else better in arm


def is_worse(claim: str, arm: str) -> bool:
    return CONTRASTS[claim][1] in arm


# What is compared


def test_held_out_is_the_mean_of_the_classes_at_a_distance() -> None:
    each = {"011": 0.25, "101": 0.5, "110": 0.75, "111": 0.125}
    table = tables.table_of(
        lambda arm, seed, node, seen: {"reader.product": each.get(node, 1.0) + seed / 16},
        ARMS,
        tables.nodes_of(3),
        (9,),
        of_arm=of_arm,
        columns=EXPERIMENT.columns,
    )
    assert held_out(table, arm="binary-sum") == {seed: pytest.approx(0.5 + seed / 16) for seed in range(5)}
    assert held_out(table, 2, arm="binary-sum")[1] == pytest.approx(0.1875)
    assert held_out(table, 0, arm="binary-sum")[0] == 1.0
    assert held_out(table, 3, arm="binary-sum") == {}


@pytest.mark.parametrize("claim", CONTRASTS)
def test_a_gain_of_the_better_arms_holds(claim: str) -> None:
    answer = judge(claim, table_of(lambda arm, seed: 0.5 + 0.25 * is_better(claim, arm)))
    assert (answer["verdict"], answer["n"], answer["estimate"]) == ("holds", 5, 0.25)
    pairs = len([arm for arm in ARMS if is_worse(claim, arm)])
    assert answer["note"] == f"over {pairs} pairs of arms"
    few = judge(claim, table_of(lambda arm, seed: 0.5 + 0.25 * is_better(claim, arm), range(4)))
    assert (few["verdict"], few["n"]) == ("undecided", 4)


@pytest.mark.parametrize("claim", CONTRASTS)
def test_no_gain_and_a_loss_fail(claim: str) -> None:
    same = judge(claim, table_of(lambda arm, seed: 0.5))
    assert (same["verdict"], same["estimate"], same["n"]) == ("fails", 0.0, 5)
    loss = judge(claim, table_of(lambda arm, seed: 0.5 + 0.25 * is_worse(claim, arm)))
    assert (loss["verdict"], loss["estimate"]) == ("fails", -0.25)


@pytest.mark.parametrize("claim", CONTRASTS)
def test_gains_of_both_signs_decide_nothing(claim: str) -> None:
    answer = judge(claim, table_of(lambda arm, seed: 0.5 + is_better(claim, arm) * (seed - 2) / 8))
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < 0 < answer["interval"][1]


@pytest.mark.parametrize("claim", CONTRASTS)
def test_an_arm_is_compared_with_the_one_that_differs_in_this_alone(claim: str) -> None:
    """What else an arm is called, and its seed, matters more than the contrast; the difference stays the same."""

    def accuracy(arm: str, seed: int) -> float:
        rest = [
            part for part in (*CONDITIONS, *ENTRIES, "plain") if part in arm and part not in "".join(CONTRASTS[claim])
        ]
        return sum(len(part) for part in rest) / 64 + seed / 32 + is_better(claim, arm) / 16

    answer = judge(claim, table_of(accuracy))
    assert answer["estimate"] == pytest.approx(1 / 16)
    assert answer["interval"] == pytest.approx([1 / 16, 1 / 16])


@pytest.mark.parametrize("claim", CONTRASTS)
def test_the_gain_is_the_mean_over_pairs(claim: str) -> None:
    """Only one of the pairs gains, by a half."""
    only = next(arm for arm in ARMS if is_better(claim, arm))
    pairs = len([arm for arm in ARMS if is_worse(claim, arm)])
    answer = judge(claim, table_of(lambda arm, seed: 0.25 + 0.5 * (arm == only)))
    assert answer["estimate"] == pytest.approx(0.5 / pairs)


# Tables that lack something


def test_without_attention_arms_the_pairs_that_are_there_are_compared() -> None:
    plain = tuple(arm for arm in ARMS if arm.endswith("-plain"))
    table = table_of(lambda arm, seed: 0.5 + 0.25 * ("sum" in arm), arms=plain)
    assert judge("C1", table)["note"] == "over 3 pairs of arms"
    assert judge("C1", table)["verdict"] == "holds"
    assert tables.undecided(judge("C5", table), "needs attention True beside False")


def test_a_seed_that_lacks_an_arm_is_left_out() -> None:
    table = table_of(lambda arm, seed: 0.5 + 0.25 * ("sum" in arm), range(6))
    lacking = table.filter((pl.col("seed") != 3) | (pl.col("arm") != "masked-joint"))
    assert (judge("C1", lacking)["n"], judge("C1", lacking)["verdict"]) == (5, "holds")
    assert judge("C2", lacking)["n"] == 6


def test_arms_without_a_common_seed_are_not_compared() -> None:
    table = table_of(lambda arm, seed: 0.5, range(10))
    disjoint = table.filter(pl.col("arm").str.contains("joint") == (pl.col("seed") < 5))
    assert tables.undecided(judge("C1", disjoint), "no seed has all the arms that are compared")


def test_arms_that_were_not_read_are_undecided() -> None:
    table = table_of(lambda arm, seed: 0.5).with_columns(instrument=pl.lit("probe.product"))
    for claim in CONTRASTS:
        assert tables.undecided(judge(claim, table), "was not measured")


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer, "needs")


# Arms


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_arms_are_what_their_names_say(budget: str) -> None:
    for arm, config in tables.runs_of(EXPERIMENT, budget).items():
        conditions, entry, *plain = arm.split("-")
        assert config.world.model_dump()["conditioning"] == ("binary" if conditions == "binary" else "continuous")
        assert config.training.mask == (0.3 if conditions == "masked" else 0.0)
        assert config.network.condition.entry == {"sum": "multiply", "added": "add", "joint": "joint"}[entry]
        assert bool(config.network.attention) == (not plain)
        config.check()


def test_at_full_size_every_combination_is_a_run_of_its_own() -> None:
    arms = tables.runs_of(EXPERIMENT, "full")
    assert set(arms) == set(ARMS)
    assert len({config.address for config in arms.values()}) == 18
    assert {config.network.attention for arm, config in arms.items() if "plain" not in arm} == {(1, 2)}


def test_the_first_arm_is_that_of_emergence_but_for_its_length() -> None:
    ours = tables.runs_of(EXPERIMENT, "full")["continuous-sum"]
    theirs = emergence.FULL.replace(training=ours.training.model_dump(), evaluation=ours.evaluation.model_dump())
    assert ours == theirs
    assert ours.training == emergence.FULL.training.replace(images=ours.training.images)
