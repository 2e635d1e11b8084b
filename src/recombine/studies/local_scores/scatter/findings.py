"""Numbers of the findings of the scatter plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.studies.local_scores.scatter.claims import points, rank_correlation, without_each

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float]:
    """How many points have next to no K_max, and the rank correlation by recall without each kind of model."""
    found = points(table)
    own = without_each(found, "recall").values()
    return {
        "small": float(np.mean([point.longest <= 1 for point in found])),
        "models": len({point.arm for point in found}),
        "kinds": len(own),
        "rho": rank_correlation(found, "recall"),
        "least": min(own),
        "most": max(own),
    }
