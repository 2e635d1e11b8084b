"""Which classes at distance one come, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.table import distances
from recombine.studies.concept_graphs._shared.times import EMERGED, HEADLINE, reaches

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str | list[str]]:
    """The median time of the trained classes; the classes at distance one that come, in words, and that never do."""
    near = [node for node, distance in distances(table).items() if distance == 1]
    times = {node: float(np.median(list(reaches(EMERGED, "reader.product", node=node, **HEADLINE)(table).values())))
             for node in near}  # fmt: skip
    trained = reaches(EMERGED, "reader.product", distance=0, **HEADLINE)(table)
    return {
        "near": len(near),
        "d0": float(np.median(list(trained.values()))),
        "came": ", ".join(f"`{node}` ({at:,.0f})" for node, at in times.items() if np.isfinite(at)),
        "never": [f"`{node}`" for node, at in times.items() if np.isinf(at)],
    }
