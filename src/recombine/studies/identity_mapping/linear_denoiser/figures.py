"""The figures of the linear denoiser: learning times over noise, samples in concept space, rates of retreat."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.statistics import proportion_interval
from recombine.studies.identity_mapping.linear_denoiser.claims import by_gap, counts, levels_at, readings
from recombine.studies.identity_mapping.phase_diagram.claims import Counts, told

WEAK, STRONG = SERIES_COLORS[5], SERIES_COLORS[4]
MODELS = {
    "identity": ("identity mapping", "#B8B8B8"),
    "best": ("shared, best M", SERIES_COLORS[1]),
    "edm": ("shared inside EDM", SERIES_COLORS[3]),
    "apart": ("levels apart", SERIES_COLORS[0]),
}
SHOWN_SPREADS = ("0.05:0.05", "0.6:0.05", "1.2:0.05", "2:0.05")


def learning(table: pl.DataFrame) -> Figure:
    """When each level learns each concept, told the class and told the value; and what samples make of it."""
    with house_style():
        figure = Figure(figsize=(18, 7), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        _draw_levels(left, table, "class", "a   Told the class")
        _draw_levels(middle, table, "value", "b   Told the value")
        _draw_order(right, table)
        put_caption(
            figure,
            "Closed form, one layer from zero, mu = (1, 2): time until the mean answer to the unseen combination has "
            "0.8 of a concept. Darker: wider spread of the weaker concept (the stronger one's stays 0.05). Short "
            "lines at the right edge: one-layer identity mapping, -log(0.2) / a. c: the same in the mean of samples "
            "(18 Euler steps, 80 to 0.002), weaker over stronger; dashed: where identity mapping turns the order. "
            "No randomness, so no bands.",
        )
    return figure


def _draw_levels(axes: Axes, table: pl.DataFrame, telling: str, title: str) -> None:
    axes.set_title(title)
    times, limits = readings(table, "time"), readings(table, "limit")
    shades = {spread: 0.25 + 0.75 * number / (len(SHOWN_SPREADS) - 1) for number, spread in enumerate(SHOWN_SPREADS)}
    drawn, edge = False, 0.0
    for node, values in times.items():
        said = told(node)
        spread = said["spread"]
        weak = said["concept"] == "1"
        if "model" in said or said["told"] != telling or spread not in shades or (not weak and spread != "0.05:0.05"):
            continue
        drawn = True
        sigma = np.array([seen / 1e6 for seen, _ in values])
        edge = max(edge, float(sigma.max()))
        color = colormaps["Oranges"](0.3 + 0.7 * shades[spread]) if weak else STRONG
        name = f"weaker, spread {spread.split(':')[0]}" if weak else "stronger, spread 0.05"
        axes.plot(sigma, [value for _, value in values], color=color, linewidth=2.8, label=name)
        axes.plot([edge * 1.1, edge * 2.2], [limits[node][0][1]] * 2, color=color, linewidth=5, solid_capstyle="butt")
    if not drawn:
        return empty_panel(axes, "not computed: learning times over noise")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.045, 6)  # room for the legend
    axes.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.set_xlabel("noise level $\\sigma$")
    axes.set_ylabel("time to 0.8 of the concept")
    handles, labels = axes.get_legend_handles_labels()
    in_order = sorted(zip(labels, handles, strict=True), key=lambda pair: pair[0])  # the stronger first
    axes.legend([h for _, h in in_order], [name for name, _ in in_order], loc="lower center", fontsize=11, ncols=2)
    return None


def _draw_order(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("c   In what is generated")
    times = {node: values[0][1] for node, values in readings(table, "time").items() if "model" in told(node)}
    turn = None
    for telling, color in (("class", SERIES_COLORS[4]), ("value", SERIES_COLORS[5])):
        for model, dashes, name in (("apart", "-", "levels apart"), ("edm", (0, (4, 2)), "one Theta inside EDM")):
            points = []
            for node, weak in times.items():
                said = told(node)
                strong = times.get(node.replace("concept=1", "concept=2"))
                if (said["told"], said["model"], said["concept"]) == (telling, model, "1") and strong:
                    points.append((float(said["spread"].split(":")[0]), weak / strong))
                    turn = np.sqrt((float(said["gap"]) ** 2 - 1) / 2 + float(said["spread"].split(":")[1]) ** 2)
            if points:
                axes.plot(*zip(*sorted(points), strict=True), color=color, linestyle=dashes, marker="o", linewidth=2.6,
                          label=f"told the {telling}, {name}")  # fmt: skip
    if turn is None:
        return empty_panel(axes, "not computed: learning times in the generated mean")
    axes.axhline(1, color=FAINT, linewidth=1.5)
    axes.axvline(turn, color=FAINT, linestyle="--", linewidth=1.5)
    axes.set_yscale("log")
    axes.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.set_xlabel("spread of the weaker concept")
    axes.set_ylabel("time of the weaker / of the stronger")
    axes.legend(loc="lower left", fontsize=11)
    return None


def trajectories(table: pl.DataFrame) -> Figure:
    """The generated mean of the unseen combination in concept space, over training: a line a start."""
    columns = ("identity", "edm", "apart")
    with house_style():
        figure = Figure(figsize=(17, 7.2), layout="constrained")
        panels = figure.subplots(1, len(columns), sharex=True, sharey=True)
        first, second = readings(table, "share.1"), readings(table, "share.2")
        shown = 0
        for letter, axes, model in zip("abc", panels, columns, strict=True):
            name = {"identity": "Identity mapping, f(xhat)", "edm": "Samples, one Theta inside EDM"}.get(
                model, "Samples, levels apart"
            )
            axes.set_title(f"{letter}   {name}")
            shown = max(shown, _draw_paths(axes, first, second, model))
        handles = [
            Line2D([], [], color=WEAK, linewidth=2.4),
            Line2D([], [], color=INK, linewidth=3, linestyle=(0, (3, 1.6))),
            Line2D([], [], color=INK, marker="s", linestyle="", markersize=10),
            Line2D([], [], color=SERIES_COLORS[3], marker="*", linestyle="", markersize=16),
        ]
        names = ["deep, K = U U$^T$ (a line a start)", "one layer from zero", "training clusters", "unseen combination"]
        figure.legend(handles, names, loc="outside upper center", ncols=4, handlelength=3)
        put_caption(
            figure,
            f"Over training, mu = (1, 2), spread 0.05, told the class; {shown} positive starts of 1/5, the same U in "
            "every panel. Swing-by: the path heads towards the unseen combination, turns back towards the cluster of "
            "the stronger concept, and comes round. With levels apart M is the best for K at once, so that paths begin "
            "elsewhere; one Theta for all levels ends short of the combination. The mean of samples is exact.",
        )
    return figure


def _draw_paths(
    axes: Axes, first: dict[str, list[tuple[int, float]]], second: dict[str, list[tuple[int, float]]], model: str
) -> int:
    """Draw the paths of one model; says how many starts it shows."""
    deep = [node for node in first if told(node).get("model") == model]
    if not deep:
        empty_panel(axes, f"no trajectories of {MODELS[model][0]}")
        return 0
    gap = float(told(deep[0])["gap"])
    shades = colormaps["plasma"](np.linspace(0.1, 0.8, len(deep)))
    flat = [node for node in first if told(node).get("model") == f"flat-{model}"]
    for node, color in [*zip(deep, shades, strict=True), *((node, INK) for node in flat)]:
        x, y = ([value for _, value in part[node]] for part in (first, second))
        one = node in flat
        axes.plot(x, gap * np.array(y), color=color, linewidth=3 if one else 2.2, alpha=0.9, zorder=4 if one else 3,
                  linestyle=(0, (3, 1.6)) if one else "-")  # fmt: skip
    axes.plot([1, 0], [0, gap], "s", color=INK, markersize=10, zorder=5, clip_on=False)
    axes.plot([1], [gap], "*", color=SERIES_COLORS[3], markersize=20, zorder=6, clip_on=False)
    axes.set_xlim(-0.04, 1.15)
    axes.set_ylim(-0.08, 1.2 * gap)
    axes.set_xlabel("weaker concept, coordinate 1")
    axes.set_ylabel("stronger concept, coordinate 2")
    return len(deep)


def swing(table: pl.DataFrame) -> Figure:
    """How often more than 0.05 (0.01) of the weaker concept is lost again: over noise, and over the gap."""
    with house_style():
        figure = Figure(figsize=(17, 6.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        _draw_noise(left, table)
        _draw_gaps(middle, table, "retreat.05", "b   In samples: over 0.05 is lost again")
        _draw_gaps(right, table, "setback", "c   In samples: the loss rises")
        one_legend(figure, middle)
        starts = {n for _, n in counts(table).values()}
        many = f"n = {min(starts)} starts" if len(starts) == 1 else f"n = {min(starts, default=0)} starts or more"
        put_caption(
            figure,
            "Share of positive starts U in (0, 0.2) whose weaker concept is gained and lost again, K = U U^T, spread "
            "0.05, told the class. a: each level's own answer to the unseen combination. b, c: the mean of samples, "
            "beside identity mapping from the same U (A = E[c c^T]); one layer from the same K(0) in b. A loss rises "
            "if it does by more than 0.1% of its largest. "
            f"Bars: exact 95% intervals, {many} a point.",
        )
    return figure


def _points(axes: Axes, x: list[float], series: list[Counts], color: str, name: str, width: float = 2.4) -> None:
    share = np.array([k / n for k, n in series])
    bars = np.abs(np.array([proportion_interval(k, n) for k, n in series]).T - share)
    axes.errorbar(
        x, share, bars, color=color, marker="o", markersize=6, capsize=3, linewidth=width, elinewidth=2, label=name
    )


def _draw_noise(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("a   Each noise level by itself")
    drawn = False
    for number, gap in enumerate(("1.1", "1.5", "2", "3")):
        series = levels_at(table, gap)
        if series:
            drawn = True
            _points(axes, list(series), list(series.values()), str(_shade(number)), f"gap {gap}")
            mapped = by_gap(counts(table), "identity").get(gap)
            if mapped:
                edge = max(series)
                level = [mapped[0] / mapped[1]] * 2
                axes.plot([edge * 1.3, edge * 3], level, color=_shade(number), linewidth=5, solid_capstyle="butt")
    if not drawn:
        return empty_panel(axes, "not computed: levels apart")
    axes.set_xscale("log")
    axes.set_xlabel("noise level $\\sigma$ (right edge: identity mapping)")
    accuracy_axis(axes, "share that loses more than 0.05")
    axes.legend(loc="upper left", fontsize=11)
    return None


def _shade(number: int) -> str:
    return ("#9ECAE1", "#56B4E9", "#0072B2", "#08306B")[number]


def _draw_gaps(axes: Axes, table: pl.DataFrame, instrument: str, title: str) -> None:
    axes.set_title(title)
    found = counts(table, instrument)
    shown = {model: by_gap(found, model) for model in MODELS}
    if not any(shown.values()):
        return empty_panel(axes, f"not counted: {instrument}")
    for model, series in shown.items():
        if series:
            name, color = MODELS[model]
            width = 7.0 if model == "identity" else 2.4  # samples with the best M lie on it
            _points(axes, [float(gap) for gap in series], list(series.values()), color, name, width)
    flat = by_gap(found, "flat-edm")
    if flat:
        _points(axes, [float(gap) for gap in flat], list(flat.values()), INK, "one layer, same K(0)")
    gaussian = by_gap(found, "edm", "gaussian")
    if gaussian:
        k, n = gaussian["2"] if "2" in gaussian else next(iter(gaussian.values()))
        axes.plot([float(next(iter(gaussian)))], [k / n], "D", color=MODELS["edm"][1], markerfacecolor="white",
                  markersize=9, label="Gaussian U, inside EDM")  # fmt: skip
    axes.set_xlabel("gap, $\\mu_2 / \\mu_1$")
    accuracy_axis(axes, "share of starts")
    return None
