"""Hidden capabilities: the choice of the best try is paid for, and every rule answers as the table was made."""

import numpy as np
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_space.hidden.claims import CLAIMS, capability

GRID = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
OVER, STEER = (0.2, 0.3, 0.5, 0.7, 0.9), (0.1, 1.0, 2.0)
STRENGTHS = {"plain": (None,), "over": OVER, "over-random": OVER, "over-shuffled": OVER, "steer": STEER,
             "steer-random": STEER}  # fmt: skip
COLORS = {"c0.2": 0.2, "c0.3": 0.3}


def at(seen, when, top=1.0):
    return top if seen >= when else 0.0


def table_of(value, seeds, ways, arms):
    """value(arm, way, strength, half, seed, seen) -> accuracy."""
    rows = [
        {"arm": arm, "color_separation": COLORS[arm], "seed": seed, "images_seen": seen, "node": "11", "way": way,
         "strength": strength, "half": half, "instrument": "prompted.product",
         "value": value(arm, way, strength, half, seed, seen)}
        for arm in arms for seed in seeds for seen in GRID for way in ways for strength in STRENGTHS[way]
        for half in "ab"
    ]  # fmt: skip
    return make_table(rows, EXPERIMENTS["concept-space/hidden"].columns)


def make(levels, seeds=range(5), arms=("c0.2", "c0.3")):
    """levels(way, strength, seed, seen) -> accuracy, the same on both halves."""
    return table_of(
        lambda arm, way, strength, half, seed, seen: levels(way, strength, seed, seen), seeds, STRENGTHS, arms
    )


def as_in_the_paper(way, strength, seed, seen):
    """Over-prompting at 2,000 images by the strongest prompt; plain late and differing between seeds."""
    if way == "over":
        return at(seen, 2_000) if strength == 0.9 else 0.1
    if way == "steer":
        return at(seen, 4_000) if strength == 2.0 else 0.1
    if way == "plain":
        return at(seen, 8_000 if seed < 2 else 16_000)
    return 0.05


def verdicts(table):
    return {row["claim"]: row for row in judge_all(CLAIMS, table, "concept-space", "hidden", "full")}


def test_a_table_made_as_the_paper_says_holds_throughout():
    judged = verdicts(make(as_in_the_paper))
    assert {name: row["verdict"] for name, row in judged.items()} == dict.fromkeys(judged, "holds")
    assert judged["P5"]["estimate"] == 1
    assert "2,000 and 16,000" in judged["P5"]["note"]
    assert judged["P6"]["estimate"] == pytest.approx(0.48)  # two of five are 0.6 from the mean, three 0.4
    assert "0.00 over-prompted, 0.49 plain" in judged["P6"]["note"]


def test_with_everything_alike_nothing_is_hidden():
    judged = verdicts(make(lambda way, strength, seed, seen: at(seen, 4_000 * (1 + seed % 2))))
    assert judged["P5"]["verdict"] == "fails"
    assert {judged[f"P5{letter}"]["estimate"] for letter in "abcde"} == {0.0}
    assert {judged[f"P5{letter}"]["verdict"] for letter in "abcde"} == {"fails"}
    assert (judged["P6"]["estimate"], judged["P6"]["verdict"]) == (0, "fails")


def test_few_seeds_decide_nothing():
    assert {row["verdict"] for row in verdicts(make(as_in_the_paper, range(3))).values()} == {"undecided"}


def test_seeds_that_reach_neither_are_silent():
    judged = verdicts(make(lambda way, strength, seed, seen: 0.0))["P5"]
    assert (judged["n"], judged["verdict"]) == (0, "undecided")
    assert "5 seeds reach neither" in judged["note"]


def test_what_was_not_measured_is_said():
    judged = verdicts(make(as_in_the_paper, arms=("c0.3",)))
    assert judged["P5"]["note"] == "colours 0.2 apart, over-prompted: not measured"
    assert judged["P5a"]["verdict"] == "holds"  # the other arm is enough for a gain
    with pytest.raises(NotMeasured, match="steered"):
        capability(make(as_in_the_paper), 0.9, "steer")


def test_the_best_of_many_noisy_tries_is_not_better_than_one():
    """Chosen and scored on the same samples, the best of five fair coins of eight throws would be near 0.7."""
    rng = np.random.default_rng(0)

    table = table_of(lambda *_: rng.binomial(8, 0.5) / 8, range(60), ("over",), ("c0.2",))
    scores = np.concatenate([values for _, values in capability(table, 0.2, "over").values()])
    assert abs(scores.mean() - 0.5) < 3 * scores.std() / np.sqrt(len(scores)) < 0.05
