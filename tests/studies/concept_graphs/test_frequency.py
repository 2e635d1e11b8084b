"""How many images of a class are needed: thresholds by hand, verdicts on known responses, what the arms draw."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest
import torch

from recombine import seeds
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.frequency.claims import CLAIMS, ITSELF, UNSEEN, threshold
from recombine.studies.concept_graphs.frequency.claims import responses as responses_of
from recombine.studies.concept_graphs.frequency.experiment import CLASSES, COUNT
from recombine.worlds.splits import draw, make_pool
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/frequency"]

NUMBERS = (0, 3, 15, 63, 255)  # one more than these are powers of four: even steps of the logarithm

Responses = Callable[[str, int, bool, int, str], float]
"""Concept, number of images, whether the frequency is fixed, seed and node -> accuracy of the concept at the end."""


def table_of(responses: Responses, seeds: Iterable[int] = range(5), even: Iterable[int] = (3, 63)) -> pl.DataFrame:
    """Two evaluations of every arm; the first reads the opposite, so that nobody takes it for the end."""
    arms = {f"{c}-{n}": (c, n, False) for c in CLASSES for n in NUMBERS}
    arms |= {f"{c}-{n}-even": (c, n, True) for c in CLASSES for n in even}

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        value = responses(*arms[arm], seed, node)
        return {("reader.accuracy", arms[arm][0]): value if seen == 200 else 1 - value}

    def of_arm(arm: str) -> dict[str, Any]:
        return dict(zip(("brings", "images"), arms[arm], strict=False)) | {"rare": not arms[arm][2]}

    return tables.table_of(
        readings, arms, tables.nodes_of(3), (200, 100), seeds, of_arm=of_arm, columns=EXPERIMENT.columns
    )


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def needs(color: float, shape: float, more: float = 4.0, gain: float = 0.0) -> Responses:
    """A step from 0.6 to 1 at so many images in the class itself, later by a factor elsewhere; a gain at 3 and 63."""

    def responses(concept: str, number: int, even: bool, seed: int, node: str) -> float:
        own = {"color": color, "shape": shape}[concept]
        needed = own if node in ITSELF[concept] else (1 + own) * more - 1
        return (1.0 if number >= needed else 0.6) + gain * even

    return responses


def above(number: float) -> float:
    """The threshold of a step from 0.6 to 1 at a number that was tried: halfway from the one before, by logarithm."""
    return (1 + number) / 2 - 1


# The response and its threshold


def test_the_response_is_read_at_the_end_by_number_and_seed() -> None:
    table = table_of(lambda concept, number, even, seed, node: (number + seed + (node == "110")) / 1000 + even / 2)
    found = responses_of(table, "color", UNSEEN["color"])
    assert list(found) == list(range(5))
    for seed, response in found.items():
        assert list(response) == list(NUMBERS)
        assert response == {n: pytest.approx((n + seed + 0.5) / 1000) for n in NUMBERS}  # 110 is one of the two nodes
    even = responses_of(table, "color", ITSELF["color"], rare=False)
    assert even[4] == {3: pytest.approx(0.507), 63: pytest.approx(0.567)}
    assert responses_of(table, "size", ("001",)) == {}
    assert responses_of(make_table([], EXPERIMENT.columns), "color", ITSELF["color"]) == {}


def test_numbers_are_in_order_however_the_rows_are() -> None:
    table = table_of(lambda concept, number, even, seed, node: number / 1000)
    assert list(responses_of(tables.shuffled(table), "shape", ITSELF["shape"])[0]) == list(NUMBERS)


@pytest.mark.parametrize(
    ("response", "number"),
    [
        ({0: 0.6, 3: 1.0}, 1.0),  # halfway between log 1 and log 4
        ({3: 0.6, 15: 1.0}, 7.0),  # halfway between log 4 and log 16
        ({0: 0.0, 3: 0.4, 10: 1.0}, 4 * (11 / 4) ** (2 / 3) - 1),
        ({0: 0.5, 3: 0.8}, 3.0),  # met exactly at a number that was tried
        ({0: 0.9, 3: 1.0}, 0.0),  # at once
        ({10: 0.9, 30: 1.0}, 10.0),  # at the smallest that was tried
        ({0: 0.1, 3: 0.5, 300: 0.79}, math.inf),  # never
        ({0: 0.5}, math.inf),
        ({0: 0.0, 3: 0.9, 10: 0.7, 30: 0.9}, math.sqrt(11 * 31) - 1),  # the last crossing counts
        ({0: 0.9, 3: 0.6, 15: 1.0}, 7.0),
        ({0: 0.0, 3: 1.0, 10: 0.7}, math.inf),  # it is lost again
    ],
)
def test_thresholds_by_hand(response: dict[int, float], number: float) -> None:
    assert threshold(response) == pytest.approx(number)


def test_another_level_is_reached_elsewhere() -> None:
    assert threshold({0: 0.0, 15: 1.0}, level=0.5) == pytest.approx(3.0)
    assert threshold({0: 0.0, 15: 1.0}, level=0.25) == pytest.approx(1.0)


# O7: few are enough


@pytest.mark.parametrize(("number", "verdict"), [(15, "holds"), (63, "fails"), (3, "holds"), (255, "fails")])
def test_the_number_of_blue_images(number: int, verdict: str) -> None:
    """From 0.6 at 3 to 1 at 15 the level lies at 7; at 63 it is 31, just too many."""
    answer = judge("O7", table_of(needs(number, 3)))
    assert answer["estimate"] == pytest.approx(above(number))
    assert (answer["verdict"], answer["n"]) == (verdict, 5)
    assert judge("O7", table_of(needs(number, 3), range(4)))["verdict"] == "undecided"


def test_blue_that_is_there_without_any_image_needs_none() -> None:
    assert judge("O7", table_of(needs(0, 3)))["estimate"] == 0.0


def test_seeds_that_never_reach_it_are_counted() -> None:
    few = table_of(
        lambda c, n, even, seed, node: needs(15 if seed < 5 else math.inf, 3)(c, n, even, seed, node), range(7)
    )
    answer = judge("O7", few)
    assert answer["n"] == 7
    assert answer["estimate"] == pytest.approx((5 * 7.0 + 2 * 255) / 7)


def test_seeds_on_both_sides_decide_nothing() -> None:
    mixed = table_of(lambda c, n, even, seed, node: needs((15, 255)[seed % 2], 3)(c, n, even, seed, node), range(6))
    answer = judge("O7", mixed)
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < 30 < answer["interval"][1]


def test_blue_that_is_never_learned_needs_more_than_was_tried() -> None:
    answer = judge("O7", table_of(needs(math.inf, 3)))
    assert (answer["estimate"], answer["verdict"]) == (255, "fails")


# O7b: unseen classes need more


def test_unseen_classes_need_more_in_every_seed() -> None:
    answer = judge("O7b", table_of(needs(3, 3)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert answer["note"] == "median number of images: 1 in the class itself, 7 at distance 1"
    assert judge("O7b", table_of(needs(3, 3), range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize("more", [1.0, 0.25])
def test_as_many_and_fewer_are_not_more(more: float) -> None:
    answer = judge("O7b", table_of(needs(15, 3, more)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)


def test_one_seed_the_other_way_fails() -> None:
    other = table_of(lambda c, n, even, seed, node: needs(15, 3, 0.25 if seed == 2 else 4)(c, n, even, seed, node))
    assert (judge("O7b", other)["verdict"], judge("O7b", other)["estimate"]) == ("fails", 0.8)


def test_never_is_more_than_any_number_and_seeds_without_a_number_say_nothing() -> None:
    never = judge("O7b", table_of(needs(15, 3, math.inf)))
    assert (never["verdict"], never["estimate"]) == ("holds", 1.0)
    assert "never at distance 1" in never["note"]
    silent = judge("O7b", table_of(needs(math.inf, 3)))
    assert (silent["verdict"], silent["estimate"], silent["n"]) == ("undecided", None, 0)


# O8: shape needs more than colour


@pytest.mark.parametrize(("color", "shape", "verdict"), [(3, 15, "holds"), (15, 15, "fails"), (15, 3, "fails")])
def test_shape_against_colour(color: int, shape: int, verdict: str) -> None:
    answer = judge("O8", table_of(needs(color, shape)))
    assert answer["estimate"] == pytest.approx(math.log10((1 + shape) / (1 + color)))
    assert (answer["verdict"], answer["n"]) == (verdict, 5)
    assert judge("O8", table_of(needs(color, shape), range(4)))["verdict"] == "undecided"


def test_the_numbers_at_distance_one_are_compared() -> None:
    """Each concept in the class itself is there at once; elsewhere colour needs 15 images and shape 63."""

    def responses(concept: str, number: int, even: bool, seed: int, node: str) -> float:
        needed = 0 if node in ITSELF[concept] else {"color": 15, "shape": 63}[concept]
        return 1.0 if number >= needed else 0.6

    answer = judge("O8", table_of(responses))
    assert answer["estimate"] == pytest.approx(math.log10(4))
    assert answer["note"] == "median number of images: 7 for colour, 31 for shape"


def test_shape_that_is_never_recombined_needs_at_least_what_was_tried() -> None:
    answer = judge("O8", table_of(needs(3, math.inf)))
    assert answer["verdict"] == "holds"
    assert answer["note"].endswith("never for shape")
    assert tables.undecided(
        judge("O8", table_of(needs(math.inf, math.inf))), "no seed reaches 0.8 with colour or shape"
    )


# F1 and F2: number or frequency


@pytest.mark.parametrize("claim", ["F1", "F2"])
@pytest.mark.parametrize(("gain", "verdict"), [(0.125, "holds"), (0.0, "fails"), (-0.25, "fails")])
def test_what_a_fixed_frequency_gains(claim: str, gain: float, verdict: str) -> None:
    answer = judge(claim, table_of(needs(15, 15, gain=gain)))
    assert answer["estimate"] == pytest.approx(gain)
    assert (answer["verdict"], answer["n"], answer["note"]) == (verdict, 5, "")
    assert judge(claim, table_of(needs(15, 15, gain=gain), range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize(("claim", "concept"), [("F1", "color"), ("F2", "shape")])
def test_the_gain_is_of_its_own_concept_at_distance_one_over_shared_numbers(claim: str, concept: str) -> None:
    """At 3 images nothing is gained, at 63 a half; 7 was tried one way only; the class itself does not count."""

    def responses(name: str, number: int, even: bool, seed: int, node: str) -> float:
        if name != concept or node in ITSELF[concept]:
            return 0.9 - 0.8 * even
        return 0.25 + even * {3: 0.0, 63: 0.5, 7: 0.75}.get(number, 0.0)

    answer = judge(claim, table_of(responses, even=(3, 7, 63)))
    assert answer["estimate"] == pytest.approx(0.25)


@pytest.mark.parametrize("claim", ["F1", "F2"])
def test_seeds_that_gain_and_lose_decide_nothing(claim: str) -> None:
    answer = judge(claim, table_of(lambda concept, number, even, seed, node: 0.5 + even * (seed - 2) / 8))
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < 0 < answer["interval"][1]


@pytest.mark.parametrize("even", [(), (7,)])
@pytest.mark.parametrize("claim", ["F1", "F2"])
def test_without_a_number_tried_both_ways_there_is_no_gain(claim: str, even: tuple[int, ...]) -> None:
    assert tables.undecided(judge(claim, table_of(needs(3, 3), even=even)), "no number of images was tried both ways")


# Tables that lack something


@pytest.mark.parametrize(("concept", "claims"), [("color", {"O7", "O7b", "O8", "F1"}), ("shape", {"O8", "F2"})])
def test_a_concept_that_was_not_swept_is_undecided_with_a_reason(concept: str, claims: set[str]) -> None:
    table = table_of(needs(3, 15, gain=0.1))
    lacking = table.filter(~pl.col("arm").str.starts_with(concept))
    for claim in CLAIMS:
        answer = judge(claim.id, lacking)
        if claim.id in claims:
            assert tables.undecided(answer)
        else:
            assert answer == judge(claim.id, table)


def test_a_seed_that_was_swept_by_colour_only_is_not_compared() -> None:
    table = table_of(needs(3, 15), range(6))
    lacking = table.filter((pl.col("seed") > 0) | pl.col("arm").str.starts_with("color"))
    answer = judge("O8", lacking)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)


def test_an_empty_table_decides_nothing() -> None:
    for answer in judge_all(CLAIMS, make_table([], EXPERIMENT.columns), "s", "e", "smoke"):
        assert tables.undecided(answer)


# Arms


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_counts_and_frequencies_are_those_of_the_names(budget: str) -> None:
    """The class is drawn in proportion to its images, or keeps a quarter; the other three are never touched."""
    for arm, config in tables.runs_of(EXPERIMENT, budget).items():
        concept, number, *fixed = arm.split("-")
        node, split = CLASSES[concept], config.split
        others = [other for other in split.train if other != node]
        assert set(split.train) == {"000", "001", "010", "100"}
        assert {split.unique(other) for other in others} == {COUNT}
        assert split.unique(node) == int(number)
        share = split.frequency(node) / sum(split.frequency(each) for each in split.train)
        assert share == pytest.approx(1 / 4 if fixed else int(number) / (3 * COUNT + int(number)))
        assert (node in split.trained) == (int(number) > 0)
        config.check()


def test_the_arms_at_full_size() -> None:
    arms = set(tables.runs_of(EXPERIMENT, "full"))
    assert arms == {
        f"{concept}-{name}"
        for concept in ("color", "shape")
        for name in ("0", "3", "10", "30", "100", "300", "3-even", "30-even", "300-even")
    }
    assert len({config.address for config in tables.runs_of(EXPERIMENT, "full").values()}) == len(arms) == 18


def test_ten_images_are_drawn_as_rarely_as_the_paper_draws_them() -> None:
    """10 of 4,510: about 0.22% of the draws. The standard error over 200,000 draws is 0.01%."""
    config = tables.runs_of(EXPERIMENT, "smoke")["color-10"]
    pool = make_pool(config.world, config.split, seed=0)
    keys = torch.split(seeds.keys(0, "test", torch.arange(200_000)), 10_000)
    conditions = torch.cat([draw(pool, key)[1] for key in keys])
    blue = conditions[conditions[:, 4] > conditions[:, 2]]  # after two numbers of shape come red, green and blue
    assert len(blue) / len(conditions) == pytest.approx(10 / 4510, abs=4e-4)
    assert len(set(map(tuple, blue.tolist()))) == 10


def test_only_the_number_of_the_class_changes_between_arms() -> None:
    """The images of the other classes, and the first few of the class itself, are the same at every number."""
    arms = tables.runs_of(EXPERIMENT, "laptop")
    few, more = (make_pool(arms[arm].world, arms[arm].split, seed=0) for arm in ("color-10", "color-100"))
    at = arms["color-10"].split.train.index("010")
    for place in range(4):
        begin, count = int(few.starts[place]), int(few.counts[place])
        start = int(more.starts[place])
        assert count == (10 if place == at else COUNT)
        assert torch.equal(few.images[begin : begin + count], more.images[start : start + count])


def test_without_an_image_the_class_is_held_out_itself() -> None:
    split = tables.runs_of(EXPERIMENT, "full")["color-0"].split
    assert split.distance("010") == 1
    assert split.distance("111") == 3 - 1
    assert {node: split.distance(node) for node in UNSEEN["color"]} == {"011": 1, "110": 1}
