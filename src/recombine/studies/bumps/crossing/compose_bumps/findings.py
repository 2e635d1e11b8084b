"""Numbers of the findings that are means over the three held-out regions."""

import polars as pl

from recombine.lab.rules import mean
from recombine.studies.bumps.crossing.compose_bumps.claims import held_out


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Fine accuracy where no bump was seen, with stripes and without."""
    return {f"fine_{name}": mean(held_out(name == "with", 1.0, "fine")(table)) for name in ("with", "without")}
