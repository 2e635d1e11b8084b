"""The order of emergence in the arms where every distance comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.rules import rising
from recombine.studies.concept_graphs._shared.times import EMERGED, reaches

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """In how many seeds the distances come in order, and the median times with equal signals."""
    times = {
        arm: [reaches(EMERGED, "reader.product", distance=d, arm=arm, sampler=None) for d in range(3)]
        for arm in ("equal", "weak-size")
    }
    medians = [float(np.median(list(time(table).values()))) for time in times["equal"]]
    return {
        "equal_order": sum(map(int, rising(*times["equal"])(table).values())),
        "weak_order": sum(map(int, rising(*times["weak-size"])(table).values())),
        "equal_times": ", ".join(f"{median:,.0f}" for median in medians),
    }
