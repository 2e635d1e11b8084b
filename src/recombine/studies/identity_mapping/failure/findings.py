"""Numbers of the findings on failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.studies.identity_mapping._shared.flow_claims import count, values
from recombine.studies.identity_mapping.failure.claims import LARGE, PLOTTED, failed, flown

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """How long runs wait, who is lost at the end of the figure, and how likely the earlier counts are."""
    from scipy.stats import fisher_exact

    def chance(found: tuple[int, int], before: tuple[int, int]) -> str:
        return f"{float(fisher_exact([[k, n - k] for k, n in (found, before)])[1]):.1g}"

    at_the_end = {"arm": "A2", "eta": LARGE, "at": "plotted"}
    bad, lost = (count(table, name, **at_the_end) for name in ("failed", "both"))
    return {
        "longer": count(table, "followed", arm="A2") / PLOTTED, "plotted": PLOTTED,
        "last": float(values(table, "escape", arm="A").max()), "failed": bad, "lost": lost, "waiting": bad - lost,
        "starts": failed("A2", LARGE)(table)[1], "p_euler_squared": chance(failed("A2", LARGE)(table), (47, 60)),
        "p_euler": chance(failed("A", LARGE)(table), (29, 60)), "p_late": chance(flown("late", "A2")(table), (57, 60)),
    }  # fmt: skip
