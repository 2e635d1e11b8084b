"""Numbers of the findings that no claim holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.instruments.bumps.evaluation import ALL
from recombine.lab.rules import mean
from recombine.lab.table import at_end
from recombine.studies.bumps.percolation.claims import THEORY, THRESHOLDS, half_learnt
from recombine.studies.bumps.percolation_theory.claims import critical_shares

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Where half is learnt and where sets percolate, by width; accuracy at the first evaluation."""
    import polars as pl

    learnt = [mean({seed: own.value for seed, own in seeds.items()}) for seeds in half_learnt(table).values()]
    critical = {width: mean(own) for (width, level), own in critical_shares(table, THEORY).items()
                if level == THRESHOLDS[1]}  # fmt: skip
    trained = table.filter(pl.col("images_seen") > 0)
    first = int(trained["images_seen"].to_numpy().min())
    early = trained.filter(pl.col("images_seen") == first)
    return {
        "learnt_low": min(learnt), "learnt_high": max(learnt),
        "critical_wide": critical[1.0], "critical_narrow": critical[0.3],
        "early_images": first,
        "early_narrow": mean(at_end(early, "darkest.both", region=ALL, share=1.0, width=0.1)),
        "early_wide": mean(at_end(early, "darkest.both", region=ALL, share=1.0, width=1.0)),
    }  # fmt: skip
