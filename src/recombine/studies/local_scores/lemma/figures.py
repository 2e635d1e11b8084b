"""The figures of exact composition: leaks and local errors, what Lemma 1 needs, composition in features."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import count_text
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.table import Table, curves, select
from recombine.runs.exact_composition import PAIR
from recombine.studies.local_scores.lemma.claims import ZERO, largest, over_noise
from recombine.theory.composition.error import equicoupled, local_errors

ROUNDING = float(np.finfo(np.float64).eps)
NO_NOISE = 0.01  # where sigma = 0 is drawn on a logarithmic axis
LEAST = 1e-17  # and a difference of exactly nothing
COMPOSED, COUPLED, CROWDED, TIED = (SERIES_COLORS[k] for k in (4, 5, 0, 1))
SHADES = ("#9ECAE1", "#4A98C9", "#08519C", "#08306B")  # of Gaussian blocks, by their coupling
DASHED: Any = (0, (4, 1.8))
Panel = Callable[[Axes, Table], None]


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """Leaks and local errors; what each half of Lemma 1 needs; composition in features."""
    return {
        "figure": Drawing(
            _panels(table, (2, 2), _leaks, _errors, _weighted_errors, _totals),
            "Top left: the largest change of s_i when a pixel outside N_i moves by 0.3, or when another block gets "
            "another condition, computed from one mixture over all pixels, which knows of no blocks. Top right and "
            "bottom left: mean over pixels of (s_i - s_loc)^2, plain and times sigma^2; lines: formula for two "
            "Gaussian blocks, dots: from samples, diamonds: coupled mixtures, from samples. Bottom right: total "
            "correlation that is lost between sigma = 0.01 and 10, against the integral of E|s - s_loc|^2 / 2 over "
            "sigma^2.",
        ),
        "lemma": Drawing(
            _panels(table, (1, 3), _rebuilt, _crowded, _linear),
            "Left: log p(x | c_J) - log p(x' | c_J) as a line integral of scores of models of one condition each, "
            "which receive junk on all other pixels; largest error in nats. Crowded: conditioned blocks move by 0.5 "
            "for every further condition. Centre: the crowded score, when the conditions stay and a pixel outside "
            "moves or another block gets another value, and when another block loses its condition. Right: s_0 + sum "
            "of (s_j - s_0) against the score with three conditions, root mean square over that of the score.",
        ),
        "features": Drawing(
            _panels(table, (1, 2), _features, _cosines),
            "Left: a law that composes in z = A x, with noise in pixels; generic maps stretch by 1/2 to 2; the "
            "largest partial correlation between blocks, of a Gaussian with the mean covariance of the components. "
            "Right: cosines of two orthogonal shifts in 256 dimensions, |d|^2 = 3.6, unit noise; points: mean over "
            "draws, from the smallest to the largest seed; line: (D / n) / (|d|^2 + 2 D / n).",
        ),
    }


def _panels(table: Table, shape: tuple[int, int], *panels: Panel) -> Figure:
    with house_style():
        figure = Figure(figsize=(13.5 if shape[1] < 3 else 17, 5.8 * shape[0] + 0.4), layout="constrained")
        for axes, panel in zip(figure.subplots(*shape).flat, panels, strict=True):
            try:
                panel(axes, table)
            except NotMeasured as reason:
                axes.clear()
                empty_panel(axes, str(reason))
        n = table["seed"].n_unique()
        sets = f"n = {n} {'set' if n == 1 else 'sets'} of mixtures"
        put_caption(figure, f"{sets}. Lines: median; bands: smallest to largest set.")
    return figure


def _leaks(axes: Axes, table: Table) -> None:
    for law, color in (("coupled", COUPLED), ("composed", COMPOSED)):
        name = {"coupled": "shared latent"}.get(law, law)
        _band(axes, table, "condition.outside", color, f"{name}: condition", DASHED, law=law)
        _band(axes, table, "pixel.outside", color, f"{name}: pixel", law=law)
    most = max(max(largest(f"{what}.outside", law="composed")(table).values()) for what in ("pixel", "condition"))
    axes.set_title(f"Laws that compose leak at most {_power(most)}")
    _rounding(axes, table)
    _noise_axis(axes, "largest change of $s_i$ from outside", (LEAST, 1e4))
    axes.legend(loc="upper right", ncols=2, handlelength=2.4)


def _rounding(axes: Axes, table: Table) -> None:
    """What rounding alone may do to scores of this size, and what the claims count as zero."""
    sigmas, values = _series(table, "score", law="composed")
    axes.plot(sigmas, ROUNDING * np.median(values, 0), color=FAINT, linestyle=":", linewidth=2.2, zorder=4)
    axes.annotate("float64 rounding", (sigmas[1], ROUNDING * np.median(values, 0)[1]), xytext=(0, -17),
                  textcoords="offset points", color="#777777", fontsize=12)  # fmt: skip
    _zero_line(axes)


def _zero_line(axes: Axes) -> None:
    axes.axhline(ZERO, color=FAINT, linewidth=1.4, zorder=1)
    axes.text(0.99, 1.6 * ZERO, "below counts as zero", transform=axes.get_yaxis_transform(), ha="right",
              color="#777777", fontsize=12)  # fmt: skip


def _local_errors(axes: Axes, table: Table, power: int) -> Any:
    """Errors times sigma to a power: the Gaussians by formula and sampled, and the coupled mixtures."""
    for color, rho in zip(SHADES, _couplings(table), strict=False):
        sigmas, sampled = _series(table, "error.sampled", law="gaussian", rho=rho)
        fine = np.geomspace(sigmas[0], sigmas[-1], 200)
        known = local_errors(equicoupled(rho), PAIR, torch.from_numpy(fine)).mean(1).numpy()
        axes.plot(fine, fine**power * known, color=color, linewidth=3, label=f"Gaussian, $\\rho$ = {rho:g}")
        axes.plot(sigmas, sigmas**power * sampled.mean(0), "o", color=color, markersize=9, markeredgecolor="white")
    sigmas, values = _series(table, "error.sampled", law="coupled")
    scaled = sigmas**power * values
    axes.fill_between(sigmas, scaled.min(0), scaled.max(0), color=COUPLED, alpha=0.15, linewidth=0)
    axes.plot(sigmas, np.median(scaled, 0), "D--", color=COUPLED, linewidth=1.8, markersize=8, label="coupled mixtures")
    return sigmas, scaled


def _errors(axes: Axes, table: Table) -> None:
    values = _local_errors(axes, table, 0)[1]
    shrinks = np.median(values[:, 0] / values[:, -1])
    axes.set_title(f"Local error falls {_power(shrinks)}-fold with noise")
    _noise_axis(axes, "$E\\,(s_i - s_i^{loc})^2$", zero=False)
    axes.legend(loc="lower left")


def _weighted_errors(axes: Axes, table: Table) -> None:
    sigmas, values = _local_errors(axes, table, 2)
    axes.set_title(f"Weighted by $\\sigma^2$ it peaks near {np.mean(sigmas[values.argmax(1)]):.2g}")
    _noise_axis(axes, "$\\sigma^2\\,E\\,(s_i - s_i^{loc})^2$", (1e-6, None), zero=False)


def _totals(axes: Axes, table: Table) -> None:
    points = [("gaussian", rho, color) for rho, color in zip(_couplings(table), SHADES, strict=False)]
    ends, worst = list[float](), 0.0
    for law, rho, color in [*points, ("coupled", None, COUPLED)]:
        found = [select(table, name, law=law, rho=rho).sort("seed")["value"].to_numpy()
                 for name in ("divergence.lost", "error.total")]  # fmt: skip
        lost, total = found
        if not len(lost) or len(lost) != len(total):
            raise NotMeasured("the total error was not computed")
        named = rho is None or rho == points[-1][1]
        label = ("coupled mixtures, sampled" if rho is None else "Gaussian, formula") if named else None
        axes.plot(lost, total, "D" if rho is None else "o", color=color, markersize=10, markeredgecolor="white",
                  zorder=3, label=label)  # fmt: skip
        if rho is not None:
            axes.annotate(f"$\\rho$ = {rho:g}", (lost[0], total[0]), xytext=(11, -14), textcoords="offset points",
                          color=color)  # fmt: skip
        ends += [float(lost.min()), float(lost.max())]
        worst = max(worst, float(np.abs(total / lost - 1).max()))
    span = np.array([min(ends) / 1.6, 1.6 * max(ends)])
    axes.plot(span, span, color=INK, linewidth=1.4, zorder=1, label="equal")
    axes.set(
        xscale="log", yscale="log", xlabel="total correlation lost to noise, nats", ylabel="total local error, nats"
    )
    axes.set_title(f"Total error is what the blocks share, within {100 * worst:.0f}%")
    axes.legend(loc="upper left")


def _rebuilt(axes: Axes, table: Table) -> None:
    for law, color in (("coupled", COUPLED), ("crowded", CROWDED), ("composed", COMPOSED)):
        _band(axes, table, "rebuilt", color, law, law=law)
    most = max(largest("rebuilt", law="composed")(table).values())
    axes.set_title(f"Composed law rebuilt to {_power(most)} nats")
    _zero_line(axes)
    _noise_axis(axes, "error of the log density, nats", (LEAST, 1e5))
    axes.legend(loc="upper right", ncols=3, columnspacing=1.2, handlelength=1.6)


def _crowded(axes: Axes, table: Table) -> None:
    for instrument, color, name, dashes in (
        ("dropped.outside", CROWDED, "another condition dropped", "-"),
        ("condition.outside", COMPOSED, "another condition changed", DASHED),
        ("pixel.outside", COMPOSED, "a pixel outside moved", "-"),
    ):
        _band(axes, table, instrument, color, name, dashes, law="crowded")
    moved = np.median(_series(table, "dropped.outside", law="crowded")[1].max(1))
    axes.set_title(f"Crowded: dropping moves $s_i$ by {moved:.1f}")
    _rounding(axes, table)
    _noise_axis(axes, "largest change of $s_i$", (LEAST, 1e7))
    axes.legend(loc="upper right")


def _linear(axes: Axes, table: Table) -> None:
    for law, color, name in (
        ("null-tied", TIED, "composed, null-tied"),
        ("crowded", CROWDED, "crowded"),
        ("coupled", COUPLED, "coupled"),
        ("composed", COMPOSED, "composed"),
    ):
        _band(axes, table, "linear", color, name, law=law)
    values = _series(table, "linear", law="null-tied")[1]
    axes.set_title(f"Adding scores: up to {100 * np.median(values, 0).max():.0f}% error")
    _zero_line(axes)
    _noise_axis(axes, "relative error of the score", (1e-18, 1e7))
    axes.legend(loc="upper right")


def _features(axes: Axes, table: Table) -> None:
    for name, color in (("generic", COUPLED), ("orthogonal", COMPOSED)):
        _band(axes, table, "partial", color, f"{name} A", zero=False, map=name)
    most = max(largest("partial", map="orthogonal")(table).values())
    axes.set_title(f"Orthogonal A: blocks tied by at most {_power(most)}")
    _zero_line(axes)
    _noise_axis(axes, "partial correlation of blocks of z", (LEAST, 300), zero=False)
    lines = []
    for name, where in (("identity", "z"), ("orthogonal", "x, orthogonal A"), ("generic", "x, generic A")):
        values = select(table, "cosine", map=name)["value"].to_numpy()
        lines.append(f"{where}: {np.median(values):.2f}" if np.median(values) > 0.005 else f"{where}: 0")
    axes.text(0.97, 0.29, "largest cosine of mean shifts, in\n" + "\n".join(lines), transform=axes.transAxes,
              ha="right", va="center", color="#444444", linespacing=1.5)  # fmt: skip
    axes.legend(loc="upper left", ncols=2)


def _cosines(axes: Axes, table: Table) -> None:
    where = {"over": "samples", "background": "shared"}
    known = curves(table, "cosine.expected", **where)
    if not known:
        raise NotMeasured("cosine.sampled was not computed")
    axes.plot(*next(iter(known.values())), color=COUPLED, linewidth=2.4, label="expected")
    for background, color, name in (("shared", COUPLED, "one background mean"), ("split", COMPOSED, "a half for each")):
        found = curves(table, "cosine.sampled", over="samples", background=background)
        counts, values = next(iter(found.values()))[0], np.stack([own for _, own in found.values()])
        spread = np.abs(np.stack([values.min(0), values.max(0)]) - values.mean(0))
        axes.errorbar(counts, values.mean(0), spread, color=color, marker="o", markersize=9, linestyle="none",
                      capsize=4, label=name)  # fmt: skip
        if background == "shared":
            axes.set_title(f"A shared background fakes a cosine of {values.mean(0).max():.2f}")
    axes.axhline(0, color=INK, linewidth=1.4, zorder=1)
    axes.text(0.99, -0.012, "truth", transform=axes.get_yaxis_transform(), ha="right", va="top", fontsize=12)
    axes.set(
        xscale="log", ylim=(-0.06, 0.56), xlabel="samples in each mean, n", ylabel="cosine of two estimated shifts"
    )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    axes.legend(loc="upper right")


def _band(
    axes: Axes, table: Table, instrument: str, color: str, name: str, dashes: Any = "-", zero: bool = True,
    **where: Any,
) -> None:  # fmt: skip
    """The median over sets of mixtures, and a band from the smallest to the largest."""
    sigmas, values = _series(table, instrument, **where)
    values = np.maximum(values, LEAST)
    if not zero:
        sigmas, values = sigmas[sigmas > NO_NOISE], values[:, sigmas > NO_NOISE]
    axes.fill_between(sigmas, values.min(0), values.max(0), color=color, alpha=0.16, linewidth=0)
    axes.plot(sigmas, np.median(values, 0), color=color, linewidth=3, linestyle=dashes, marker="o", markersize=5,
              label=name)  # fmt: skip


def _series(table: Table, instrument: str, **where: Any) -> tuple[Any, Any]:
    """Noise levels, and the values of every seed; sigma = 0 where it is drawn.  # [S], [seeds, S]"""
    found = over_noise(table, instrument, **where)
    sigmas = np.array(list(next(iter(found.values()))))
    return np.where(sigmas == 0, NO_NOISE, sigmas), np.array([list(own.values()) for own in found.values()])


def _noise_axis(
    axes: Axes, label: str, limits: tuple[float | None, float | None] = (None, None), zero: bool = True
) -> None:
    axes.set(xscale="log", yscale="log", ylabel=label, xlabel="noise level $\\sigma$", ylim=limits)
    ticks, names = [0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"]
    axes.set_xticks([NO_NOISE, *ticks] if zero else ticks, ["0", *names] if zero else names)
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(numticks=9))


def _power(number: float) -> str:
    """3.1e-14 as 3 times ten to the power of -14."""
    digit, _, exponent = f"{number:.0e}".partition("e")
    return f"${digit} \\times 10^{{{int(exponent)}}}$"


def _couplings(table: Table) -> Sequence[float]:
    return sorted(select(table, "error.total", law="gaussian")["rho"].unique().to_list())
