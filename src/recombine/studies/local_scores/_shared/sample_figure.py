"""Scenes that models drew, with the labels they were told marked (Bradley 2026, Fig 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from recombine.instruments.scenes.evaluation import layouts
from recombine.lab.report.kit.sheets import draw_sheet
from recombine.lab.report.kit.style import empty_figure, house_style, put_caption
from recombine.runs.scenes import ScenesRun
from recombine.studies.local_scores._shared.marked_sheet import COUNTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recombine.lab.samples import Samples

EACH = 3
GAP = 1  # px between images on a sheet


def told_and_drawn(
    kept: Mapping[str, Samples], names: Mapping[str, str], counts: Sequence[int] = COUNTS, words: str = ""
) -> Figure:
    """Arms down, numbers of labels across: the last samples of each, a cross at every label; `words` name arms."""
    rows = [arm for arm in names if arm in kept and isinstance(kept[arm].run, ScenesRun)]
    asked = [count for count in counts if all(count in kept[arm].run.evaluation.counts for arm in rows)]  # type: ignore[attr-defined]
    if not rows or not asked:
        return empty_figure("no samples were kept")
    same = len({kept[arm].seed for arm in rows}) == 1
    with house_style():
        figure = Figure(figsize=(1.6 + 4.1 * len(asked), 0.7 + 1.42 * len(rows)), layout="constrained")
        panels = figure.subplots(len(rows), len(asked), squeeze=False)
        for line, arm in zip(panels, rows, strict=True):
            for axes, count in zip(line, asked, strict=True):
                _draw(axes, kept[arm], count)
            seed = "" if same else f"\nseed {kept[arm].seed}"
            line[0].set_ylabel(names[arm] + seed, rotation=0, ha="right", va="center")
        for axes, count in zip(panels[0], asked, strict=True):
            axes.set_title(f"{count} label" + ("" if count == 1 else "s"), loc="center")
        put_caption(
            figure,
            "Samples at the end of training, not chosen; rows of a seed have the same layouts and the same noise. "
            "Crosses: labels that the model is told.",
            words,
        )
    return figure


def _draw(axes: Axes, samples: Samples, count: int) -> None:
    run = samples.run
    assert isinstance(run, ScenesRun)
    images = samples.last[run.evaluation.counts.index(count)][:EACH]  # [k, H, W, 3]
    draw_sheet(axes, images[None])
    places, present = layouts(run.world, count, run.evaluation.layouts, run.seeds.sampling)
    step = images.shape[2] + GAP
    for number in range(len(images)):
        x, y = (places[number][present[number]].numpy() - 0.5).T
        axes.plot(
            x + GAP + number * step, y + GAP, "+", color="white", markersize=6, markeredgewidth=1.1,
            path_effects=[withStroke(linewidth=2.8, foreground="black", alpha=0.85)],
        )  # fmt: skip
