"""The figure of the conditioning experiment: accuracy by distance for all conditions and entries."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import distance_color, empty_figure, put_caption, seeds_text
from recombine.lab.table import Table, distances, select
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs.conditioning.claims import held_out

ENTRIES = {"multiply": "sum,\nmultiplied", "add": "sum,\nadded", "joint": "joint,\nmultiplied"}
MARKERS = {True: "o", False: "s"}  # with attention, and without
CAPTION = "Product accuracy at the end of training by distance, for what the network receives and how it enters."


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """A panel for what the network receives, a group for each entry, a colour a distance; squares: no attention."""
    if select(table, "reader.product").is_empty():
        return {"figure": Drawing(empty_figure("not measured: reader.product"), CAPTION)}
    conditions = list(dict.fromkeys(table["conditions"]))
    far = sorted(set(distances(table).values()))
    with new_figure(5.2 * len(conditions), 6.8, 1, len(conditions)) as (figure, panels):
        for axes, how in zip(panels.flat, conditions, strict=True):
            near = held_out(table, conditions=how)
            axes.set_title(how + (f": {np.mean(list(near.values())):.2f} at distance 1" if near else ""))
            _draw(axes, select(table, conditions=how), far)
            accuracy_axis(axes, "product accuracy at the end" if axes is panels[0, 0] else "")
        handles = [
            Line2D([], [], color=distance_color(d), marker="o", linestyle="", markersize=10,
                   label=f"distance {d}" if d else "trained")
            for d in far
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper right", ncols=max(1, len(handles)))
        put_caption(
            figure,
            "By the reader. Large: mean over seeds of the classes at a distance; small: seeds. Round: attention at the "
            f"two inner levels; square: none. {seeds_text(table['seed'].n_unique())}. Titles: mean over the arms.",
        )
    return {"figure": Drawing(figure, CAPTION)}


def _draw(axes: Axes, rows: Table, far: list[int]) -> None:
    entries = [entry for entry in ENTRIES if not select(rows, entry=entry).is_empty()]
    for place, entry in enumerate(entries):
        for attention, marker in MARKERS.items():
            for distance in far:
                values = np.array(list(held_out(rows, distance, entry=entry, attention=attention).values()))
                if len(values):
                    at = place + (distance - 1) * 0.25 + (-0.07 if attention else 0.07)
                    color = distance_color(distance)
                    axes.plot(np.full(len(values), at), values, marker, color=color, markersize=4, alpha=0.4)
                    axes.plot([at], [values.mean()], marker, color=color, markersize=11)
    axes.set_xticks(range(len(entries)), [ENTRIES[entry] for entry in entries])
    axes.set_xlim(-0.5, max(len(entries), 1) - 0.5)
