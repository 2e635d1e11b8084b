"""Numbers of the findings by training set and code."""

from collections.abc import Callable
from typing import Any

from recombine.lab.rules import average, mean
from recombine.lab.table import Table
from recombine.studies.bumps.crossing.compose.claims import BOTH, HELD_COORDINATE, right


def numbers(table: Table) -> dict[str, Any]:
    """Functions of the training set and the code."""

    def accuracy(asked: tuple[tuple[str, str], ...]) -> Callable[..., float]:
        return lambda data, code, how="fine": mean(right(average, asked, data, how, code=code)(table))

    return {"held": accuracy(HELD_COORDINATE), "meet": accuracy(BOTH)}
