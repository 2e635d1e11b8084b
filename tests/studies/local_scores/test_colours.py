"""Scenes told by colour: arms, rules on tables where the answer is known, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.instruments.scenes.colour_evaluation import LINEAR, PAIR, pairs_of
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.coloured_scenes import ColoursRun
from recombine.studies.local_scores.colours.claims import (
    ALL,
    ARMS,
    CHANCE,
    COLOURS,
    EXTRAS,
    ONE,
    RECALL,
    SINGLE,
    interference,
)
from recombine.studies.local_scores.colours.experiment import EXPERIMENT, FULL
from recombine.studies.local_scores.length.claims import longest
from support.pictures import legend, render, words

PAIRS = list(pairs_of(FULL.world))
COUNTS = range(1, 7)


def table_of(
    reach: Mapping[str, int], slope: float = -0.5, bottleneck: float = 0.2, like_data: float = 1.0,
    reader: tuple[float, float] = (0.99, 0.05), seeds: int = 5,
) -> pl.DataFrame:  # fmt: skip
    """K_max of each arm; recall of pairs falls with their cosine by `slope`; cosines of the bottleneck, in units of
    those in pixels; of the model's pixels, in those of the data; recall and extras of the reader.
    """
    rows = []
    for arm, most in reach.items():
        for seed in range(seeds):
            found: list[tuple[int, str, str, float]] = []
            for k in COUNTS:
                found += [(100, f"{k:02d}", RECALL, 0.97 - 1e-3 * seed if k <= most else 0.6)]
                found += [(100, f"{k:02d}", CHANCE, k / 7), (100, f"{k:02d}", EXTRAS, 0.1)]
                found += [(0, f"{k:02d}", f"calibration.{RECALL}", reader[0])]
                found += [(0, f"{k:02d}", f"calibration.{EXTRAS}", reader[1])]
            found += [(0, "red", f"calibration.{RECALL}", 0.5)]  # of a single colour: no number of colours
            for place, pair in enumerate(PAIRS):
                angle = 0.9 if pair == "red+yellow" else 0.05 if pair == "blue+yellow" else 0.1 + place / 30
                found += [(0, pair, "cosine.data", angle), (100, pair, "cosine.pixels", like_data * angle)]
                found += [(100, pair, "cosine.middle", bottleneck * angle)]
                value = 0.6 + slope * (angle - 0.4) + 1e-3 * seed
                found += [(100, pair, PAIR, value), (100, pair, LINEAR, value)]
            rows += [("s", "e", arm, seed, seen, node, None, name, value) for seen, node, name, value in found]
    return make_table(rows)


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {each["claim"]: each["verdict"] for each in judge_all(COLOURS, table, "s", "e", "full")}


FAR, NEAR = {ALL: 5, ONE: 3, SINGLE: 2}, {ALL: 3, ONE: 1, SINGLE: 1}


def test_models_that_go_far_and_interfere_hold_every_claim() -> None:
    assert set(verdicts(table_of(FAR)).values()) == {"holds"}


def test_each_claim_can_fail() -> None:
    assert {name for name, verdict in verdicts(table_of(NEAR)).items() if verdict == "fails"} == {
        "CO2",
        "CO2b",
        "CO2c",
    }
    for changes, failing in (
        ({"slope": 0.5}, {"CO4", "CO4b", "CO4c", "CO4d"}),
        ({"bottleneck": 1.1}, {"CO3", "CO3b"}),
        ({"like_data": -1.0, "bottleneck": 0.2}, {"CO3c"}),
        ({"reader": (0.8, 0.5)}, {"CO0", "CO0b"}),
    ):
        found = verdicts(table_of(FAR, **changes))
        assert {name for name, verdict in found.items() if verdict == "fails"} == failing
    assert verdicts(table_of({ALL: 2}))["CO1"] == "fails"


def test_pairs_that_are_all_alike_show_no_interference() -> None:
    assert verdicts(table_of(FAR, slope=0.0))["CO4"] == "fails"


def test_what_was_not_measured_is_not_judged() -> None:
    assert set(verdicts(table_of(FAR, seeds=4)).values()) == {"undecided"}
    found = verdicts(table_of({ALL: 5}))
    assert {name for name, verdict in found.items() if verdict == "undecided"} == {
        "CO2b", "CO2c", "CO3b", "CO4", "CO4b", "CO4c", "CO4d",
    }  # fmt: skip
    assert set(verdicts(make_table([])).values()) == {"undecided"}


def test_readings() -> None:
    table = table_of(FAR, bottleneck=-0.5)
    assert set(longest(table, ALL, RECALL).values()) == {5}
    assert interference(table, ALL, "middle")[0] == pytest.approx(0.5 * interference(table, ALL, "pixels")[0])


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_arms_are_told_what_they_are_called(budget: str) -> None:
    arms = EXPERIMENT.budgets[budget].arms  # type: ignore[index]
    assert tuple(arms) == ARMS
    for run in arms.values():
        run.check()
        assert isinstance(run, ColoursRun)
        assert 0 in run.split.objects  # a label that names nothing means an empty scene
    assert [run.told for run in arms.values() if isinstance(run, ColoursRun)] == ["all", "one", "all"]
    assert [max(run.split.objects) for run in arms.values() if isinstance(run, ColoursRun)] == [3, 3, 1]
    assert len({run.address for run in arms.values()}) == 3


def test_gray_is_left_out_where_the_ground_is_gray() -> None:
    assert "gray" not in FULL.world.names
    assert len(FULL.world.names) == 7
    laptop = EXPERIMENT.budgets["laptop"].arms[ALL]
    assert isinstance(laptop, ColoursRun)
    assert len(laptop.world.names) == 8


def test_the_figure_shows_all_models_and_is_drawn_from_any_part() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[ALL]
    figure = EXPERIMENT.draw(table_of(FAR), config)["figure"].figure
    assert legend(figure.axes[0]) == ["told all of 1 to 3", "told one of 1 to 3", "single objects"]
    assert legend(figure.axes[3]) == ["told both", "scores added"]
    assert [text.get_text() for text in figure.axes[2].get_xticklabels()] == ["data", "pixels", "middle"]
    assert "red + yellow" in words(figure)
    part = EXPERIMENT.draw(table_of({ALL: 3}, seeds=1).filter(pl.col("instrument") == RECALL), config)["figure"].figure
    assert "not measured" in words(part)
    assert render(part)
    assert "no model of colours" in words(EXPERIMENT.draw(make_table([]), config)["figure"].figure)
