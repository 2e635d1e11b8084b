"""Seeds that bend as in the paper, and how many images are empty at worst with strong colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.table import curves
from recombine.studies.concept_space.speed.claims import HELD_OUT
from recombine.studies.concept_space.trajectories.claims import bend_of

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """How many weak paths go by small red; the largest mean share of empty images in the strong arm."""
    empty = curves(table, "reader.none", arm="strong", node=HELD_OUT, sampler=None).values()
    return {
        "weak_positive": sum(bend > 0 for bend in bend_of("weak")(table).values()),
        "strong_empty": float(np.mean([share for _, share in empty], axis=0).max()),
    }
