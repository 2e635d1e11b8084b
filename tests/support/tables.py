"""Tables made by hand, so that the answer of a judge and the content of a figure are known beforehand; and the runs
that an experiment would make real ones of.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import polars as pl

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.claims import Claim, judge_all
from recombine.lab.experiment import BUDGETS, Experiment
from recombine.lab.table import make_table
from recombine.runs.concept_graph import RunConfig

Key = str | tuple[str | None, ...]
"""An instrument, or an instrument with the concept, the answer and the sampler that its row is about."""
Readings = Callable[[str, int, str, int], Mapping[Any, float]]
"""Arm, seed, node and images seen -> instrument (a Key) and value."""


def nodes_of(concepts: int) -> tuple[str, ...]:
    """All classes of so many concepts of two values, in counting order."""
    return tuple("".join(digits) for digits in product("01", repeat=concepts))


def from_origin(node: str) -> int:
    """The distance of a class where the origin and its neighbours are trained."""
    return max(0, node.count("1") - 1)


def rows_of(value: Any, **columns: Any) -> list[dict[str, Any]]:
    """Rows for all combinations of these columns: a list, tuple or range is gone through, anything else stays.

    `value` is a number, or a function of the row; where it answers None the row is left out.
    """
    many = {name: v if isinstance(v, list | tuple | range) else [v] for name, v in columns.items()}
    rows: list[dict[str, Any]] = [dict(zip(many, choice, strict=True)) for choice in product(*many.values())]
    filled = [row | {"value": value(row) if callable(value) else value} for row in rows]
    return [row for row in filled if row["value"] is not None]


def table_of(
    readings: Readings,
    arms: Iterable[str],
    nodes: Iterable[str],
    grid: Iterable[int],
    seeds: Iterable[int] = range(5),
    distance: Callable[[str], int | None] = from_origin,
    of_arm: Callable[[str], Mapping[str, Any]] = lambda arm: {},
    columns: Mapping[str, type] = COLUMNS,
) -> pl.DataFrame:
    """A row for every reading of every arm, seed and class at every evaluation."""
    return make_table(
        [
            {"arm": arm, **of_arm(arm), "seed": seed, "images_seen": seen, "node": node, "distance": distance(node),
             **_keyed(key), "value": value}
            for arm, seed, node, seen in product(arms, seeds, nodes, grid)
            for key, value in readings(arm, seed, node, seen).items()
        ],
        columns,
    )  # fmt: skip


def calibration(
    values: Mapping[str, Mapping[Any, float]], arms: Iterable[str], seeds: Iterable[int] = range(5),
    of_arm: Callable[[str], Mapping[str, Any]] = lambda arm: {}, columns: Mapping[str, type] = COLUMNS,
) -> pl.DataFrame:  # fmt: skip
    """What instruments read before training: class, or canvas without an object -> instrument (a Key) and value."""
    rows = []
    for arm, seed, (place, readings) in product(arms, seeds, values.items()):
        where = {"node": place} if place.isdigit() else {"canvas": place}
        head = {"arm": arm, **of_arm(arm), "seed": seed, "images_seen": 0, **where}
        for key, value in readings.items():
            row = _keyed(key)
            rows.append({**head, **row, "instrument": f"calibration.{row['instrument']}", "value": value})
    return make_table(rows, columns)


def short(row: Mapping[str, Any]) -> str:
    """The measurement of a row in one word: "reader.color" for the accuracy of a concept, "reader.color=blue" for an
    answer.
    """
    concept, answer = row.get("concept"), row.get("answer")
    kind, _, what = row["instrument"].rpartition(".")
    return row["instrument"] if concept is None else f"{kind}.{concept}" + (f"={answer}" if what == "answer" else "")


def _keyed(key: Key) -> dict[str, Any]:
    parts = (key,) if isinstance(key, str) else key
    return dict(zip(("instrument", "concept", "answer", "sampler"), parts, strict=False))


def without(table: pl.DataFrame, instrument: str | None = None, arm: str | None = None) -> pl.DataFrame:
    """The table less the rows of this instrument, of this arm, or of this instrument in this arm."""
    left = {"instrument": instrument, "arm": arm}
    return table.filter(~pl.all_horizontal(pl.col(name) == value for name, value in left.items() if value is not None))


def shuffled(table: pl.DataFrame, seed: int = 1) -> pl.DataFrame:
    """The same rows in another order."""
    return table.sample(fraction=1.0, shuffle=True, seed=seed)


def judge(claims: Iterable[Claim], name: str, table: pl.DataFrame) -> dict[str, Any]:
    """The judgement of the claim that is called so."""
    (claim,) = (claim for claim in claims if claim.id == name)
    return judge_all([claim], table, "study", "experiment", "full")[0]


def undecided(answer: Mapping[str, Any], reason: str = "") -> bool:
    """Whether a claim was not judged at all, and says why; in these words, if any are given."""
    judged = (answer["verdict"], answer["estimate"], answer["n"]) != ("undecided", None, 0)
    return not judged and answer["note"] != "" and reason in answer["note"]


def runs_of(experiment: Experiment, budget: str) -> dict[str, RunConfig]:
    """The trainings of an experiment at a budget, arm by arm."""
    arms = experiment.budgets[BUDGETS[BUDGETS.index(budget)]].arms
    return {arm: config for arm, config in arms.items() if isinstance(config, RunConfig)}
