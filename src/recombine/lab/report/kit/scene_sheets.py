"""Scenes that models drew, with their labels marked (Bradley 2026, Fig 1): one figure of all arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from recombine.instruments.scenes.evaluation import layouts
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.sheets import draw_sheet
from recombine.lab.report.kit.style import empty_figure, house_style, put_caption
from recombine.runs.scenes import ScenesRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from recombine.lab.samples import Samples

COUNTS = (1, 3, 6, 9)  # the paper's
EACH = 3
GAP = 1  # px between images on a sheet


def marked_sheet(
    caption: str, name: Callable[[str], str | None] = str, counts: Sequence[int] = COUNTS, words: str = "",
    sheet: str = "samples",
) -> Callable[[Mapping[str, Samples]], dict[str, Drawing]]:  # fmt: skip
    """Sheets of an experiment; `name`: how an arm is called, None if it is left out; `words` go below the figure."""

    def sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
        names = {arm: named for arm in kept if (named := name(arm)) is not None}
        if kept and not names:
            return {}  # a budget that has none of these arms
        return {sheet: Drawing(labels_and_samples(kept, names, counts, words), caption)}

    return sheets


def labels_and_samples(
    kept: Mapping[str, Samples], names: Mapping[str, str], counts: Sequence[int] = COUNTS, words: str = ""
) -> Figure:
    """Arms down, numbers of labels across: the last samples of each, a cross at every label; `words` name arms."""
    runs = {arm: run for arm in names if arm in kept and isinstance(run := kept[arm].run, ScenesRun)}
    asked = [count for count in counts if all(count in run.evaluation.counts for run in runs.values())]
    if not runs or not asked:
        return empty_figure("no samples were kept")
    same = len({kept[arm].seed for arm in runs}) == 1
    with house_style():
        figure = Figure(figsize=(1.6 + 4.1 * len(asked), 0.7 + 1.42 * len(runs)), layout="constrained")
        panels = figure.subplots(len(runs), len(asked), squeeze=False)
        for line, arm in zip(panels, runs, strict=True):
            for axes, count in zip(line, asked, strict=True):
                _draw(axes, kept[arm], runs[arm], count)
            seed = "" if same else f"\nseed {kept[arm].seed}"
            line[0].set_ylabel(names[arm] + seed, rotation=0, ha="right", va="center")
        for axes, count in zip(panels[0], asked, strict=True):
            axes.set_title(f"{count} label" + ("" if count == 1 else "s"), loc="center")
        seen = ", ".join(count_text(total) for total in sorted({run.training.total for run in runs.values()}))
        put_caption(
            figure,
            f"Samples after {seen} images seen{f', seed {kept[next(iter(runs))].seed}' if same else ''}, not chosen; "
            "models of a seed have the same layouts and the same noise. Crosses: labels, the model's condition.",
            words,
        )
    return figure


def _draw(axes: Axes, samples: Samples, run: ScenesRun, count: int) -> None:
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
