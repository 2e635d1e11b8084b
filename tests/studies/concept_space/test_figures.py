"""The figures of concept space: from plausible tables, from one seed, and from what is lacking."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from recombine.lab.experiment import Experiment
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_space.speed import experiment as speed
from recombine.studies.concept_space.speed.claims import learning_times
from support import tables
from support.pictures import heights, legend, render, words

SPEED_RUNS, TRAJECTORY_RUNS = (EXPERIMENTS[f"concept-space/{name}"] for name in ("speed", "trajectories"))

GRID = tuple(round(4_000 * 1.19**i) for i in range(24))


def learned(seen: float, at: float, seed: int, steep: float = 4.0) -> float:
    """A smooth rise to 0.97, halfway at so many images; later seeds are a little later."""
    late = at * (1 + 0.12 * (seed - 2))
    return float(0.97 / (1 + (late / seen) ** steep))


def of_arm(arm: str) -> dict[str, float]:
    experiment = SPEED_RUNS
    return dict(experiment.arm_columns(experiment.budgets["full"].arms)[arm])


def speed_table(seeds: int) -> pl.DataFrame:
    """Every concept faster with its own signal and slower with the other's."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        color, size = of_arm(arm).values()
        return {
            ("reader.accuracy", "color"): learned(seen, 9_000 * size / color**1.6, seed),
            ("reader.accuracy", "size"): learned(seen, 6_000 * (0.5 + color) / size**0.7, seed),
            "reader.none": 0.0,
            "reader.several": 0.0,
        }

    return tables.table_of(
        readings,
        tables.runs_of(SPEED_RUNS, "full"),
        ("00", "01", "10", "11"),
        GRID,
        range(seeds),
        of_arm=of_arm,
        columns=SPEED_RUNS.columns,
    )


def trajectories_table(seeds: int) -> pl.DataFrame:
    """11 goes by way of small red with weak colour and by way of large blue with strong."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        late = {"weak": (120_000, 20_000), "middling": (35_000, 30_000), "strong": (12_000, 45_000)}[arm]
        times = late if node == "11" else (6_000, 6_000)
        blue, small = (
            0.5 + (float(digit) - 0.5) * learned(seen, at, seed) for digit, at in zip(node, times, strict=True)
        )
        return {("classifier.answer", "color", "blue"): blue, ("classifier.answer", "size", "small"): small}

    arms = tables.runs_of(TRAJECTORY_RUNS, "full")
    columns = TRAJECTORY_RUNS.columns
    return tables.table_of(readings, arms, ("00", "01", "10", "11"), GRID, range(seeds), columns=columns)


CASES = {
    "speed": (SPEED_RUNS, speed_table),
    "trajectories": (TRAJECTORY_RUNS, trajectories_table),
}


def draw(experiment: Experiment, table: pl.DataFrame) -> Figure:
    (config, *_) = experiment.budgets["full"].arms.values()
    return experiment.draw(table, config)["figure"].figure


@pytest.mark.parametrize("name", CASES)
def test_a_plausible_table_is_drawn_whole(name: str) -> None:
    experiment, table = CASES[name]
    figure = draw(experiment, table(5))
    assert "not measured" not in words(figure)
    assert "n = 5" in " ".join(words(figure).split())
    assert len(render(figure)) > 1_000


@pytest.mark.parametrize("name", CASES)
def test_one_seed_is_drawn_and_counted(name: str) -> None:
    experiment, table = CASES[name]
    figure = draw(experiment, table(1))
    assert "n = 1" in " ".join(words(figure).split())
    render(figure)


@pytest.mark.parametrize("name", CASES)
def test_an_empty_table_gives_a_figure_that_says_so(name: str) -> None:
    figure = draw(CASES[name][0], make_table([], CASES[name][0].columns))
    assert "not measured" in words(figure)
    render(figure)


@pytest.mark.parametrize(
    ("name", "column", "missing"),
    [("speed", "concept", "color"), ("speed", "concept", "size"), ("speed", "instrument", "reader.none"),
     ("trajectories", "answer", "blue"), ("trajectories", "answer", "small")],
)  # fmt: skip
def test_what_is_missing_is_said(name: str, column: str, missing: str) -> None:
    experiment, table = CASES[name]
    figure = draw(experiment, table(2).filter(pl.col(column).ne_missing(pl.lit(missing))))
    assert "not measured" in words(figure)
    render(figure)


def test_times_are_drawn_over_their_own_separation_a_line_for_each_other_one() -> None:
    color, size, *_ = draw(SPEED_RUNS, speed_table(5)).axes
    assert legend(color) == ["sizes 0.2 apart", "sizes 0.3 apart", "sizes 0.4 apart"]
    assert legend(size) == [f"colours {apart} apart" for apart in (0.2, 0.4, 0.6, 0.8)]
    medians = learning_times(speed_table(5), "color")
    lines = [line for line in color.lines if line.get_markersize() == 9]
    for line, shift in zip(lines, (-0.006, 0, 0.006), strict=True):  # apart, so that seeds do not hide each other
        assert np.asarray(line.get_xdata()) == pytest.approx(np.array(speed.COLOR) + shift)
    for line, apart in zip(lines, speed.SIZE, strict=True):
        expected = [float(np.median(list(medians[each, apart].values()))) for each in speed.COLOR]
        assert heights(line).tolist() == expected
    assert [heights(line)[0] for line in color.lines if line.get_linestyle() == "--"] == [400_000]


def test_every_arm_has_a_panel_with_the_way_of_every_class() -> None:
    figure = draw(TRAJECTORY_RUNS, trajectories_table(5))
    assert [axes.get_title(loc="left").partition(":")[0] for axes in figure.axes] == [
        "weak colour",
        "middling colour",
        "strong colour",
    ]
    for axes in figure.axes:
        ways = [line for line in axes.lines if line.get_linewidth() == 2.6]
        assert len(ways) == 4
        ends = [(np.asarray(way.get_xdata())[-1], heights(way)[-1]) for way in ways]
        assert [(round(x), round(y)) for x, y in ends] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    weak, strong = (figure.axes[place].lines for place in (0, 2))
    held_out = [[line for line in lines if line.get_linewidth() == 2.6][-1] for lines in (weak, strong)]
    lean = [np.mean(heights(way) - np.asarray(way.get_xdata())) for way in held_out]
    assert lean[0] > 0 > lean[1]


def test_runs_of_different_lengths_are_averaged_as_far_as_all_went() -> None:
    table = trajectories_table(2).filter((pl.col("seed") == 0) | (pl.col("images_seen") <= GRID[9]))
    axes = draw(TRAJECTORY_RUNS, table).axes[0]
    assert {len(heights(line)) for line in axes.lines if line.get_linewidth() == 2.6} == {10}
