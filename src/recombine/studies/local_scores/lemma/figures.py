"""The figures of exact composition: what leaks, how wrong the best local score is, features and cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator

from recombine.lab.claims import NotMeasured
from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.studies.local_scores.lemma.claims import EXACT, PAIR, ZERO, over_noise
from recombine.theory.composition.error import equicoupled, local_errors

ROUNDING = float(np.finfo(np.float64).eps)
NO_NOISE = 0.01  # where sigma = 0 is drawn on a logarithmic axis
LEAST = 1e-17  # and a difference of exactly nothing
EXACT_COLOR, COUPLED_COLOR, CROWDED_COLOR, TIED_COLOR = (SERIES_COLORS[k] for k in (4, 5, 0, 1))
DASHED: Any = (0, (4, 1.8))


def figure(table: pl.DataFrame) -> Figure:
    """Leaks over noise, the best local score's error and its total, features, cosines from samples."""
    with house_style():
        drawn = Figure(figsize=(18.5, 11.6), layout=ConstrainedLayoutEngine(h_pad=0.1, wspace=0.05, hspace=0.04))
        panels = drawn.subplots(2, 3)
        for axes, draw, title in zip(
            panels.flat,
            (_draw_leak, _draw_error, _draw_weighted, _draw_totals, _draw_features, _draw_cosines),
            ("a   Composed laws have local scores", "b   The best local score: error falls with noise",
             "c   Weighted by noise: peaks at data scale", "d   All errors together: what blocks share",
             "e   Composed in features, noise in pixels", "f   Cosine of orthogonal shifts, sampled"),
            strict=True,
        ):  # fmt: skip
            axes.set_title(title)
            try:
                draw(axes, table)
            except NotMeasured as reason:
                empty_panel(axes, str(reason))
        put_caption(
            drawn,
            f"{_sets(table)}, each a random CPC family (three blocks of two pixels, three Gaussians a block, four "
            "values). Lines: median; bands: smallest to largest set. a: largest change of s_i when a pixel moves by "
            "0.3, or another block is told another value, which s_i may not look at; from one mixture over all pixels, "
            "which knows of no blocks. b, c: mean over pixels of (s_i - s_loc)^2; lines: formula for two Gaussian "
            "blocks, dots: sampled; diamonds: the coupled mixtures, sampled. d: total correlation lost between sigma = "
            "0.01 and 10 against the integral of 1/2 E|s - s_loc|^2 over sigma^2. e: composed in z = A x, generic A "
            "stretches by 1/2 to 2: largest partial correlation between blocks, of a Gaussian with the mean "
            "covariance of components. f: 256 dimensions, |d|^2 = 3.6, unit noise; line: (D / n) / (|d|^2 + 2 D / n).",
        )
    return drawn


def lemma(table: pl.DataFrame) -> Figure:
    """What the two halves of Lemma 1 take, and where linear score composition is right."""
    with house_style():
        drawn = Figure(figsize=(18.5, 6.6), layout=ConstrainedLayoutEngine(h_pad=0.1, wspace=0.05))
        panels = drawn.subplots(1, 3)
        for axes, draw, title in zip(
            panels,
            (_draw_rebuilt, _draw_crowded, _draw_linear),
            ("a   The law rebuilt from single conditions", "b   Local for each J, but not one f for all",
             "c   Linear score composition"),
            strict=True,
        ):  # fmt: skip
            axes.set_title(title)
            try:
                draw(axes, table)
            except NotMeasured as reason:
                empty_panel(axes, str(reason))
        put_caption(
            drawn,
            f"{_sets(table)}. Lines: median; bands: smallest to largest set. a: log p(x | c_J) - log p(x' | c_J) as a "
            "line integral of scores of models told one condition, shown junk on all other pixels; largest error in "
            "nats. Crowded: told blocks move by 0.5 for every further condition. b: its score, changed as in panel a "
            "of the other figure while the set J of told blocks stays, and when another block is told nothing any "
            "more. c: s_0 + sum of (s_j - s_0) against the score, root mean square over that of the score, three "
            "blocks told. Null tied: composed, but told nothing the blocks are one mixture.",
        )
    return drawn


def _draw_leak(axes: Axes, table: pl.DataFrame) -> None:
    for node, color, name in (("coupled", COUPLED_COLOR, "coupled by a latent"), ("cpc", EXACT_COLOR, "composed")):
        _spread(axes, table, node, "condition.outside", color, f"{name}: condition", DASHED)
        _spread(axes, table, node, "pixel.outside", color, f"{name}: pixel")
    _floor(axes, table)
    _noise_axis(axes)
    axes.set_ylim(LEAST, 300)
    axes.set_ylabel("largest change of $s_i$ from outside its field")
    axes.legend(loc="center left", bbox_to_anchor=(0, 0.335), handlelength=3, labelspacing=0.3)


def _floor(axes: Axes, table: pl.DataFrame) -> None:
    """What rounding alone may do to scores of this size, and what the claims count as nothing."""
    sigmas, values = _series(table, "cpc", "score")
    axes.plot(sigmas, ROUNDING * np.median(values, 0), color=FAINT, linestyle=":", linewidth=2.2, zorder=4)
    axes.annotate("float64 rounding", (sigmas[1], ROUNDING * np.median(values, 0)[1]), xytext=(0, -15),
                  textcoords="offset points", color="#777777", fontsize=11)  # fmt: skip
    _zero_line(axes)


def _zero_line(axes: Axes) -> None:
    axes.axhline(ZERO, color=FAINT, linewidth=1.4, zorder=1)
    axes.text(0.99, 1.6 * ZERO, "less counts as nothing", transform=axes.get_yaxis_transform(), ha="right",
              color="#777777", fontsize=11)  # fmt: skip


def _errors(axes: Axes, table: pl.DataFrame, power: int) -> None:
    """Errors times sigma to a power: the Gaussians by formula and sampled, and the coupled mixtures."""
    shades = ("#9ECAE1", "#4A98C9", "#08519C", "#08306B")
    for color, node in zip(shades, _couplings(table), strict=False):
        sigmas, sampled = _series(table, node, "error.sampled")
        fine = np.geomspace(sigmas[0], sigmas[-1], 200)
        known = local_errors(equicoupled(float(node.rpartition("=")[2])), PAIR, torch.from_numpy(fine)).mean(1).numpy()
        axes.plot(fine, fine**power * known, color=color, linewidth=3, label=f"Gaussian, {_rho(node)}")
        axes.plot(sigmas, sigmas**power * sampled.mean(0), "o", color=color, markersize=9, markeredgecolor="white",
                  zorder=4)  # fmt: skip
    sigmas, values = _series(table, "coupled", "error.sampled")
    scaled = sigmas**power * values
    axes.fill_between(sigmas, scaled.min(0), scaled.max(0), color=COUPLED_COLOR, alpha=0.15, linewidth=0)
    axes.plot(sigmas, np.median(scaled, 0), "D--", color=COUPLED_COLOR, linewidth=1.8, markersize=8,
              label="coupled mixtures")  # fmt: skip
    _noise_axis(axes, zero=False)


def _draw_error(axes: Axes, table: pl.DataFrame) -> None:
    _errors(axes, table, 0)
    axes.set_ylabel("$E\\,(s_i - s_i^{loc})^2$")
    axes.legend(loc="lower left")


def _draw_weighted(axes: Axes, table: pl.DataFrame) -> None:
    _errors(axes, table, 2)
    axes.set_ylabel("$\\sigma^2\\,E\\,(s_i - s_i^{loc})^2$")
    axes.set_ylim(bottom=1e-6)


def _draw_totals(axes: Axes, table: pl.DataFrame) -> None:
    nodes = [(node, color, "Gaussian, formula", "o") for node, color in
             zip(_couplings(table), ("#9ECAE1", "#4A98C9", "#08519C", "#08306B"), strict=False)]  # fmt: skip
    ends: list[float] = []
    for node, color, name, mark in [*nodes, ("coupled", COUPLED_COLOR, "coupled mixtures, sampled", "D")]:
        lost, total = (_series(table, node, part)[1][:, 0] for part in ("divergence.lost", "error.total"))
        first = node == "coupled" or node == nodes[-1][0]
        axes.plot(lost, total, mark, color=color, markersize=10, markeredgecolor="white", zorder=3,
                  label=name if first else None)  # fmt: skip
        if node != "coupled":
            axes.annotate(_rho(node), (lost[0], total[0]), xytext=(11, -12), textcoords="offset points", color=color)
        ends += [float(lost.min()), float(lost.max())]
    span = np.array([min(ends) / 1.6, 1.6 * max(ends)])
    axes.plot(span, span, color=INK, linewidth=1.4, zorder=1, label="equal")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("total correlation lost to noise, nats")
    axes.set_ylabel("local error over all noise, nats")
    axes.legend(loc="upper left")


def _draw_features(axes: Axes, table: pl.DataFrame) -> None:
    for node, color in (("generic", COUPLED_COLOR), ("orthogonal", EXACT_COLOR)):
        _spread(axes, table, node, "partial", color, f"{node} A", zero=False)
    _noise_axis(axes, zero=False)
    _zero_line(axes)
    axes.set_ylim(LEAST, 300)
    axes.set_ylabel("partial correlation between blocks of z")
    lines = []
    for node, where in (("features", "z"), ("orthogonal", "x, orthogonal A"), ("generic", "x, generic A")):
        values = _series(table, node, "cosine")[1][:, 0]
        number = f"{np.median(values):.2f}" if np.median(values) > 0.005 else "0 (below 1e-15)"
        lines.append(f"{where}: {number}")
    axes.text(0.97, 0.3, "largest cosine of mean shifts, in\n" + "\n".join(lines), transform=axes.transAxes,
              ha="right", va="center", fontsize=12, color="#444444", linespacing=1.5)  # fmt: skip
    axes.legend(loc="upper left", ncols=2)


def _draw_cosines(axes: Axes, table: pl.DataFrame) -> None:
    counts, known = _series(table, "shared", "cosine.expected")
    axes.plot(1e6 * counts, known[0], color=COUPLED_COLOR, linewidth=2.4, label="its expectation")
    for node, color, name in (
        ("shared", COUPLED_COLOR, "one background mean for both"),
        ("split", EXACT_COLOR, "a half of the background each"),
    ):
        counts, values = _series(table, node, "cosine.sampled")
        axes.errorbar(1e6 * counts, values.mean(0), np.abs(np.stack([values.min(0), values.max(0)]) - values.mean(0)),
                      color=color, marker="o", markersize=9, linestyle="none", capsize=4, label=name)  # fmt: skip
    axes.axhline(0, color=INK, linewidth=1.4, zorder=1)
    axes.text(0.99, -0.012, "truth", transform=axes.get_yaxis_transform(), ha="right", va="top", fontsize=11)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: count_text(value))
    axes.set_ylim(-0.06, 0.56)
    axes.set_xlabel("samples in each mean, n")
    axes.set_ylabel("cosine of two estimated shifts")
    axes.legend(loc="upper right")


def _draw_rebuilt(axes: Axes, table: pl.DataFrame) -> None:
    for node, color, name in (
        ("coupled", COUPLED_COLOR, "coupled"),
        ("crowded", CROWDED_COLOR, "crowded"),
        ("cpc", EXACT_COLOR, "composed"),
    ):
        _spread(axes, table, node, "rebuilt", color, name)
    _zero_line(axes)
    _noise_axis(axes)
    axes.set_ylim(LEAST, 1e5)
    axes.set_ylabel("error of the log density, nats")
    axes.legend(loc="upper right", ncols=3)


def _draw_crowded(axes: Axes, table: pl.DataFrame) -> None:
    for instrument, color, name, dashes in (
        ("dropped.outside", CROWDED_COLOR, "another block told nothing any more", "-"),
        ("condition.outside", EXACT_COLOR, "another block told another value", DASHED),
        ("pixel.outside", EXACT_COLOR, "a pixel outside moves", "-"),
    ):
        _spread(axes, table, "crowded", instrument, color, name, dashes)
    _floor(axes, table)
    _noise_axis(axes)
    axes.set_ylim(LEAST, 1e5)
    axes.set_ylabel("largest change of $s_i$, crowded law")
    axes.legend(loc="upper right")


def _draw_linear(axes: Axes, table: pl.DataFrame) -> None:
    for node, color, name in (
        ("null-tied", TIED_COLOR, "composed, null tied"),
        ("crowded", CROWDED_COLOR, "crowded"),
        ("coupled", COUPLED_COLOR, "coupled"),
        ("cpc", EXACT_COLOR, "composed, null apart"),
    ):
        _spread(axes, table, node, "linear", color, name)
    _zero_line(axes)
    _noise_axis(axes)
    axes.set_ylim(1e-19, 1e5)
    axes.set_ylabel("relative error of the score")
    axes.legend(loc="upper right", ncols=2)


def _spread(
    axes: Axes, table: pl.DataFrame, node: str, instrument: str, color: str, name: str, dashes: Any = "-",
    zero: bool = True,
) -> None:  # fmt: skip
    """The median over sets of mixtures, and a band from the smallest to the largest."""
    sigmas, values = _series(table, node, instrument)
    values = np.maximum(values, LEAST)
    if not zero:
        sigmas, values = sigmas[sigmas > NO_NOISE], values[:, sigmas > NO_NOISE]
    axes.fill_between(sigmas, values.min(0), values.max(0), color=color, alpha=0.16, linewidth=0)
    axes.plot(sigmas, np.median(values, 0), color=color, linewidth=3, linestyle=dashes, marker="o", markersize=5,
              label=name)  # fmt: skip


def _series(table: pl.DataFrame, node: str, instrument: str) -> tuple[Any, Any]:
    """Noise levels, and the values of every seed; sigma = 0 where it is drawn.  # [S], [seeds, S]"""
    found = over_noise(table, node, instrument)
    sigmas = np.array(list(next(iter(found.values()))))
    return np.where(sigmas == 0, NO_NOISE, sigmas), np.array([list(own.values()) for own in found.values()])


def _noise_axis(axes: Axes, zero: bool = True) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks, names = [0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"]
    axes.set_xticks([NO_NOISE, *ticks] if zero else ticks, ["0", *names] if zero else names)
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.set_xlabel("noise level $\\sigma$")


def _couplings(table: pl.DataFrame) -> Sequence[str]:
    nodes: list[str] = table.filter(pl.col("arm") == EXACT)["node"].unique().to_list()
    found = [node for node in nodes if node.startswith("gaussian")]
    return sorted(found, key=lambda node: float(node.rpartition("=")[2]))


def _rho(node: str) -> str:
    return f"$\\rho$ = {node.rpartition('=')[2]}"


def _sets(table: pl.DataFrame) -> str:
    n = table.filter(pl.col("arm") == EXACT)["seed"].n_unique()
    return f"n = {n} set of mixtures" if n == 1 else f"n = {n} sets of mixtures"
