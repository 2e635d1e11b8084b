"""Tables of the experiments on exact dynamics, made by hand or computed small."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from recombine.lab.experiment import BUDGETS, Experiment
from recombine.lab.table import make_table
from recombine.runs.work import Computation


def by_hand(experiment: Experiment, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """These rows, of one seed."""
    return make_table([{"seed": 0, **row} for row in rows], experiment.columns)


def computed(experiment: Experiment, arms: Mapping[str, Computation]) -> pl.DataFrame:
    """What these computations give, as the lab stores it."""
    shared = experiment.arm_columns(arms)
    rows = [{"arm": arm, **shared.get(arm, {}), **row} for arm, config in arms.items() for row in config.rows()]
    return by_hand(experiment, rows)


def arms_of(experiment: Experiment, budget: str) -> dict[str, Any]:
    """The computations of an experiment at a budget."""
    return dict(experiment.budgets[BUDGETS[BUDGETS.index(budget)]].arms)
