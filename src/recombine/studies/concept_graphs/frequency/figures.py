"""The figure of the frequency experiment: Okawa et al. 2023, Figs 8a and 8b, and the arms of fixed frequency."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.style import distance_color, empty_panel, house_style, put_caption, seeds_text
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs.frequency.claims import ITSELF, LEVEL, UNSEEN, responses, threshold

Response = dict[int, dict[int, float]]


def thresholds_if_any(table: pl.DataFrame, concept: str) -> list[float]:
    """For each seed the number of images from which the concept is right at distance 1."""
    return [threshold(response) for response in responses(table, concept, UNSEEN[concept]).values()]


def draw(table: pl.DataFrame, config: RunConfig) -> dict[str, Drawing]:
    """Figs 8a and 8b: accuracy of colour and of shape over the number of images of the class that brings it."""
    with house_style():
        figure = Figure(figsize=(13, 6.6), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, concept, title in zip(panels, ("color", "shape"), ("a   Blue", "b   Triangle"), strict=True):
            unseen = [number for number in thresholds_if_any(table, concept) if math.isfinite(number)]
            needs = f" recombined from {np.median(unseen):.0f} images" if unseen else ""
            axes.set_title(f"{title}{needs}")
            _draw(axes, table, concept)
        one_legend(figure, max(panels, key=lambda axes: len(axes.lines)))
        seeds = table["seed"].n_unique()
        put_caption(
            figure,
            "Accuracy of the concept by the reader at the end of training. Solid: every image drawn equally often, as "
            "in the paper; dashed: the class keeps a quarter of the draws and only its number of images changes.",
            f"Distance 1: {_names('color')} (a), {_names('shape')} (b).",
            f"Thin: seeds; thick: their mean, {seeds_text(seeds)}. Dotted: {LEVEL:g}. Titles: medians at distance 1.",
        )
    caption = (
        "Accuracy at the end of training of the concept that one class alone brings, against the number of images of "
        "that class, by distance from training."
    )
    return {"figure": Drawing(figure, caption)}


def _draw(axes: Axes, table: pl.DataFrame, concept: str) -> None:
    drawn = False
    for distance, nodes in ((0, ITSELF[concept]), (1, UNSEEN[concept]), (2, ("111",))):
        name = ("the class itself", "classes at distance 1", "111, distance 2")[distance]
        for rare in (True, False):
            response = responses(table, concept, nodes, rare)
            drawn |= bool(response)
            _draw_response(axes, response, distance_color(distance), name if rare else None, "-" if rare else "--")
    if not drawn:
        return empty_panel(axes, f"not measured: {concept}")
    axes.axhline(LEVEL, color="#9A9A9A", linestyle=":", linewidth=1.5)
    axes.set_xscale("function", functions=(np.log1p, np.expm1))
    numbers = sorted({n for each in responses(table, concept, ITSELF[concept]).values() for n in each})
    axes.set_xticks(numbers, [str(n) for n in numbers])
    axes.minorticks_off()
    axes.set_xlim(-0.1 if len(numbers) > 1 else -1, numbers[-1] * 1.2 + 1)
    axes.set_xlabel(f"images of class {ITSELF[concept][0]}")
    accuracy_axis(axes)
    axes.plot([], [], "--", color="#777777", linewidth=3, label="the class at a quarter of the draws")
    return None


def _names(concept: str) -> str:
    return " and ".join(UNSEEN[concept])


def _draw_response(axes: Axes, response: Response, color: str, label: str | None, dashes: str) -> None:
    if not response:
        return
    for each in response.values():
        axes.plot(list(each), list(each.values()), color=color, linewidth=0.8, alpha=0.35, linestyle=dashes)
    numbers = [n for n in next(iter(response.values())) if all(n in each for each in response.values())]
    means = [float(np.mean([each[n] for each in response.values()])) for n in numbers]
    axes.plot(numbers, means, color=color, linewidth=3, linestyle=dashes, marker="o", label=label)
