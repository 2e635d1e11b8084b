"""The figure of hidden capabilities (Park et al. 2024)."""

import numpy as np

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_figure, put_caption
from recombine.lab.table import Curve, Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_space.hidden.claims import TARGET, WAYS, capability

PANELS = (("plain", "over", "over-random", "over-shuffled"), ("plain", "steer", "steer-random"))
CAPTION = "Accuracy of the held-out class when asked plainly, over-prompted and steered, beside the controls."


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """A row for each separation of colours: over-prompting and steering, each beside plain prompts and its controls."""
    colors = table["color_separation"].drop_nulls().unique().sort().to_list()
    if not colors:
        return {"figure": Drawing(empty_figure("not measured: no arm has a run"), CAPTION)}
    with new_figure(14, 5.8 * len(colors) + 0.8, len(colors), len(PANELS)) as (figure, panels):
        for row, color in zip(panels, colors, strict=True):
            for axes, ways in zip(row, PANELS, strict=True):
                series = {WAYS[way]: _curves(table, color, way) for way in ways}
                means = [np.mean([values.mean() for _, values in found]) for found in series.values() if found]
                gained = f" {means[1] - means[0]:+.2f}" if len(means) > 1 else ""
                axes.set_title(f"colours {color:g} apart: {WAYS[ways[1]]}{gained}")
                draw_series(axes, series)
        put_caption(
            figure,
            f"Product accuracy of {TARGET} by the reader; the best of several tries is chosen on one half of the "
            "samples and scored on the other. Titles: gain over plain prompts, mean over training.",
            band_caption(table["seed"].n_unique()),
        )
    return {"figure": Drawing(figure, CAPTION)}


def _curves(table: Table, color: float, way: str) -> list[Curve]:
    try:
        return list(capability(table, color, way).values())
    except NotMeasured:
        return []
