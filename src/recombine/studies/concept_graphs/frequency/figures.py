"""The figure of the frequency experiment: Okawa et al. 2023, Figs 8a and 8b, and the arms of fixed frequency."""

import math

import numpy as np
from matplotlib.axes import Axes

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import distance_color, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs.frequency.claims import ITSELF, LEVEL, UNSEEN, Response, responses, threshold

CAPTION = (
    "Accuracy at the end of training of the concept that one class alone brings, against the number of images of that "
    "class, by distance from training."
)


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """Figs 8a and 8b: accuracy of colour and of shape over the number of images of the class that brings it."""
    with new_figure(13, 6.6, 1, 2) as (figure, panels):
        for axes, concept, title in zip(panels.flat, UNSEEN, ("a   Blue", "b   Triangle"), strict=True):
            unseen = [threshold(each) for each in responses(table, concept, UNSEEN[concept]).values()]
            came = [number for number in unseen if math.isfinite(number)]
            axes.set_title(title + (f" recombined from {np.median(came):.0f} images" if came else ""))
            _draw(axes, table, concept)
        one_legend(figure, max(panels.flat, key=lambda axes: len(axes.lines)))
        blue, triangle = (" and ".join(nodes) for nodes in UNSEEN.values())
        put_caption(
            figure,
            "Accuracy of the concept by the reader at the end of training. Solid: every image drawn equally often, as "
            "in the paper; dashed: the class keeps a quarter of the draws and only its number of images changes.",
            f"Distance 1: {blue} (a), {triangle} (b). Thin: seeds; thick: their mean, "
            f"{seeds_text(table['seed'].n_unique())}. Dotted: {LEVEL:g}. Titles: medians at distance 1.",
        )
    return {"figure": Drawing(figure, CAPTION)}


def _draw(axes: Axes, table: Table, concept: str) -> None:
    numbers = sorted({n for each in responses(table, concept, ITSELF[concept]).values() for n in each})
    groups = {"the class itself": ITSELF[concept], "classes at distance 1": UNSEEN[concept],
              "111, distance 2": ("111",)}  # fmt: skip
    for distance, (name, nodes) in enumerate(groups.items()):
        for rare in (True, False):
            found = list(responses(table, concept, nodes, rare).values())
            _draw_responses(axes, found, distance_color(distance), name if rare else None, "-" if rare else "--")
    if not axes.lines:
        return empty_panel(axes, f"not measured: {concept}")
    axes.axhline(LEVEL, color="#9A9A9A", linestyle=":", linewidth=1.5)
    axes.set_xscale("function", functions=(np.log1p, np.expm1))
    axes.set_xticks(numbers, [str(n) for n in numbers])
    axes.minorticks_off()
    axes.set_xlim(-0.1 if len(numbers) > 1 else -1, numbers[-1] * 1.2 + 1)
    axes.set_xlabel(f"images of class {ITSELF[concept][0]}")
    accuracy_axis(axes)
    axes.plot([], [], "--", color="#777777", linewidth=3, label="the class at a quarter of the draws")
    return None


def _draw_responses(axes: Axes, found: list[Response], color: str, label: str | None, dashes: str) -> None:
    if not found:
        return
    for each in found:
        axes.plot(list(each), list(each.values()), color=color, linewidth=0.8, alpha=0.35, linestyle=dashes)
    numbers = [n for n in found[0] if all(n in each for each in found)]
    means = [float(np.mean([each[n] for each in found])) for n in numbers]
    axes.plot(numbers, means, color=color, linewidth=3, linestyle=dashes, marker="o", label=label)
