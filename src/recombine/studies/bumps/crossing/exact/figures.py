"""The figure of denoisers that were not trained."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import put_caption, seeds_text
from recombine.lab.rules import mean
from recombine.lab.table import Table, at_end
from recombine.runs.work import Work
from recombine.studies.bumps.crossing.exact.claims import MODELS, both
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

REGIONS = {SEEN: "seen", VERTICAL: "vertical\narm", HORIZONTAL: "horizontal\narm", INTERSECTION: "where\nthey cross"}
INSTRUMENTS = {
    "darkest.both": "both right, darkest pixel", "fine.both": "both stripes right, fine",
    "dark.asked": "darkness of the crossing",
}  # fmt: skip


def draw(table: Table, config: Work) -> dict[str, Drawing]:
    """What each model puts where, trained on 2D+1D; and on 2D and 1D."""
    return {
        "figure": Drawing(cells(table, "2D+1D"), "Where each model puts stripes, by region, from 2D+1D."),
        **{
            data: Drawing(cells(table, data), f"Where each model puts stripes, by region, from {data}.")
            for data in ("2D", "1D")
        },
    }


def cells(table: Table, data: str) -> Figure:
    """A panel for each measure: models down, regions across, the mean over seeds in each cell."""
    with new_figure(17, 5.8, 1, len(INSTRUMENTS), share_y=False) as (figure, [panels]):
        for axes, (instrument, title) in zip(panels, INSTRUMENTS.items(), strict=True):
            _cells(axes, table, data, instrument)
            axes.set_title(title, fontsize=15)
        for axes in panels[1:]:
            axes.set_yticklabels([])
        if data == "2D+1D" and (found := both(MODELS[-1], "fine")(table)):
            panels[1].set_title(f"both stripes right, fine: up to {mean(found):.0%}", fontsize=15)
        put_caption(
            figure,
            f"Training set {data}: share of labels, mean over sampling seeds, for each model and region. Darkness: "
            f"0.5 where one stripe passes, 1 at a true crossing. {seeds_text(table['seed'].n_unique())}.",
        )
    return figure


def _cells(axes: Axes, table: Table, data: str, instrument: str) -> None:
    values = np.array(
        [
            [mean(at_end(table, instrument, data=data, model=model, region=region)) for region in REGIONS]
            for model in MODELS
        ]
    )
    axes.imshow(values, cmap="YlGnBu", vmin=0, vmax=1.15, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.6 else "#222222")
    axes.set_xticks(range(len(REGIONS)), list(REGIONS.values()), fontsize=12)
    axes.set_yticks(range(len(MODELS)), [name.replace(" by", "\nby") for name in MODELS])
    axes.grid(False)
    axes.tick_params(length=0)
