"""How many images are needed: the nearest-label baseline, how slopes are read, and verdicts on made-up tables."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.lab.trends import log_crossing
from recombine.runs.bump_sets import (
    KINDS,
    SHARES,
    SIZES,
    WITH,
    WITHOUT,
    NearestLabelBySize,
    bumps,
    stripes,
    training_set,
)
from recombine.runs.bumps import BumpsRun
from recombine.seeds import Seeds
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, SampledNearestLabel
from recombine.studies.bumps.efficiency.claims import CLAIMS, LEVEL, slopes
from recombine.studies.bumps.efficiency.experiment import named
from recombine.studies.bumps.efficiency.findings import numbers
from recombine.worlds.holdouts import HELD_OUT, SEEN

EXPERIMENT = EXPERIMENTS["bumps/efficiency"]
COLUMNS = EXPERIMENT.columns
Model = Callable[[str, int, int], tuple[float, float]]
"""Kind, pixels and images of bumps -> accuracy outside of the square and inside."""


def the_paper(kind: str, pixels: int, number: int) -> tuple[float, float]:
    """60% of all labels, and of those held out, with 2.5 N bumps where there are stripes; of all with 0.5 N^2 else."""
    if kind == WITH:
        level = 0.6 + 0.4 * math.tanh(1.5 * math.log(number / (2.5 * pixels)))
        return level, level
    level = 0.6 + 0.2 * math.tanh(4 * math.log(number / (0.5 * pixels**2)))
    return level / 0.8, 0.0


def nearest_label(kind: str, pixels: int, number: int) -> tuple[float, float]:
    return number / bumps(pixels, 1.0), 0.0


def table(model: Model, seeds: int = 5, noise: float = 0.004, crossings: float = 0.0) -> pl.DataFrame:
    """Of what is in the right place with stripes, this share is two stripes that cross."""
    rows: list[dict[str, Any]] = []
    for seed, kind, pixels in product(range(seeds), KINDS, SIZES):
        for share in (0.0, *SHARES) if kind == WITH else SHARES:
            head = {"arm": named(kind, pixels, share), "seed": seed, "kind": kind, "pixels": pixels, "share": share}
            own = model(kind, pixels, bumps(pixels, share)) if share else (0.8, 0.8)  # no bump: stripes that cross
            baseline = nearest_label(kind, pixels, bumps(pixels, share))
            for region, value, null in zip((SEEN, HELD_OUT), own, baseline, strict=True):
                place = value + noise * (seed - 2) if share else value
                bump = (place * (1 - crossings) if kind == WITH else place) if share else 0.01
                at = head | {"region": region, "model": TRAINED, "images_seen": 9}
                rows.append(at | {"instrument": "darkest.both", "value": place})
                rows.append(at | {"instrument": "darkest.bump", "value": bump})
                if share:
                    at = head | {"arm": NEAREST, "region": region, "model": NEAREST}
                    rows.append(at | {"instrument": "darkest.both", "value": null})
    return make_table(rows, COLUMNS)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "efficiency", "full")}


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


def test_the_nearest_label_is_quadratic_with_stripes_and_without() -> None:
    found = verdicts(table(nearest_label, noise=0.0))
    assert (found["DE1"], found["DE1n"], found["DE2"], found["DE3"]) == ("fails", "fails", "holds", "fails")
    assert found["DE1h"] == "undecided"  # it never gets there


def test_few_seeds_and_an_empty_table_leave_it_open() -> None:
    assert set(verdicts(table(the_paper, seeds=4)).values()) == {"undecided"}
    answers = judge_all(CLAIMS, make_table([], COLUMNS), "bumps", "efficiency", "full")
    assert all(answer["verdict"] == "undecided" and answer["note"] for answer in answers)


def test_a_seed_without_a_number_is_left_out_and_counted() -> None:
    whole = table(the_paper, seeds=6)
    trained = (pl.col("model") == TRAINED) & (pl.col("instrument") == "darkest.both")
    lost = trained & (pl.col("seed") == 3) & (pl.col("kind") == WITH) & (pl.col("pixels") == 16)
    broken = whole.with_columns(value=pl.when(lost).then(0.1).otherwise("value"))
    (first,) = judge_all([claim for claim in CLAIMS if claim.id == "DE1"], broken, "bumps", "efficiency", "full")
    assert (first["n"], first["verdict"]) == (5, "holds")
    assert "1 seeds without a number left out" in first["note"]


def test_images_needed_are_read_between_two_numbers() -> None:
    assert log_crossing({10: 0.2, 40: 1.0}, 0.6) == pytest.approx(20)
    assert log_crossing({10: 0.7, 40: 0.5, 160: 0.7}, 0.6) == pytest.approx(80)  # from there on for good
    assert log_crossing({10: 0.7, 40: 0.9}, LEVEL) == 0
    assert math.isinf(log_crossing({10: 0.1, 40: 0.5}, LEVEL))


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


def accuracy_of(config: NearestLabelBySize) -> dict[tuple[str, int, float, str], float]:
    return {(row["kind"], row["pixels"], row["share"], row["region"]): row["value"] for row in config.rows()}


def test_the_nearest_label_without_stripes_has_the_share_that_was_trained_on() -> None:
    config = NearestLabelBySize(sizes=(12, 16), shares=(0.25, 1.0))
    found = accuracy_of(config.with_seeds(Seeds.all(2)))
    for pixels, share in product(config.sizes, config.shares):
        expected = bumps(pixels, share) / bumps(pixels, 1.0)
        assert found[WITHOUT, pixels, share, SEEN] == pytest.approx(expected)
        assert found[WITHOUT, pixels, share, HELD_OUT] == 0
        assert found[WITH, pixels, share, SEEN] >= expected - 1e-6
    assert found[WITH, 12, 0.25, SEEN] > found[WITHOUT, 12, 0.25, SEEN]  # the rim


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_baseline_is_what_sampling_gives(kind: str) -> None:
    world, split = training_set(kind, 12, 0.5)
    sampled = {row["region"]: row["value"] for row in SampledNearestLabel(world=world, split=split).rows()
               if row["instrument"] == "darkest.both"}  # fmt: skip
    exact = accuracy_of(NearestLabelBySize(sizes=(12,), shares=(0.5,)))
    assert sampled[SEEN] == pytest.approx(exact[kind, 12, 0.5, SEEN], abs=0.04)  # ties fall as they fall
    assert sampled[HELD_OUT] == exact[kind, 12, 0.5, HELD_OUT] == 0


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
    columns = EXPERIMENT.arm_columns(full.arms)
    assert columns["stripes-24-0"] == {"model": TRAINED, "kind": WITH, "pixels": 24, "share": 0.0}
    assert columns["bumps-16-0.25"] == {"model": TRAINED, "kind": WITHOUT, "pixels": 16, "share": 0.25}
    assert columns[NEAREST] == {"model": NEAREST}


def test_the_figures_are_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[named(WITH, 8, 0.2)]
    whole, empty = table(the_paper, seeds=2), make_table([], COLUMNS)
    assert EXPERIMENT.draw is not None
    for found in (whole, whole.filter(pl.col("kind") == WITH), table(nearest_label, 1), empty):
        drawn = EXPERIMENT.draw(found, config)
        assert [len(drawing.figure.axes) for drawing in drawn.values()] == [4]


def test_numbers_of_the_findings() -> None:
    found = numbers(table(the_paper))
    assert found["sizes"] == "12, 16, 24 and 32"
    assert found["baseline_slope"] == pytest.approx(2.1, abs=0.05)
    assert found["crossings"] == "80%, 80%, 80% and 80%"


def test_the_slope_of_the_nearest_label_is_near_two() -> None:
    found = {
        n: log_crossing({bumps(n, share): 0.8 * share for share in np.linspace(0.5, 1, 101)}, LEVEL) for n in SIZES
    }
    assert slopes({0: found})[0] == pytest.approx(2.09, abs=0.02)
