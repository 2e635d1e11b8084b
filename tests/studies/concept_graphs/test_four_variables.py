"""Four concepts: which class is how far from training, and the order of emergence up to distance 3."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest

from recombine.instruments.shapes.reader import calibrate_reader
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.four_variables.claims import CLAIMS
from recombine.worlds.shapes import ShapesWorld
from support import tables

EXPERIMENT = EXPERIMENTS["concept-graphs/four-variables"]

GRID = tuple(range(100, 2100, 100))
TIMES = (300, 600, 1200, 1800)  # images seen when the classes of each distance emerge


def table_of(time: Callable[[int, str], float], seeds: Iterable[int] = range(5)) -> pl.DataFrame:
    """Seed and node -> images seen when the class is drawn right, from one evaluation to the next."""
    return tables.table_of(
        lambda arm, seed, node, seen: {"reader.product": float(seen >= time(seed, node))},
        ("continuous",),
        tables.nodes_of(4),
        GRID,
        seeds,
    )


def at(*times: float) -> Callable[[int, str], float]:
    """Every class of a distance at the same time, in every seed."""
    return lambda seed, node: times[tables.from_origin(node)]


def judge(table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge(CLAIMS, "O11", table)


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_sixteen_classes_at_distances_up_to_three(budget: str) -> None:
    (config,) = tables.runs_of(EXPERIMENT, budget).values()
    assert tuple(config.world.concepts) == ("shape", "color", "size", "background")
    ranks = config.split.by_distance(config.world)
    assert {distance: len(nodes) for distance, nodes in ranks.items()} == {0: 5, 1: 6, 2: 4, 3: 1}
    assert set(ranks[0]) == {"0000", "0001", "0010", "0100", "1000"}
    assert ranks[3] == ("1111",)
    assert all(tables.from_origin(node) == distance for distance, nodes in ranks.items() for node in nodes)
    config.check()


@pytest.mark.parametrize("budget", ["laptop", "full"])
def test_the_reader_is_right_on_both_backgrounds(budget: str) -> None:
    (config,) = tables.runs_of(EXPERIMENT, budget).values()
    assert isinstance(config.world, ShapesWorld)
    rows = calibrate_reader(config.world, per_node=8, seed=0)
    assert {row["value"] for row in rows if row["instrument"] == "calibration.reader.product"} == {1.0}
    empty = [
        row for row in rows if row["instrument"] == "calibration.reader.none" and row["canvas"].startswith("blank")
    ]
    assert [row["value"] for row in empty] == [1.0, 1.0]


def test_four_distances_in_order_hold() -> None:
    answer = judge(table_of(at(*TIMES)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert "d0 300, d1 600, d2 1,200, d3 1,800" in answer["note"]
    assert judge(table_of(at(*TIMES), range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize(
    "times",
    [
        (300, 600, 1800, 1200),  # the farthest before distance 2
        (300, 600, 1200, 1200),  # together is not after
        (300, 300, 1200, 1800),
        (600, 300, 1200, 1800),
        (300, math.inf, 1200, 1800),
        (500, 500, 500, 500),
    ],
)
def test_every_pair_of_neighbouring_distances_counts(times: tuple[float, ...]) -> None:
    answer = judge(table_of(at(*times)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)


def test_one_seed_out_of_order_fails() -> None:
    answer = judge(table_of(lambda seed, node: at(*(TIMES[::-1] if seed == 2 else TIMES))(seed, node)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)


def test_the_curve_of_a_distance_is_the_mean_of_its_classes() -> None:
    """One of the six classes at distance 1 is as late as the farthest: the mean of the six passes 0.8 without it.

    Of the four at distance 2, three are not enough for 0.8.
    """
    early = judge(table_of(lambda seed, node: 1800 if node == "0011" else at(*TIMES)(seed, node)))
    assert "d1 600" in early["note"]
    late = judge(table_of(lambda seed, node: 1500 if node == "0111" else at(*TIMES)(seed, node)))
    assert "d2 1,500" in late["note"]


def test_the_farthest_may_never_come() -> None:
    answer = judge(table_of(at(300, 600, 1200, math.inf)))
    assert (answer["verdict"], answer["estimate"]) == ("holds", 1.0)
    assert "d3 never" in answer["note"]


def test_where_two_distances_never_come_their_order_is_unknown() -> None:
    answer = judge(table_of(at(300, 600, math.inf, math.inf)))
    assert tables.undecided(answer, "5 seeds say nothing")


def test_a_pair_that_comes_together_is_out_of_order_whatever_never_comes() -> None:
    """Distances 0 and 1 emerge at the same evaluation; that 2 and 3 never do cannot mend it."""
    answer = judge(table_of(at(300, 300, math.inf, math.inf)))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.0, 5)


def test_tables_that_lack_it_are_undecided() -> None:
    assert tables.undecided(judge(make_table([], EXPERIMENT.columns)))
    other = table_of(at(*TIMES)).with_columns(arm=pl.lit("binary"))
    assert tables.undecided(judge(other), "at two distances")
