"""How many images of the held-out class are empty at worst, with strong and with weak colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.table import curves
from recombine.studies.concept_space.speed.claims import HELD_OUT

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """The largest mean share of empty images over training, and when."""
    found: dict[str, float | str] = {}
    for name, arm in (("strong", "c0.8-s0.4"), ("weak", "c0.2-s0.4")):
        empty = list(curves(table, "reader.none", arm=arm, node=HELD_OUT, sampler=None).values())
        mean = np.mean([share for _, share in empty], axis=0)
        found |= {f"{name}_worst": float(mean.max()), f"{name}_when": float(empty[0][0][mean.argmax()])}
    return found
