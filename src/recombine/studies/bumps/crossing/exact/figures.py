"""The figure of exact machines."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.style import house_style, put_caption, seeds_text
from recombine.studies.bumps.crossing.exact.claims import arm_of, scores
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = (SEEN, VERTICAL, HORIZONTAL, INTERSECTION)
COLUMNS = {
    "darkest.both": "both right, darkest pixel", "fine.both": "both stripes right, profiles",
    "dark.asked": "darkness of the crossing",
}  # fmt: skip


def machines(table: pl.DataFrame, names: Sequence[str], sets: Sequence[str]) -> Figure:
    """A row for each training set, a column for each measure: machines down, regions across, the mean in each cell."""
    with house_style():
        figure = Figure(figsize=(15.5, 3.1 * len(sets) + 1.2), layout="constrained")
        panels = figure.subplots(len(sets), len(COLUMNS), squeeze=False)
        for row, training_set in zip(panels, sets, strict=True):
            for axes, (instrument, title) in zip(row, COLUMNS.items(), strict=True):
                _cells(axes, table, names, training_set, instrument)
                axes.set_title(f"{training_set}: {title}", fontsize=13)
            for axes in row[1:]:
                axes.set_yticklabels([])
        put_caption(
            figure,
            "Share of labels, mean over sampling seeds, for each machine and region. Darkness: 0.5 where one stripe "
            f"passes, 1 at a true crossing. {seeds_text(table['seed'].n_unique())}.",
        )
    return figure


def _cells(axes: Axes, table: pl.DataFrame, names: Sequence[str], training_set: str, instrument: str) -> None:
    values = np.full((len(names), len(REGIONS)), np.nan)
    for i, name in enumerate(names):
        for j, region in enumerate(REGIONS):
            try:
                values[i, j] = np.mean(scores(table, arm_of(name, training_set), region, instrument))
            except NotMeasured:
                continue
    axes.imshow(values, cmap="YlGnBu", vmin=0, vmax=1.15, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.6 else "#222222")
    axes.set_xticks(range(len(REGIONS)), [name.replace(" ", "\n") for name in REGIONS], fontsize=11)
    axes.set_yticks(range(len(names)), names)
    axes.grid(False)
    axes.tick_params(length=0)
