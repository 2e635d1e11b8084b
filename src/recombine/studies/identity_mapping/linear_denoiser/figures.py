"""The figures of the linear denoiser: learning times over noise, samples in concept space, shares that swing by."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, put_caption
from recombine.lab.table import Table, curves, select
from recombine.lab.trends import share
from recombine.studies.identity_mapping._shared.figures import share_line
from recombine.studies.identity_mapping.linear_denoiser.claims import ends, levels_at, pairs, retreats

WEAK, STRONG = SERIES_COLORS[5], SERIES_COLORS[4]
MODELS = {
    "identity": ("identity mapping", "#B8B8B8"),
    "best": ("shared, best M", SERIES_COLORS[1]),
    "edm": ("shared inside EDM", SERIES_COLORS[3]),
    "separate": ("separate levels", SERIES_COLORS[0]),
}
PANELS = {"identity": "Identity mapping, f(xhat)", "edm": "Samples, shared inside EDM",
          "separate": "Samples, separate levels"}  # fmt: skip
SHOWN_SPREADS = (0.05, 0.6, 1.2, 2.0)
GAP_SHADES = {1.1: "#9ECAE1", 1.5: "#56B4E9", 2.0: "#0072B2", 3.0: "#08306B"}


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Learning times over noise; the generated mean in concept space; how often it retreats."""
    return {
        "figure": Drawing(_learning(table), "When each concept is learned, over the noise level."),
        "trajectories": Drawing(_trajectories(table), "The generated mean of the unseen combination."),
        "swing": Drawing(_swing(table), "How often the weaker concept is gained and lost again."),
    }


# Learning times


def _learning(table: Table) -> Figure:
    with new_figure(20, 8, 1, 3, share_y=False) as (figure, [(left, middle, right)]):
        _draw_levels(left, table, "class")
        _draw_levels(middle, table, "value")
        _draw_order(right, table)
        put_caption(
            figure,
            "Closed form, one layer from zero, mu = (1, 2): time until the mean answer to the unseen combination has "
            "0.8 of a concept. Darker: wider spread of the weaker concept (the stronger one's stays 0.05). Short "
            "lines at the right edge: one-layer identity mapping, -log(0.2) / a. Right: the same in the mean of "
            "samples (18 Euler steps, 80 to 0.002), weaker over stronger; dashed line: where identity mapping turns "
            "the order. No randomness, so no bands.",
        )
    return figure


def _draw_levels(axes: Axes, table: Table, condition: str) -> None:
    axes.set_title(f"Conditioned on the {condition}")
    found = curves(table, "level.learning_time", "concept", "spread", over="sigma", condition=condition)
    if not found:
        return empty_panel(axes, "not computed: learning times over noise")
    edge = max(float(at.max()) for at, _ in found.values())
    strong = min(spread for _, _, spread in found)
    for (_, concept, spread), (sigma, times) in sorted(found.items(), reverse=True):
        if spread not in SHOWN_SPREADS or (concept == 2 and spread != strong):
            continue
        shade = 0.475 + 0.525 * SHOWN_SPREADS.index(spread) / (len(SHOWN_SPREADS) - 1)
        color = colormaps["Oranges"](shade) if concept == 1 else STRONG
        name = f"weaker, spread {spread:g}" if concept == 1 else f"stronger, spread {strong:g}"
        axes.plot(sigma, times, color=color, linewidth=3, label=name)
        key = {"condition": condition, "concept": concept, "spread": spread}
        limit = select(table, "identity.learning_time", **key)["value"][0]
        axes.plot([edge * 1.1, edge * 2.2], [limit] * 2, color=color, linewidth=6, solid_capstyle="butt")
    axes.set(xscale="log", yscale="log", ylim=(0.035, 6), xlabel="noise level $\\sigma$",
             ylabel="time to 0.8 of the concept")  # fmt: skip
    axes.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.legend(loc="lower center", ncols=2)
    return None


def _draw_order(axes: Axes, table: Table) -> None:
    found = pairs(table, "samples.learning_time", "model").sort("spread")
    if found.is_empty():
        return empty_panel(axes, "not computed: learning times in the generated mean")
    found = found.with_columns(ratio=found["weak"] / found["strong"])
    for condition, color in (("class", STRONG), ("value", WEAK)):
        for model, dashes in (("separate", "-"), ("edm", (0, (4, 2)))):
            points = select(found, condition=condition, model=model)
            if len(points):
                axes.plot(points["spread"], points["ratio"], color=color, linestyle=dashes, marker="o", linewidth=3,
                          markersize=8, label=f"{condition}, {MODELS[model][0]}")  # fmt: skip
    first = found.row(0, named=True)
    turn = np.sqrt((first["gap"] ** 2 - 1) / 2 + first["strong_spread"] ** 2)
    low, high = ends(select(found, condition="class")["ratio"])
    axes.set_title(f"Samples by class: {low:.1f} to {high:.1f} times as long")
    axes.axhline(1, color=FAINT, linewidth=1.5)
    axes.axvline(turn, color=FAINT, linestyle="--", linewidth=1.5)
    axes.set(yscale="log", xlabel="spread of the weaker concept", ylabel="time of the weaker / of the stronger")
    axes.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.legend(loc="lower left")
    return None


# Trajectories


def _trajectories(table: Table) -> Figure:
    with new_figure(20, 8.4, 1, len(PANELS), sharex=True) as (figure, [panels]):
        shown = max(_draw_paths(axes, table, model) for axes, model in zip(panels, PANELS, strict=True))
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
            f"Over training, mu = (1, 2), spread 0.05, conditioned on the class; {shown} positive starts of 1/5, the "
            "same U in every panel. Swing-by: the path heads towards the unseen combination, turns back towards the "
            "cluster of the stronger concept, and comes round. With separate levels M is the best for K at once, so "
            "that paths begin elsewhere; one Theta for all levels ends short of the combination. The mean of samples "
            "is exact.",
        )
    return figure


def _draw_paths(axes: Axes, table: Table, model: str) -> int:
    """Draw the paths of one model; says how many starts it shows."""
    found = curves(table, "share", "layers", "number", "concept", over="time", model=model)
    starts = sorted({number for _, layers, number, _ in found if layers == 2})
    if not starts:
        empty_panel(axes, f"no trajectories of {MODELS[model][0]}")
        return 0
    seed = next(iter(found))[0]
    gap = float(select(table, "share", model=model)["gap"][0])
    counted = retreats(table, model).get(gap)
    axes.set_title(PANELS[model] + (f": {share(counted):.0%} swing by" if counted else ""))
    shades = colormaps["plasma"](np.linspace(0.1, 0.8, len(starts)))
    for number, color in zip(starts, shades, strict=True):
        x, y = (found[seed, 2, number, concept][1] for concept in (1, 2))
        axes.plot(x, gap * y, color=color, linewidth=2.6, alpha=0.9, zorder=3)
    if (seed, 1, 0, 1) in found:
        x, y = (found[seed, 1, 0, concept][1] for concept in (1, 2))
        axes.plot(x, gap * y, color=INK, linewidth=3, alpha=0.9, zorder=4, linestyle=(0, (3, 1.6)))
    axes.plot([1, 0], [0, gap], "s", color=INK, markersize=10, zorder=5, clip_on=False)
    axes.plot([1], [gap], "*", color=SERIES_COLORS[3], markersize=20, zorder=6, clip_on=False)
    axes.set(xlim=(-0.04, 1.15), ylim=(-0.08, 1.2 * gap), xlabel="weaker concept, coordinate 1",
             ylabel="stronger concept, coordinate 2")  # fmt: skip
    return len(starts)


# Swing-by


def _swing(table: Table) -> Figure:
    with new_figure(20, 8, 1, 3, share_y=False) as (figure, [(left, middle, right)]):
        _draw_noise(left, table)
        _draw_gaps(middle, table, "retreats", "In samples: over 0.05 is lost again")
        _draw_gaps(right, table, "setbacks", "In samples: the loss rises")
        one_legend(figure, middle)
        starts = {round(value) for value in select(table, "starts")["value"]}
        many = f"n = {min(starts)} starts" if len(starts) == 1 else f"n = {min(starts, default=0)} starts or more"
        put_caption(
            figure,
            "Share of positive starts U in (0, 0.2) whose weaker concept is gained and lost again, K = U U^T, spread "
            "0.05, conditioned on the class. Left: each level's own answer to the unseen combination. Others: the mean "
            "of samples, beside identity mapping from the same U (A = E[c c^T]); one layer from the same K(0). A loss "
            f"rises if it does by more than 0.1% of its largest. Bars: exact 95% intervals, {many} a point.",
        )
    return figure


def _draw_noise(axes: Axes, table: Table) -> None:
    axes.set_title("Each noise level: over 0.05 is lost again")
    found = {gap: levels_at(table, gap) for gap in GAP_SHADES}
    if not any(found.values()):
        return empty_panel(axes, "not computed: separate levels")
    for gap, series in found.items():
        if series:
            share_line(axes, series, GAP_SHADES[gap], f"gap {gap:g}")
            if counted := retreats(table, "identity").get(gap):
                ends = [max(series) * 1.3, max(series) * 3]
                axes.plot(ends, [share(counted)] * 2, color=GAP_SHADES[gap], linewidth=6, solid_capstyle="butt")
    axes.set(xscale="log", xlabel="noise level $\\sigma$ (right edge: identity mapping)")
    accuracy_axis(axes, "share of starts")
    axes.legend(loc="upper left")
    return None


def _draw_gaps(axes: Axes, table: Table, what: str, title: str) -> None:
    shown = {model: retreats(table, model, what) for model in MODELS}
    if not any(shown.values()):
        return empty_panel(axes, f"not counted: {what}")
    inside = shown["edm"].get(2.0)
    axes.set_title(title + (f" ({share(inside):.0%} at gap 2)" if inside else ""))
    for model, series in shown.items():
        if series:
            name, color = MODELS[model]
            share_line(axes, series, color, name, width=7.0 if model == "identity" else 2.6)  # "best" lies on it
    if one_layer := retreats(table, "edm", what, layers=1):
        share_line(axes, one_layer, INK, "one layer, same K(0)")
    for gap, counted in retreats(table, "edm", what, start="gaussian").items():
        axes.plot([gap], [share(counted)], "D", color=MODELS["edm"][1], markerfacecolor="white", markersize=11,
                  label="Gaussian U, inside EDM")  # fmt: skip
    axes.set_xlabel("gap, $\\mu_2 / \\mu_1$")
    accuracy_axis(axes, "share of starts")
    return None
