"""The toy: its rows against the closed form, its claims on rows that were tampered with, its figure."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from matplotlib.figure import Figure

from recombine.errors import UserError
from recombine.lab.table import curves, make_table, select
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.toy.claims import CLAIMS, KNOWN, times
from recombine.studies.concept_graphs.toy.experiment import ToyConfig
from recombine.theory.emergence import composed_by, learned_at
from support import tables
from support.pictures import heights, legend

EXPERIMENT = EXPERIMENTS["concept-graphs/toy"]

SMALL = ToyConfig(trials=2_000, moments=40)


def table_from(config: ToyConfig, seeds: int = 5) -> pl.DataFrame:
    """The rows of the computation, as the lab stores them."""
    return make_table(
        [{"arm": "toy", "seed": seed, "chance": config.chance, **row} for seed in range(seeds)
         for row in config.replace(seeds={"data": seed}).rows()],
        EXPERIMENT.columns,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return table_from(SMALL)


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, table)


def scaled(table: pl.DataFrame, factor: float, **where: Any) -> pl.DataFrame:
    """The table with the times of these rows multiplied."""
    here = pl.all_horizontal(pl.col("instrument") == "time", *(pl.col(name) == value for name, value in where.items()))
    return table.with_columns(value=pl.when(here).then(pl.col("value") * factor).otherwise("value"))


# Rows


def test_there_is_a_curve_and_a_time_for_every_number_of_atoms(table: pl.DataFrame) -> None:
    for way in ("closed", "simulated"):
        found = curves(table, "probability", "atoms", over="step", way=way)
        assert set(found) == {(seed, n) for seed in range(5) for n in SMALL.atoms}
        for step, _ in found.values():
            assert len(step) == SMALL.moments
            assert (step[0], step[-1]) == (0, 800)
        for level in (0.5, 0.9):
            assert [set(each) for each in times(table, way, level).values()] == [set(SMALL.atoms)] * 5


def test_the_closed_rows_are_the_closed_form_in_every_seed(table: pl.DataFrame) -> None:
    for (_, n), (steps, values) in curves(table, "probability", "atoms", over="step", way="closed").items():
        assert np.array_equal(values, composed_by(torch.tensor(steps), n, 0.01).numpy())
    for level, column in KNOWN.items():
        assert times(table, "closed", level) == dict.fromkeys(range(5), column)


def test_the_simulated_rows_lie_about_it_and_differ_by_seed(table: pl.DataFrame) -> None:
    simulated, closed = (curves(table, "probability", "atoms", over="step", way=way) for way in ("simulated", "closed"))
    for place, (_, exact) in closed.items():
        assert np.abs(simulated[place][1] - exact).max() < 0.05  # about four standard errors of 2,000 trials
    assert len({tuple(simulated[seed, 4][1]) for seed in range(5)}) == 5


def test_a_simulated_time_is_the_first_step_by_which_enough_trials_are_there() -> None:
    """Of ten trials, five are there at the fifth smallest time, nine at the ninth."""
    config = ToyConfig(atoms=(3,), chance=0.1, levels=(0.5, 0.9, 0.01), trials=10)
    drawn = sorted(learned_at(3, 0.1, 10, config.seeds.data).tolist())
    rows = [row for row in config.rows() if row["instrument"] == "time" and row["way"] == "simulated"]
    assert {row["level"]: row["value"] for row in rows} == {0.5: drawn[4], 0.9: drawn[8], 0.01: drawn[0]}


@pytest.mark.parametrize("chance", [0.05, 0.5])
def test_no_step_is_measured_twice(chance: float) -> None:
    """With likely atoms there are fewer steps than moments."""
    rows = ToyConfig(atoms=(2,), chance=chance, trials=10).rows()
    steps = [row["step"] for row in rows if row["instrument"] == "probability" and row["way"] == "closed"]
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chance": 1.0}, "chance"),
        ({"levels": [0.5, 1.0]}, "levels"),
        ({"atoms": [0]}, "atoms"),
        ({"trials": 0}, "trials"),
        ({"chances": 0.1}, "did you mean 'chance'"),
    ],
)
def test_bad_settings_are_one_line(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(SMALL, changes)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


# Claims


def test_all_claims_hold_on_the_computed_rows(table: pl.DataFrame) -> None:
    answers = {claim.id: judge(claim.id, table) for claim in CLAIMS}
    assert {answer["verdict"] for answer in answers.values()} == {"holds"}
    assert (answers["O6"]["estimate"], answers["O6"]["n"]) == (1.0, 14)
    assert answers["O6s"]["estimate"] == pytest.approx(0.0, abs=0.02)
    assert answers["O6l"]["estimate"] == pytest.approx(1.0, abs=0.1)


def test_one_seed_is_enough_for_the_closed_form_only() -> None:
    alone = table_from(SMALL, seeds=1)
    assert [judge(claim.id, alone)["verdict"] for claim in CLAIMS] == ["holds", "undecided", "undecided"]


@pytest.mark.parametrize(("level", "atoms"), [(0.5, 1), (0.9, 32)])
def test_one_wrong_time_fails(table: pl.DataFrame, level: float, atoms: int) -> None:
    right = KNOWN[level][atoms]
    wrong = scaled(table, (right + 1) / right, way="closed", level=level, atoms=atoms)
    answer = judge("O6", wrong)
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", pytest.approx(13 / 14), 14)


def test_another_chance_is_not_compared_with_the_times_of_one_percent() -> None:
    """What is known is known for p = 0.01; at p = 0.05 nothing is wrong with other times."""
    answer = judge("O6", table_from(override(SMALL, {"chance": 0.05}), seeds=1))
    assert tables.undecided(answer, "p = 0.01")


def test_other_numbers_of_atoms_are_not_known() -> None:
    answer = judge("O6", table_from(override(SMALL, {"atoms": [5, 7]}), seeds=1))
    assert tables.undecided(answer, "no t* of the known cases")


@pytest.mark.parametrize("factor", [1.05, 0.95])
def test_a_simulation_that_is_off_by_a_twentieth_fails(table: pl.DataFrame, factor: float) -> None:
    answer = judge("O6s", scaled(table, factor, way="simulated"))
    assert (answer["verdict"], answer["n"]) == ("fails", 5)
    assert answer["estimate"] == pytest.approx(factor - 1, abs=0.02)


def test_the_gap_is_the_mean_over_atoms_and_levels(table: pl.DataFrame) -> None:
    """Simulated times equal to the closed ones but for one of fourteen, which is 1.14 times as long."""
    closed = select(table, "time", way="closed")
    exact = closed.with_columns(way=pl.lit("simulated"))
    answer = judge("O6s", scaled(pl.concat([closed, exact]), 1.14, way="simulated", level=0.5, atoms=8))
    assert answer["estimate"] == pytest.approx(0.01)
    assert answer["interval"] == pytest.approx([0.01, 0.01])
    assert answer["verdict"] == "holds"


def times_like(grow: Callable[[int], float]) -> pl.DataFrame:
    """Simulated t* of one half as given; the closed ones right."""
    where: dict[str, Any] = {"arm": "toy", "seed": range(5), "instrument": "time", "level": 0.5, "atoms": SMALL.atoms}
    closed = tables.rows_of(lambda row: float(KNOWN[0.5][row["atoms"]]), way="closed", **where)
    return make_table(
        closed + tables.rows_of(lambda row: grow(row["atoms"]), way="simulated", **where), EXPERIMENT.columns
    )


@pytest.mark.parametrize(
    ("grow", "estimate", "verdict"),
    [
        (lambda n: 69 / math.log(2) * math.log(n) + 30, 1.0, "holds"),
        (lambda n: 2 * 69 / math.log(2) * math.log(n), 2.0, "fails"),
        (lambda n: 100.0, 0.0, "fails"),
    ],
)
def test_the_slope_over_the_logarithm(grow: Callable[[int], float], estimate: float, verdict: str) -> None:
    answer = judge("O6l", times_like(grow))
    assert answer["estimate"] == pytest.approx(estimate, abs=1e-9)
    assert (answer["verdict"], answer["n"]) == (verdict, 5)


def test_growth_in_proportion_is_not_growth_like_the_logarithm() -> None:
    assert judge("O6l", times_like(lambda n: 69.0 * n))["verdict"] == "fails"


@pytest.mark.parametrize(
    ("claim", "missing"),
    [("O6", "closed"), ("O6s", "closed"), ("O6s", "simulated"), ("O6l", "closed"), ("O6l", "simulated")],
)
def test_what_was_not_computed_is_undecided(table: pl.DataFrame, claim: str, missing: str) -> None:
    lacking = table.filter(pl.col("way") != missing)
    assert tables.undecided(judge(claim, lacking))


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, make_table([], EXPERIMENT.columns)))


# The figure


def draw(table: pl.DataFrame) -> Figure:
    return EXPERIMENT.draw(table, SMALL)["figure"].figure


def test_the_figure_shows_every_number_of_atoms_and_every_level(table: pl.DataFrame) -> None:
    left, right = draw(table).axes
    assert legend(left) == [f"n = {n}" for n in SMALL.atoms]
    assert legend(right) == ["P* = 0.5", "P* = 0.9"]
    lines = [heights(line).tolist() for line in right.lines if line.get_linewidth() == 2.6]
    assert lines == [list(column.values()) for column in KNOWN.values()]


def test_the_curves_are_sharper_and_later_with_more_atoms(table: pl.DataFrame) -> None:
    closed = [heights(line) for line in draw(table).axes[0].lines if line.get_linewidth() == 2.6]
    assert len(closed) == len(SMALL.atoms)
    for fewer, more in pairwise(closed):
        assert (more <= fewer).all()


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_every_budget_computes_the_known_cases(budget: str) -> None:
    (config,) = EXPERIMENT.budgets[budget].arms.values()  # type: ignore[index]
    assert isinstance(config, ToyConfig)
    assert config.chance == 0.01
    assert set(config.levels) == set(KNOWN)
    assert all(set(config.atoms) == set(column) for column in KNOWN.values())
