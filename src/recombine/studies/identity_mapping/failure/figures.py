"""The figure of the failure that is none: Yang et al. 2025, Fig 10, four times as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.style import FAINT, INK, empty_panel, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.identity_mapping._shared.flow_claims import count, values

if TYPE_CHECKING:
    from recombine.studies.identity_mapping.failure.experiment import FailureConfig

ARMS = {"A": "A", "A2": "A², as in the scripts"}
FLOW, EULER = "#0072B2", ("#D55E00", "#E69F00")
PARTS = {
    "both": ("#D55E00", "failed, not semidefinite"), "failed": ("#E69F00", "failed, semidefinite"),
    "lost": ("#CC79A7", "learned, not semidefinite"), "neither": ("#009E73", "learned, semidefinite"),
}  # fmt: skip


def figure(table: pl.DataFrame, config: FailureConfig) -> Figure:
    """A row an arm: losses over time, times of escape, what becomes of Euler's runs."""
    with house_style():
        drawing = Figure(figsize=(18, 10.5), layout="constrained")
        grid = drawing.subplots(2, 3, squeeze=False, width_ratios=(1.25, 1, 1))
        for number, (arm, name) in enumerate(ARMS.items()):
            losses, escapes, runs = grid[number]
            losses.set_title(f"{'ad'[number]}   Loss at the probe, {name}")
            escapes.set_title(f"{'be'[number]}   Escape of the flow, {name}")
            runs.set_title(f"{'cf'[number]}   Euler on W, {name}")
            _draw_losses(losses, table, arm, config)
            _draw_escapes(escapes, table, arm, config)
            _draw_runs(runs, table, arm, config)
        mu = ", ".join(f"{signal:g}" for signal in config.signals)
        put_caption(
            drawing,
            f"mu = ({mu}), n = {config.starts} starts an arm. a, d: median of the exact flow on U, band from 5 to 95% "
            "of starts; one start (the first that Euler loses) by the flow and by Euler's steps on W, whose lines "
            f"end where they diverge. b, e: when w11 reaches one half. Dotted: t = {config.plotted:g}, where the "
            f"paper's figure ends. c, f: Euler's runs at that time and at t = {config.span:g}. Time as in the scripts.",
        )
    return drawing


def _draw_losses(axes: Axes, table: pl.DataFrame, arm: str, config: FailureConfig) -> None:
    edges = [list(curves(table, f"loss.{edge}", arm, "flow").values()) for edge in ("low", "median", "high")]
    if not all(edges):
        return empty_panel(axes, "not measured: loss")
    (times, low), (_, median), (_, high) = (edge[0] for edge in edges)
    floor = 1e-4
    axes.fill_between(times / 1000, low.clip(floor), high.clip(floor), color=FLOW, alpha=0.16, linewidth=0, zorder=2)
    axes.plot(times / 1000, median.clip(floor), color=FLOW, linewidth=2.8, label="flow, median", zorder=3)
    for at, one in curves(table, "loss", arm, "example flow").values():
        axes.plot(at / 1000, one.clip(floor), color=INK, linewidth=1.8, label="flow, one start", zorder=4)
    for eta, color in zip(config.etas, EULER, strict=False):
        for at, one in curves(table, "loss", arm, f"example euler {eta:g}").values():
            axes.plot(at / 1000, one.clip(floor), color=color, linewidth=2.2, linestyle=(0, (5, 1.5)),
                      label=f"Euler {eta:g}, same start", zorder=5)  # fmt: skip
    axes.set_yscale("log")
    axes.set_ylim(floor, 100)
    axes.set_xlim(0, config.span if arm == "A2" else min(config.span, 1.2 * config.plotted))
    _mark_end(axes, config)
    axes.set_xlabel("time")
    axes.set_ylabel("loss (log scale)")
    axes.legend(
        loc="upper right" if arm == "A2" else "center right", fontsize=11, frameon=True, framealpha=1, edgecolor="none"
    )
    return None


def _draw_escapes(axes: Axes, table: pl.DataFrame, arm: str, config: FailureConfig) -> None:
    times = values(table, arm, "escape")
    if not len(times):
        return empty_panel(axes, "no start escaped")
    end = max(float(times.max()), config.plotted) * 1.05
    axes.hist(times, bins=np.linspace(0, end, 41).tolist(), color=FLOW, zorder=2)
    axes.axvline(float(np.median(times)), color=INK, linewidth=2, label=f"median {np.median(times):.0f}", zorder=3)
    axes.set_xlim(0, end)
    _mark_end(axes, config)
    axes.set_xlabel("time of escape")
    axes.set_ylabel("starts")
    axes.legend(loc="center right")
    return None


def _mark_end(axes: Axes, config: FailureConfig) -> None:
    axes.axvline(config.plotted, color=FAINT, linestyle=":", linewidth=2.4, zorder=1)
    axes.annotate("figure ends", (config.plotted, 1), xycoords=("data", "axes fraction"), xytext=(-4, -4), rotation=90,
                  textcoords="offset points", color="#777777", fontsize=10, ha="right", va="top")  # fmt: skip


def _draw_runs(axes: Axes, table: pl.DataFrame, arm: str, config: FailureConfig) -> None:
    moments = {"plotted": f"t = {config.plotted:g}", "end": f"t = {config.span:g}"}
    bars = [(eta, moment) for eta in config.etas for moment in moments]
    labels = []
    for place, (eta, moment) in enumerate(bars):
        labels.append(f"step {eta:g}\n{moments[moment]}")
        try:
            failed, lost, both, neither = (
                count(table, arm, f"euler {eta:g}", f"{part}.{moment}")
                for part in ("failed", "lost", "both", "neither")
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
    axes.set_xticks(range(len(bars)), labels, fontsize=11)
    axes.set_ylabel("starts")
    axes.set_ylim(0, 1.38 * config.starts)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper center", fontsize=10, ncols=2)
    return None
