"""The figures of the stages: Yang et al. 2025, Figs 5, 17 and 18."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import Table, curves
from recombine.studies.identity_mapping._shared.figures import ARMS, draw_quantiles
from recombine.studies.identity_mapping._shared.starts import values
from recombine.studies.identity_mapping.stages.claims import STAGES

if TYPE_CHECKING:
    from recombine.runs.identity.stages import StagesConfig

THIN = (0, (5, 1.5))
ENTRIES: dict[tuple[int, int], tuple[str, Any, str]] = {
    (2, 2): ("#0072B2", "-", "w22: stronger concept"),
    (1, 1): ("#D55E00", "-", "w11: weaker concept"),
    (1, 2): ("#009E73", "-", "w12: their minor"),
    (2, 3): ("#56B4E9", THIN, "w23: stronger and idle"),
    (1, 3): ("#E69F00", THIN, "w13: weaker and idle"),
    (3, 3): (FAINT, (0, (1.2, 1.2)), "w33: idle"),
}
"""Colour, dashes and name of each entry of W."""
TERMS: dict[str, tuple[str, Any, str]] = {
    "growth": ("#0072B2", "-", "growth 2G"),
    "suppression": ("#D55E00", "-", "suppression 2S"),
    "noise": (FAINT, "-", "noise 2N"),
    "motion": (INK, THIN, "sum: w12'"),
}


def draw(table: Table, config: StagesConfig) -> dict[str, Drawing]:
    """Fig 5, with Figs 17 and 18, over all starts; and one start as the paper shows it."""
    return {
        "figure": Drawing(
            _all_starts(table, config), "Entries of W over time, and growth, suppression and noise of the minor."
        ),
        "one-start": Drawing(_one_start(table), "Entries of W over time, of one start."),
    }


def _all_starts(table: Table, config: StagesConfig) -> Figure:
    """A row an arm: the entries, and what moves the minor."""
    with house_style():
        drawing = Figure(figsize=(14, 11), layout="constrained")
        for (entries, moving), (arm, name) in zip(drawing.subplots(2, 2), ARMS.items(), strict=True):
            when = _median_times(table, arm)
            reached = f": stages at {', '.join(f'{time:.2g}' for time in when)}" if when else ""
            entries.set_title(f"Entries of W, {name}{reached}")
            moving.set_title(f"What moves the minor, {name}")
            for (i, j), (color, dashes, label) in ENTRIES.items():
                draw_quantiles(entries, table, "weight", color, label, dashes=dashes, arm=arm, i=i, j=j)
            for term, (color, dashes, label) in TERMS.items():
                draw_quantiles(moving, table, term, color, label, dashes=dashes, arm=arm)
            for axes, what in ((entries, "entry of W"), (moving, "part of w12'")):
                _finish(axes, table, arm, what, when)
        mu, n = ", ".join(f"{signal:g}" for signal in config.signals), len(values(table, "error")) // len(ARMS)
        put_caption(
            drawing,
            f"mu = ({mu}), U uniform in (0, {config.scale:g}). Lines: median over n = {n} starts, "
            f"seed 0; bands: 5 to 95% of them. Dotted, medians: 1 the stronger concept at {config.level:g}, "
            f"2 the minor below {config.remnant:g} of its peak, 3 the weaker concept at {config.level:g}.",
        )
    return drawing


def _one_start(table: Table) -> Figure:
    with house_style():
        drawing = Figure(figsize=(14, 5.5), layout="constrained")
        for axes, (arm, name) in zip(drawing.subplots(1, 2), ARMS.items(), strict=True):
            axes.set_title(f"One start, {name}")
            for (i, j), (color, dashes, label) in ENTRIES.items():
                for times, heights in curves(table, "weight", over="time", arm=arm, i=i, j=j, start=0).values():
                    axes.plot(times, heights, color=color, linestyle=dashes, linewidth=2.6, label=label)
            _finish(axes, table, arm, "entry of W", ())
        put_caption(drawing, "The first start of seed 0, not a chosen one; n = 1.")
    return drawing


def _median_times(table: Table, arm: str) -> list[float]:
    found = [values(table, "stage", arm=arm, stage=stage) for stage in STAGES]
    return [float(np.median(times)) for times in found] if all(map(len, found)) else []


def _finish(axes: Axes, table: Table, arm: str, what: str, when: list[float] | tuple[()]) -> None:
    """Axes up to a while after the last stage of most starts, stages marked, and the legend."""
    if not axes.lines:
        return empty_panel(axes, f"not measured: {what} in arm {arm}")
    for number, time in enumerate(when, start=1):
        axes.axvline(time, color=INK, linestyle=":", linewidth=1.4, zorder=1)
        axes.annotate(str(number), (time, 1), xycoords=("data", "axes fraction"), xytext=(4, -14),
                      textcoords="offset points", fontweight="bold")  # fmt: skip
    last = values(table, "stage", arm=arm, stage=STAGES[-1])
    axes.set(xlabel="time of gradient flow", ylabel=what, xlim=(0, 1.25 * float(np.quantile(last, 0.95))))
    axes.legend(loc="best" if len(axes.lines) < 8 else "center right")
    return None
