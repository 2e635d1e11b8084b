"""Numbers of the findings that take more than one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.numbers import number_text
from recombine.lab.table import curves
from recombine.studies.concept_graphs._shared.times import EMERGED, HEADLINE, reaches

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Median times of the distances by reader and probes, and the best that small red triangles ever reach."""
    reader, probe = (
        [reaches(EMERGED, f"{judge}.product", distance=distance, **HEADLINE)(table) for distance in range(3)]
        for judge in ("reader", "probe")
    )
    d0, d1 = (float(np.median(list(times.values()))) for times in reader[:2])
    in_order = sum(a < b < c for a, b, c in zip(*(times.values() for times in probe), strict=True))
    tops = [values.max() for _, values in curves(table, "reader.product", arm="binary", node="101").values()]
    return {
        "emerged": EMERGED,
        "d0": d0,
        "d1": d1,
        "probe_order": in_order,
        "probe_d2": float(np.median(list(probe[2].values()))),
        "best_101": ", ".join(map(number_text, tops)),
    }
