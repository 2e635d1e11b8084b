"""Scenes conditioned on colours: arms, rules on tables where the answer is known, and the figure."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from recombine.instruments.scenes.colour_evaluation import COLUMNS, COSINE, LINEAR, PAIR, pairs_of
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.coloured_scenes import ColoursRun
from recombine.studies.local_scores.colours.claims import (
    ALL,
    ARMS,
    CHANCE,
    CLAIMS,
    EXTRAS,
    ONE,
    RECALL,
    SINGLE,
    interference,
    k_max,
)
from recombine.studies.local_scores.colours.experiment import EXPERIMENT, FULL
from recombine.studies.local_scores.colours.figures import draw
from support.pictures import legend, render, words
from support.tables import rows_of

PAIRS = list(pairs_of(FULL.world))
COUNTS = tuple(range(1, 7))
NEAR, FAR = (("blue", "yellow"), ("red", "yellow"))  # in cosine


def table_of(
    reach: Mapping[str, int], slope: float = -0.5, bottleneck: float = 0.2, like_data: float = 1.0,
    reader: tuple[float, float] = (0.99, 0.05), seeds: int = 5,
) -> pl.DataFrame:  # fmt: skip
    """K_max of each arm; recall of pairs falls with their cosine by `slope`; cosines of the bottleneck, in units of
    those in pixels; of the model's pixels, in those of the data; recall and extras of the reader.
    """
    rows = list[dict[str, Any]]()
    angles = {pair: {NEAR: 0.05, FAR: 0.9}.get(pair, 0.1 + place / 30) for place, pair in enumerate(PAIRS)}
    for arm, most in reach.items():
        one = {"arm": arm, "seed": range(seeds)}
        start, end = {**one, "images_seen": 0}, {**one, "images_seen": 100}
        found = lambda row, most=most: 0.97 - 1e-3 * row["seed"] if row["labels"] <= most else 0.6  # noqa: E731
        rows += rows_of(found, instrument=RECALL, labels=COUNTS, **end)
        rows += rows_of(lambda row: row["labels"] / 7, instrument=CHANCE, labels=COUNTS, **end)
        rows += rows_of(0.1, instrument=EXTRAS, labels=COUNTS, **end)
        for name, value in zip((RECALL, EXTRAS), reader, strict=True):
            rows += rows_of(value, instrument=f"calibration.{name}", labels=COUNTS, **start)
        rows += rows_of(0.5, instrument=f"calibration.{RECALL}", colour="red", **start)  # of no number of colours
        for (colour, other), angle in angles.items():
            pair = {"colour": colour, "other": other}
            for name, factor in (("data", 1.0), ("pixels", like_data), ("middle", bottleneck)):
                rows += rows_of(factor * angle, instrument=COSINE, representation=name, **pair, **end)
            recall = lambda row, angle=angle: 0.6 + slope * (angle - 0.4) + 1e-3 * row["seed"]  # noqa: E731
            rows += rows_of(recall, instrument=[PAIR, LINEAR], **pair, **end)
    return make_table(rows, COLUMNS)


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {each["claim"]: each["verdict"] for each in judge_all(CLAIMS, table, "s", "e", "full")}


REACHED, SHORT = {ALL: 5, ONE: 3, SINGLE: 2}, {ALL: 3, ONE: 1, SINGLE: 1}


def test_models_that_reach_far_and_interfere_hold_every_claim() -> None:
    assert set(verdicts(table_of(REACHED)).values()) == {"holds"}


def test_each_claim_can_fail() -> None:
    assert {name for name, verdict in verdicts(table_of(SHORT)).items() if verdict == "fails"} == {
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
        found = verdicts(table_of(REACHED, **changes))
        assert {name for name, verdict in found.items() if verdict == "fails"} == failing
    assert verdicts(table_of({ALL: 2}))["CO1"] == "fails"


def test_pairs_that_are_all_alike_show_no_interference() -> None:
    assert verdicts(table_of(REACHED, slope=0.0))["CO4"] == "fails"


def test_what_was_not_measured_is_not_judged() -> None:
    assert set(verdicts(table_of(REACHED, seeds=4)).values()) == {"undecided"}
    found = verdicts(table_of({ALL: 5}))
    assert {name for name, verdict in found.items() if verdict == "undecided"} == {
        "CO2b", "CO2c", "CO3b", "CO4", "CO4b", "CO4c", "CO4d",
    }  # fmt: skip
    assert set(verdicts(make_table([], COLUMNS)).values()) == {"undecided"}


def test_measures() -> None:
    table = table_of(REACHED, bottleneck=-0.5)
    assert set(k_max(ALL)(table).values()) == {5}
    assert interference(ALL, "middle")(table)[0] == pytest.approx(0.5 * interference(ALL, "pixels")(table)[0])


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_arms_are_labelled_as_they_are_called(budget: str) -> None:
    arms = EXPERIMENT.budgets[budget].arms  # type: ignore[index]
    assert tuple(arms) == ARMS
    for run in arms.values():
        run.check()
        assert isinstance(run, ColoursRun)
        assert 0 in run.split.objects  # a label without colours means an empty scene
    assert [run.labelled for run in arms.values() if isinstance(run, ColoursRun)] == ["all", "one", "all"]
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
    figure = draw(table_of(REACHED), config)["figure"].figure
    assert len(figure.axes) == 4
    for name in ("all of 1 to 3 labelled", "one of 1 to 3 labelled", "single objects", "reader, rendered scenes"):
        assert name in words(figure)
    assert legend(figure.axes[3]) == ["both in the label", "scores added"]
    assert [text.get_text() for text in figure.axes[2].get_xticklabels()] == ["data", "pixels", "middle"]
    assert "red + yellow" in words(figure)
    part = draw(table_of({ALL: 3}, seeds=1).filter(pl.col("instrument") == RECALL), config)["figure"].figure
    assert "not measured" in words(part)
    assert render(part)
    assert "no model of colours" in words(draw(make_table([], COLUMNS), config)["figure"].figure)
