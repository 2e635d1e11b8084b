"""Median thresholds of the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.studies.concept_graphs.frequency.claims import ITSELF, UNSEEN, thresholds

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Median numbers of images for a concept in its class and in unseen classes; seeds in which the class is first."""
    itself, unseen = ({c: thresholds(table, c, nodes[c]) for c in nodes} for nodes in (ITSELF, UNSEEN))
    return {
        "color_itself": float(np.median(list(itself["color"].values()))),
        "shape_itself": float(np.median(list(itself["shape"].values()))),
        "shape_unseen": float(np.median(list(unseen["shape"].values()))),
        "shape_in_order": sum(itself["shape"][seed] < unseen["shape"][seed] for seed in itself["shape"]),
    }
