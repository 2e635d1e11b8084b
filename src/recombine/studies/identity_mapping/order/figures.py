"""The figures of the order of two concepts: Yang et al. 2025, Fig 2, with times, slopes and the flip beside it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.statistics import mean_interval
from recombine.lab.table import Curve, Table
from recombine.studies.identity_mapping._shared.figures import one_curve
from recombine.studies.identity_mapping._shared.starts import single
from recombine.studies.identity_mapping.order.claims import (
    RULE,
    SPREAD,
    Setting,
    crossing,
    log_ratios,
    settings,
    stronger_first,
    times,
)

PAPER = (0.05, 0.1, 0.5, 1.0, 2.0)  # var_1 in Fig 2b
CONCEPT_COLORS = {1: SERIES_COLORS[4], 2: SERIES_COLORS[5]}
FORM_DASHES = {"affine": (0, (4, 2)), "plain": (0, (1.2, 1.6))}
FORM_NAMES = {"affine": "with bias", "plain": "without bias"}


def draw(table: Table, config: object) -> dict[str, Drawing]:
    """Fig 2 and the flip; times and residuals against the closed forms."""
    return {
        "figure": Drawing(_orders(table), "Paths of the answer to the probe in concept space, and where they flip."),
        "times": Drawing(_forms(table), "When nets learn a concept, against the closed forms with and without a bias."),
    }


def _orders(table: Table) -> Figure:
    """Paths over signals, over spreads and in deep nets; the flip."""
    with house_style():
        drawing = Figure(figsize=(14, 12.5), layout="constrained")
        signal, spread, deep, flip = drawing.subplots(2, 2).ravel()
        biased, layers = settings(table, "bias"), settings(table, "deep")
        by_signal = [each for each in biased if each.variance == SPREAD]
        by_spread = [each for each in biased if each.signals == (1.0, 2.0) and each.variance in PAPER]
        shades = [to_hex(color) for color in colormaps["viridis"](np.linspace(0, 0.88, max(len(by_spread), 1)))]
        draw_paths(signal, table, by_signal, [_signals_text(each) for each in by_signal], SERIES_COLORS[2:5])
        draw_paths(spread, table, by_spread, [f"var$_1$ = {each.variance:g}" for each in by_spread], shades, "right")
        draw_paths(deep, table, layers, [_signals_text(each) for each in layers], SERIES_COLORS[3:5], "right")
        signal.set_title(f"Signals: stronger first in {_share(table, by_signal)}")
        spread.set_title("Spreads: the path turns with var$_1$")
        deep.set_title(f"Four layers: stronger first in {_share(table, layers)}")
        _draw_flip(flip, table)
        n, few = (max((len(times(table, each.arm, 1)) for each in those), default=0) for those in (biased, layers))
        put_caption(
            drawing,
            "Paths of f(probe) in concept space; thick: median over starts, thin: single starts, dashed: affine closed "
            "form from rest; star: probe; circles: training clusters, one standard deviation at variance 0.05. Flip: "
            f"mean over starts; bars: 95% interval of the mean. n = {n} starts (four layers: {few}), seed 0; 40 or 12 "
            "epochs of 15,000 points.",
        )
    return drawing


def _forms(table: Table) -> Figure:
    with new_figure(14, 6.8, 1, 2, share_y=False) as (drawing, [(left, right)]):
        _draw_times(left, table)
        _draw_residuals(right, table)
        n = max((len(times(table, each.arm, 1)) for each in settings(table, "bias")), default=0)
        put_caption(
            drawing,
            "Left: median epochs to 80% of the target at mu = (1, 2); bars: middle half of starts; title: time of "
            "concept 1 at the smallest var_1 over the forms with and without a bias. Right: median "
            f"residual from a small start on full batches; lines: closed forms. n = {n} starts, seed 0.",
        )
    return drawing


def draw_paths(
    axes: Axes, table: Table, those: Sequence[Setting], names: Sequence[str], colors: Sequence[str],
    place: Literal["lower right", "right"] = "lower right",
) -> None:  # fmt: skip
    """The path of f(probe) in the plane of two concepts, a colour for each setting, with clusters and probes."""
    for setting, name, color in zip(those, names, colors, strict=False):
        median = path(table, "answer.median", arm=setting.arm)
        if median is None:
            continue
        for start in range(len(times(table, setting.arm, 1))):
            if (found := path(table, "answer", arm=setting.arm, start=start)) is None:
                break
            axes.plot(*found, color=color, linewidth=0.8, alpha=0.5)
        axes.plot(*median, color=color, linewidth=3, label=name)
        if (form := path(table, "answer", arm=setting.arm, form="affine")) is not None:
            axes.plot(*form, color=INK, linewidth=1.3, linestyle=FORM_DASHES["affine"], zorder=4)
        first, second = setting.signals
        axes.plot(first, second, "*", color=color, markersize=17, markeredgecolor=INK, zorder=5)
        if setting.variance == SPREAD:
            for middle in ((first, 0.0), (0.0, second), (0.0, 0.0)):
                size = 2 * math.sqrt(SPREAD)
                axes.add_patch(Ellipse(middle, size, size, fill=False, edgecolor=FAINT, linewidth=1.2))
    if not axes.lines:
        return empty_panel(axes, "not measured: answer")
    axes.set(xlabel="coordinate 1 of f(probe)", ylabel="coordinate 2 of f(probe)")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc=place)
    return None


def path(table: Table, instrument: str, **where: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Both coordinates of a curve, over time."""
    one, two = (one_curve(table, instrument, over="epoch", concept=k, **where) for k in (1, 2))
    return None if one is None or two is None else (one[1], two[1])


def _signals_text(setting: Setting) -> str:
    return f"$\\mu$ = ({setting.signals[0]:g}, {setting.signals[1]:g})"


def _share(table: Table, those: Sequence[Setting]) -> str:
    """The share of starts that learn the stronger concept first, where one is stronger."""
    right = [stronger_first(table, each) for each in those if each.moments[0] != each.moments[1]]
    return f"{np.mean(np.concatenate(right)):.0%}" if right else "none"


def _draw_times(axes: Axes, table: Table) -> None:
    arms = {setting.variance: setting.arm for setting in settings(table, "bias", (1.0, 2.0))}
    arms = dict(sorted(arms.items()))
    if not arms:
        return empty_panel(axes, "not measured: time")
    arm = next(iter(arms.values()))
    off = [_quartiles(times(table, arm, 1))[1] / _form_time(table, arm, form, 1) for form in FORM_DASHES]
    axes.set_title(f"Weak concept over form: {off[0]:.2f}, {off[1]:.2f}")
    for k, color in CONCEPT_COLORS.items():
        for form, dashes in FORM_DASHES.items():
            expected = [_form_time(table, arm, form, k) for arm in arms.values()]
            axes.plot(list(arms), expected, color=color, linestyle=dashes, linewidth=2,
                      label=f"concept {k}, form {FORM_NAMES[form]}")  # fmt: skip
        quartiles = np.array([_quartiles(times(table, arm, k)) for arm in arms.values()])  # [arms, 3]
        spread = np.abs(quartiles[:, [0, 2]] - quartiles[:, [1]]).T
        axes.errorbar(list(arms), quartiles[:, 1], spread, fmt="o", color=color, markersize=7, capsize=3,
                      label=f"concept {k}, nets")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="var$_1$ (log scale)", ylabel="epochs to 80% (log scale)")
    axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2], ["0.05", "0.1", "0.2", "0.5", "1", "2"])
    axes.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    axes.minorticks_off()
    axes.legend(loc="upper right")
    return None


def _form_time(table: Table, arm: str, form: str, concept: int) -> float:
    try:
        return single(table, "time", arm=arm, form=form, concept=concept)
    except NotMeasured:
        return math.nan


def _quartiles(found: NDArray[np.float64]) -> list[float]:
    """Of starts; one that is not learned in time is later than all others, and shown as nothing."""
    edges = np.quantile(np.nan_to_num(found, nan=1e9), [0.25, 0.5, 0.75], method="nearest")
    return [math.nan if edge >= 1e9 else float(edge) for edge in edges]


def _draw_residuals(axes: Axes, table: Table) -> None:
    axes.set_title("Residual from a small start")
    kinds: Mapping[str, tuple[str, float, str]] = {
        "small-no-bias": ("plain", 1.0, "o"), "small-bias": ("affine", 0.55, "s")
    }  # fmt: skip
    for net, (form, faded, marker) in kinds.items():
        for setting in settings(table, net):
            for k, color in CONCEPT_COLORS.items():
                measured = one_curve(table, "answer.median", over="epoch", arm=setting.arm, concept=k)
                exact = one_curve(table, "answer", over="epoch", arm=setting.arm, form=form, concept=k)
                if measured is None or exact is None:
                    continue
                at, left = _residual(measured, setting.signals[k - 1])
                axes.plot(at, left, marker, color=color, markersize=6, alpha=faded,
                          label=f"concept {k}, {FORM_NAMES[form]}")  # fmt: skip
                axes.plot(*_residual(exact, setting.signals[k - 1]), color=INK, linewidth=1.3,
                          linestyle=FORM_DASHES[form])  # fmt: skip
    if not axes.lines:
        return empty_panel(axes, "not measured: answers of small starts")
    axes.set(yscale="log", ylim=(0.02, 1.15), xlabel="epochs", ylabel="1 - f$_k$ / $\\mu_k$ (log scale)")
    axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    axes.axhline(0.2, color=FAINT, linestyle=":", linewidth=1.5)
    axes.legend(loc="upper right")
    return None


def _residual(found: Curve, target: float) -> Curve:
    return found[0], 1 - found[1] / target


def _draw_flip(axes: Axes, table: Table) -> None:
    flips = []
    for net, color, mark in (("bias", SERIES_COLORS[3], "o"), ("no-bias", SERIES_COLORS[1], "s")):
        points = []
        for setting in settings(table, net, (1.0, 2.0)):
            ratios = log_ratios(table, setting.arm)
            ratios = ratios[np.isfinite(ratios)]
            if RULE / 2.2 <= setting.variance <= 2 * RULE and len(ratios):
                low, high = mean_interval(ratios) or (math.nan, math.nan)
                points.append((setting.variance, float(ratios.mean()), low, high))
        if not points:
            continue
        at, mean, low_edge, high_edge = np.array(sorted(points)).T
        flips.append(f"{crossing(at, mean):.2f}")
        axes.errorbar(at, mean, [mean - low_edge, high_edge - mean], fmt=f"{mark}-", color=color, markersize=7,
                      capsize=3, linewidth=2, label=f"nets, {net.replace('-', ' ')}")  # fmt: skip
    if not flips:
        return empty_panel(axes, "not measured: times about the flip")
    axes.set_title(f"The order flips at {' and '.join(flips)}; rule {RULE:g}")
    axes.axhline(0, color=INK, linewidth=1)
    axes.axvline(RULE, color=FAINT, linestyle="--", linewidth=2, label="rule: a$_1$ = a$_2$")
    axes.set(xlabel="var$_1$", ylabel="mean log t$_1$ / t$_2$")
    axes.legend(loc="upper right")
    return None
