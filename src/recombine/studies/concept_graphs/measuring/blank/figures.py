"""Figures of the blank experiment: what a probe's curve is made of, and what probes say of nothing."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, images_axis, one_legend
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import mean_and_band
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import empty_figure, empty_panel, put_caption, seeds_text
from recombine.lab.rules import mean
from recombine.lab.table import Curve, Table, at_end, curves, select
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.graph import Concepts
from recombine.studies.concept_graphs.measuring.blank.claims import FAILURES, FARTHEST, blank_answers, false_share

PARTS = (
    ("reader.product", "right by the reader too", "#009E73"),
    ("probe.product.other", "another object", "#E69F00"),
    ("probe.product.several", "several objects", "#CC79A7"),
    ("probe.product.none", "no object", "#4D4D4D"),
)
CANVASES = {"blank": "empty canvas", "noise": "noise", "mean": "mean image"}


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """What the probes' curve of the farthest class is made of, arm by arm; what probes say of empty canvases."""
    parts = "The farthest class: product accuracy by the probes, split by what the reader finds in the same images."
    canvas = "What the linear probes answer to an empty canvas, to noise and to the mean image."
    return {
        "figure": Drawing(made_of(table), parts),
        "canvas": Drawing(answers_to_nothing(table, config.world.concepts), canvas),
    }


def made_of(table: Table) -> Figure:
    """For each arm, the probes' product accuracy of the farthest class as stacked bands of what the reader finds."""
    arms = list(dict.fromkeys(table["arm"])) or [""]
    with new_figure(5.4 * len(arms), 6.2, 1, len(arms)) as (figure, panels):
        for axes, arm in zip(panels.flat, arms, strict=True):
            _stack(axes, table, arm)
            axes.set_title(arm + _wrong(table, arm))
        one_legend(figure, panels[0, 0])
        put_caption(
            figure,
            f"Samples of {FARTHEST}. The line is the product accuracy by the paper's linear probes; the bands below it "
            "say what the reader finds in the images that make it up. What lies above the line although the reader "
            "calls it right is not shown. Titles: share of what the probes call right, over training.",
            f"Mean of {seeds_text(table['seed'].n_unique())}.",
        )
    return figure


def _stack(axes: Axes, table: Table, arm: str) -> None:
    seen, probe = _mean(table, arm, "probe.product")
    false = [_mean(table, arm, instrument)[1] for instrument, _, _ in PARTS[1:]]
    if not len(seen) or any(len(part) != len(seen) for part in false):
        return empty_panel(axes, "not measured: probe.product and what the reader finds in it")
    right = np.clip(probe - np.sum(false, axis=0), 0, None)
    bottom = np.zeros_like(probe)
    for values, (_, label, color) in zip([right, *false], PARTS, strict=True):
        axes.fill_between(seen, bottom, bottom + values, color=color, alpha=0.75, linewidth=0, label=label)
        bottom = bottom + values
    axes.plot(seen, probe, color="black", linewidth=2.2, label="linear probes")
    images_axis(axes, float(seen.min()), float(seen.max()))
    accuracy_axis(axes, "share of samples")
    return None


def answers_to_nothing(table: Table, concepts: Concepts) -> Figure:
    """The probability that the probes give the second value of each concept where there is no object."""
    judge = "calibration.probe.answer"
    rows = select(table, judge)
    if rows.is_empty():
        return empty_figure(f"not measured: {judge}")
    rows = select(rows, arm=rows["arm"][0])  # all arms share their probes
    groups = {
        words: {
            f"{concept} = {second}": list(at_end(rows, judge, concept=concept, canvas=canvas, answer=second).values())
            for concept, (_, second) in concepts.items()
        }
        for canvas, words in CANVASES.items()
    }
    answers = list(blank_answers(table).values())
    second = " ".join(values[1] for values in concepts.values())
    with new_figure(11, 5.6) as (figure, ((axes,),)):
        draw_bars(axes, groups)
        accuracy_axis(axes, "probability by the probe")
        axes.set_title(f"{answers.count(second)} of {len(answers)} seeds' probes call an empty canvas {second}")
        one_legend(figure, axes)
        put_caption(figure, f"Bars: mean of {seeds_text(table['seed'].n_unique())} and its 95% interval; dots: seeds.")
    return figure


def _wrong(table: Table, arm: str) -> str:
    try:
        return f": {100 * mean(false_share(arm, *FAILURES)(table)):.0f}% are wrong"
    except NotMeasured:
        return ""


def _mean(table: Table, arm: str, instrument: str) -> Curve:
    found = list(curves(table, instrument, arm=arm, node=FARTHEST, sampler=None).values())
    seen, (middle, _, _) = mean_and_band(found, "min-max")
    return seen, middle
