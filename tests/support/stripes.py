"""Made-up tables of stripes: accuracy by region, of models that compose, that answer with the nearest label, or that
know lone stripes alone.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from recombine.lab.table import Columns, make_table
from recombine.studies.bumps._shared.columns import DATA
from recombine.studies.bumps._shared.nearest_label import NEAREST
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

Scores = Mapping[str, tuple[float, float, float]]  # region: x, y, both
NEAR = {SEEN: (1.0, 1.0, 1.0), VERTICAL: (2 / 7, 1.0, 2 / 7), HORIZONTAL: (1.0, 2 / 7, 2 / 7),
        INTERSECTION: (2 / 7, 2 / 7, 4 / 49)}  # fmt: skip
COMPOSED = dict.fromkeys((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (0.99, 0.98, 0.97))
LONE = {SEEN: (0.5, 0.5, 0.1), VERTICAL: (1.0, 0.1, 0.1), HORIZONTAL: (0.1, 1.0, 0.1), INTERSECTION: (0.5, 0.5, 0.0)}


def stripes_table(
    *arms: tuple[Mapping[str, Any], Scores], columns: Columns = DATA, rise: float = 0.001
) -> pl.DataFrame:
    """For each arm, named by its columns, these scores at the end of training; each of five seeds a little better."""
    return make_table(
        [
            {"arm": " ".join(map(str, arm.values())), **arm, "seed": seed, "region": region,
             "images_seen": None if arm["model"] == NEAREST else 1000, "instrument": f"{how}.{what}",
             "value": min(1.0, value + rise * seed)}
            for arm, regions in arms
            for seed in range(1 if arm["model"] == NEAREST else 5)
            for region, values in regions.items()
            for what, value in zip(("x", "y", "both"), values, strict=True)
            for how in ("darkest", "fine")
        ],
        columns,
    )  # fmt: skip
