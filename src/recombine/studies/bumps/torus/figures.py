"""Figures of tori in networks (Liang et al. 2024, Figs 2, 3 and 8)."""

from typing import Any

import numpy as np
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
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import images_axis, one_legend
from recombine.lab.report.kit.curves import band_caption, draw_mean, draw_series
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, empty_panel, put_caption, seeds_text
from recombine.lab.rules import combined, mean
from recombine.lab.table import Table, at_end, at_ends, curves, select
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.torus.claims import ADDITIVE, BLOCK, CONJUNCTIVE, HEADLINE, NULLS, RATIO, TRAINED

CLIFFORD, SOLID, _ = TORI
LINES: dict[str, tuple[str, Any]] = {
    "trained": ("#D55E00", "-"), CLIFFORD: ("#0072B2", "--"), SOLID: ("#009E73", "-."), "pixels": ("#7f7f7f", ":"),
    "untrained": ("#9467bd", "-"),
}  # fmt: skip
STATISTICS = {"residual": "share r outside of the other plane", "cosines": "principal cosines"}


def draw(table: Table, config: BumpsRun) -> dict[str, Drawing]:
    """Training, rings, and what of it all is learned."""
    side = config.world.pixels
    return {
        "figure": Drawing(
            training(table),
            "Accuracy, participation ratio and distance to ideal tori over training; spectra at its end.",
        ),
        "rings": Drawing(
            rings(table, side, "residual"),
            "How orthogonal the planes of rings are: the trained block, ideal tori and the raw pixels.",
        ),
        "cosines": Drawing(rings(table, side, "cosines"), "The same by the principal cosines of the planes."),
        "factorised": Drawing(
            factorised(table, side),
            "Is a block more than a blurred picture? Additive fraction over participation ratio of every block.",
        ),
    }


def training(table: Table) -> Figure:
    """Fig 2 and Fig 8: accuracy, dimensions, distance to ideal tori, spectra."""
    with new_figure(15, 12.4, 2, 2, share_y=False) as (figure, ((accuracy, ratio), (distance, spectra))):
        shown = {"darkest": "darkest pixel", "fine": "fine estimate"}
        drawn = {
            name: list(curves(table, f"{how}.both", arm=TRAINED, region=ALL).values()) for how, name in shown.items()
        }
        draw_series(accuracy, drawn)
        accuracy.set_title(
            f"a   Accuracy: {mean(at_end(table, 'darkest.both', arm=TRAINED, region=ALL)):.2f} at the end"
        )
        _draw_ratio(ratio, table)
        _draw_distance(distance, table)
        _draw_spectra(spectra, table)
        put_caption(
            figure,
            f"Block {HEADLINE}. (b) Dotted: representations that were not learned. (c) Wasserstein distance between "
            "the distributions of r over all pairs of rings. (d) Shares of the variance at the end of training, a line "
            "a seed; in brackets the first four together.",
            band_caption(_seeds(table)),
        )
    return figure


def rings(table: Table, side: int, statistic: str) -> Figure:
    """Fig 3: the distribution of a statistic in the three tests, as cumulative shares."""
    ideal = {name: ring_tests(torus(name, side, side)) for name in (CLIFFORD, SOLID)}
    share = np.linspace(0, 1, QUANTILES)
    with new_figure(16, 6.8, 1, 3) as (figure, [panels]):
        for letter, axes, test in zip("abc", panels, TESTS, strict=True):
            for label, of in (("trained", BLOCK), ("pixels", CONJUNCTIVE["pixels"])):
                color, dashes = LINES[label]
                for _, values in curves(table, f"pairs.{statistic}", over="quantile", rings=test, **of).values():
                    if len(values) == QUANTILES:
                        axes.plot(values, share, color=color, linestyle=dashes, linewidth=2, alpha=0.8, label=label)
            for kind, tests in ideal.items():
                values = np.quantile(getattr(tests[test], statistic).ravel(), share)
                axes.plot(values, share, color=LINES[kind][0], linestyle=LINES[kind][1], linewidth=2.8, label=kind)
            name = "residual" if statistic == "residual" else "cosine"
            found = at_end(table, f"geometry.{name}", rings=test, **BLOCK)
            axes.set_title(f"{letter}   {test}" + (f": mean {mean(found):.2f}" if found else ""))
            axes.set(xlabel=STATISTICS[statistic], xlim=(-0.03, 1.03))
        panels[0].set_ylabel("share of pairs up to here")
        one_legend(figure, panels[0])
        put_caption(
            figure,
            f"Pairs of rings of block {HEADLINE} at the end of training ({seeds_text(_seeds(table))}, a line each), of "
            "two ideal tori and of the raw pixels. (a) Rings with x fixed against rings with y fixed. (b, c) Two rings "
            "with x fixed, with y fixed. Parallel: r = 0, cosines 1; orthogonal: r = 1, cosines 0.",
        )
    return figure


def factorised(table: Table, side: int) -> Figure:
    """Every block and every null between dimension and additive fraction, with the line of blurred pictures."""
    widths = np.geomspace(0.3, 9, 60)
    with new_figure(12, 9) as (figure, [[axes]]):
        axes.plot(*np.array([_blur(w, side) for w in widths]).T, color=FAINT, linewidth=2.4, label="bump, blurred")
        for width in (0.5, 1, 2, 4):
            axes.plot(*_blur(width, side), "o", color=FAINT, markersize=6)
            axes.annotate(f"{width:g} px", _blur(width, side), xytext=(6, -14), textcoords="offset points",
                          color="#777777", fontsize=13)  # fmt: skip
        axes.plot(4, 1, "*", color=LINES[CLIFFORD][0], markersize=17, label=CLIFFORD)
        axes.plot(2.41, 0.9, "P", color=LINES[SOLID][0], markersize=13, label=SOLID)
        for block, points in _points(table, arm=NULLS, trained=None).items():
            axes.plot(*points.T, "s", color="#555555", markersize=8, alpha=0.6, label="not a network")
            axes.annotate(block, points.mean(0), xytext=(-8, -4), textcoords="offset points", fontsize=13, ha="right")
        for points in _points(table, trained=False).values():
            axes.plot(*points.T, "^", color=LINES["untrained"][0], markersize=8, alpha=0.5, label="untrained network")
        trained = _points(table, trained=True)
        for block, points in trained.items():
            axes.plot(*points.T, "o", color=LINES["trained"][0], markersize=8, alpha=0.8, label="trained network")
            offset = (-78, -34) if block == "bottom" else (10, 5)  # beside the middle block
            axes.annotate(block, points.mean(0), xytext=offset, textcoords="offset points", color=LINES["trained"][0])
        axes.set(xscale="log", xlabel="participation ratio", ylabel="additive fraction", ylim=(0, 1.05))
        if HEADLINE in trained:
            axes.set_title(f"Block {HEADLINE}: additive fraction {trained[HEADLINE].mean(0)[1]:.2f} after training")
        one_legend(axes, axes, loc="lower left")
        put_caption(
            figure,
            f"Blocks of the network at the end of its training, a dot a seed ({seeds_text(_seeds(table))}), before it, "
            "and codes that are no network. On the line lies what a picture of the bump, blurred to that width, would "
            "be; a code above it keeps x and y more separate than that.",
        )
    return figure


def _draw_ratio(axes: Axes, table: Table) -> None:
    found = list(curves(table, RATIO, **BLOCK).values())
    if not found:
        return empty_panel(axes, "participation ratio was not measured")
    draw_mean(axes, found, LINES["trained"][0])
    for number, (name, of) in enumerate(CONJUNCTIVE.items()):  # names side by side: some lie close
        if values := at_end(table, RATIO, **of):
            axes.axhline(mean(values), color=FAINT, linestyle=":", linewidth=1.6)
            axes.annotate(name, (0.99 - 0.27 * (number % 3), mean(values)), xycoords=("axes fraction", "data"),
                          ha="right", va="bottom", fontsize=12.5, color="#666666")  # fmt: skip
    images_axis(axes)
    axes.set_yscale("log")
    axes.set_ylabel("participation ratio")
    axes.set_title(f"b   Dimensions: {mean(at_end(table, RATIO, **BLOCK)):.1f} at the end")
    return None


def _draw_distance(axes: Axes, table: Table) -> None:
    drawn = False
    for color, test in zip(("#0072B2", "#E69F00", "#009E73"), TESTS, strict=True):
        for kind, dashes in ((CLIFFORD, "-"), (SOLID, "--")):
            found = list(curves(table, "distance.residual", rings=test, torus=kind, **BLOCK).values())
            if found:
                draw_mean(axes, found, color, f"{test}, {kind.split()[0]}", dashes=dashes, width=2.6, opacity=0.06)
                drawn = True
    if not drawn:
        return empty_panel(axes, "distances to ideal tori were not measured")
    images_axis(axes)
    axes.set(ylabel="Wasserstein distance of r", ylim=(0, 1.5))
    axes.legend(loc="upper center", ncols=2, fontsize=13)
    end = at_end(table, "distance.residual", rings=TESTS[0], torus=CLIFFORD, **BLOCK)
    axes.set_title(f"c   {TESTS[0]}: {mean(end):.2f} from the Clifford torus")
    return None


def _draw_spectra(axes: Axes, table: Table) -> None:
    axes.set_title("d   Spectra")
    four = {}
    for label, of in (("trained", BLOCK), ("untrained", CONJUNCTIVE[f"untrained {HEADLINE}"]),
                      ("pixels", CONJUNCTIVE["pixels"])):  # fmt: skip
        four[label] = mean(at_end(table, "geometry.top-4 share", **of))
        for number, (at, shares) in enumerate(curves(table, "spectrum", over="component", **of).values()):
            name = f"{label} ({four[label]:.2f})" if number == 0 else None
            axes.plot(at, shares, "o-", color=LINES[label][0], linewidth=1.8, markersize=5, alpha=0.7, label=name)
    axes.set(xlabel="principal component", ylabel="share of the variance", yscale="log", xlim=(0.5, SPECTRUM + 0.5))
    if axes.get_legend_handles_labels()[0]:
        axes.set_title(f"d   First four: {four['trained']:.2f}, untrained {four['untrained']:.2f}")
        axes.legend(loc="best")


def _blur(width: float, side: int) -> tuple[float, float]:
    return bump_participation_ratio(width, side, side), bump_additive_fraction(width, side, side)


def _points(table: Table, **where: Any) -> dict[str, NDArray[np.float64]]:
    """Participation ratio and additive fraction at the end, for every block or null.  # [seeds, 2] each"""
    ratios, additive = (at_ends(table, what, "block", **where) for what in (RATIO, ADDITIVE))
    pairs = {block: combined((ratios[block], additive[block]), tuple) for block in ratios if block in additive}
    return {block: np.array(list(found.values())) for block, found in pairs.items() if found}


def _seeds(table: Table) -> int:
    return select(table, arm=TRAINED)["seed"].n_unique()
