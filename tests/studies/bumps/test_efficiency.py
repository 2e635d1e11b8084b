"""How many images are needed: what recall earns, how numbers and slopes are read, and verdicts on made-up tables."""

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.seeds import Seeds
from recombine.studies.bumps._shared.memoriser import MemoriserConfig
from recombine.studies.bumps.efficiency.claims import (
    EFFICIENCY,
    RECALL,
    WITH,
    WITHOUT,
    bumps,
    named,
    needed,
    slopes,
    stripes,
)
from recombine.studies.bumps.efficiency.experiment import EXPERIMENT, SHARES, SIZES, RecallBySizeConfig, training_set
from recombine.worlds.holdouts import HELD_OUT, SEEN

Model = Callable[[str, int, int], tuple[float, float]]
"""Kind, pixels and images of bumps -> accuracy outside of the square and inside."""


def the_paper(kind: str, pixels: int, number: int) -> tuple[float, float]:
    """60% of all labels, and of those held out, with 2.5 N bumps where there are stripes; of all with 0.5 N^2 else."""
    if kind == WITH:
        level = 0.6 + 0.4 * math.tanh(1.5 * math.log(number / (2.5 * pixels)))
        return level, level
    level = 0.6 + 0.2 * math.tanh(4 * math.log(number / (0.5 * pixels**2)))
    return level / 0.8, 0.0


def recalls(kind: str, pixels: int, number: int) -> tuple[float, float]:
    return number / bumps(pixels, 1.0), 0.0


def table(model: Model, seeds: int = 5, noise: float = 0.004, crossings: float = 0.0) -> pl.DataFrame:
    """Of what is in the right place with stripes, this share is two stripes that cross."""
    rows = []
    for seed in range(seeds):
        for kind in (WITH, WITHOUT):
            for pixels in SIZES:
                for region in (SEEN, HELD_OUT) if kind == WITH else ():  # no bump: stripes that cross
                    for instrument, value in (("darkest.both", 0.8), ("darkest.bump", 0.01)):
                        arm = named(kind, pixels, 0.0)
                        rows.append(("bumps", "efficiency", arm, seed, 9, region, None, instrument, value))
                for share in SHARES:
                    arm, number = named(kind, pixels, share), bumps(pixels, share)
                    for region, value, null in zip(
                        (SEEN, HELD_OUT), model(kind, pixels, number), recalls(kind, pixels, number), strict=True
                    ):
                        head = ("bumps", "efficiency")
                        place = value + noise * (seed - 2)
                        bump = place * (1 - crossings) if kind == WITH else place
                        rows.append((*head, arm, seed, 9, region, None, "darkest.both", place))
                        rows.append((*head, arm, seed, 9, region, None, "darkest.bump", bump))
                        rows.append((*head, RECALL, seed, 0, arm, None, f"recall.{region}", null))
    return make_table(rows)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(EFFICIENCY, found, "bumps", "efficiency", "full")}


def test_the_paper_holds_where_stripes_make_it_linear() -> None:
    found = verdicts(table(the_paper))
    assert found.pop("DE4b") == "fails"  # stripes alone make no bumps
    assert found.pop("DE3t") == "fails"  # 768 stripes and 80 bumps are more than 512 bumps
    assert set(found.values()) == {"holds"}


def test_crossing_stripes_in_the_right_place_are_no_bumps() -> None:
    found = verdicts(table(the_paper, crossings=0.7))
    assert (found["DE1"], found["DE3"]) == ("holds", "holds")
    assert (found["DE0b"], found["DE1b"], found["DE3b"]) == ("fails", "undecided", "fails")  # 60% is never passed


def test_a_table_that_knows_places_alone_leaves_bumps_open() -> None:
    found = verdicts(table(the_paper).filter(pl.col("instrument") != "darkest.bump"))
    assert {claim for claim, verdict in found.items() if verdict == "undecided"} == {
        "DE0b", "DE1b", "DE3b", "DE4b",
    }  # fmt: skip


def test_recall_is_quadratic_with_stripes_and_without() -> None:
    found = verdicts(table(recalls, noise=0.0))
    assert (found["DE1"], found["DE1n"], found["DE2"], found["DE3"]) == ("fails", "fails", "holds", "fails")
    assert found["DE1h"] == "undecided"  # it never gets there


def test_few_seeds_and_an_empty_table_leave_it_open() -> None:
    assert set(verdicts(table(the_paper, seeds=4)).values()) == {"undecided"}
    answers = judge_all(EFFICIENCY, make_table([]), "bumps", "efficiency", "full")
    assert all(answer["verdict"] == "undecided" and answer["note"] for answer in answers)


def test_a_seed_without_a_number_is_left_out_and_counted() -> None:
    whole = table(the_paper, seeds=6)
    arm = [named(WITH, 16, share) for share in SHARES]
    lost = (pl.col("seed") == 3) & pl.col("arm").is_in(arm) & (pl.col("instrument") == "darkest.both")
    broken = whole.with_columns(value=pl.when(lost).then(0.1).otherwise("value"))
    (first,) = judge_all([claim for claim in EFFICIENCY if claim.id == "DE1"], broken, "bumps", "efficiency", "full")
    assert (first["n"], first["verdict"]) == (5, "holds")
    assert "1 seeds without a number left out" in first["note"]


def test_images_needed_are_read_between_two_numbers() -> None:
    assert needed({10: 0.2, 40: 1.0}, 0.6) == pytest.approx(20)
    assert needed({10: 0.7, 40: 0.5, 160: 0.7}, 0.6) == pytest.approx(80)  # from there on for good
    assert needed({10: 0.7, 40: 0.9}) == 0
    assert math.isinf(needed({10: 0.1, 40: 0.5}))


def test_slopes_of_exact_powers() -> None:
    assert slopes({0: {n: 3.0 * n**1.5 for n in SIZES}})[0] == pytest.approx(1.5)
    assert slopes({0: dict.fromkeys(SIZES, math.inf), 1: {n: float(n) for n in SIZES}}) == {1: pytest.approx(1)}
    with pytest.raises(NotMeasured):
        slopes({0: {16: 1.0, 24: 2.0, 32: 3.0}})


@pytest.mark.parametrize("pixels", SIZES)
def test_sets_have_as_many_images_as_is_said(pixels: int) -> None:
    for share in (0.1, 1.0):
        for kind, extra in ((WITH, stripes(pixels)), (WITHOUT, 0)):
            world, split = training_set(kind, pixels, share)
            assert len(split.labels(world, 0)) == bumps(pixels, share) + extra


def test_recall_without_stripes_is_the_share_that_was_seen() -> None:
    config = RecallBySizeConfig(sizes=(12, 16), shares=(0.25, 1.0))
    found = {(row["node"], row["instrument"]): row["value"] for row in config.with_seeds(Seeds.all(2)).rows()}
    for pixels in config.sizes:
        for share in config.shares:
            arm = named(WITHOUT, pixels, share)
            expected = bumps(pixels, share) / bumps(pixels, 1.0)
            assert found[arm, "recall.seen"] == pytest.approx(expected)
            assert found[arm, "recall.held out"] == 0
            more = found[named(WITH, pixels, share), "recall.seen"]
            assert more >= expected - 1e-6
    assert found[named(WITH, 12, 0.25), "recall.seen"] > found[named(WITHOUT, 12, 0.25), "recall.seen"]  # the rim


@pytest.mark.parametrize("kind", [WITH, WITHOUT])
def test_recall_is_what_the_memoriser_samples(kind: str) -> None:
    world, split = training_set(kind, 12, 0.5)
    sampled = {row["node"]: row["value"] for row in MemoriserConfig(world=world, split=split).rows()
               if row["instrument"] == "darkest.both"}  # fmt: skip
    exact = {row["instrument"]: row["value"] for row in RecallBySizeConfig(sizes=(12,), shares=(0.5,)).rows()
             if row["node"] == named(kind, 12, 0.5)}  # fmt: skip
    assert sampled[SEEN] == pytest.approx(exact["recall.seen"], abs=0.04)  # ties fall as they fall
    assert sampled[HELD_OUT] == exact["recall.held out"] == 0


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        for work in budget.arms.values():
            work.check()
        runs = [work for work in budget.arms.values() if isinstance(work, BumpsRun)]
        assert len({run.total for run in runs}) == 1
        assert len(runs) == len(budget.arms) - 1
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert len(full.arms) == 2 * len(SIZES) * len(SHARES) + len(SIZES) + 1


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[named(WITH, 8, 0.2)]
    whole = table(the_paper, seeds=2)
    for found in (whole, whole.filter(pl.col("arm").str.starts_with(WITH)), table(recalls, 1), make_table([])):
        assert len(EXPERIMENT.draw(found, config)["figure"].figure.axes) == 6


def test_the_null_of_recall_is_near_two() -> None:
    found = {n: needed({bumps(n, share): 0.8 * share for share in np.linspace(0.5, 1, 101)}) for n in SIZES}
    assert slopes({0: found})[0] == pytest.approx(2.09, abs=0.02)
