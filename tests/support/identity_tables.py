"""Tables of the experiments on exact dynamics, made by hand or computed small."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from recombine.lab.experiment import BUDGETS, Experiment
from recombine.lab.table import make_table
from recombine.runs.work import Computation

Reading = tuple[str, str, str, float | None]
"""Arm, node, instrument, value."""


def by_hand(readings: Iterable[Reading]) -> pl.DataFrame:
    """One seed, no time."""
    return make_table([("study", "experiment", arm, 0, 0, node, None, name, v) for arm, node, name, v in readings])


def counts(arm: str, node: str, numbers: Mapping[str, float]) -> list[Reading]:
    """Several instruments of a node."""
    return [(arm, node, name, float(value)) for name, value in numbers.items()]


def computed(arms: Mapping[str, Computation]) -> pl.DataFrame:
    """What these computations give, as the lab stores it."""
    return make_table(
        [
            ("study", "experiment", arm, 0, row["images_seen"], row["node"], None, row["instrument"], row["value"])
            for arm, config in arms.items()
            for row in config.rows()
        ]
    )


def arms_of(experiment: Experiment, budget: str) -> dict[str, Any]:
    """The computations of an experiment at a budget."""
    return dict(experiment.budgets[BUDGETS[BUDGETS.index(budget)]].arms)
