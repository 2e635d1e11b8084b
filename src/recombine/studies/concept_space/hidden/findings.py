"""Which strength of prompt is best early and late, what random colours gain, and what each steering gain gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.rules import mean
from recombine.lab.table import curves
from recombine.studies.concept_space.hidden.claims import WEAK, gain

if TYPE_CHECKING:
    import polars as pl

EARLY = 16_000  # images seen, about where over-prompting first works


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Of colours 0.2 apart, by strength: mean accuracy over seeds and halves at two moments, and over training."""
    over, steer = (_by_strength(table, way) for way in ("over", "steer"))
    at = int(np.abs(over[0] - EARLY).argmin())
    return {
        "early": float(over[0][at]),
        "best_early": max(over[1], key=lambda strength: over[1][strength][at]),
        "best_late": max(over[1], key=lambda strength: over[1][strength][-1]),
        "random_gain": mean(gain("over-random", "plain")(table)),
        "steer_by_gain": ", ".join(f"{values.mean():.2f} (gain {strength:g})" for strength, values in steer[1].items()),
    }


def _by_strength(table: pl.DataFrame, way: str) -> tuple[np.ndarray, dict[float, np.ndarray]]:
    """Images seen, and {strength: mean accuracy there}."""
    found = curves(table, "prompted.product", "half", "strength", way=way, color_separation=WEAK)
    each: dict[float, list[np.ndarray]] = {}
    for (_, _, strength), (_, values) in found.items():
        each.setdefault(strength, []).append(values)
    return next(iter(found.values()))[0], {s: np.mean(each[s], axis=0) for s in sorted(each)}
