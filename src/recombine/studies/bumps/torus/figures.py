"""Figures of tori in networks (Liang et al. 2024, Figs. 2, 3 and 8)."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.instruments.bumps.evaluation import ALL
from recombine.instruments.bumps.torus_evaluation import QUANTILES, SPECTRUM
from recombine.instruments.representations.geometry import (
    TESTS,
    TORI,
    bump_additive_fraction,
    bump_participation_ratio,
    ring_tests,
    torus,
)
from recombine.lab.report.kit.axes import accuracy_axis, images_axis
from recombine.lab.report.kit.curves import band_caption, draw_series
from recombine.lab.report.kit.style import FAINT, empty_panel, house_style, put_caption, seeds_text
from recombine.lab.table import at_end, curves
from recombine.studies.bumps.torus.claims import ADDITIVE, CONJUNCTIVE, HEADLINE, NULLS, RATIO, TRAINED

INK = {"trained": "#d62728", TORI[0]: "#1f77b4", TORI[1]: "#2ca02c", "pixels": "#7f7f7f"}
DASHES = {"trained": "-", TORI[0]: "--", TORI[1]: "-.", "pixels": ":"}
STATISTICS = {"residual": "share r outside of the other plane", "cosines": "principal cosines"}


def training(table: pl.DataFrame) -> Figure:
    """Fig. 2 and Fig. 8: accuracy, dimensions, distance to ideal tori, spectra."""
    with house_style():
        figure = Figure(figsize=(13, 10.4), layout="constrained")
        (accuracy, ratio), (distance, spectra) = figure.subplots(2, 2)
        accuracy.set_title("a   Accuracy")
        drawn = {how: list(curves(table, f"{how}.both", TRAINED, ALL).values()) for how in ("darkest", "fine")}
        draw_series(accuracy, drawn)
        accuracy_axis(accuracy)
        _over_training(ratio, table, {HEADLINE: RATIO}, "b   Participation ratio", "participation ratio")
        ratio.set_yscale("log")
        for number, name in enumerate(CONJUNCTIVE):  # names side by side: some lie close
            for value in list(at_end(table, RATIO, NULLS, [name]).values())[:1]:
                ratio.axhline(value, color=FAINT, linestyle=":", linewidth=1.4)
                ratio.annotate(name, (0.99 - 0.2 * (number % 3), value), xycoords=("axes fraction", "data"),
                               ha="right", va="bottom", fontsize=10, color="#666666")  # fmt: skip
        series = {f"{test}, {name}": f"geometry.{test}.residual to {name}" for test in TESTS for name in TORI[:2]}
        _over_training(distance, table, series, "c   Distance to ideal tori (of r)", "Wasserstein distance")
        _spectra(spectra, table)
        put_caption(
            figure,
            f"Block {HEADLINE}. (b) Dotted: what nobody trained. (c) Between the distributions of r over all pairs of "
            "rings. (d) Shares of the variance at the end of training.",
            band_caption(table.filter(pl.col("arm") == TRAINED)["seed"].n_unique()),
        )
    return figure


def rings(table: pl.DataFrame, side: int) -> Figure:
    """Fig. 3: distributions of both statistics in the three tests, as cumulative shares."""
    ideal = {name: ring_tests(torus(name, side, side)) for name in TORI[:2]}
    share = np.linspace(0, 1, QUANTILES)
    with house_style():
        figure = Figure(figsize=(15, 9.6), layout="constrained")
        panels = figure.subplots(2, 3, sharey=True)
        for row, (statistic, name) in zip(panels, STATISTICS.items(), strict=True):
            for axes, test in zip(row, TESTS, strict=True):
                axes.set_title(test)
                for arm, node in ((TRAINED, HEADLINE), (NULLS, "pixels")):
                    for number, values in enumerate(_quantiles(table, arm, node, test, statistic)):
                        label = "trained" if arm == TRAINED else node
                        axes.plot(values, share, DASHES[label], color=INK[label], linewidth=1.8, alpha=0.8,
                                  label=label if number == 0 else None)  # fmt: skip
                for kind, tests in ideal.items():
                    values = getattr(tests[test], statistic).ravel()
                    axes.plot(
                        np.quantile(values, share), share, DASHES[kind], color=INK[kind], linewidth=2.4, label=kind
                    )
                axes.set(xlabel=name, xlim=(-0.03, 1.03))
            row[0].set_ylabel("share of pairs up to here")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        put_caption(
            figure,
            f"Pairs of rings of block {HEADLINE} at the end of training ({seeds_text(_seeds(table))}, a line each), of "
            "two ideal tori and of the raw pixels. Left: rings with x fixed against rings with y fixed. Middle and "
            "right: two rings with x fixed, with y fixed. Parallel: r = 0, cosines 1; orthogonal: r = 1, cosines 0.",
        )
    return figure


def factorised(table: pl.DataFrame, side: int) -> Figure:
    """Every block and every null between dimension and additive fraction, with the line of blurred pictures."""
    widths = np.geomspace(0.3, 9, 60)
    line = np.array([(bump_participation_ratio(w, side, side), bump_additive_fraction(w, side, side)) for w in widths])
    with house_style():
        figure = Figure(figsize=(9.6, 7.4), layout="constrained")
        axes = figure.subplots()
        axes.plot(*line.T, color=FAINT, linewidth=2.2, label="pixels of a bump, blurred")
        for width in (0.5, 1, 2, 4):
            at = (bump_participation_ratio(width, side, side), bump_additive_fraction(width, side, side))
            axes.plot(*at, "o", color=FAINT, markersize=5)
            axes.annotate(
                f"{width:g} px", at, xytext=(6, -12), textcoords="offset points", color="#777777", fontsize=10
            )
        axes.plot(4, 1, "*", color="#1f77b4", markersize=15, label="Clifford torus")
        axes.plot(2.41, 0.9, "P", color="#2ca02c", markersize=11, label="3D torus")
        for node, points in _places(table, NULLS).items():
            untrained = node.startswith("untrained")
            name = "untrained network" if untrained else "not a network"
            known = axes.get_legend_handles_labels()[1]
            axes.plot(*points.T, "^" if untrained else "s", color="#9467bd" if untrained else "#555555", markersize=7,
                      alpha=0.6, linestyle="none", label=None if name in known else name)  # fmt: skip
            if not untrained:
                axes.annotate(
                    node, points.mean(0), xytext=(-8, -4), textcoords="offset points", fontsize=10, ha="right"
                )
        for number, (node, points) in enumerate(_places(table, TRAINED).items()):
            axes.plot(*points.T, "o", color=INK["trained"], markersize=7, alpha=0.75, linestyle="none",
                      label="trained network" if number == 0 else None)  # fmt: skip
            axes.annotate(node, points.mean(0), xytext=(8, 3), textcoords="offset points", color=INK["trained"])
        axes.set(xscale="log", xlabel="participation ratio", ylabel="additive fraction", ylim=(0, 1.05))
        axes.legend(loc="lower left")
        put_caption(
            figure,
            f"Blocks of the network at the end of its training, a dot a seed ({seeds_text(_seeds(table))}), before it, "
            "and codes that are no network. On the line lies what a picture of the bump, blurred to that width, would "
            "be; a code above it holds x and y more apart than that.",
        )
    return figure


def _over_training(axes: Axes, table: pl.DataFrame, series: Mapping[str, str], title: str, label: str) -> None:
    axes.set_title(title)
    found = {name: list(curves(table, what, TRAINED, HEADLINE).values()) for name, what in series.items()}
    found = {name: each for name, each in found.items() if each}
    if not found:
        return empty_panel(axes, f"{label} was not measured")
    for number, (name, each) in enumerate(found.items()):
        color, dash = f"C{number // 2}", "-" if number % 2 == 0 else "--"
        shown = [dict(zip(seen.tolist(), values.tolist(), strict=True)) for seen, values in each]
        seen = sorted(set.intersection(*map(set, shown)))
        values = np.array([[one[at] for at in seen] for one in shown])  # [seeds, moments]
        for one in values:
            axes.plot(seen, one, color=color, linewidth=0.7, alpha=0.35)
        axes.plot(seen, values.mean(0), dash, color=color, linewidth=2.4, label=name)
    images_axis(axes)
    axes.set_ylabel(label)
    if len(found) > 1:
        axes.set_ylim(0, 1.42)
        axes.legend(loc="upper center", ncols=2, fontsize=10)
    return None


def _spectra(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("d   Spectra")
    at = np.arange(1, SPECTRUM + 1)
    for arm, node, color, label in (
        (TRAINED, HEADLINE, INK["trained"], "trained"), (NULLS, f"untrained {HEADLINE}", "#9467bd", "untrained"),
        (NULLS, "pixels", INK["pixels"], "pixels"),
    ):  # fmt: skip
        found = [at_end(table, f"spectrum.{k}", arm, [node]) for k in at]
        seeds = sorted(set.intersection(*map(set, found)))
        for number, seed in enumerate(seeds):
            shares = [each[seed] for each in found]
            top = f"{label} (first four: {sum(shares[:4]):.2f})"
            axes.plot(at, shares, "o-", color=color, linewidth=1.6, markersize=4, alpha=0.7,
                      label=top if number == 0 else None)  # fmt: skip
    axes.set(xlabel="principal component", ylabel="share of the variance", yscale="log")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best")


def _quantiles(table: pl.DataFrame, arm: str, node: str, test: str, statistic: str) -> list[list[float]]:
    """One list of quantiles a seed."""
    found = [at_end(table, f"{test}.{statistic}.q{k}", arm, [node]) for k in range(QUANTILES)]
    return [[each[seed] for each in found] for seed in sorted(set.intersection(*map(set, found)))]


def _places(table: pl.DataFrame, arm: str) -> dict[str, NDArray[np.float64]]:
    """Participation ratio and additive fraction at the end, for every block or null.  # [seeds, 2] each"""
    found = {}
    names = table.filter((pl.col("arm") == arm) & (pl.col("instrument") == RATIO))["node"].unique(maintain_order=True)
    for node in names.to_list():
        ratio, additive = (at_end(table, what, arm, [node]) for what in (RATIO, ADDITIVE))
        shared = sorted(ratio.keys() & additive.keys())
        if shared:
            found[str(node)] = np.array([(ratio[seed], additive[seed]) for seed in shared])
    return found


def _seeds(table: pl.DataFrame) -> int:
    return int(table.filter(pl.col("arm") == TRAINED)["seed"].n_unique())
