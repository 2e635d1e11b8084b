"""The figure of the conditioning experiment: accuracy by distance for every way to tell and every entry."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import distance_color, empty_figure, house_style, put_caption, seeds_text
from recombine.lab.table import at_end, distances

MARKERS = {False: "o", True: "s"}


def by_arm(table: pl.DataFrame) -> Figure:
    """A panel for what the network is told, a group for each entry, a colour a distance; squares: no attention."""
    arms = list(dict.fromkeys(table["arm"].to_list()))
    if table.filter(pl.col("instrument") == "reader.product").is_empty():
        return empty_figure("not measured: reader.product")
    told = list(dict.fromkeys(arm.split("-")[0] for arm in arms))
    entries = list(dict.fromkeys(arm.split("-")[1] for arm in arms))
    with house_style():
        figure = Figure(figsize=(5.2 * len(told), 6.4), layout="constrained")
        panels = figure.subplots(1, len(told), sharey=True, squeeze=False)[0]
        for axes, how in zip(panels, told, strict=True):
            axes.set_title(how)
            for arm in (arm for arm in arms if arm.startswith(f"{how}-")):
                plain = arm.endswith("-plain")
                far = distances(table, arm)
                for distance in sorted(set(far.values())):
                    nodes = [node for node, each in far.items() if each == distance]
                    values = np.array(list(at_end(table, "reader.product", arm, nodes).values()))
                    if not len(values):
                        continue
                    at = entries.index(arm.split("-")[1]) + (distance - 1) * 0.25 + (0.07 if plain else -0.07)
                    color = distance_color(distance)
                    axes.plot(np.full(len(values), at), values, MARKERS[plain], color=color, markersize=4, alpha=0.4)
                    axes.plot([at], [values.mean()], MARKERS[plain], color=color, markersize=11)
            axes.set_xticks(range(len(entries)), entries)
            axes.set_xlim(-0.5, len(entries) - 0.5)
            accuracy_axis(axes, "product accuracy at the end" if axes is panels[0] else "")
        _legend(figure, table, arms)
        put_caption(
            figure,
            "By the reader. Large: mean over seeds of the classes at a distance; small: seeds. Round: attention at the "
            f"two inner levels; square: none. {seeds_text(table['seed'].n_unique())}.",
        )
    return figure


def _legend(figure: Figure, table: pl.DataFrame, arms: list[str]) -> None:
    from matplotlib.lines import Line2D

    far = sorted({distance for arm in arms for distance in distances(table, arm).values()})
    handles = [
        Line2D(
            [],
            [],
            color=distance_color(d),
            marker="o",
            linestyle="",
            markersize=10,
            label=f"distance {d}" if d else "trained",
        )
        for d in far
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=max(1, len(handles)))
