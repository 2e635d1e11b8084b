"""The figure of length generalization against conditional locality (Bradley 2026, Fig 2 right)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing, no_sheets
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import INK, empty_figure, empty_panel, put_caption, seeds_text
from recombine.lab.table import Table, at_end
from recombine.studies.local_scores._shared.recall_panels import COLORS
from recombine.studies.local_scores.locality.claims import CHANCE, REMOVED
from recombine.studies.local_scores.scatter.claims import MODELS, Point, points, rank_correlation, seed_interval

MARKERS = {"1": "o", "1-3": "s", "1-5": "^"}
SIZES = (4.0, 10.0)  # of the first and the last checkpoint
ACROSS = {  # how far a model goes
    "labels": "K_max less the number of labels trained on",
    "recall": "recall of 6 to 12 labels, on a scale from chance 0 to 1",
}
SPREAD = 0.3  # points with the same K_max are drawn side by side
CALLED = {arm: (name, objects) for name, arms in MODELS.items() for objects, arm in arms.items()}

sheets = no_sheets


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Length generalization over conditional locality."""
    caption = "Conditional locality over length generalization, models and checkpoints, by K_max and by recall."
    return {"figure": Drawing(scatter(table), caption)}


def scatter(table: Table) -> Figure:
    """A panel for each way to say how far a model goes."""
    try:
        found = points(table)
    except NotMeasured as reason:
        return empty_figure(str(reason))
    with new_figure(14, 7, 1, len(ACROSS)) as (figure, [panels]):
        for axes, (kind, label) in zip(panels, ACROSS.items(), strict=True):
            _panel(axes, table, kind)
            axes.set_xlabel(label)
        panels[0].set_ylabel("C, label removed")
        _legend(figure, {point.arm for point in found})
        put_caption(
            figure,
            f"Points: means over seeds ({seeds_text(table['seed'].n_unique())}) of a model at a checkpoint, the later "
            "the larger, joined in the order of training; small dots: seeds. Models stand slightly beside each other, "
            "at C = 1 those that are local by construction. Dotted: chance of C, and the number trained on. rho: "
            "Spearman's, over all seeds, models and checkpoints, with its 95% bootstrap interval over seeds.",
        )
    return figure


def _panel(axes: Axes, table: Table, kind: str) -> None:
    found = [point for point in points(table) if not math.isnan(point.gain(kind))]
    if not found:
        return empty_panel(axes, "chance was not measured")
    arms = list(dict.fromkeys(point.arm for point in found))
    chance = [v for arm in sorted(arms) for v in at_end(table, CHANCE[REMOVED], arm=arm, sigma=None).values()]
    accuracy_axis(axes, "", float(np.mean(chance)) if chance else None)
    if kind == "recall":
        axes.set_xlim(-0.08, max(0.5, *(point.gain(kind) for point in found)) + 0.08)
    else:
        axes.axvline(0, color="#9A9A9A", linestyle=":", linewidth=1.5, zorder=1)
    for number, arm in enumerate(arms):
        shift = 0.0 if kind == "recall" else SPREAD * (number / max(1, len(arms) - 1) - 0.5)
        _model(axes, [point for point in found if point.arm == arm], kind, shift)
    interval = seed_interval(found, kind)
    ends = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
    axes.set_title(f"by {'recall' if kind == 'recall' else 'K_max'}: rho = {rank_correlation(found, kind):.2f}{ends}")
    return None


def _model(axes: Axes, own: Sequence[Point], kind: str, shift: float) -> None:
    """The path of one model through its checkpoints, moved by so much to the right."""
    name, objects = CALLED.get(own[0].arm, ("", ""))
    color, marker = COLORS.get(name, INK), MARKERS.get(objects, "D")
    places = np.array([[point.gain(kind) + shift, point.c] for point in own])
    seen = np.array([point.seen for point in own])
    axes.plot(*places.T, ".", color=color, markersize=3, alpha=0.35)
    moments = sorted(set(seen.tolist()))
    path = np.array([places[seen == moment].mean(0) for moment in moments])
    axes.plot(*path.T, color=color, linewidth=1.2, alpha=0.6, zorder=2.5)
    sizes = np.linspace(*SIZES, len(moments)) if len(moments) > 1 else [SIZES[1]]
    for place, size in zip(path, sizes, strict=True):
        axes.plot(*place, marker, color=color, markersize=size, markeredgecolor="white", markeredgewidth=0.8, zorder=3)


def _legend(figure: Figure, arms: set[str]) -> None:
    """Colours are experiments, shapes training sets."""
    shown = [CALLED[arm] for arm in arms if arm in CALLED]
    handles = [
        Line2D([], [], color=color, marker="o", linewidth=1.5, markersize=8, label=f"Exp {name}")
        for name, color in COLORS.items() if name in {own for own, _ in shown}
    ]  # fmt: skip
    handles += [
        Line2D([], [], color="#777777", marker=marker, linestyle="none", markersize=8, label=f"trained on {objects}")
        for objects, marker in MARKERS.items() if objects in {o for _, o in shown}
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=6)
