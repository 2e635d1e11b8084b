"""Percolation among bumps: rows at a small size, rules on tables made by hand, figures."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

from recombine.errors import UserError
from recombine.lab.experiment import make_plan
from recombine.lab.table import make_table
from recombine.runs.work import Computation
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies.bumps.percolation_theory import figures as drawings
from recombine.studies.bumps.percolation_theory.claims import (
    BETWEEN,
    ON,
    PERCOLATION,
    cell,
    critical_of,
    moments,
    named,
    neighbours_of,
    spread,
)
from recombine.studies.bumps.percolation_theory.experiment import EXPERIMENT, PercolationConfig
from recombine.theory.percolation.lattice import largest_components, link
from recombine.worlds.holdouts import nested_order
from support import tables
from support.pictures import render, words

SMALL = PercolationConfig(pixels=12, widths=(0.1, 0.3), thresholds=(0.05, 0.5), lambdas=(0.1, 0.5, 1.0))
Reading = tuple[str, int, int, str, str, float | None]
"""Arm, seed, sites taken, node, instrument, value."""


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(PERCOLATION, claim, table)


def told(readings: Iterable[Reading]) -> pl.DataFrame:
    return make_table(
        [("s", "e", arm, seed, n, node, None, what, value) for arm, seed, n, node, what, value in readings]
    )


def crossed(
    cells: Mapping[tuple[float, float], float | str | None], arm: str = ON, seeds: int = 6, shake: float = 0.0
) -> list[Reading]:
    """Each order's critical lambda: a number, None for never, "below"; a little more with every seed."""
    rows: list[Reading] = []
    for seed in range(seeds):
        for (width, threshold), value in cells.items():
            node = named(width, threshold)
            number = value + shake * seed if isinstance(value, float) else None
            rows += [
                (arm, seed, 0, node, "critical", number),
                (arm, seed, 0, node, "percolates", float(value is not None)),
            ]
    return rows


def rising(node: str, middle: float, z: int, seeds: int = 6, shake: float = 0.001) -> list[Reading]:
    """Curves that reach one half at a lambda, of a lattice of 1000 sites."""
    rows: list[Reading] = [(ON, 0, 0, "all", "sites", 1000.0)]
    for seed in range(seeds):
        own = middle + shake * (seed - (seeds - 1) / 2)
        rows += [
            (ON, seed, n, node, "largest", min(1.0, max(0.0, 0.5 + (n / 1000 - own) * 4))) for n in range(10, 1001, 10)
        ]
        rows.append((ON, seed, 0, node, "neighbours", float(z)))
    return rows


def rows_of(config: Computation) -> dict[tuple[str, str, int], float | None]:
    return {(row["node"], row["instrument"], row.get("images_seen", 0)): row["value"] for row in config.rows()}


def computed(budget: str) -> pl.DataFrame:
    return told(
        (run.arm, run.seed, row.get("images_seen", 0), row["node"], row["instrument"], row["value"])
        for run in make_plan(EXPERIMENT, budget).runs
        if isinstance(run.config, Computation)
        for row in run.config.rows()
    )


# Rows


def test_rows_are_those_of_the_theory() -> None:
    found = rows_of(SMALL.with_seeds(Seeds.all(3)))
    sizes = largest_components(link(0.3, 0.05, 12), nested_order(144, 3))
    for n in (14, 72, 144):
        assert found["s=0.3,threshold=0.05", "largest", n] == sizes[n - 1] / n
    assert found["s=0.3,threshold=0.05", "neighbours", 0] == 12
    assert found["s=0.3,threshold=0.05", "percolates", 0] == 1
    critical = found["s=0.3,threshold=0.05", "critical", 0]
    assert critical is not None
    assert 0.1 < critical < 0.5
    assert found["s=0.1,threshold=0.05", "percolates", 0] == 0
    assert found["s=0.1,threshold=0.05", "critical", 0] is None
    assert found["s=0.1,threshold=0.05", "largest", 72] == 1 / 72
    assert found["all", "sites", 0] == 144


def test_overlaps_are_those_from_a_site_of_the_lattice() -> None:
    on, between = (rows_of(SMALL.replace(shift=shift)) for shift in (0.0, -0.5))
    assert on["s=0.3,distance=0.5", "overlap", 0] == pytest.approx(0.726, abs=1e-3)
    assert between["s=0.3,distance=0.5", "overlap", 0] == pytest.approx(1.03, abs=2e-3)
    assert between["s=0.1,distance=0.5", "overlap", 0] == pytest.approx(16.1, abs=0.02)
    assert between["s=0.1,threshold=0.05", "neighbours", 0] == 8


def test_a_seed_is_an_order() -> None:
    assert rows_of(SMALL) == rows_of(SMALL)
    assert rows_of(SMALL) != rows_of(SMALL.with_seeds(Seeds.all(1)))


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


def test_cells_and_orders_are_read_back() -> None:
    assert cell(named(0.3, 0.005)) == (0.3, 0.005)
    table = told(crossed({(0.1, 0.05): None, (0.3, 0.05): 0.25, (1.5, 0.05): "below"}, seeds=1))
    assert moments(table, ON) == {0: {(0.1, 0.05): float("inf"), (0.3, 0.05): 0.25, (1.5, 0.05): 0.0}}
    assert moments(table, BETWEEN) == {}


def test_the_critical_lambda_is_that_of_the_mean_curve() -> None:
    table = told(rising("s=0.3,threshold=0.005", 0.25, 20))
    lams, curves = spread(table, "s=0.3,threshold=0.005")
    assert curves.shape == (6, 100)
    assert (lams[0], lams[-1]) == (0.01, 1.0)
    found, (low, high), n = critical_of(table, "s=0.3,threshold=0.005")
    assert found.value == pytest.approx(0.25)
    assert low < 0.25 < high
    assert n == 6
    assert neighbours_of(table) == {"s=0.3,threshold=0.005": 20}


@pytest.mark.parametrize(("middle", "verdict"), [(0.5, "holds"), (0.1, "fails"), (0.3, "fails")])
def test_wider_is_earlier(middle: float, verdict: str) -> None:
    """The smallest step decides; the second width is between, before, or level with the third."""
    table = told(
        crossed({(0.1, 0.005): None, (0.2, 0.005): middle, (0.3, 0.005): 0.3, (1.0, 0.005): "below"}, shake=0.01)
    )
    answer = judge("PT1", table)
    assert (answer["verdict"], answer["n"]) == (verdict, 6)
    assert answer["estimate"] == pytest.approx(middle - 0.3)
    assert "from 0.2 to 0.3" in answer["note"]


def test_a_larger_threshold_is_later() -> None:
    plain = {(0.1, 0.005): None, (0.1, 0.5): None, (0.3, 0.005): 0.2, (0.3, 0.5): None}
    assert judge("PT2", told(crossed({**plain, (1.0, 0.005): "below", (1.0, 0.5): 0.1})))["verdict"] == "holds"
    assert judge("PT2", told(crossed({**plain, (1.0, 0.005): 0.2, (1.0, 0.5): 0.1})))["verdict"] == "fails"
    assert judge("PT2", told(crossed({**plain, (1.0, 0.005): 0.2, (1.0, 0.5): 0.2})))["verdict"] == "fails"


def test_how_much_later() -> None:
    answer = judge("PT2b", told(crossed({(0.3, 0.005): 0.18, (0.3, 0.05): 0.28}, shake=0.01)))
    assert (answer["verdict"], answer["estimate"]) == ("holds", pytest.approx(0.1))
    assert judge("PT2b", told(crossed({(0.3, 0.005): 0.2, (0.3, 0.05): 0.2})))["verdict"] == "fails"


@pytest.mark.parametrize(("claim", "arm"), [("PT3", ON), ("PT3b", BETWEEN)])
def test_never(claim: str, arm: str) -> None:
    never = {(0.1, 0.005): None, (0.1, 0.5): None, (0.3, 0.005): 0.2}
    assert judge(claim, told(crossed(never, arm)))["verdict"] == "holds"
    answer = judge(claim, told(crossed({**never, (0.1, 0.005): 0.4}, arm)))
    assert (answer["verdict"], answer["estimate"]) == ("fails", 0)
    assert tables.undecided(judge(claim, told(crossed({(0.2, 0.005): None}, arm))))


def test_small_widths_are_lost() -> None:
    lost = {(0.2, 0.005): 0.6, (0.3, 0.005): 0.2, (0.2, 0.5): None, (0.3, 0.5): None}
    assert judge("PT4", told(crossed(lost)))["verdict"] == "holds"
    for change in ({(0.3, 0.5): 0.9}, {(0.2, 0.005): None}):
        assert judge("PT4", told(crossed({**lost, **change})))["verdict"] == "fails"


@pytest.mark.parametrize(
    ("claim", "node", "z", "good", "bad"),
    [("PT5", "s=0.3,threshold=0.005", 20, 0.183, 0.25), ("PT5b", "s=0.5,threshold=0.005", 68, 0.052, 0.08),
     ("PT6-4", "s=0.3,threshold=0.2", 4, 0.58, 0.64), ("PT6-20", "s=0.4,threshold=0.1", 20, 0.18, 0.25),
     ("PT6-36", "s=1,threshold=0.5", 36, 0.105, 0.16)],
)  # fmt: skip
def test_midpoints(claim: str, node: str, z: int, good: float, bad: float) -> None:
    answer = judge(claim, told(rising(node, good, z)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", pytest.approx(good, abs=1e-6), 6)
    assert judge(claim, told(rising(node, bad, z)))["verdict"] == "fails"
    assert judge(claim, told(rising(node, 2.0, z)))["verdict"] == "fails"  # never
    assert "never held" in judge(claim, told(rising(node, 2.0, z)))["note"]
    assert judge(claim, told(rising(node, good, z, seeds=4)))["verdict"] == "undecided"


@pytest.mark.parametrize(("claim", "arm"), [("PT7", BETWEEN), ("PT7b", ON)])
def test_beyond_one(claim: str, arm: str) -> None:
    for value, verdict in ((1.03, "holds"), (1.0, "fails"), (0.7, "fails")):
        table = told((arm, seed, 0, "s=0.3,distance=0.5", "overlap", value) for seed in range(5))
        assert judge(claim, table)["verdict"] == verdict


def test_an_empty_table_decides_nothing() -> None:
    for claim in PERCOLATION:
        assert tables.undecided(judge(claim.id, make_table([])))


# Figures, and the whole


@pytest.fixture(scope="module")
def smoke() -> pl.DataFrame:
    return computed("smoke")


def test_smoke_has_what_every_claim_needs(smoke: pl.DataFrame) -> None:
    answers = {claim.id: judge(claim.id, smoke) for claim in PERCOLATION}
    assert {name for name, answer in answers.items() if answer["n"] == 0} == set()
    assert answers["PT3"]["estimate"] == answers["PT4"]["estimate"] == answers["PT2"]["estimate"] == 1
    assert answers["PT3b"]["estimate"] == 0


def test_figures_of_smoke_are_drawn(smoke: pl.DataFrame) -> None:
    found = EXPERIMENT.draw(smoke, EXPERIMENT.budgets["smoke"].arms[ON])
    assert set(found) == {"figure", "thresholds", "map"}
    for drawing in found.values():
        assert len(render(drawing.figure)) > 5_000
    said = words(found["figure"].figure)
    assert "n = 2 orders" in said
    assert "16.1" in said  # the overlap between pixels
    assert "Threshold 0.5" in words(found["thresholds"].figure)


def test_the_map_says_what_was_found() -> None:
    rows = rising("s=0.3,threshold=0.005", 0.25, 20) + rising("s=0.1,threshold=0.005", 2.0, 0)
    rows += rising("s=1.5,threshold=0.005", -1.0, 592)
    said = words(drawings.map_of_critical(told(dict.fromkeys(rows)), 32)).splitlines()
    assert {"0.25", "never", "at once", "z = 0"} <= set(said)


def test_what_was_not_counted_is_said() -> None:
    empty = make_table([])
    for drawn in (drawings.figure(empty, 32), drawings.thresholds(empty, 32), drawings.map_of_critical(empty, 32)):
        assert isinstance(drawn, Figure)
        assert "not co" in words(drawn)
        render(drawn)


def test_full_is_the_whole_table() -> None:
    budget = EXPERIMENT.budgets["full"]
    config = budget.arms[ON]
    assert isinstance(config, PercolationConfig)
    assert budget.seeds >= 20
    assert (len(config.widths), len(config.thresholds), len(config.lambdas)) == (8, 6, 50)
    assert list(config.lambdas) == sorted(set(config.lambdas))
