"""Numbers of the findings on descents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.studies.identity_mapping._shared.flow_claims import count
from recombine.studies.identity_mapping._shared.rows import RIPPLE
from recombine.studies.identity_mapping.descents.claims import BEFORE, often
from recombine.studies.identity_mapping.descents.experiment import SETTINGS

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Shares of Euler runs beside those found before, how many are cut, and the widest setting."""
    shares = [often(arm, "euler")(table) for arm in BEFORE]
    wide, starts = often("quadruple A2", "flow")(table)
    arms = [f"{name} {power}" for name in SETTINGS for power in ("A", "A2")]
    cut = [1 - count(table, "stayed", arm=arm, way="euler") / starts for arm in arms]
    triple, _ = often("triple A2", "euler")(table)
    return {
        "euler": ", ".join(f"{100 * k / n:.1f}%" for k, n in shares),
        "before": ", ".join(f"{100 * k / 200:.1f}%" for k in BEFORE.values()),
        "cut": f"{min(cut):.0%} to {max(cut):.0%}", "wide": wide / starts, "ripple": RIPPLE,
        "stay": triple / count(table, "stayed", arm="triple A2", way="euler"),
    }  # fmt: skip
