"""Made-up tables of stripes: accuracy by region, as models that compose, recall or know lone stripes alone have it."""

from collections.abc import Mapping

import polars as pl

from recombine.lab.table import COLUMNS
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

Scores = Mapping[str, tuple[float, float, float]]  # region: x, y, both
RECALL = {SEEN: (1.0, 1.0, 1.0), VERTICAL: (2 / 7, 1.0, 2 / 7), HORIZONTAL: (1.0, 2 / 7, 2 / 7),
          INTERSECTION: (2 / 7, 2 / 7, 4 / 49)}  # fmt: skip
COMPOSED = dict.fromkeys((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (0.99, 0.98, 0.97))
LONE = {SEEN: (0.5, 0.5, 0.1), VERTICAL: (1.0, 0.1, 0.1), HORIZONTAL: (0.1, 1.0, 0.1), INTERSECTION: (0.5, 0.5, 0.0)}


def table(scores: Mapping[str, Scores], seeds: int = 5) -> pl.DataFrame:
    """These scores at the end of training for each arm, a little better with each seed."""
    rows = [
        ("bumps", "compose", arm, seed, 1000, region, None, f"{how}.{what}", min(1.0, value + 0.001 * seed))
        for arm, regions in scores.items()
        for seed in range(1 if arm.startswith("memoriser") else seeds)
        for region, values in regions.items()
        for what, value in zip(("x", "y", "both"), values, strict=True)
        for how in ("darkest", "fine")
    ]
    return pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None)
