"""The figure of the order of two concepts: Yang et al. 2025, Fig 2, with times, slopes and the flip beside it."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.statistics import mean_interval
from recombine.lab.table import curves
from recombine.studies.identity_mapping.order.claims import CLUSTERS, SPREAD, arms_of, log_ratios, per_start, settings

PAPER = (0.05, 0.1, 0.5, 1.0, 2.0)  # var_1 in Fig 2b
CONCEPT_COLORS = {1: SERIES_COLORS[4], 2: SERIES_COLORS[5]}
FORM_DASHES = {"affine": (0, (4, 2)), "plain": (0, (1.2, 1.6))}


def figure(table: pl.DataFrame) -> Figure:
    """Paths in concept space (a, b, c); times (d), log residuals (e) and the flip (f)."""
    with house_style():
        drawing = Figure(figsize=(18, 12), layout="constrained")
        panels = drawing.subplots(2, 3).ravel()
        biased = arms_of(table, "bias")
        signals = [arm for arm in biased if settings(arm)[2] == SPREAD]
        spreads = [arm for arm in biased if settings(arm)[1] == (1.0, 2.0) and settings(arm)[2] in PAPER]
        draw_paths(panels[0], table, {arm: _signals_text(arm) for arm in signals}, SERIES_COLORS[2:5])
        panels[0].set_title("a   The stronger signal first")
        names = {arm: f"var$_1$ = {settings(arm)[2]:g}" for arm in spreads}
        draw_paths(panels[1], table, names, _shades(len(spreads)), "center right")
        panels[1].set_title("b   Spread counts like signal")
        deep = arms_of(table, "deep")
        draw_paths(panels[2], table, {arm: _signals_text(arm) for arm in deep}, SERIES_COLORS[3:5], "center right")
        panels[2].set_title("c   Four linear layers")
        _draw_times(panels[3], table)
        _draw_residuals(panels[4], table)
        _draw_flip(panels[5], table)
        n = max((len(per_start(table, arm, "time.1")) for arm in biased), default=0)
        few = max((len(per_start(table, arm, "time.1")) for arm in deep), default=0)
        put_caption(
            drawing,
            "a-c: f(probe) in concept space; thick: median over starts, thin: single starts, dashed: affine closed "
            "form from rest; star: probe; circles: training clusters, one standard deviation at variance 0.05. d: "
            "median epochs to 80%; bars: middle half of starts. e: median residual from a small start; lines: closed "
            f"forms. f: mean over starts; bars: 95% interval of the mean. n = {n} starts (c: {few}).",
        )
    return drawing


def draw_paths(
    axes: Axes,
    table: pl.DataFrame,
    names: Mapping[str, str],
    colors: Sequence[str],
    place: Literal["lower right", "center right"] = "lower right",
) -> None:
    """The way of f(probe) in the plane of two concepts, an arm a colour, with clusters and probes."""
    drawn = False
    for (arm, name), color in zip(names.items(), colors, strict=False):
        median = path(table, arm, "median")
        if median is None:
            continue
        drawn = True
        starts = [path(table, arm, node) for node in _starts(table, arm)]
        for start in starts:
            if start is not None:
                axes.plot(*start, color=color, linewidth=0.8, alpha=0.5)
        axes.plot(*median, color=color, linewidth=3, label=name)
        form = path(table, arm, "affine")
        if form is not None:
            axes.plot(*form, color=INK, linewidth=1.3, linestyle=FORM_DASHES["affine"], zorder=4)
        _, (first, second), variance = settings(arm)
        axes.plot(first, second, "*", color=color, markersize=17, markeredgecolor=INK, zorder=5)
        if variance == SPREAD:
            for middle in ((first, 0.0), (0.0, second), (0.0, 0.0)):
                size = 2 * math.sqrt(SPREAD)
                axes.add_patch(Ellipse(middle, size, size, fill=False, edgecolor=FAINT, linewidth=1.2))
    if not drawn:
        return empty_panel(axes, "not measured: f.1, f.2")
    axes.set(xlabel="coordinate 1 of f(probe)", ylabel="coordinate 2 of f(probe)")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc=place)
    return None


def path(table: pl.DataFrame, arm: str, node: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Both coordinates of a curve, over time."""
    found = [list(curves(table, f"f.{k}", arm, node).values()) for k in (1, 2)]
    return (found[0][0][1], found[1][0][1]) if all(found) else None


def _starts(table: pl.DataFrame, arm: str) -> list[str]:
    return [node for _, node in curves(table, "f.1", arm) if node.startswith("start ")]


def _signals_text(arm: str) -> str:
    _, (first, second), _ = settings(arm)
    return f"$\\mu$ = ({first:g}, {second:g})"


def _shades(count: int) -> list[str]:
    from matplotlib.colors import to_hex

    return [to_hex(color) for color in colormaps["viridis"](np.linspace(0, 0.88, max(count, 1)))]


def _draw_times(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("d   When: nets and closed forms")
    arms = {settings(arm)[2]: arm for arm in arms_of(table, "bias") if settings(arm)[1] == (1.0, 2.0)}
    arms = dict(sorted(arms.items()))
    if not arms:
        return empty_panel(axes, "not measured: time.1, time.2")
    for k, color in CONCEPT_COLORS.items():
        for form, dashes in FORM_DASHES.items():
            times = [_form_time(table, arm, form, k) for arm in arms.values()]
            words = "with bias" if form == "affine" else "without bias"
            axes.plot(list(arms), times, color=color, linestyle=dashes, linewidth=2, label=f"concept {k}, form {words}")
        quartiles = np.array([_quartiles(per_start(table, arm, f"time.{k}")) for arm in arms.values()])  # [arms, 3]
        spread = np.abs(quartiles[:, [0, 2]] - quartiles[:, [1]]).T
        axes.errorbar(list(arms), quartiles[:, 1], spread, fmt="o", color=color, markersize=7, capsize=3,
                      label=f"concept {k}, nets")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="var$_1$ (log scale)", ylabel="epochs to 80% (log scale)")
    axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2], ["0.05", "0.1", "0.2", "0.5", "1", "2"])
    axes.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    axes.minorticks_off()
    axes.legend(loc="upper right", fontsize=10.5)
    return None


def _form_time(table: pl.DataFrame, arm: str, form: str, concept: int) -> float:
    found = list(curves(table, f"time.{concept}", arm, form).values())
    return float(found[0][1][0]) if found else math.nan


def _quartiles(times: NDArray[np.float64]) -> list[float]:
    """Of starts; one that is not learned in time is later than all others, and shown as nothing."""
    edges = np.quantile(np.nan_to_num(times, nan=1e9), [0.25, 0.5, 0.75], method="nearest")
    return [math.nan if edge >= 1e9 else float(edge) for edge in edges]


def _draw_residuals(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("e   Residuals fall as predicted")
    drawn = False
    for nets, form, faded in (("small-no-bias", "plain", 1.0), ("small-bias", "affine", 0.55)):
        for arm in arms_of(table, nets):
            for k, color in CONCEPT_COLORS.items():
                target = settings(arm)[1][k - 1]
                measured, exact = (list(curves(table, f"f.{k}", arm, node).values()) for node in ("median", form))
                if not measured or not exact:
                    continue
                drawn = True
                words = "no bias" if nets == "small-no-bias" else "bias"
                marker = "o" if nets == "small-no-bias" else "s"
                (at, value), (when, known) = measured[0], exact[0]
                axes.plot(at / 1_000, 1 - value / target, marker, color=color, markersize=6, alpha=faded,
                          label=f"concept {k}, {words}")  # fmt: skip
                axes.plot(when / 1_000, 1 - known / target, color=INK, linewidth=1.3, linestyle=FORM_DASHES[form])
    if not drawn:
        return empty_panel(axes, "not measured: f.1, f.2 of small starts")
    axes.set(yscale="log", ylim=(0.02, 1.15), xlabel="epochs", ylabel="1 - f$_k$ / $\\mu_k$ (log scale)")
    axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    axes.axhline(0.2, color=FAINT, linestyle=":", linewidth=1.5)
    axes.legend(loc="upper right", fontsize=10.5)
    return None


def _draw_flip(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("f   Where the order flips")
    rule = (2.0**2 - 1.0**2) / CLUSTERS + SPREAD
    drawn = False
    for nets, color, mark in (("bias", SERIES_COLORS[3], "o"), ("no-bias", SERIES_COLORS[1], "s")):
        points = []
        for arm in arms_of(table, nets):
            _, signals, variance = settings(arm)
            ratios = log_ratios(table, arm)
            ratios = ratios[np.isfinite(ratios)]
            if signals == (1.0, 2.0) and rule / 2.2 <= variance <= 2 * rule and len(ratios):
                low, high = mean_interval(ratios) or (math.nan, math.nan)
                points.append((variance, float(ratios.mean()), low, high))
        if not points:
            continue
        drawn = True
        at, mean, low_edge, high_edge = np.array(sorted(points)).T
        axes.errorbar(at, mean, [mean - low_edge, high_edge - mean], fmt=f"{mark}-", color=color, markersize=7,
                      capsize=3, linewidth=2, label=f"nets, {nets.replace('-', ' ')}")  # fmt: skip
    if not drawn:
        return empty_panel(axes, "not measured: times about the flip")
    axes.axhline(0, color=INK, linewidth=1)
    axes.axvline(rule, color=FAINT, linestyle="--", linewidth=2, label=f"a$_1$ = a$_2$: var$_1$ = {rule:g}")
    axes.set(xlabel="var$_1$", ylabel="mean log t$_1$ / t$_2$")
    axes.legend(loc="upper right")
    return None
