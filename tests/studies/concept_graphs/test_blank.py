"""How far linear probes can be trusted: shares by hand, and verdicts where the probes are right or fooled."""

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.studies.concept_graphs.measuring.blank.claims import CLAIMS, blank_answers, false_share
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/blank"]

GRID = (100, 200, 400, 800)
ARMS = ("continuous", "binary", "joint")
KINDS = ("none", "several", "other")
PARTS = {"probe.product": 0.8, "probe.product.none": 0.5, "probe.product.several": 0.1, "probe.product.other": 0.1}
VALUES = {"shape": ("circle", "triangle"), "color": ("red", "blue"), "size": ("large", "small")}

Answers = Callable[[int], dict[Any, float]]
"""Seed -> the probability that the probes give the second value of each concept on an empty canvas."""


def table_of(
    parts: Callable[[str, int, int], dict[Any, float]], seeds: Iterable[int] = range(5), arms: Iterable[str] = ARMS
) -> pl.DataFrame:
    """Arm, seed and images seen -> shares of 111; the probes are never fooled in the other classes."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        return parts(arm, seed, seen) if node == "111" else dict.fromkeys(PARTS, 0.0) | {"probe.product": 1.0}

    return tables.table_of(readings, arms, tables.nodes_of(3), GRID, seeds)


def fooled(arm: str, seed: int, seen: int) -> dict[Any, float]:
    """Of the eight tenths that the probes call right, five hold nothing, one several objects, one another object."""
    return PARTS


def trusted(arm: str, seed: int, seen: int) -> dict[Any, float]:
    return dict.fromkeys(PARTS, 0.1) | {"probe.product": 0.8}


def canvas(answers: Answers, seeds: Iterable[int] = range(5), arms: Iterable[str] = ARMS) -> pl.DataFrame:
    """What the probes answer to nothing; beside it, what they score on real images, which is no answer."""
    parts = []
    for seed in seeds:
        second = answers(seed)
        blank = {
            ("probe.answer", concept, value): chance
            for concept, (one, other) in VALUES.items()
            for value, chance in ((one, 1 - second[concept]), (other, second[concept]))
        }
        real = {("probe.accuracy", concept): 1.0 for concept in VALUES}
        noise = {name: 1 - chance for name, chance in blank.items()}
        parts.append(tables.calibration({"000": real, "blank": blank, "noise": noise}, arms, (seed,)))
    return pl.concat(parts)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


# The share that is false


def test_the_share_of_each_kind_by_hand() -> None:
    table = table_of(fooled)
    assert false_share("joint", *("none",))(table) == {seed: pytest.approx(5 / 8) for seed in range(5)}
    assert false_share("joint", *("several", "other"))(table)[0] == pytest.approx(2 / 8)
    assert false_share("joint", *KINDS)(table)[4] == pytest.approx(7 / 8)


def test_the_share_is_of_all_samples_over_training_not_a_mean_of_shares() -> None:
    """Nothing but blanks while the probes call a tenth right, nothing false once they call all right."""

    def parts(arm: str, seed: int, seen: int) -> dict[Any, float]:
        early = seen == GRID[0]
        return dict.fromkeys(PARTS, 0.0) | {"probe.product": 0.1 if early else 1.0, "probe.product.none": 0.1 * early}

    share = false_share("continuous", *("none",))(table_of(parts))[0]
    assert share == pytest.approx(0.1 / (0.1 + 3 * 1.0))


def test_a_seed_in_which_the_probes_call_nothing_right_has_no_share() -> None:
    table = table_of(lambda arm, seed, seen: dict.fromkeys(PARTS, 0.0) if seed == 1 else PARTS, range(3))
    assert set(false_share("binary", *KINDS)(table)) == {0, 2}


def test_an_arm_that_was_not_measured_is_said() -> None:
    with pytest.raises(NotMeasured, match="arm joint node 111 was not measured"):
        false_share("joint", *KINDS)(table_of(fooled, arms=("continuous",)))


# B1, B2, B2b

WHERE = {"B1": "joint", "B2": "continuous", "B2b": "binary"}


@pytest.mark.parametrize(("claim", "share"), [("B1", 5 / 8), ("B2", 7 / 8), ("B2b", 7 / 8)])
def test_where_most_is_false_the_claims_hold(claim: str, share: float) -> None:
    answer = judge(claim, table_of(fooled))
    assert answer["estimate"] == pytest.approx(share)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert judge(claim, table_of(fooled, range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize(("claim", "share"), [("B1", 1 / 8), ("B2", 3 / 8), ("B2b", 3 / 8)])
def test_where_most_is_right_they_fail(claim: str, share: float) -> None:
    answer = judge(claim, table_of(trusted))
    assert answer["estimate"] == pytest.approx(share)
    assert (answer["verdict"], answer["n"]) == ("fails", 5)


@pytest.mark.parametrize("claim", WHERE)
def test_each_claim_asks_its_own_arm(claim: str) -> None:
    table = table_of(lambda arm, seed, seen: trusted(arm, seed, seen) if arm == WHERE[claim] else PARTS)
    verdicts = {other: judge(other, table)["verdict"] for other in WHERE}
    assert verdicts == {other: "fails" if other == claim else "holds" for other in WHERE}


def test_with_a_joint_embedding_only_empty_canvases_count() -> None:
    others = dict.fromkeys(PARTS, 0.0) | {"probe.product": 0.8, "probe.product.other": 0.8}
    table = table_of(lambda arm, seed, seen: others)
    assert (judge("B1", table)["verdict"], judge("B1", table)["estimate"]) == ("fails", 0.0)
    assert (judge("B2", table)["verdict"], judge("B2", table)["estimate"]) == ("holds", 1.0)


@pytest.mark.parametrize("claim", WHERE)
def test_seeds_on_both_sides_decide_nothing(claim: str) -> None:
    table = table_of(lambda arm, seed, seen: (trusted if seed % 2 else fooled)(arm, seed, seen), range(6))
    answer = judge(claim, table)
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < answer["estimate"] < answer["interval"][1]


@pytest.mark.parametrize("claim", WHERE)
def test_probes_that_call_nothing_right_are_not_judged(claim: str) -> None:
    answer = judge(claim, table_of(lambda arm, seed, seen: dict.fromkeys(PARTS, 0.0)))
    assert tables.undecided(answer, f"call nothing of 111 right in arm {WHERE[claim]}")


@pytest.mark.parametrize("missing", PARTS)
def test_a_part_that_was_not_measured_is_undecided_with_a_reason(missing: str) -> None:
    lacking = tables.without(table_of(fooled), missing)
    needed = {"B1": {"probe.product", "probe.product.none"}, "B2": set(PARTS), "B2b": set(PARTS)}
    for claim, parts in needed.items():
        answer = judge(claim, lacking)
        assert tables.undecided(answer, "measured") if missing in parts else answer["verdict"] == "holds"


# B3: what the probes say of an empty canvas


def small_blue_triangle(seed: int) -> dict[Any, float]:
    return {"shape": 0.9, "color": 0.7, "size": 0.6}


def test_answers_to_nothing_are_the_likeliest_values() -> None:
    turns = [(0.9, 0.9, 0.9), (0.1, 0.9, 0.4), (0.6, 0.2, 0.51)]
    table = canvas(lambda seed: dict(zip(VALUES, turns[seed], strict=True)), range(3))
    assert blank_answers(table) == {0: "triangle blue small", 1: "circle blue large", 2: "triangle red small"}
    assert blank_answers(table, "noise") == {0: "circle red large", 1: "triangle red small", 2: "circle blue large"}
    assert blank_answers(table, "mean") == {}


def test_answers_do_not_depend_on_the_order_of_rows() -> None:
    table = canvas(small_blue_triangle)
    for number in range(5):
        mixed = tables.shuffled(table, number)
        assert set(blank_answers(mixed).values()) == {"triangle blue small"}


def test_an_empty_canvas_called_the_farthest_class() -> None:
    answer = judge("B3", canvas(small_blue_triangle))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert answer["note"] == "they answer: triangle blue small in 5"
    assert judge("B3", canvas(small_blue_triangle, range(4)))["verdict"] == "undecided"


def test_one_seed_that_says_otherwise_fails() -> None:
    answer = judge("B3", canvas(lambda seed: small_blue_triangle(seed) | ({"color": 0.3} if seed == 2 else {})))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)
    assert answer["note"] == "they answer: triangle blue small in 4, triangle red small in 1"


def test_arms_are_no_substitute_for_seeds() -> None:
    assert judge("B3", canvas(small_blue_triangle, range(2)))["n"] == 2


def test_probes_that_were_not_asked_are_undecided() -> None:
    assert tables.undecided(judge("B3", table_of(fooled)), "not asked about an empty canvas")


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer)


# Arms


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_the_arms_are_what_they_are_called(budget: str) -> None:
    arms = tables.runs_of(EXPERIMENT, budget)
    assert tuple(arms) == ARMS
    told = {
        arm: (config.world.model_dump()["conditioning"], config.network.condition.entry) for arm, config in arms.items()
    }
    assert told == {
        "continuous": ("continuous", "multiply"),
        "binary": ("binary", "multiply"),
        "joint": ("continuous", "joint"),
    }


def test_two_arms_are_those_of_emergence() -> None:
    for budget in ("laptop", "full"):
        theirs = tables.runs_of(emergence.EXPERIMENT, budget)
        ours = tables.runs_of(EXPERIMENT, budget)
        assert {arm: config.address for arm, config in theirs.items()}.items() <= {
            arm: config.address for arm, config in ours.items()
        }.items()
