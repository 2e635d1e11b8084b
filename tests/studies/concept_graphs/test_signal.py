"""The verdicts on signal and rarity, from tables in which concepts are as late as is known; signals by hand."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.signal.claims import CLAIMS, CONCEPTS, WEAKEST, last_concepts, lateness
from recombine.studies.concept_graphs.signal.experiment import ARMS, pixel_signals
from recombine.worlds.shapes import ShapesWorld
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/signal"]

GRID = (100, 200, 400, 800, 1600)

Times = Callable[[str, int, str], float]
"""Arm, seed and concept -> how late it is in the farthest class, from 0 to 1."""


def table_of(times: Times, seeds: Iterable[int] = range(5), arms: Iterable[str] = tuple(ARMS)) -> pl.DataFrame:
    """A concept of 111 rises in a line about its mean accuracy; those of other nodes are right from the first."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        step = (GRID.index(seen) - 2) / 100
        late = {concept: times(arm, seed, concept) - step if node == "111" else 0.0 for concept in CONCEPTS}
        return {("reader.accuracy", concept): 1 - missing for concept, missing in late.items()}

    return tables.table_of(readings, arms, ("000", "111", "211"), GRID, seeds)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def by_signal(arm: str, seed: int, concept: str) -> float:
    """The weakest concept comes last; frequent blue comes earlier."""
    late = 0.7 if concept == WEAKEST.get(arm, "shape") else 0.3
    return late - 0.1 * (arm == "blue-most" and concept == "color")


def by_rarity(arm: str, seed: int, concept: str) -> float:
    """Colour is last whatever its signal, as the paper says; frequent blue comes earlier."""
    return (0.7 if concept == "color" else 0.3) - 0.5 * (arm == "blue-most" and concept == "color")


def test_lateness_is_what_is_missing_on_the_average() -> None:
    readings = dict(zip(GRID, (0.0, 0.0, 0.5, 1.0, 1.0), strict=True))
    head = {"arm": "as-is", "node": "111", "distance": 2, "instrument": "reader.accuracy", "concept": "color"}
    rows = [{**head, "seed": 3, "images_seen": seen, "value": value} for seen, value in readings.items()]
    rows += [{**head, "seed": seed, "images_seen": 100, "value": float(seed)} for seed in (0, 1)]
    assert lateness("as-is", "color")(make_table(rows, EXPERIMENT.columns)) == {0: 1.0, 1: 0.0, 3: pytest.approx(0.5)}
    for arm, concept in (("as-is", "size"), ("equal", "color")):
        with pytest.raises(NotMeasured, match="was not measured"):
            lateness(arm, concept)(make_table(rows, EXPERIMENT.columns))


def test_the_last_concept_is_found_seed_by_seed() -> None:
    turns = table_of(lambda arm, seed, concept: 0.8 if concept == CONCEPTS[seed % 3] else 0.4)
    assert last_concepts(turns, "equal") == {0: "shape", 1: "color", 2: "size", 3: "shape", 4: "color"}


def test_a_tie_is_nobodys() -> None:
    """In seed 1 shape and size are equally late, and colour early; in seed 2 all three are alike."""

    def times(arm: str, seed: int, concept: str) -> float:
        return {0: 0.5 + 0.25 * (concept == "size"), 1: 0.5 - 0.25 * (concept == "color"), 2: 0.5}[seed]

    assert last_concepts(table_of(times, range(3)), "as-is") == {0: "size", 1: None, 2: None}


def test_a_seed_that_lacks_a_concept_has_no_last_one() -> None:
    """Seed 1 lacks the concept that is late in the others, seed 2 another."""
    table = table_of(lambda arm, seed, concept: 0.75 if concept == "shape" else 0.5, range(4))
    for seed, concept in ((1, "shape"), (2, "size")):
        table = table.filter((pl.col("seed") != seed) | (pl.col("concept") != concept))
    assert last_concepts(table, "as-is") == {0: "shape", 3: "shape"}


# G1: the weakest is last


def test_the_weakest_is_last_in_every_arm_and_seed() -> None:
    answer = judge("G1", table_of(by_signal))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert answer["note"] == (
        "as-is: shape last in 5 of 5; weak-color: color last in 5 of 5; weak-size: size last in 5 of 5"
    )
    few = judge("G1", table_of(by_signal, range(4)))
    assert (few["verdict"], few["estimate"], few["n"]) == ("undecided", 1.0, 4)


def test_where_colour_is_always_last_the_claim_fails() -> None:
    answer = judge("G1", table_of(by_rarity))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)
    assert "as-is: shape last in 0 of 5; weak-color: color last in 5 of 5" in answer["note"]


@pytest.mark.parametrize("arm", WEAKEST)
def test_one_seed_of_one_arm_is_enough_to_fail(arm: str) -> None:
    def times(where: str, seed: int, concept: str) -> float:
        return 0.5 if (where, seed) == (arm, 2) and concept == WEAKEST[arm] else by_signal(where, seed, concept) + 0.25

    answer = judge("G1", table_of(times))
    assert (answer["verdict"], answer["estimate"]) == ("fails", 0.8)
    assert f"{arm}: {WEAKEST[arm]} last in 4 of 5" in answer["note"]


def test_a_tie_with_the_weakest_counts_against_it() -> None:
    """Eighths, so that the two are equally late to the last bit."""
    answer = judge("G1", table_of(lambda arm, seed, concept: 0.5 if concept != "color" else 0.375))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)
    assert "as-is: shape last in 0 of 5" in answer["note"]


def test_arms_without_a_weakest_concept_are_not_asked() -> None:
    answer = judge("G1", table_of(by_signal, arms=tuple(WEAKEST)))
    assert answer["verdict"] == "holds"


def test_seeds_that_lack_an_arm_do_not_count() -> None:
    table = table_of(by_signal, range(6)).filter((pl.col("arm") != "weak-size") | (pl.col("seed") > 0))
    answer = judge("G1", table)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert "weak-size: size last in 5 of 5" in answer["note"]


# G2 and G3: differences in lateness of the same seed


@pytest.mark.parametrize(("claim", "estimate"), [("G2", 0.1), ("G3", 0.4)])
def test_a_difference_that_is_known_holds(claim: str, estimate: float) -> None:
    answer = judge(claim, table_of(by_signal))
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert answer["estimate"] == pytest.approx(estimate)
    assert answer["interval"] == pytest.approx([estimate, estimate])
    few = judge(claim, table_of(by_signal, range(4)))
    assert (few["verdict"], few["n"]) == ("undecided", 4)


@pytest.mark.parametrize("claim", ["G2", "G3"])
def test_no_difference_and_the_wrong_one_fail(claim: str) -> None:
    same = judge(claim, table_of(lambda arm, seed, concept: 0.5))
    assert (same["verdict"], same["estimate"], same["n"]) == ("fails", 0.0, 5)
    later = {"G2": "blue-most", "G3": "as-is"}[claim]
    wrong = judge(claim, table_of(lambda arm, seed, concept: 0.6 if arm == later else 0.5))
    assert (wrong["verdict"], wrong["estimate"]) == ("fails", pytest.approx(-0.1))


@pytest.mark.parametrize("claim", ["G2", "G3"])
def test_differences_of_both_signs_decide_nothing(claim: str) -> None:
    arm = {"G2": "blue-most", "G3": "weak-color"}[claim]
    answer = judge(claim, table_of(lambda where, seed, concept: 0.5 + (where == arm) * (seed - 2) / 10))
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < 0 < answer["interval"][1]


@pytest.mark.parametrize("claim", ["G2", "G3"])
def test_a_seed_is_compared_with_itself(claim: str) -> None:
    """Seeds differ by more than arms do; the difference within each is the same."""
    answer = judge(claim, table_of(lambda arm, seed, concept: by_signal(arm, seed, concept) / 2 + seed / 10, range(6)))
    assert answer["interval"] == pytest.approx([answer["estimate"]] * 2)
    later_seed_only = table_of(by_signal, range(6)).filter((pl.col("arm") != "as-is") | (pl.col("seed") > 0))
    assert judge(claim, later_seed_only)["n"] == 5


# Tables that lack something


@pytest.mark.parametrize(
    ("arm", "concept", "claims"),
    [
        ("as-is", "color", {"G1", "G2", "G3"}),
        ("as-is", "size", {"G1"}),
        ("weak-color", "color", {"G1", "G3"}),
        ("weak-size", "shape", {"G1"}),
        ("blue-most", "color", {"G2"}),
        ("equal", "color", set()),
    ],
)
def test_what_was_not_measured_is_undecided_with_a_reason(arm: str, concept: str, claims: set[str]) -> None:
    table = table_of(by_signal)
    lacking = table.filter((pl.col("arm") != arm) | (pl.col("concept") != concept))
    for answer in judge_all(CLAIMS, lacking, "s", "e", "full"):
        if answer["claim"] in claims:
            assert tables.undecided(answer, "was not measured")
        else:
            assert answer["verdict"] == "holds"


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer, "was not measured")


# Pixel signals


def radius(half_side: float, pixel: float) -> float:
    """The size of a square with this half side: the circle of its area, and the soft edge one pixel wide."""
    return math.sqrt((half_side**2 + pixel**2 / 12) * 4 / math.pi)


def test_signals_of_squares_on_the_grid_of_pixels() -> None:
    """On 8 x 8 pixels squares of half side 0.5 and 0.25 cover 16 and 4 pixels, none of them in part."""
    large, small = radius(0.5, 0.25), radius(0.25, 0.25)
    world = ShapesWorld(
        pixels=8, shapes=("square",), color_jitter=0.0, position_jitter=0.0, size_jitter=0.0,
        size_mean=(large + small) / 2, size_separation=large - small,
    )  # fmt: skip
    signals = pixel_signals(world)
    # Red (0.9, 0.1, 0.1) and blue (0.1, 0.1, 0.9) differ by 1.6 in two channels of [-1, 1].
    assert signals["color"] == pytest.approx((16 + 4) / 2 / 64 * 2 * 1.6**2 / 3, rel=1e-4)
    # Twelve pixels are ink in the one and paper in the other; ink and white differ by 0.2, 1.8 and 1.8.
    assert signals["size"] == pytest.approx(12 / 64 * (0.2**2 + 2 * 1.8**2) / 3, rel=1e-4)
    assert set(signals) == {"color", "size"}
    faint = pixel_signals(world.replace(color_separation=0.4))
    assert faint["color"] == pytest.approx(signals["color"] / 4, rel=1e-4)


def test_every_pair_of_three_values_counts_once() -> None:
    """Red and blue differ in two channels, each of them and black in one."""
    world = ShapesWorld(
        pixels=8, shapes=("square",), sizes=("one",), size_mean=radius(0.5, 0.25), size_jitter=0.0,
        colors=("red", "blue", "black"), color_jitter=0.0, position_jitter=0.0,
    )  # fmt: skip
    assert pixel_signals(world) == {"color": pytest.approx(16 / 64 * (2 + 1 + 1) / 3 * 1.6**2 / 3, rel=1e-4)}


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
@pytest.mark.parametrize(("arm", "weakest"), WEAKEST.items())
def test_the_weakest_concept_is_weaker_than_the_others(budget: str, arm: str, weakest: str) -> None:
    signals = pixel_signals(tables.runs_of(EXPERIMENT, budget)[arm].world)
    others = [signal for concept, signal in signals.items() if concept != weakest]
    assert signals[weakest] < 0.85 * min(others)


def test_the_other_arms_are_what_they_are_called() -> None:
    arms = tables.runs_of(EXPERIMENT, "full")
    assert set(arms) == set(ARMS)
    signals = {arm: pixel_signals(config.world) for arm, config in arms.items()}
    assert max(signals["equal"].values()) < 1.1 * min(signals["equal"].values())
    assert signals["blue-even"] == signals["blue-most"] == signals["as-is"]
    for arm, share in (("as-is", 1 / 4), ("blue-even", 1 / 2), ("blue-most", 3 / 4)):
        split = arms[arm].split
        weights = {node: split.frequency(node) for node in split.trained}
        assert sum(w for node, w in weights.items() if node[1] == "1") == pytest.approx(share * sum(weights.values()))


def test_the_assumptions_state_the_signals_at_full_size() -> None:
    signals = pixel_signals(tables.runs_of(EXPERIMENT, "full")["as-is"].world)
    assert np.round(list(signals.values()), 3).tolist() == [0.073, 0.213, 0.237]
    assert "shape has 0.073, colour 0.213, size 0.237" in EXPERIMENT.assumptions[0]
