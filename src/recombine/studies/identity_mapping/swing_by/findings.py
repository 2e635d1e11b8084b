"""Numbers of the findings on Swing-by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.studies.identity_mapping._shared.flow_claims import values
from recombine.studies.identity_mapping._shared.rows import RIPPLE
from recombine.studies.identity_mapping.swing_by.claims import DEEP, GAPS, NONE, flows, together
from recombine.studies.identity_mapping.swing_by.nets import RISE

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Shares of flows over the gap and the start, bumps of large networks, peaks over troughs."""

    def share(arm: str, gap: float, start_law: str = "positive") -> float:
        k, n = flows(arm, gap, start_law)(table)
        return k / n

    def over_gaps(arm: str) -> str:
        return ", ".join(f"{100 * share(arm, gap):.1f}%" for gap in GAPS)

    none = together(NONE, "epoch")(table)[0] + together(NONE, "step")(table)[0]
    ratios = sorted(float(np.median(values(table, "ratio", arm=arm))) for arm in (*DEEP, "run 27 small"))
    return {
        "gaps": ", ".join(f"{gap:g}" for gap in GAPS), "flows": over_gaps("A"), "flows_squared": over_gaps("A2"),
        "half": GAPS[1], "three": GAPS[3], "gaussian_squared": share("A2", 1.5, "gaussian"),
        "wide": share("A", 4.0, "wide"), "wide_squared": share("A2", 4.0, "wide"), "large_bumps": none or "no bump",
        "ratios": f"{ratios[0]:.1f} to {ratios[-1]:.1f}", "ripple": RIPPLE, "rise": RISE,
    }  # fmt: skip
