"""Faces: the order of emergence by the classifier, and whose gender comes first, from tables that are known."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.faces.claims import CLAIMS
from recombine.worlds.faces import FacesWorld
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/faces"]

GRID = tuple(range(100, 2100, 100))
ARM = "continuous"

Time = Callable[[int, str], float]
"""Seed and node -> images seen when it is right."""


def table_of(product: Time, gender: Time, seeds: Iterable[int] = range(5)) -> pl.DataFrame:
    """The product jumps from 0 to 1, gender from guessing to 0.95."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        return {
            "classifier.product": float(seen >= product(seed, node)),
            ("classifier.accuracy", "gender"): 0.95 if seen >= gender(seed, node) else 0.5,
        }

    return tables.table_of(readings, (ARM,), tables.nodes_of(3), GRID, seeds)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def in_order(seed: int, node: str) -> float:
    return (300, 600, 1200)[tables.from_origin(node)] + 100 * (seed % 2)


def by_gender(female: float, male: float) -> Time:
    return lambda seed, node: female if node[0] == "0" else male


FEMALE_FIRST = by_gender(400, 900)


# O12: the order of emergence


def test_faces_in_order_hold() -> None:
    answer = judge("O12", table_of(in_order, FEMALE_FIRST))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert "d0 300, d1 600, d2 1,200" in answer["note"]
    assert judge("O12", table_of(in_order, FEMALE_FIRST, range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize("times", [(600, 300, 1200), (300, 1200, 600), (300, 600, 600), (300, math.inf, 1200)])
def test_faces_out_of_order_fail(times: tuple[float, ...]) -> None:
    answer = judge("O12", table_of(lambda seed, node: times[tables.from_origin(node)], FEMALE_FIRST))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)


def test_one_early_class_of_three_does_not_lead_its_distance() -> None:
    """The paper's exception: 011 before the trained classes."""
    answer = judge("O12", table_of(lambda seed, node: 100 if node == "011" else in_order(seed, node), FEMALE_FIRST))
    assert (answer["verdict"], answer["estimate"]) == ("holds", 1.0)


def test_the_classifier_is_asked_and_not_the_reader() -> None:
    table = table_of(in_order, FEMALE_FIRST)
    read = table.with_columns(pl.col("instrument").str.replace("classifier", "reader"))
    assert tables.undecided(judge("O12", read), "classifier.product distance 0 arm continuous was not measured")


# O12b: female before male


def test_female_first_in_every_seed_holds() -> None:
    answer = judge("O12b", table_of(in_order, FEMALE_FIRST))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert answer["note"] == "median images seen at 0.9: female 400, male 900"
    assert judge("O12b", table_of(in_order, FEMALE_FIRST, range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize(("female", "male"), [(900, 400), (400, 400), (math.inf, 400)])
def test_male_first_and_together_fail(female: float, male: float) -> None:
    answer = judge("O12b", table_of(in_order, by_gender(female, male)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)


def test_one_seed_the_other_way_fails() -> None:
    answer = judge("O12b", table_of(in_order, lambda seed, node: by_gender(400 + 600 * (seed == 3), 900)(seed, node)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)


def test_male_that_never_converges_is_later_and_neither_says_nothing() -> None:
    never = judge("O12b", table_of(in_order, by_gender(400, math.inf)))
    assert (never["verdict"], never["note"]) == ("holds", "median images seen at 0.9: female 400, male never")
    assert tables.undecided(judge("O12b", table_of(in_order, by_gender(math.inf, math.inf))), "5 seeds say nothing")


def test_the_means_over_four_classes_are_compared() -> None:
    """One of four female classes that stays at guessing keeps their mean below 0.9."""
    answer = judge("O12b", table_of(in_order, lambda seed, node: 1500 if node == "011" else FEMALE_FIRST(seed, node)))
    assert answer["note"] == "median images seen at 0.9: female 1,500, male 900"
    assert answer["verdict"] == "fails"


# Tables that lack something


@pytest.mark.parametrize(("claim", "instrument"), [("O12", "classifier.product"), ("O12b", "classifier.accuracy")])
def test_a_missing_instrument_is_undecided_and_the_other_claim_stays(claim: str, instrument: str) -> None:
    lacking = tables.without(table_of(in_order, FEMALE_FIRST), instrument)
    for other in ("O12", "O12b"):
        answer = judge(other, lacking)
        if other == claim:
            assert tables.undecided(answer, "was not measured")
        else:
            assert answer["verdict"] == "holds"


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer)


# Arms


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_faces_are_judged_as_the_claims_ask(budget: str) -> None:
    ((arm, config),) = tables.runs_of(EXPERIMENT, budget).items()
    assert arm == ARM
    assert isinstance(config.world, FacesWorld)
    assert config.world.concepts["gender"] == ("female", "male")
    assert config.split.by_distance(config.world) == {
        0: ("000", "001", "010", "100"),
        1: ("011", "101", "110"),
        2: ("111",),
    }
    assert config.evaluation.classifier is not None
    assert config.evaluation.classifier.kind == "cnn"
