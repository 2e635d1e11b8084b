"""The figures of locality (Bradley 2026, Fig 2 left and its plot of metrics)."""

from typing import Any, cast

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from recombine.lab.report.kit.axes import accuracy_axis, one_legend
from recombine.lab.report.kit.curves import band_caption, draw_mean
from recombine.lab.report.kit.style import INK, empty_figure, house_style, put_caption, seeds_text
from recombine.lab.table import Curve, at_end, curves
from recombine.studies.local_scores.length.claims import HEADLINE, arm_of
from recombine.studies.local_scores.length.figures import COLORS, OTHERWISE
from recombine.studies.local_scores.locality.claims import (
    ALL,
    CHANCE,
    GLOBAL_MACHINE,
    LOCAL_MACHINE,
    PIXELS,
    READINGS,
    REMOVED,
)

TOTAL = "locality.conditions.removed.total"
MACHINES = {"machine\nlocal": LOCAL_MACHINE, "machine\nglobal": GLOBAL_MACHINE}
DASHES = {
    "3L": (0, (4, 2)),
    "2L linear": (0, (2, 5)),
    "2L whole": (0, (5, 1.5, 1, 1.5)),
}  # so that lines that coincide are both seen
SHADES = (1.0, 0.6, 0.3)  # opacity of the first, second and third bar of an arm
HATCHES = ("", "//", "..")


def over_noise(table: pl.DataFrame) -> Figure:
    """P within 2 cells, C by removal, and how much labels matter, over noise levels."""
    shown = {name: arm for name in COLORS if curves(table, PIXELS, arm := arm_of(name, HEADLINE), ALL)}
    if not shown:
        return empty_figure("locality was not measured")
    with house_style():
        figure = Figure(figsize=(16.5, 5.8), layout="constrained")
        pixels, conditions, total = figure.subplots(1, 3, sharex=True)
        for name, arm in shown.items():
            for axes, instrument in ((pixels, PIXELS), (conditions, REMOVED), (total, TOTAL)):
                series = _over_noise(table, arm, instrument)
                draw_mean(
                    axes, series, COLORS[name], f"Exp {name}", dashes=DASHES.get(name, "-"), thin=False, width=2.6
                )
        pixels.set_title("pixel locality")
        accuracy_axis(pixels, "P, gradient within 2 cells", _mean(table, shown, f"{PIXELS}.chance"))
        conditions.set_title("conditional locality")
        accuracy_axis(conditions, "C, influence of near labels", _mean(table, shown, CHANCE[REMOVED]), under=True)
        total.set(title="how much labels matter", ylabel="change by removing labels, summed", yscale="log")
        total.set_ylim(bottom=1e-4)  # below it C is not read
        for axes in (pixels, conditions, total):
            _noise_axis(axes)
        pixels.invert_xaxis()  # all three: noise falls to the right, as a sampler goes
        one_legend(figure, pixels)
        put_caption(
            figure,
            "Models trained on 1 to 3 objects, asked for four, at the pixels of the four objects, on their own way "
            "from noise (left) to image (right). Dotted: chance. Right: how much the denoised image changes there "
            "when a label is removed, summed over labels. C is left out where the influence at the right is below "
            "0.0001; its mean over noise levels is weighted by it. Linear, far, whole: 2L and the controls of "
            "`length`.",
            band_caption(_seeds(table)).replace("Thin lines: seeds. Thick line: their mean.", "Lines: means of seeds."),
        )
    return figure


def means(table: pl.DataFrame) -> Figure:
    """Bars of every experiment and machine: P within 1, 2 and 4 cells, C by three readings, the half radius."""
    inked = COLORS | OTHERWISE
    arms = {"\n".join(f"Exp {name}".rsplit(" ", name.count(" "))): arm_of(name, HEADLINE) for name in inked} | MACHINES
    shown = {name: arm for name, arm in arms.items() if at_end(table, PIXELS, arm, [ALL])}
    if not shown:
        return empty_figure("locality was not measured")
    inks = {name: inked.get(arm.removesuffix(f" {HEADLINE}"), "#555555") for name, arm in shown.items()}
    with house_style():
        figure = Figure(figsize=(max(15, 1.6 * len(shown)), 10.4), layout="constrained")
        upper, lower = figure.subplots(2, 1)
        radii = {f"within {r} cell" + "s" * (r > 1): f"locality.pixels.P{r}" for r in (1, 2, 4)}
        _bars(upper, table, shown, inks, radii, {name: f"{name}.chance" for name in radii.values()})
        upper.set_title("pixel locality: share of the gradient to the image")
        accuracy_axis(upper, "P")
        for place, arm in enumerate(shown.values()):
            half = at_end(table, "locality.pixels.half radius", arm, [ALL])
            if half:
                text = f"half: {np.mean(list(half.values())):.1f} cells"
                upper.text(place, 1.02, text, ha="center", va="bottom", fontsize=10.5, color="#555555")
        upper.set_ylim(0, 1.12)
        asked = dict(zip(("label removed", "label moved", "gradient to the label"), READINGS.values(), strict=True))
        _bars(lower, table, shown, inks, asked, CHANCE)
        lower.set_title("conditional locality: share of the influence of labels that comes from near ones")
        accuracy_axis(lower, "C")
        lower.set_ylim(0, 1.12)
        for axes in (upper, lower):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4, handlelength=2.2)
        put_caption(
            figure,
            f"Means over noise levels at the end of training, {seeds_text(_seeds(table))}: bars are means, dots "
            "seeds. Dashes: chance, as if all pixels, or all labels, mattered alike. Half: cells within which half "
            "of the gradient lies. Machines: exact answers of a set of discs with fields of 5 x 5 cells and of the "
            "whole image; they have no gradient to labels. Channel: labels as a channel of the image or patch; "
            "multiplied, linear: a patch's labels embedded as those of whole images; far: the same, told of labels "
            "within 8 cells; whole: with a patch as large as the image (linear, far and whole: a U-Net of two levels, "
            "trained longer); fixed: a list from its first slot on.",
        )
    return figure


def _bars(
    axes: Axes, table: pl.DataFrame, arms: dict[str, str], inks: dict[str, str], series: dict[str, str],
    chance: dict[str, str],
) -> None:  # fmt: skip
    """A group for each arm, a bar for each of `series`, with its level of chance."""
    width = 0.8 / len(series)
    for position, (label, instrument) in enumerate(series.items()):
        look: dict[str, Any] = {
            "alpha": SHADES[position],
            "hatch": HATCHES[position],
            "edgecolor": "white",
            "linewidth": 0,
        }
        for place, (name, arm) in enumerate(arms.items()):
            values = list(at_end(table, instrument, arm, [ALL]).values())
            if not values:
                continue
            at = place + (position - (len(series) - 1) / 2) * width
            axes.bar(at, np.mean(values), 0.92 * width, color=inks[name], **look)
            axes.plot([at] * len(values), values, "o", color=INK, markersize=3, alpha=0.55)
            level = list(at_end(table, chance[instrument], arm, [ALL]).values())
            if level:
                axes.plot([at - 0.46 * width, at + 0.46 * width], [np.mean(level)] * 2, "--", color=INK, linewidth=1.3)
        axes.bar([0], [0], color="#444444", label=label, **look)
    axes.plot([], [], "--", color=INK, linewidth=1.3, label="chance")
    axes.set_xticks(range(len(arms)), list(arms))
    axes.set_xlim(-0.55, len(arms) - 0.45)
    axes.grid(False, axis="x")


def _over_noise(table: pl.DataFrame, arm: str, instrument: str) -> list[Curve]:
    """For each seed: noise levels, ascending, and the value at the end of training."""
    found: dict[int, dict[float, float]] = {}
    for (seed, node), (_, values) in curves(table, instrument, arm).items():
        if node.startswith("sigma="):
            found.setdefault(seed, {})[float(node.removeprefix("sigma="))] = float(values[-1])
    series: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = [
        (np.array(sorted(own)), np.array([own[sigma] for sigma in sorted(own)])) for own in found.values()
    ]
    return cast(list[Curve], series)  # over noise instead of images seen


def _mean(table: pl.DataFrame, shown: dict[str, str], instrument: str) -> float | None:
    values = [value for arm in shown.values() for value in at_end(table, instrument, arm, [ALL]).values()]
    return float(np.mean(values)) if values else None


def _noise_axis(axes: Axes) -> None:
    """Noise on a logarithmic axis."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("noise level sigma")


def _seeds(table: pl.DataFrame) -> int:
    return int(table["seed"].n_unique())
