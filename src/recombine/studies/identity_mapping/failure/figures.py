"""The figures of the failure that is none: Yang et al. 2025, Fig 10, four times as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import one_legend
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.studies.identity_mapping._shared.figures import ARMS, draw_quantiles, one_curve
from recombine.studies.identity_mapping._shared.starts import count, values

if TYPE_CHECKING:
    import polars as pl

    from recombine.runs.identity.failure import FailureConfig

FLOW, EULER = "#0072B2", ("#D55E00", "#E69F00")
PARTS = {
    "both": ("#D55E00", "failed, not semidefinite"), "failed": ("#E69F00", "failed, semidefinite"),
    "lost": ("#CC79A7", "learned, not semidefinite"), "neither": ("#009E73", "learned, semidefinite"),
}  # fmt: skip
FLOOR = 1e-4  # of what is drawn


def draw(table: pl.DataFrame, config: FailureConfig) -> dict[str, Drawing]:
    """Fig 10, four times as long, with the escapes; and what becomes of Euler's runs."""
    return {
        "figure": Drawing(_flows(table, config), "The loss at the probe past the end of the paper's figure."),
        "euler": Drawing(_runs(table, config), "Which Euler runs fail, and which lose positive semidefiniteness."),
    }


def _flows(table: pl.DataFrame, config: FailureConfig) -> Figure:
    """A row an arm: losses over time, times of escape."""
    with house_style():
        drawing = Figure(figsize=(15, 12), layout="constrained")
        for (losses, escapes), (arm, name) in zip(drawing.subplots(2, 2), ARMS.items(), strict=True):
            _draw_losses(losses, table, arm, config)
            losses.set_title(f"Loss at the probe, {name}")
            _draw_escapes(escapes, table, arm, name, config)
        mu = ", ".join(f"{signal:g}" for signal in config.signals)
        put_caption(
            drawing,
            f"mu = ({mu}), n = {config.starts} starts an arm, seed 0. Left: median of the exact flow on U, band from 5 "
            "to 95% of starts; one start (the first that Euler loses) by the flow and by Euler's steps on W, whose "
            "lines end where they diverge. Right: when w11 reaches one half. Dotted: "
            f"t = {config.plotted:g}, where the paper's figure ends. Time as in the scripts.",
        )
    return drawing


def _runs(table: pl.DataFrame, config: FailureConfig) -> Figure:
    with house_style():
        drawing = Figure(figsize=(14, 7), layout="constrained")
        for axes, (arm, name) in zip(drawing.subplots(1, 2, sharey=True), ARMS.items(), strict=True):
            _draw_runs(axes, table, arm, config)
            axes.set_title(f"Euler on W, {name}")
        one_legend(drawing, drawing.axes[0])
        put_caption(drawing, f"Euler's runs at the end of the paper's figure and later; n = {config.starts}, seed 0.")
    return drawing


def _draw_losses(axes: Axes, table: pl.DataFrame, arm: str, config: FailureConfig) -> None:
    if not draw_quantiles(axes, table, "loss", FLOW, "flow, median", floor=FLOOR, arm=arm, way="flow"):
        return empty_panel(axes, "not measured: loss")
    if (one := one_curve(table, "example.loss", arm=arm, way="flow")) is not None:
        axes.plot(one[0], one[1].clip(FLOOR), color=INK, linewidth=1.8, label="flow, one start", zorder=4)
    for eta, color in zip(config.etas, EULER, strict=False):
        if (one := one_curve(table, "example.loss", arm=arm, way="euler", eta=eta)) is not None:
            axes.plot(one[0], one[1].clip(FLOOR), color=color, linewidth=2.2, linestyle=(0, (5, 1.5)),
                      label=f"Euler {eta:g}, same start", zorder=5)  # fmt: skip
    axes.set(yscale="log", ylim=(FLOOR, 100), xlabel="time", ylabel="loss (log scale)")
    axes.set_xlim(0, config.span if arm == "A2" else min(config.span, 1.2 * config.plotted))
    _mark_end(axes, config)
    axes.legend(loc="upper right" if arm == "A2" else "center right", frameon=True, framealpha=1, edgecolor="none")
    return None


def _draw_escapes(axes: Axes, table: pl.DataFrame, arm: str, name: str, config: FailureConfig) -> None:
    times = values(table, "escape", arm=arm)
    if not len(times):
        return empty_panel(axes, "no start escaped")
    end = max(float(times.max()), config.plotted) * 1.05
    axes.hist(times, bins=np.linspace(0, end, 41).tolist(), color=FLOW, zorder=2)
    axes.axvline(float(np.median(times)), color=INK, linewidth=2, zorder=3)
    axes.set(xlim=(0, end), xlabel="time of escape", ylabel="starts")
    axes.set_title(f"{len(times)} of {config.starts} escape, {name}: median {np.median(times):.0f}")
    _mark_end(axes, config)
    return None


def _mark_end(axes: Axes, config: FailureConfig) -> None:
    axes.axvline(config.plotted, color=FAINT, linestyle=":", linewidth=2.4, zorder=1)
    axes.annotate("figure ends", (config.plotted, 1), xycoords=("data", "axes fraction"), xytext=(-5, -5), rotation=90,
                  textcoords="offset points", color="#777777", fontsize=12, ha="right", va="top")  # fmt: skip


def _draw_runs(axes: Axes, table: pl.DataFrame, arm: str, config: FailureConfig) -> None:
    moments = {"plotted": f"t = {config.plotted:g}", "end": f"t = {config.span:g}"}
    bars = [(eta, at) for eta in config.etas for at in moments]
    for place, (eta, at) in enumerate(bars):
        try:
            failed, lost, both, neither = (
                count(table, part, arm=arm, eta=eta, at=at) for part in ("failed", "lost", "both", "neither")
            )
        except NotMeasured:
            return empty_panel(axes, "not measured: Euler's runs")
        heights = {"both": both, "failed": failed - both, "lost": lost - both, "neither": neither}
        base = 0
        for part, (color, label) in PARTS.items():
            axes.bar(place, heights[part], 0.7, base, color=color, label=label if place == 0 else None, zorder=2)
            if heights[part] > 0.05 * config.starts:
                axes.text(place, base + heights[part] / 2, str(heights[part]), ha="center", va="center", color="white")
            base += heights[part]
    axes.set_xticks(range(len(bars)), [f"step {eta:g}\n{moments[at]}" for eta, at in bars])
    axes.set(ylabel="starts", ylim=(0, 1.05 * config.starts))
    axes.grid(axis="x", visible=False)
    return None
