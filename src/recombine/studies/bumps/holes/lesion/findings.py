"""Numbers of the findings by width and depth."""

from typing import Any

import polars as pl

from recombine.instruments.bumps.band_evaluation import BAND
from recombine.lab.rules import mean
from recombine.lab.table import at_end
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.studies.bumps.holes.lesion.claims import widths_of


def numbers(table: pl.DataFrame) -> dict[str, Any]:
    """Accuracy across a band of a width, and in a bin of depth of the widest one."""
    widths = widths_of(table)

    def band(width: float, model: str = TRAINED) -> float:
        return mean(at_end(table, "fine.both", model=model, width=float(width), region=BAND))

    def deep(end: float) -> float:
        return mean(at_end(table, "fine.both", model=TRAINED, width=widths[-1], depth=float(end)))

    return {"widths": widths, "band": band, "deep": deep}
