import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import polars as pl
import pytest

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.claims import Judgement, judge_all
from recombine.lab.table import make_table
from recombine.studies.concept_graphs.emergence.claims import CLAIMS
from support import tables

NODES = tuple("".join(digits) for digits in product("01", repeat=3))
GRID = tuple(range(100, 2100, 100))  # twenty evaluations, evenly spaced

Readings = Callable[[int, str, int], dict[Any, float]]
"""Seed, node and images seen -> instrument and value."""


def table_of(readings: Readings, seeds: Iterable[int] = range(5), arm: str = "continuous") -> pl.DataFrame:
    return tables.table_of(lambda arm, *place: readings(*place), [arm], NODES, GRID, seeds)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def steps_at(times: Callable[[int, str], float], instrument: str = "reader.product") -> Readings:
    return lambda seed, node, seen: {instrument: float(seen >= times(seed, node))}


def in_order(seed: int, node: str) -> float:
    """Distance 0 at 300, distance 1 at 600, distance 2 at 1200; a little later in later seeds."""
    return {0: 300, 1: 600, 2: 1200}[max(0, node.count("1") - 1)] + 100 * (seed % 2)


# O1: the order of emergence


def test_order_in_every_seed_holds() -> None:
    answer = judge("O1", table_of(steps_at(in_order)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert answer["interval"][0] == pytest.approx(0.025 ** (1 / 5))
    assert "d0 300, d1 600, d2 1,200" in answer["note"]


@pytest.mark.parametrize("broken", [in_order, lambda seed, node: 300 if node == "111" else in_order(seed, node)])
def test_one_seed_out_of_order_fails(broken: Callable[[int, str], float]) -> None:
    """Seed 3: everything at once, or the farthest class with the trained ones."""

    def times(seed: int, node: str) -> float:
        return (500 if broken is in_order else broken(seed, node)) if seed == 3 else in_order(seed, node)

    answer = judge("O1", table_of(steps_at(times)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)


def test_fewer_than_five_seeds_decide_nothing() -> None:
    for times in (in_order, lambda seed, node: 500):
        answer = judge("O1", table_of(steps_at(times), range(4)))
        assert (answer["verdict"], answer["n"]) == ("undecided", 4)


def test_a_class_that_never_emerges_is_later_than_one_that_has() -> None:
    answer = judge("O1", table_of(steps_at(lambda s, node: math.inf if node == "111" else in_order(s, node))))
    assert (answer["verdict"], answer["estimate"]) == ("holds", 1.0)
    assert "d2 never" in answer["note"]
    nothing = judge("O1", table_of(steps_at(lambda s, node: math.inf)))
    assert (nothing["estimate"], nothing["n"], nothing["verdict"]) == (None, 0, "undecided")
    assert "5 seeds say nothing" in nothing["note"]


def test_a_dip_before_the_third_evaluation_is_not_emergence() -> None:
    """111 touches 1 once, early, and emerges last."""
    answer = judge(
        "O1",
        table_of(
            lambda s, node, seen: {
                "reader.product": float(seen >= in_order(s, node) or (node == "111" and seen == 100))
            }
        ),
    )
    assert answer["verdict"] == "holds"


def test_where_every_class_was_trained_there_is_no_order_to_judge() -> None:
    table = table_of(steps_at(in_order)).with_columns(distance=pl.lit(0, dtype=pl.Int64))
    assert judge("O1", table)["verdict"] == "undecided"


# O2, O2b, O3: the concepts of the farthest class


def concepts_at(shape: float, color: float, size: float, near: float = 400) -> Readings:
    """When each concept of 111 is learned, and the colour of the other classes."""

    def readings(seed: int, node: str, seen: int) -> dict[Any, float]:
        times = {"shape": shape, "color": color if node == "111" else near, "size": size}
        return {("reader.accuracy", name): 0.95 if seen >= time else 0.5 for name, time in times.items()}

    return readings


@pytest.mark.parametrize(
    ("times", "verdict", "estimate"),
    [
        ((300, 900, 400), "holds", 1.0),
        ((300, 400, 900), "fails", 0.0),
        ((900, 900, 300), "fails", 0.0),  # together is not after
        ((300, math.inf, 400), "holds", 1.0),
        ((math.inf, 300, math.inf), "fails", 0.0),
    ],
)
def test_color_is_last(times: tuple[float, float, float], verdict: str, estimate: float) -> None:
    answer = judge("O2", table_of(concepts_at(*times)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, estimate, 5)
    assert judge("O2", table_of(concepts_at(*times), range(4)))["verdict"] == "undecided"


def test_where_two_concepts_never_come_their_order_is_unknown() -> None:
    answer = judge("O2", table_of(concepts_at(math.inf, math.inf, 300)))
    assert (answer["verdict"], answer["n"]) == ("undecided", 0)
    assert "5 seeds say nothing" in answer["note"]


def test_the_time_of_color_is_a_known_ratio() -> None:
    answer = judge("O2b", table_of(concepts_at(100, 1600, 200)))
    assert (answer["estimate"], answer["interval"], answer["verdict"]) == (8.0, [8.0, 8.0], "holds")
    assert judge("O2b", table_of(concepts_at(100, 600, 200)))["verdict"] == "fails"
    never = judge("O2b", table_of(concepts_at(100, math.inf, 200)))
    assert (never["verdict"], never["estimate"], never["n"]) == ("undecided", None, 0)
    assert "reached" in never["note"]


def test_far_over_near_is_a_known_ratio() -> None:
    answer = judge("O3", table_of(concepts_at(100, 1600, 200, near=800)))
    assert (answer["estimate"], answer["interval"], answer["verdict"], answer["n"]) == (2.0, [2.0, 2.0], "holds", 5)
    assert judge("O3", table_of(concepts_at(100, 2000, 200, near=400)))["verdict"] == "fails"
    assert judge("O3", table_of(concepts_at(100, 1600, 200, near=800), range(3)))["verdict"] == "undecided"


def test_near_is_the_mean_of_the_two_blue_classes_at_distance_one() -> None:
    times = {"011": 400, "110": 800, "111": 1200}  # 101 is at distance 1 too, but red
    answer = judge(
        "O3", table_of(lambda s, node, seen: {("reader.accuracy", "color"): float(seen >= times.get(node, 100))})
    )
    assert answer["estimate"] == 2.0


def test_seeds_in_which_color_is_not_reached_are_left_out_and_counted() -> None:
    def readings(seed: int, node: str, seen: int) -> dict[Any, float]:
        time = math.inf if seed >= 5 and node == "111" else 1600 if node == "111" else 800
        return {("reader.accuracy", "color"): float(seen >= time)}

    answer = judge("O3", table_of(readings, range(7)))
    assert (answer["estimate"], answer["n"], answer["verdict"]) == (2.0, 5, "holds")
    assert "2 seeds left out" in answer["note"]


# O4: how sudden


def linear(seen: int) -> float:
    return (seen - GRID[0]) / (GRID[-1] - GRID[0])


def test_a_step_of_the_product_against_a_linear_additive_measure() -> None:
    """A step between two evaluations takes 1/19 of a climb over all twenty."""
    table = table_of(lambda s, node, seen: {"reader.product": float(seen >= 1000), "reader.additive": linear(seen)})
    answer = judge("O4", table)
    assert answer["estimate"] == pytest.approx(1 / 19)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    smoothed = judge("O4s", table)
    assert answer["estimate"] < smoothed["estimate"] < 1  # smoothing spreads the step over its window
    assert smoothed["verdict"] == "holds"


def test_the_other_way_round_fails_and_the_same_curve_is_no_faster() -> None:
    slow = table_of(lambda s, node, seen: {"reader.product": linear(seen), "reader.additive": float(seen >= 1000)})
    assert judge("O4", slow)["verdict"] == "fails"
    assert judge("O4", slow)["estimate"] == pytest.approx(19)
    same = table_of(lambda s, node, seen: {"reader.product": linear(seen), "reader.additive": linear(seen)})
    assert (judge("O4", same)["estimate"], judge("O4", same)["verdict"]) == (pytest.approx(1.0), "fails")


def test_a_class_that_is_not_learned_has_no_rise() -> None:
    table = table_of(
        lambda s, node, seen: {
            "reader.product": 0.4 * linear(seen) if s else linear(seen),
            "reader.additive": linear(seen),
        }
    )
    assert judge("O4", table)["n"] == 1
    nobody = table.filter(pl.col("seed") > 0)
    assert judge("O4", nobody)["verdict"] == "undecided"
    assert "0.5" in judge("O4", nobody)["note"]


# O5: independence


def drawn(agree: bool, none: float = 0.0, several: float = 0.0) -> Readings:
    """Concepts right with probability p given one object: independently, or all right or wrong together."""

    def readings(seed: int, node: str, seen: int) -> dict[Any, float]:
        one, p = 1 - none - several, 0.5 + 0.4 * linear(seen)
        each: dict[Any, float] = {("reader.accuracy", name): one * p for name in ("shape", "color", "size")}
        return each | {"reader.product": one * (p if agree else p**3), "reader.none": none, "reader.several": several}

    return readings


@pytest.mark.parametrize(("none", "several"), [(0.0, 0.0), (0.2, 0.1)])
def test_independent_concepts_leave_no_gap_however_many_images_are_blank(none: float, several: float) -> None:
    answer = judge("O5", table_of(drawn(agree=False, none=none, several=several)))
    assert answer["estimate"] == pytest.approx(0.0, abs=1e-12)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)


def test_a_fourth_concept_counts_too() -> None:
    def readings(seed: int, node: str, seen: int) -> dict[Any, float]:
        three, p = drawn(agree=False)(seed, node, seen), 0.5 + 0.4 * linear(seen)
        return three | {("reader.accuracy", "background"): p, "reader.product": p**4}

    answer = judge("O5", table_of(readings))
    assert answer["estimate"] == pytest.approx(0.0, abs=1e-12)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)


def test_concepts_that_fail_together_leave_a_gap() -> None:
    answer = judge("O5", table_of(drawn(agree=True)))
    expected = [p - p**3 for p in (0.5 + 0.4 * linear(seen) for seen in GRID)]
    assert answer["estimate"] == pytest.approx(sum(expected) / len(expected))
    assert answer["estimate"] > 0.2
    assert answer["verdict"] == "fails"


def test_without_objects_or_between_bounds_there_is_nothing_to_judge() -> None:
    for readings in (drawn(agree=True, none=0.6), lambda *_: dict.fromkeys(FIVE, 1.0) | {"reader.none": 0.0}):
        answer = judge("O5", table_of(readings))
        assert (answer["verdict"], answer["estimate"], answer["n"]) == ("undecided", None, 0)


CONCEPTS = [("reader.accuracy", name) for name in ("shape", "color", "size")]
FIVE = ("reader.product", *CONCEPTS, "reader.several")


# Tables that lack something

NEEDS: dict[str, tuple[str, ...]] = {
    "O1": ("reader.product",),
    "O2": ("reader.accuracy",),
    "O2b": ("reader.accuracy",),
    "O3": ("reader.accuracy",),
    "O4": ("reader.product", "reader.additive"),
    "O4s": ("reader.product", "reader.additive"),
    "O5": ("reader.product", "reader.none", "reader.several", "reader.accuracy"),
}


def everything(seed: int, node: str, seen: int) -> dict[Any, float]:
    p = 0.6 + 0.4 * (seen >= in_order(seed, node))
    each = dict.fromkeys([*CONCEPTS, "reader.additive"], p)
    return each | {"reader.product": p**3, "reader.none": 0.0, "reader.several": 0.0}


@pytest.mark.parametrize("missing", sorted({name for names in NEEDS.values() for name in names}))
def test_a_missing_instrument_is_undecided_with_a_reason_and_the_other_claims_stay(missing: str) -> None:
    table = table_of(everything)
    whole = {c["claim"]: c for c in judge_all(CLAIMS, table, "s", "e", "full")}
    lacking = judge_all(CLAIMS, table.filter(pl.col("instrument") != missing), "s", "e", "full")
    for answer in lacking:
        if missing in NEEDS[answer["claim"]]:
            assert (answer["verdict"], answer["estimate"], answer["n"]) == ("undecided", None, 0)
            assert "measured" in answer["note"]
        else:
            assert answer == whole[answer["claim"]]


@pytest.mark.parametrize("table", [make_table([], COLUMNS), table_of(everything, range(2), arm="binary").head(0)])
def test_an_empty_table_decides_nothing(table: pl.DataFrame) -> None:
    for answer in judge_all(CLAIMS, table, "s", "e", "smoke"):
        assert answer["verdict"] == "undecided"
        assert answer["note"]


def test_another_arm_alone_decides_nothing_about_the_headline_arm() -> None:
    table = table_of(everything, arm="binary")
    answers = judge_all(CLAIMS, table, "s", "e", "full")
    assert {answer["verdict"] for answer in answers} == {"undecided"}
    assert all("continuous" in answer["note"] or "distances" in answer["note"] for answer in answers)


def test_judges_are_pure() -> None:
    table = table_of(everything)
    before = table.clone()
    assert [claim.judge(table) for claim in CLAIMS] == [claim.judge(table) for claim in CLAIMS]
    assert all(isinstance(claim.judge(table), Judgement) for claim in CLAIMS)
    assert table.equals(before)
