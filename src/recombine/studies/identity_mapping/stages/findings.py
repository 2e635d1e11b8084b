"""Numbers of the findings on stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.studies.identity_mapping._shared.flow_claims import values
from recombine.studies.identity_mapping.stages.experiment import StagesConfig

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """How much the moments of the concepts differ, and the largest error of the equation."""
    weak, strong, _ = StagesConfig().moments().tolist()
    worst = float(values(table, "error").max())
    return {"ratio": strong / weak, "ratio_squared": (strong / weak) ** 2, "worst": f"{worst:.0e}"}
