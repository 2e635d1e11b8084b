"""Numbers of the findings on truncation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.rules import mean
from recombine.studies.identity_mapping._shared.flow_claims import values
from recombine.studies.identity_mapping.truncation.claims import BITES, SHIFT, over_predicted, share_inside, shifts
from recombine.studies.identity_mapping.truncation.experiment import EXPERIMENT, TruncationConfig

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Shifts in percent, shares of points inside, and how well delays are predicted."""

    def percent(value: float) -> str:
        return f"{100 * value:.1f}"

    arms = EXPERIMENT.budgets["full"].arms
    found: dict[str, float | str] = {"bound": SHIFT, "datasets": len(values(table, "inside", arm="released"))}
    for name, arm in {"released": "released", "wide": "wide", "round": "round", "relu": "wide relu"}.items():
        found[f"{name}_median"] = percent(float(np.median(shifts(table, arm))))
        found[f"{name}_most"] = percent(float(shifts(table, arm).max()))
        found[f"{name}_cut"] = percent(share_inside(table, arm))
        config = arms[arm]
        assert isinstance(config, TruncationConfig)
        found[f"{name}_variance"] = f"{config.world.spreads[0]:g}"
    found["round_over"] = int((shifts(table, "round") >= SHIFT).sum())
    off = abs(mean(over_predicted(*BITES)(table)) - 1)
    return found | {"explained": f"{100 * off:.2f}"}
