"""Numbers of the findings by pattern, place and side."""

from typing import Any

import polars as pl

from recombine.lab.rules import mean
from recombine.lab.table import at_end
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.studies.bumps.holes.squares.claims import HIGH, expected
from recombine.worlds.holdouts import HELD_OUT


def numbers(table: pl.DataFrame) -> dict[str, Any]:
    """Accuracy in a square; what the nearest label has; and the bound of SQ3."""

    def square(pattern: str, place: str, side: float, how: str = "fine") -> float:
        where = {"pattern": pattern, "place": place, "side": float(side), "model": TRAINED, "region": HELD_OUT}
        return mean(at_end(table, f"{how}.both", **where))

    return {"square": square, "expected": expected, "high": HIGH}
