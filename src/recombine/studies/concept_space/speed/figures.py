"""The figure of learning times over concept signals (Park et al. 2024)."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_space.speed.claims import HELD_OUT, THRESHOLD, learning_times


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """The time of colour over D_c and of size over D_s, a line for each separation of the other concept."""
    total = config.training.total
    with new_figure(14, 12.4, 2, 2) as (figure, panels):
        for (left, right), letters, objects in zip(panels, ("ab", "cd"), (False, True), strict=True):
            where = ", images with an object" if objects else ", all images"
            _draw(left, table, "color", total, f"{letters[0]}   Colour{where}", objects)
            _draw(right, table, "size", total, f"{letters[1]}   Size{where}", objects)
        put_caption(
            figure,
            f"Images seen until the concept's accuracy in the held-out class {HELD_OUT} stays at {THRESHOLD:g}, by the "
            f"reader. Large: median over {seeds_text(table['seed'].n_unique())}; small: seeds. Dashed: end of "
            "training, where runs are put that have not learned it. Titles: ratio of medians, weakest to strongest "
            "signal, the other concept's strongest.",
        )
    caption = (
        "Images seen until the colour (a) and the size (b) of the held-out class are right, over its signal; a line "
        "for each signal of the other concept; the same among images that hold an object (c, d)."
    )
    return {"figure": Drawing(figure, caption)}


def _draw(axes: Axes, table: Table, concept: str, total: int, title: str, objects: bool) -> None:
    axis, name, others_name = (0, "colour", "sizes") if concept == "color" else (1, "size", "colours")
    axes.set_title(title)
    try:
        measured = learning_times(table, concept, objects)
    except NotMeasured as reason:
        return empty_panel(axes, str(reason))
    others = sorted({place[1 - axis] for place in measured})
    shades = colormaps["viridis"](np.linspace(0, 0.85, len(others)))
    for order, (shade, other) in enumerate(zip(shades, others, strict=True)):
        found = {place[axis]: np.minimum(list(t.values()), total)
                 for place, t in sorted(measured.items()) if place[1 - axis] == other}  # fmt: skip
        at = np.array(list(found)) + 0.006 * (order - (len(others) - 1) / 2)  # so that seeds do not hide each other
        medians = [float(np.median(t)) for t in found.values()]
        axes.plot(at, medians, "o-", color=shade, linewidth=2.6, markersize=9, label=f"{others_name} {other:g} apart")
        for x, t in zip(at, found.values(), strict=True):
            axes.plot(np.full(len(t), x), t, "o", color=shade, markersize=4, alpha=0.45)
    axes.set_title(f"{title}: ratio {medians[0] / medians[-1]:.1f}")  # of the strongest of the others
    axes.axhline(total, color=FAINT, linestyle="--", linewidth=1.2)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: count_text(value))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sorted({place[axis] for place in measured}))
    axes.set_xlabel(f"{name} separation")
    if axis == 0:
        axes.set_ylabel("images seen")
    if not objects:
        axes.legend(loc="best")
    return None
