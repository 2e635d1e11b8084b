"""Numbers of the findings of the scatter plot."""

import numpy as np

from recombine.lab.table import Table
from recombine.studies.local_scores.scatter.claims import points, rank_correlation, without_each


def numbers(table: Table) -> dict[str, float]:
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
