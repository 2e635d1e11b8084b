"""The verdicts on the adversarial split, from tables in which every arm draws what is known."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.adversarial.claims import CLAIMS, SMALL_CIRCLES, TRAINED
from recombine.studies.concept_graphs.adversarial.experiment import BASE, CLASSES
from recombine.worlds.splits import design
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/adversarial"]

MIXED = ("001-mixed", "011-mixed", "110-mixed")
ARMS = (BASE, *CLASSES, *MIXED)

Readings = Callable[[str, int, str], dict[Any, float]]
"""Arm, seed and node -> instrument and value at the end of training."""


def as_in_the_paper(arm: str, seed: int, node: str) -> dict[Any, float]:
    """What the paper says: triangles for small circles, then forgetting; mixing keeps the old and adds the new."""
    known = {arm.removesuffix("-mixed")} | (set(TRAINED) if arm in (BASE, *MIXED) else set())
    return {
        "reader.product": 0.95 if node in known else 0.1,
        ("reader.answer", "shape", "triangle"): 0.8,
        ("reader.answer", "shape", "circle"): 0.15,
        ("reader.accuracy", "size"): 0.2,
        "reader.none": 0.05,
    }


def with_product(value: float, arms: Iterable[str], nodes: Iterable[str]) -> Readings:
    """As in the paper, but for the product accuracy of these nodes in these arms."""
    where = set(product(arms, nodes))

    def readings(arm: str, seed: int, node: str) -> dict[Any, float]:
        return as_in_the_paper(arm, seed, node) | ({"reader.product": value} if (arm, node) in where else {})

    return readings


def with_reading(instrument: Any, value: Callable[[int], float]) -> Readings:
    return lambda arm, seed, node: as_in_the_paper(arm, seed, node) | {instrument: value(seed)}


def table_of(readings: Readings, seeds: Iterable[int] = range(5), arms: Iterable[str] = ARMS) -> pl.DataFrame:
    """Two evaluations; the first reads the opposite of the last, so that nobody takes it for the end."""

    def both(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        return {name: value if seen == 200 else 1 - value for name, value in readings(arm, seed, node).items()}

    return tables.table_of(both, arms, tables.nodes_of(3), (200, 100), seeds, columns=EXPERIMENT.columns)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def test_the_classes_are_those_of_the_design() -> None:
    assert set(TRAINED) == set(design("H32-fail1").train)
    assert all(node[0] == "0" and node[2] == "1" for node in SMALL_CIRCLES)
    assert not set(SMALL_CIRCLES) & set(TRAINED)


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_every_arm_goes_on_from_the_adversarial_run(budget: str) -> None:
    arms = tables.runs_of(EXPERIMENT, budget)
    assert set(arms) == set(ARMS)
    assert set(arms[BASE].split.train) == set(TRAINED)
    for arm in (*CLASSES, *MIXED):
        assert arms[arm].start == arms[BASE]
        old = TRAINED if arm in MIXED else ()
        assert set(arms[arm].split.train) == {*old, arm.removesuffix("-mixed")}
        assert arms[arm].split.count == arms[BASE].split.count
        assert arms[arm].training.rate == arms[BASE].training.rate


@pytest.mark.parametrize(
    ("claim", "estimate", "note"),
    [
        ("O9", 0.8, "circles in 0.15 of the images"),
        ("O10a", 0.2, "before fine-tuning 0.20; images without an object 0.05"),
        ("O10b", 0.1, "before fine-tuning 0.95"),
        ("O10c", 0.95, ""),
        ("O10d", 0.95, "the other colour, which was not trained on: 0.10"),
    ],
)
def test_what_the_paper_says_holds_where_it_is_so(claim: str, estimate: float, note: str) -> None:
    answer = judge(claim, table_of(as_in_the_paper))
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert answer["estimate"] == pytest.approx(estimate)
    assert answer["interval"] == pytest.approx([estimate, estimate])
    assert note in answer["note"]
    few = judge(claim, table_of(as_in_the_paper, range(4)))
    assert (few["verdict"], few["n"]) == ("undecided", 4)
    assert few["estimate"] == pytest.approx(estimate)


@pytest.mark.parametrize(
    ("claim", "readings", "estimate"),
    [
        ("O9", with_reading(("reader.answer", "shape", "triangle"), lambda seed: 0.3), 0.3),
        (
            "O9",
            with_reading(("reader.answer", "shape", "triangle"), lambda seed: 0.5),
            0.5,
        ),  # half is not more than half
        ("O10a", with_reading(("reader.accuracy", "size"), lambda seed: 0.7), 0.7),
        ("O10b", with_product(0.9, ("001", "011"), TRAINED), 0.9),
        ("O10c", with_product(0.6, MIXED, TRAINED), 0.6),
        ("O10d", with_product(0.5, MIXED, SMALL_CIRCLES), 0.5),
    ],
)
def test_it_fails_where_it_is_not_so(claim: str, readings: Readings, estimate: float) -> None:
    answer = judge(claim, table_of(readings))
    assert (answer["verdict"], answer["n"]) == ("fails", 5)
    assert answer["estimate"] == pytest.approx(estimate)
    assert judge(claim, table_of(readings, range(4)))["verdict"] == "undecided"


def test_seeds_on_both_sides_of_the_bound_decide_nothing() -> None:
    answer = judge(
        "O9", table_of(with_reading(("reader.answer", "shape", "triangle"), lambda seed: 0.4 + 0.1 * (seed % 3)))
    )
    assert answer["verdict"] == "undecided"
    assert answer["estimate"] == pytest.approx((0.4 + 0.5 + 0.6 + 0.4 + 0.5) / 5)
    assert answer["interval"][0] < 0.5 < answer["interval"][1]


def test_only_small_circles_are_asked_about_triangles_and_size() -> None:
    """Everything else draws circles, and draws them small."""

    def readings(arm: str, seed: int, node: str) -> dict[Any, float]:
        known = as_in_the_paper(arm, seed, node)
        return (
            known
            if node in SMALL_CIRCLES
            else known | {("reader.answer", "shape", "triangle"): 0.0, ("reader.accuracy", "size"): 1.0}
        )

    table = table_of(readings)
    assert judge("O9", table)["estimate"] == pytest.approx(0.8)
    assert judge("O10a", table)["estimate"] == pytest.approx(0.2)


def test_what_is_kept_is_the_mean_of_classes_and_arms() -> None:
    """One class of four is kept whole in one arm of two."""
    readings = with_product(0.9, ("001",), ("100",))
    assert judge("O10b", table_of(readings))["estimate"] == pytest.approx((0.1 + (0.1 * 3 + 0.9) / 4) / 2)
    mixed = with_product(0.55, ("110-mixed",), ("100",))
    assert judge("O10c", table_of(mixed))["estimate"] == pytest.approx((0.95 * 2 + (0.95 * 3 + 0.55) / 4) / 3)


def test_each_arm_is_asked_for_the_circle_it_was_shown() -> None:
    swapped = with_product(0.0, ("001-mixed",), ("001",))
    answer = judge("O10d", table_of(swapped))
    assert answer["estimate"] == pytest.approx(0.95 / 2)
    other = judge("O10d", table_of(with_product(0.7, ("001-mixed",), ("011",))))
    assert other["estimate"] == pytest.approx(0.95)
    assert "not trained on: 0.40" in other["note"]


@pytest.mark.parametrize(("claim", "arm"), [("O10b", "011"), ("O10c", "110-mixed"), ("O10d", "011-mixed")])
def test_a_seed_that_lacks_an_arm_is_left_out(claim: str, arm: str) -> None:
    """The lacking seed is another than the last, so that no pairing by place could give the same."""

    def readings(where: str, seed: int, node: str) -> dict[Any, float]:
        known = as_in_the_paper(where, seed, node)
        return {name: value / 2 for name, value in known.items()} if seed == 2 else known

    table = table_of(readings, range(6))
    answer = judge(claim, table.filter((pl.col("arm") != arm) | (pl.col("seed") != 2)))
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert answer["estimate"] == pytest.approx(judge(claim, table_of(as_in_the_paper))["estimate"])


def test_arms_are_averaged_within_a_seed() -> None:
    """One arm learns in the even seeds, the other in the odd ones: every seed is half right."""

    def readings(arm: str, seed: int, node: str) -> dict[Any, float]:
        return {"reader.product": float((arm == "001-mixed") == (seed % 2 == 0))}

    answer = judge("O10d", table_of(readings, range(6), ("001-mixed", "011-mixed")))
    assert (answer["estimate"], answer["interval"], answer["n"]) == (0.5, [0.5, 0.5], 6)


@pytest.mark.parametrize(("claim", "arm"), [("O10b", "011"), ("O10c", "110-mixed"), ("O10d", "011-mixed")])
def test_arms_without_a_common_seed_are_not_compared(claim: str, arm: str) -> None:
    table = table_of(as_in_the_paper, range(10))
    disjoint = table.filter((pl.col("arm") == arm) == (pl.col("seed") < 5))
    assert tables.undecided(judge(claim, disjoint), "no seed has")


# Tables that lack something

NEEDS: dict[str, set[tuple[str, str]]] = {
    "O9": {(BASE, "reader.answer")},
    "O10a": {("110", "reader.accuracy")},
    "O10b": {(arm, "reader.product") for arm in ("001", "011")},
    "O10c": {(arm, "reader.product") for arm in MIXED},
    "O10d": {(arm, "reader.product") for arm in ("001-mixed", "011-mixed")},
}


@pytest.mark.parametrize(("arm", "instrument"), sorted(set.union(*NEEDS.values())))
def test_what_was_not_measured_is_undecided_with_a_reason_and_the_other_claims_stay(arm: str, instrument: str) -> None:
    table = table_of(as_in_the_paper)
    whole = judge_all(CLAIMS, table, "s", "e", "full")
    lacking = tables.without(table, instrument, arm)
    for before, answer in zip(whole, judge_all(CLAIMS, lacking, "s", "e", "full"), strict=True):
        if (arm, instrument) in NEEDS[answer["claim"]]:
            assert tables.undecided(answer)
        else:
            assert (answer["verdict"], answer["estimate"]) == (before["verdict"], before["estimate"])


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer)


def test_the_order_of_rows_changes_no_judgement() -> None:
    table = table_of(with_reading(("reader.answer", "shape", "triangle"), lambda seed: 0.5 + seed / 8))
    assert judge("O9", tables.shuffled(table)) == judge("O9", table)
    assert judge("O9", table)["estimate"] == 0.75
