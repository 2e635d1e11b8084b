"""Swing-by and slowing in diffusion models: verdicts on paths made by hand, and figures of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table, select
from recombine.studies import EXPERIMENTS
from recombine.studies.identity_mapping.diffusion.claims import CLAIMS, images_behind, paths, rise, rise_by_chance
from recombine.studies.identity_mapping.diffusion.experiment import COLORS
from recombine.studies.identity_mapping.diffusion.figures import draw
from support.pictures import words

EXPERIMENT = EXPERIMENTS["identity-mapping/diffusion"]
GRID = tuple(int(seen) for seen in np.geomspace(4_000, 400_000, 40))
EMPTY = make_table([], EXPERIMENT.columns)


def path_rows(swing: float, seeds: int) -> Iterator[Mapping[str, Any]]:
    """Samples of 100 images a moment; with weak colour P(blue) falls back by `swing` around 60,000 images."""
    for number, color in enumerate(COLORS):
        for seed in range(seeds):
            for seen in GRID:
                generator = np.random.default_rng([seed, seen, number])
                blue = 1 / (1 + (15_000 / seen) ** 3)
                if color < 0.3:
                    blue -= swing * np.exp(-0.5 * (np.log(seen / 60_000) / 0.4) ** 2)
                small = 1 / (1 + (9_000 / seen) ** 3)
                shares = generator.binomial(100, np.clip([blue, small, 0.2], 0, 1)) / 100
                here = {
                    "arm": f"c{color:g}",
                    "color_separation": color,
                    "seed": seed,
                    "images_seen": seen,
                    "node": "11",
                }
                answer = {**here, "instrument": "classifier.answer"}
                yield {**answer, "concept": "color", "answer": "blue", "value": shares[0]}
                yield {**answer, "concept": "size", "answer": "small", "value": shares[1]}
                yield {**here, "instrument": "reader.none", "value": shares[2]}
                yield {**here, "instrument": "reader.accuracy", "concept": "color", "value": 0.01}


def path_table(swing: float, seeds: int = 5) -> pl.DataFrame:
    return make_table(path_rows(swing, seeds), EXPERIMENT.columns)


def verdicts(table: pl.DataFrame) -> dict[str, Any]:
    return {c["claim"]: c for c in judge_all(CLAIMS, table, "identity-mapping", "diffusion", "full")}


def test_a_swing_by_is_found_in_the_runs_and_in_their_mean() -> None:
    found = verdicts(path_table(0.7))
    assert [found[name]["verdict"] for name in ("S13", "S13m", "S13w")] == ["holds"] * 3


def test_without_one_neither_holds() -> None:
    found = verdicts(path_table(0.0))
    assert found["S13"]["verdict"] != "holds"
    assert found["S13m"]["verdict"] == "fails"
    assert "100 images each" in found["S13"]["note"]


def test_speed_falls_and_its_law_is_that_of_the_curve() -> None:
    """Logistic in log time: the way left falls as a power of time."""
    found = verdicts(path_table(0.0, seeds=12))
    assert found["S13s"]["verdict"] == "holds"
    assert found["S13e"]["verdict"] == "holds"


def test_the_number_of_images_follows_from_the_shares() -> None:
    assert images_behind(path_table(0.0, 1)) == 100
    with pytest.raises(NotMeasured):
        images_behind(EMPTY)


def test_paths_need_both_coordinates() -> None:
    table = path_table(0.0, 2)
    found = paths(table)
    assert list(found) == list(COLORS)
    assert {seed: way.shape for seed, (_, way) in found[0.137].items()} == {0: (40, 2), 1: (40, 2)}
    with pytest.raises(NotMeasured, match="path of 11"):
        paths(select(table, concept="color"))


def test_a_run_that_only_rises_is_within_chance_and_one_that_falls_back_is_not() -> None:
    up = np.linspace(0, 1, 40)
    back = np.where((up > 0.4) & (up < 0.6), 0.0, up)
    steady, fallen = ((np.asarray(GRID, dtype=float), np.stack([way, up], 1)) for way in (up, back))
    assert rise(steady) == 0 < rise_by_chance(steady, 100, 0)
    assert rise(fallen) > rise_by_chance(fallen, 100, 0)


def test_an_empty_table_decides_and_draws_nothing() -> None:
    assert {claim["verdict"] for claim in verdicts(EMPTY).values()} == {"undecided"}
    for drawing in draw(EMPTY, None).values():
        assert "not measured" in words(drawing.figure)


def test_figures_show_every_arm() -> None:
    drawings = draw(path_table(0.7, 2), None)
    legend = [text.get_text() for text in drawings["figure"].figure.legends[0].get_texts()]
    assert legend == [f"{color:g} apart" for color in COLORS]
    *runs, rises = drawings["runs"].figure.axes
    assert [axes.get_title(loc="left") for axes in runs] == [f"Colours {c:g} apart" for c in (0.137, 0.468, 0.689)]
    assert [tick.get_text() for tick in rises.get_xticklabels()] == [f"{color:g}" for color in COLORS]
