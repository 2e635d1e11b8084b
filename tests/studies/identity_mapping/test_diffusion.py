"""Swing-by and slowing in diffusion models: verdicts on paths made by hand, and figures of them."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies.identity_mapping.diffusion.claims import DIFFUSION, images_behind, paths, separation
from recombine.studies.identity_mapping.diffusion.experiment import COLORS, EXPERIMENT
from support import tables
from support.pictures import words

GRID = tuple(int(seen) for seen in np.geomspace(4_000, 400_000, 40))
ARMS = tuple(f"c{color:g}" for color in COLORS)


def path_table(swing: float, seeds: int = 5) -> pl.DataFrame:
    """Samples of 100 images a moment; with weak colour P(blue) falls back by `swing` around 60,000 images."""

    def readings(arm: str, seed: int, node: str, seen: int) -> Mapping[str, float]:
        generator = np.random.default_rng([seed, seen, ARMS.index(arm)])
        blue = 1 / (1 + (15_000 / seen) ** 3)
        if separation(arm) < 0.3:
            blue -= swing * np.exp(-0.5 * (np.log(seen / 60_000) / 0.4) ** 2)
        small = 1 / (1 + (9_000 / seen) ** 3)
        shares = generator.binomial(100, np.clip([blue, small, 0.2], 0, 1)) / 100
        names = ("classifier.color=blue", "classifier.size=small", "reader.none")
        return {**dict(zip(names, shares.tolist(), strict=True)), "reader.color": 0.01}

    return tables.table_of(readings, ARMS, ("11",), GRID, range(seeds))


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {c["claim"]: c["verdict"] for c in judge_all(DIFFUSION, table, "identity-mapping", "diffusion", "full")}


def test_a_swing_by_is_found_in_the_runs_and_in_their_mean() -> None:
    found = verdicts(path_table(0.7))
    assert found["S13"] == found["S13m"] == "holds"


def test_without_one_neither_holds() -> None:
    judged = judge_all(DIFFUSION, path_table(0.0), "identity-mapping", "diffusion", "full")
    found = {c["claim"]: c for c in judged}
    assert found["S13"]["verdict"] != "holds"
    assert found["S13m"]["verdict"] == "fails"
    assert "100 images each" in found["S13"]["note"]


def test_speed_falls_and_its_law_is_that_of_the_curve() -> None:
    """Logistic in log time: the way left falls as a power of time."""
    found = verdicts(path_table(0.0, seeds=12))
    assert found["S13s"] == "holds"
    assert found["S13e"] == "holds"


def test_the_number_of_images_is_read_off_the_shares() -> None:
    assert images_behind(path_table(0.0, 1)) == 100
    with pytest.raises(NotMeasured):
        images_behind(make_table([]))


def test_paths_need_both_coordinates() -> None:
    table = path_table(0.0, 2)
    assert {seed: way.shape for seed, (_, way) in paths(table, "c0.137").items()} == {0: (40, 2), 1: (40, 2)}
    assert paths(tables.without(table, "classifier.size=small"), "c0.137") == {}
    with pytest.raises(NotMeasured, match="does not name"):
        separation("strong")


def test_an_empty_table_decides_and_draws_nothing() -> None:
    assert set(verdicts(make_table([])).values()) == {"undecided"}
    config = EXPERIMENT.budgets["full"].arms["c0.137"]
    for drawing in EXPERIMENT.draw(make_table([]), config).values():
        assert "not measured" in words(drawing.figure)


def test_figures_show_every_arm() -> None:
    drawings = EXPERIMENT.draw(path_table(0.7, 2), EXPERIMENT.budgets["full"].arms["c0.137"])
    legend = [text.get_text() for text in drawings["figure"].figure.legends[0].get_texts()]
    assert legend == [f"{color:g} apart" for color in COLORS]
    titles = [axes.get_title(loc="left") for axes in drawings["runs"].figure.axes]
    assert titles == [f"colours {color:g} apart" for color in COLORS]
