"""The figure of the toy: Okawa et al. 2023, Fig 7."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import SERIES_COLORS, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table, curves
from recombine.studies.concept_graphs.toy.claims import times
from recombine.studies.concept_graphs.toy.experiment import ToyConfig


def draw(table: Table, config: ToyConfig) -> dict[str, Drawing]:
    """Fig 7: P(n) over steps (a) and t*(n) over n (b); lines are the closed form, dots the simulation."""
    with new_figure(14, 6.4, 1, 2, share_y=False) as (figure, ((left, right),)):
        _draw_probability(left, table, config)
        _draw_times(right, table, config)
        put_caption(
            figure,
            f"Lines: closed form. Dots: simulated Bernoulli atoms, mean of {seeds_text(table['seed'].n_unique())}; "
            f"bars, where they can be seen: smallest to largest seed. p = {config.chance:g}.",
        )
    caption = "Probability that n atoms are all learned (a) and the step at which it reaches a level (b)."
    return {"figure": Drawing(figure, caption)}


def _draw_probability(axes: Axes, table: Table, config: ToyConfig) -> None:
    axes.set_title("a   Probability that all n atoms are learned")
    shades = colormaps["viridis"](np.linspace(0, 0.88, len(config.atoms)))
    few = slice(None, None, 8)
    for shade, n in zip(shades, config.atoms, strict=True):
        closed, drawn = (
            list(curves(table, "probability", over="step", atoms=n, way=way).values())
            for way in ("closed", "simulated")
        )
        if closed and drawn:
            axes.plot(*closed[0], color=shade, linewidth=2.6, label=f"n = {n}")
            axes.plot(drawn[0][0][few], np.mean([v for _, v in drawn], axis=0)[few], "o", color=shade, markersize=5)
    if not axes.lines:
        return empty_panel(axes, "not measured: probability")
    axes.set_xlabel("steps")
    accuracy_axis(axes, "P")
    axes.legend(loc="lower right")
    return None


def _draw_times(axes: Axes, table: Table, config: ToyConfig) -> None:
    axes.set_title("b   Step at which it reaches P*")
    for color, level in zip(SERIES_COLORS, config.levels, strict=False):
        closed, drawn = (times(table, way, level) for way in ("closed", "simulated"))
        if not closed or not drawn:
            return empty_panel(axes, f"not measured: time at level {level:g}")
        n = np.array(sorted(next(iter(drawn.values()))))
        simulated = np.array([[each[k] for k in n] for each in drawn.values()])  # [seeds, n]
        axes.plot(n, [next(iter(closed.values()))[k] for k in n], color=color, linewidth=2.6, label=f"P* = {level:g}")
        means = simulated.mean(0)
        spread = [means - simulated.min(0), simulated.max(0) - means]
        axes.errorbar(n, means, spread, fmt="o", color=color, markersize=6, capsize=3)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("n, atoms (log scale)")
    axes.set_ylabel("t*, steps")
    axes.legend(loc="upper left")
    return None
