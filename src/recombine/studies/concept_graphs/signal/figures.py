"""Figures of the signal experiment: the concepts of the farthest class over training, a panel for each arm."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_figure, put_caption
from recombine.lab.table import Table, at_end, curves
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.signal.claims import FARTHEST
from recombine.studies.concept_graphs.signal.experiment import ARMS, pixel_signals

BY_SIGNAL = ("as-is", "equal", "weak-color", "weak-size")
BY_RARITY = ("as-is", "blue-even", "blue-most")


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """The three concepts of the farthest class over training, by the signals of concepts and by the share of blue."""
    changes = {arm: {k: v for k, v in each.items() if k.startswith("world.")} for arm, each in ARMS.items()}
    signals = {arm: pixel_signals(override(config, each).world) for arm, each in changes.items()}
    by_signal = "The concepts of the farthest class over training, where concepts differ in pixel signal."
    by_rarity = "The same where blue is in a quarter, in half and in three quarters of the images."
    return {
        "figure": Drawing(concepts_by_arm(table, signals, BY_SIGNAL), by_signal),
        "rarity": Drawing(concepts_by_arm(table, signals, BY_RARITY), by_rarity),
    }


def concepts_by_arm(table: Table, signals: dict[str, dict[str, float]], shown: Sequence[str]) -> Figure:
    """Accuracy of each concept of 111; the legend says how strong each concept's signal is."""
    arms = [arm for arm in shown if arm in set(table["arm"])]
    if not arms:
        return empty_figure(f"not measured: {', '.join(shown)}")
    columns = 2 if len(arms) == 4 else len(arms)
    rows = -(-len(arms) // columns)
    with new_figure(14 if columns == 2 else 5.4 * columns, 5.4 * rows + 0.9, rows, columns) as (figure, panels):
        for axes, arm in zip(panels.flat, arms, strict=True):
            where: dict[str, Any] = {"arm": arm, "node": FARTHEST, "sampler": None}
            final = list(at_end(table, "reader.product", **where).values())
            axes.set_title(arm + (f": {FARTHEST} at {np.mean(final):.2f}" if final else ""))
            series = {
                f"{concept} ({strength:.3f})": list(curves(table, "reader.accuracy", concept=concept, **where).values())
                for concept, strength in signals[arm].items()
            }
            draw_series(axes, series)
        put_caption(
            figure,
            f"Accuracy of the concepts of {FARTHEST} by the reader; titles: its product accuracy at the end. In "
            "brackets: its pixel signal, the mean squared difference between classes that differ in it alone.",
            band_caption(table["seed"].n_unique()),
        )
    return figure
