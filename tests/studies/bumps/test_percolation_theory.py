"""Percolation among bumps: rows at a small size, rules on tables made by hand, figures."""

from collections.abc import Mapping
from math import inf
from typing import Any

import polars as pl
import pytest

from recombine.errors import UserError
from recombine.lab.experiment import make_plan
from recombine.lab.table import make_table
from recombine.runs.bump_percolation import COLUMNS, PercolationConfig
from recombine.runs.work import Computation
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps.percolation_theory import figures
from recombine.studies.bumps.percolation_theory.claims import (
    BETWEEN,
    CLAIMS,
    ON,
    Cell,
    critical_of_mean,
    critical_shares,
    curves_of,
    neighbours_of,
)
from recombine.studies.bumps.percolation_theory.findings import numbers
from recombine.theory.percolation.lattice import largest_components, link
from recombine.worlds.holdouts import nested_order
from support import tables
from support.pictures import render, words

EXPERIMENT = EXPERIMENTS["bumps/percolation-theory"]
SMALL = PercolationConfig(pixels=12, widths=(0.1, 0.3), thresholds=(0.05, 0.5), lambdas=(0.1, 0.5, 1.0))
Rows = list[dict[str, Any]]


def judge(claim: str, rows: Rows) -> dict[str, Any]:
    return tables.judge(CLAIMS, claim, make_table(rows, COLUMNS))


def crossed(cells: Mapping[Cell, float | str | None], arm: str = ON, shake: float = 0.0) -> Rows:
    """The critical lambda of six orders: a number, None for never, "below"; a little more with every seed."""
    rows: Rows = []
    for seed in range(6):
        for (width, threshold), value in cells.items():
            where = {"arm": arm, "seed": seed, "width": width, "threshold": threshold}
            number = value + shake * seed if isinstance(value, float) else None
            rows += [
                where | {"instrument": "critical", "value": number},
                where | {"instrument": "percolates", "value": float(value is not None)},
            ]
    return rows


def rising(cell: Cell, middle: float, z: int, seeds: int = 6, shake: float = 0.001) -> Rows:
    """Curves that reach one half at a lambda."""
    where = {"arm": ON, "seed": range(seeds), "width": cell[0], "threshold": cell[1]}

    def share_of(row: dict[str, Any]) -> float:
        own = middle + shake * (row["seed"] - (seeds - 1) / 2)
        return min(1.0, max(0.0, 0.5 + (row["share"] - own) * 4))

    shares = [n / 100 for n in range(1, 101)]
    return tables.rows_of(share_of, instrument="largest", share=shares, **where) + tables.rows_of(
        float(z), instrument="linked neighbours", **where
    )


def found_by(config: Computation, instrument: str, **where: float) -> float | None:
    rows = [row for row in config.rows() if row["instrument"] == instrument and where.items() <= row.items()]
    (row,) = rows
    value: float | None = row["value"]
    return value


# Rows


def test_rows_are_those_of_the_theory() -> None:
    config, at = SMALL.with_seeds(Seeds.all(3)), {"width": 0.3, "threshold": 0.05}
    sizes = largest_components(link(0.3, 0.05, 12), nested_order(144, 3))
    for n in (14, 72, 144):
        assert found_by(config, "largest", share=n / 144, **at) == sizes[n - 1] / n
    assert (found_by(config, "linked neighbours", **at), found_by(config, "percolates", **at)) == (12, 1)
    critical = found_by(config, "critical", **at)
    assert critical is not None
    assert 0.1 < critical < 0.5
    narrow = {"width": 0.1, "threshold": 0.05}
    assert found_by(config, "percolates", **narrow) == 0
    assert found_by(config, "critical", **narrow) is None
    assert found_by(config, "largest", share=0.5, **narrow) == 1 / 72


def test_overlaps_are_those_from_a_site_of_the_lattice() -> None:
    on, between = (SMALL.replace(shift=shift) for shift in (0.0, -0.5))
    assert found_by(on, "overlap", width=0.3, offset=0.5) == pytest.approx(0.726, abs=1e-3)
    assert found_by(between, "overlap", width=0.3, offset=0.5) == pytest.approx(1.03, abs=2e-3)
    assert found_by(between, "overlap", width=0.1, offset=0.5) == pytest.approx(16.1, abs=0.02)
    assert found_by(between, "linked neighbours", width=0.1, threshold=0.05) == 8


def test_a_seed_is_an_order() -> None:
    assert SMALL.rows() == SMALL.rows()
    assert SMALL.rows() != SMALL.with_seeds(Seeds.all(1)).rows()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"widths": [0]}, "widths"),
        ({"thresholds": [1]}, "thresholds"),
        ({"lambdas": [0]}, "lambdas"),
        ({"lambdas": [1.5]}, "lambdas"),
        ({"shift": 1}, "shift"),
        ({"width": [1]}, "did you mean 'widths'"),
        ({"lambdas": [0.0001]}, "takes none of the 144 sites"),
    ],
)
def test_bad_settings_are_one_line(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UserError) as raised:
        override(SMALL, changes).check()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


# Rules


def test_critical_shares_by_cell_and_order() -> None:
    table = make_table(crossed({(0.1, 0.05): None, (0.3, 0.05): 0.25, (1.5, 0.05): "below"}), COLUMNS)
    found = critical_shares(table)
    assert {cell: set(orders.values()) for cell, orders in found.items()} == {
        (0.1, 0.05): {inf},
        (0.3, 0.05): {0.25},
        (1.5, 0.05): {0.0},
    }
    assert critical_shares(table, BETWEEN) == {}


def test_the_critical_lambda_is_that_of_the_mean_curve() -> None:
    table = make_table(rising((0.3, 0.005), 0.25, 20), COLUMNS)
    own = curves_of(table, (0.3, 0.005))
    assert [len(at) for at, _ in own] == [100] * 6
    assert (own[0][0][0], own[0][0][-1]) == (0.01, 1.0)
    found, (low, high), n = critical_of_mean(table, (0.3, 0.005))
    assert found.value == pytest.approx(0.25)
    assert low < 0.25 < high
    assert n == 6
    assert neighbours_of(table) == {(0.3, 0.005): 20}
    assert numbers(table) == {"disks": "-10% to -10%"}  # 4.512 / 20 against 0.25


@pytest.mark.parametrize(("middle", "verdict"), [(0.5, "holds"), (0.1, "fails"), (0.3, "fails")])
def test_wider_is_earlier(middle: float, verdict: str) -> None:
    """The smallest step decides; the second width is between, before, or level with the third."""
    cells: dict[Cell, float | str | None] = {
        (0.1, 0.005): None, (0.2, 0.005): middle, (0.3, 0.005): 0.3, (1.0, 0.005): "below"
    }  # fmt: skip
    answer = judge("PT1", crossed(cells, shake=0.01))
    assert (answer["verdict"], answer["n"]) == (verdict, 6)
    assert answer["estimate"] == pytest.approx(middle - 0.3)
    assert "from 0.2 to 0.3" in answer["note"]


def test_a_larger_threshold_is_later() -> None:
    plain = {(0.1, 0.005): None, (0.1, 0.5): None, (0.3, 0.005): 0.2, (0.3, 0.5): None}
    for low, high, verdict in (("below", 0.1, "holds"), (0.2, 0.1, "fails"), (0.2, 0.2, "fails")):
        assert judge("PT2", crossed({**plain, (1.0, 0.005): low, (1.0, 0.5): high}))["verdict"] == verdict


def test_how_much_later() -> None:
    answer = judge("PT2b", crossed({(0.3, 0.005): 0.18, (0.3, 0.05): 0.28}, shake=0.01))
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.1))
    assert judge("PT2b", crossed({(0.3, 0.005): 0.2, (0.3, 0.05): 0.2}))["verdict"] == "fails"
    assert tables.undecided(judge("PT2b", crossed({(0.3, 0.005): 0.2, (0.3, 0.05): None})))


@pytest.mark.parametrize(("claim", "arm"), [("PT3", ON), ("PT3b", BETWEEN)])
def test_never(claim: str, arm: str) -> None:
    never: dict[Cell, float | None] = {(0.1, 0.005): None, (0.1, 0.5): None, (0.3, 0.005): 0.2}
    assert judge(claim, crossed(never, arm))["verdict"] == "holds"
    answer = judge(claim, crossed({**never, (0.1, 0.005): 0.4}, arm))
    assert (answer["verdict"], answer["estimate"]) == ("fails", 0)
    assert tables.undecided(judge(claim, crossed({(0.2, 0.005): None}, arm)))


def test_small_widths_are_lost() -> None:
    lost: dict[Cell, float | None] = {(0.2, 0.005): 0.6, (0.3, 0.005): 0.2, (0.2, 0.5): None, (0.3, 0.5): None}
    assert judge("PT4", crossed(lost))["verdict"] == "holds"
    changes: tuple[dict[Cell, float | None], ...] = ({(0.3, 0.5): 0.9}, {(0.2, 0.005): None})
    for change in changes:
        assert judge("PT4", crossed({**lost, **change}))["verdict"] == "fails"


@pytest.mark.parametrize(
    ("claim", "cell", "z", "good", "bad"),
    [("PT5", (0.3, 0.005), 20, 0.183, 0.25), ("PT5b", (0.5, 0.005), 68, 0.052, 0.08),
     ("PT6-4", (0.3, 0.2), 4, 0.58, 0.64), ("PT6-20", (0.4, 0.1), 20, 0.18, 0.25),
     ("PT6-36", (1.0, 0.5), 36, 0.105, 0.16)],
)  # fmt: skip
def test_midpoints(claim: str, cell: Cell, z: int, good: float, bad: float) -> None:
    answer = judge(claim, rising(cell, good, z))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(good, abs=1e-6), 6)
    assert judge(claim, rising(cell, bad, z))["verdict"] == "fails"
    never = judge(claim, rising(cell, 2.0, z))
    assert never["verdict"] == "fails"
    assert "never held" in never["note"]
    assert judge(claim, rising(cell, good, z, seeds=4))["verdict"] == "undecided"


@pytest.mark.parametrize(("claim", "arm"), [("PT7", BETWEEN), ("PT7b", ON)])
def test_overlap_beyond_one(claim: str, arm: str) -> None:
    for value, verdict in ((1.03, "holds"), (1.0, "fails"), (0.7, "fails")):
        rows = tables.rows_of(value, arm=arm, seed=range(5), instrument="overlap", width=0.3, offset=0.5)
        assert judge(claim, rows)["verdict"] == verdict


def test_an_empty_table_decides_nothing() -> None:
    for claim in CLAIMS:
        assert tables.undecided(judge(claim.id, []))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    runs = make_plan(EXPERIMENT, "smoke").runs
    return make_table(
        [
            {"arm": run.arm, "seed": run.seed, **row}
            for run in runs
            if isinstance(run.config, Computation)
            for row in run.config.rows()
        ],
        COLUMNS,
    )


def test_smoke_has_what_every_claim_needs(smoke: pl.DataFrame) -> None:
    answers = {claim.id: tables.judge(CLAIMS, claim.id, smoke) for claim in CLAIMS}
    assert {name for name, answer in answers.items() if answer["n"] == 0} == set()
    assert answers["PT3"]["estimate"] == answers["PT4"]["estimate"] == answers["PT2"]["estimate"] == 1
    assert answers["PT3b"]["estimate"] == 0


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    assert EXPERIMENT.draw is not None
    found = EXPERIMENT.draw(smoke, EXPERIMENT.budgets["smoke"].arms[ON])
    assert set(found) == {"figure", "thresholds"}
    for drawing in found.values():
        assert len(render(drawing.figure)) > 5_000
    said = " ".join(words(found["figure"].figure).split())
    assert "n = 2 seeds" in said
    assert "16.1" in said  # the overlap between pixels
    assert "Threshold 0.5: $\\sigma$ = 0.1, 0.2, 0.3 never percolates" in words(found["thresholds"].figure)


def test_what_was_not_counted_is_said() -> None:
    empty = make_table([], COLUMNS)
    for drawing in figures.draw(empty, PercolationConfig()).values():
        assert "not co" in words(drawing.figure)
        render(drawing.figure)


def test_full_is_the_whole_table() -> None:
    budget = EXPERIMENT.budgets["full"]
    config = budget.arms[ON]
    assert isinstance(config, PercolationConfig)
    assert budget.seeds >= 20
    assert (len(config.widths), len(config.thresholds), len(config.lambdas)) == (8, 6, 50)
    assert list(config.lambdas) == sorted(set(config.lambdas))
