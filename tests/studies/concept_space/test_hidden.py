"""Hidden capabilities: the choice of the best try is paid for, and every rule answers as the table was made."""

import numpy as np
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.studies.concept_space.hidden.claims import HIDDEN, capability
from support.tables import table_of

GRID = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
TRIES = {"naive": 1, "over": 5, "over-random": 5, "over-shuffled": 5, "steer": 3, "steer-random": 3}


def at(seen, when, top=1.0):
    return top if seen >= when else 0.0


def make(levels, seeds=range(5), arms=("c0.2", "c0.3")):
    """levels(way, number, seed, seen) -> accuracy, the same on both halves."""

    def readings(arm, seed, node, seen):
        return {
            f"{way}.{number}.{half}": levels(way, number, seed, seen)
            for way, count in TRIES.items()
            for number in range(count)
            for half in "ab"
        }

    return table_of(readings, arms, ("11",), GRID, seeds)


def as_in_the_paper(way, number, seed, seen):
    """Over-prompting at 2,000 images by the strongest prompt; plain late and differing between seeds."""
    if way == "over":
        return at(seen, 2_000) if number == 4 else 0.1
    if way == "steer":
        return at(seen, 4_000) if number == 2 else 0.1
    if way == "naive":
        return at(seen, 8_000 if seed < 2 else 16_000)
    return 0.05


def verdicts(table):
    return {row["claim"]: row for row in judge_all(HIDDEN, table, "concept-space", "hidden", "full")}


def test_a_table_made_as_the_paper_says_holds_throughout():
    judged = verdicts(make(as_in_the_paper))
    assert {name: row["verdict"] for name, row in judged.items()} == dict.fromkeys(judged, "holds")
    assert judged["P5"]["estimate"] == 1
    assert "2,000 and 16,000" in judged["P5"]["note"]
    assert judged["P6"]["estimate"] == pytest.approx(0.48)  # two of five are 0.6 from the mean, three 0.4
    assert "0.00 over-prompted, 0.49 plain" in judged["P6"]["note"]


def test_with_everything_alike_nothing_is_hidden():
    judged = verdicts(make(lambda way, number, seed, seen: at(seen, 4_000 * (1 + seed % 2))))
    assert judged["P5"]["verdict"] == "fails"
    assert {judged[f"P5{letter}"]["estimate"] for letter in "abcde"} == {0.0}
    assert {judged[f"P5{letter}"]["verdict"] for letter in "abcde"} == {"fails"}
    assert (judged["P6"]["estimate"], judged["P6"]["verdict"]) == (0, "fails")


def test_few_seeds_decide_nothing():
    assert {row["verdict"] for row in verdicts(make(as_in_the_paper, range(3))).values()} == {"undecided"}


def test_seeds_that_reach_neither_are_silent():
    judged = verdicts(make(lambda way, number, seed, seen: 0.0))["P5"]
    assert (judged["n"], judged["verdict"]) == (0, "undecided")
    assert "5 seeds reach neither" in judged["note"]


def test_what_was_not_measured_is_said():
    judged = verdicts(make(as_in_the_paper, arms=("c0.3",)))
    assert judged["P5"]["note"] == "nothing of arm c0.2 was over-prompted"
    assert judged["P5a"]["verdict"] == "holds"  # the other arm is enough for a gain
    with pytest.raises(NotMeasured, match="steered"):
        capability(make(as_in_the_paper), "c0.9", "steer")


def test_the_best_of_many_noisy_tries_is_not_better_than_one():
    """Chosen and scored on the same samples, the best of five fair coins of eight throws would be near 0.7."""
    rng = np.random.default_rng(0)

    def readings(arm, seed, node, seen):
        return {f"over.{i}.{half}": rng.binomial(8, 0.5) / 8 for i in range(5) for half in "ab"}

    table = table_of(readings, ("c0.2",), ("11",), GRID, range(60))
    scores = np.concatenate([values for _, values in capability(table, "c0.2", "over").values()])
    assert abs(scores.mean() - 0.5) < 3 * scores.std() / np.sqrt(len(scores)) < 0.05
