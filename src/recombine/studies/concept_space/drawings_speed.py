"""The figure of learning times over concept signals (Park et al. 2024)."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.figures import FAINT, count_text, empty_panel, house_style, put_caption, seeds_text
from recombine.studies.concept_space.claims_speed import HELD_OUT, THRESHOLD, learning_times


def times(table: pl.DataFrame, total: int) -> Figure:
    """The time of colour over D_c and of size over D_s, a line for each separation of the other concept."""
    with house_style():
        figure = Figure(figsize=(13, 6.2), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _draw(left, table, "color", 0, total, "a   Colour", ("colour separation", "sizes"))
        _draw(right, table, "size", 1, total, "b   Size", ("size separation", "colours"))
        put_caption(
            figure,
            f"Images seen until the concept's accuracy in the held-out class {HELD_OUT} stays at {THRESHOLD:g}, by the "
            f"reader. Large: median over {seeds_text(table['seed'].n_unique())}; small: seeds. Dashed: end of "
            "training, where runs are put that have not learned it.",
        )
    return figure


def _draw(
    axes: Axes, table: pl.DataFrame, concept: str, own: int, total: int, title: str, names: tuple[str, str]
) -> None:
    axes.set_title(title)
    try:
        measured = learning_times(table, concept)
    except NotMeasured as reason:
        return empty_panel(axes, str(reason))
    others = sorted({place[1 - own] for place in measured})
    shades = colormaps["viridis"](np.linspace(0, 0.85, len(others)))
    for order, (shade, other) in enumerate(zip(shades, others, strict=True)):
        found = {
            place[own]: np.minimum(list(t.values()), total) for place, t in measured.items() if place[1 - own] == other
        }
        at = np.array(sorted(found)) + 0.006 * (order - (len(others) - 1) / 2)  # so that seeds do not hide each other
        each = [found[separation] for separation in sorted(found)]
        label = f"{names[1]} {other:g} apart"
        axes.plot(at, [np.median(t) for t in each], "o-", color=shade, linewidth=2.6, markersize=9, label=label)
        for x, t in zip(at, each, strict=True):
            axes.plot(np.full(len(t), x), t, "o", color=shade, markersize=4, alpha=0.45)
    axes.axhline(total, color=FAINT, linestyle="--", linewidth=1.2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: count_text(value))
    axes.set_xticks(sorted({place[own] for place in measured}))
    axes.set_xlabel(names[0])
    if own == 0:
        axes.set_ylabel("images seen")
    axes.legend(loc="best")
    return None
