"""The figures of the phase diagram: heat maps over gap and scale, and cuts along one axis at a time."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import (
    FAINT,
    INK,
    SERIES_COLORS,
    SERIES_DASHES,
    empty_panel,
    house_style,
    put_caption,
)
from recombine.lab.statistics import proportion_interval
from recombine.studies.identity_mapping.phase_diagram.claims import (
    BASE,
    GRID,
    Cells,
    Counts,
    along,
    cells,
    counted,
    told,
    where,
)

Grid = NDArray[np.float64]
Place = Literal["lower right", "upper right", "lower left", "above"]
NAMES = {"1": "A", "2": "$A^2$ (released script)"}
RELEASED = "1.5", "0.2"  # gap and scale of the paper's Fig 5 and 17
PREDICTED = "#FF5A36"
STARTS = {"positive": "positive", "gaussian": "Gaussian"}


def diagram(table: pl.DataFrame) -> Figure:
    """Share of bumps (above) and median height of those that bump (below), with A and with A^2."""
    found = cells(table)
    with house_style():
        figure = Figure(figsize=(15, 12.2), layout="constrained")
        panels = figure.subplots(2, 2)
        for column, (power, name) in enumerate(NAMES.items()):
            letter = "ab"[column], "cd"[column]
            grid = where(found, **GRID, power=power)
            panels[0, column].set_title(f"{letter[0]}   Share of flows that swing by, {name}")
            panels[1, column].set_title(f"{letter[1]}   Median height of their bump, {name}")
            if not _filled(grid):
                for axes in panels[:, column]:
                    empty_panel(axes, f"not counted: a grid of gaps and scales with {name}")
                continue
            _draw_shares(panels[0, column], grid)
            _draw_heights(panels[1, column], grid)
        least = min((round(values["flows"]) for values in where(found, **GRID).values()), default=0)
        handles = [
            Line2D([], [], color=INK, linewidth=2.6),
            Line2D([], [], color=PREDICTED, linestyle="dashed", linewidth=2.6),
        ]
        names = ["half of the flows bump", "half are predicted to"]
        figure.legend(handles, names, loc="outside upper center", ncols=2, handlelength=3.2)
        put_caption(
            figure,
            f"Each cell: {least} or more positive starts U of its own, two concepts mu = (1, gap) and an idle "
            "coordinate, exact flow. A bump is a rise of the probe's loss by more than 0.1% of its largest. Its height "
            "is the rise over the largest loss. Dashes: the analytic "
            "curve on the same starts. White frame: the paper's Fig 5. Minus: fewer than five flows bump.",
        )
    return figure


def _axes_of(grid: Cells) -> tuple[list[str], list[str]]:
    """Gaps and scales, ascending."""
    gaps, scales = ({told(node)[key] for node in grid} for key in ("gap", "scale"))
    return sorted(gaps, key=float), sorted(scales, key=float)


def _filled(grid: Cells) -> bool:
    gaps, scales = _axes_of(grid)
    return len(gaps) > 1 and len(scales) > 1


def _matrix(grid: Cells, value: Callable[[Mapping[str, float]], float]) -> Grid:
    """One number a cell; NaN where there is none.  # [scales, gaps]"""
    gaps, scales = _axes_of(grid)
    matrix = np.full((len(scales), len(gaps)), np.nan)
    for node, values in grid.items():
        said = told(node)
        matrix[scales.index(said["scale"]), gaps.index(said["gap"])] = value(values)
    return matrix


def _draw_shares(axes: Axes, grid: Cells) -> None:
    share = _matrix(grid, lambda values: values["bumps"] / values["flows"])
    expected = _matrix(grid, lambda values: values.get("predicted", np.nan) / values["flows"])
    image = axes.imshow(share, origin="lower", aspect="auto", cmap="viridis", vmin=0, vmax=1)
    _contour(axes, share, "#FFFFFF", "solid", 4.2)
    _contour(axes, share, INK, "solid", 2.0)
    _contour(axes, expected, PREDICTED, "dashed", 2.4)
    _write(axes, 100 * share, "{:.0f}", 100)
    axes.figure.colorbar(image, ax=axes, label="share that bumps (numbers: %)", pad=0.015)
    gaps, scales = _axes_of(grid)
    if RELEASED[0] in gaps and RELEASED[1] in scales:
        corner = gaps.index(RELEASED[0]) - 0.5, scales.index(RELEASED[1]) - 0.5
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=2.2, zorder=4))
    _label(axes, grid)


def _draw_heights(axes: Axes, grid: Cells) -> None:
    height = 100 * _matrix(grid, lambda values: values.get("height", np.nan) if values["bumps"] >= 5 else np.nan)
    most = max(1.0, float(np.nanmax(height)) if np.isfinite(height).any() else 0.0)
    image = axes.imshow(height, origin="lower", aspect="auto", cmap="magma", vmin=0, vmax=most)
    _write(axes, height, "{:.1f}", most)
    for row, column in np.argwhere(~np.isfinite(height)):
        axes.text(column, row, "-", ha="center", va="center", fontsize=10, color=FAINT)
    axes.figure.colorbar(image, ax=axes, label="height, % of the largest loss", pad=0.015)
    _label(axes, grid)


def _write(axes: Axes, values: Grid, form: str, most: float) -> None:
    """Each number into its cell, with an edge that keeps it readable on a line."""
    for row, column in np.argwhere(np.isfinite(values)):
        bright = values[row, column] > 0.6 * most
        ink, edge = (INK, "#FFFFFF88") if bright else ("white", "#00000088")
        text = form.format(values[row, column])
        halo = [Stroke(linewidth=2.5, foreground=edge), Normal()]
        axes.text(column, row, text, ha="center", va="center", fontsize=10, color=ink, path_effects=halo, zorder=5)


def _contour(axes: Axes, share: Grid, color: str, dashes: str, width: float) -> None:
    if np.isfinite(share).all() and share.min() < 0.5 < share.max():
        axes.contour(share, levels=[0.5], colors=[color], linestyles=[dashes], linewidths=[width])


def _label(axes: Axes, grid: Cells) -> None:
    gaps, scales = _axes_of(grid)
    axes.set_xticks(range(len(gaps)), gaps)
    axes.set_yticks(range(len(scales)), scales)
    axes.set_xlabel("gap, $\\mu_2 / \\mu_1$")
    axes.set_ylabel("scale of the start (largest entry of U)")
    axes.grid(False)


def cuts(table: pl.DataFrame) -> Figure:
    """The share along gap, sign, width, dimension and depth; and where the analytic curve is right."""
    found = cells(table)
    with house_style():
        figure = Figure(figsize=(17, 10.8), layout="constrained")
        panels = figure.subplots(2, 3)
        _draw_gap(panels[0, 0], found)
        _draw_sign(panels[0, 1], found)
        _draw_width(panels[0, 2], found)
        _draw_dimension(panels[1, 0], found)
        _draw_depth(panels[1, 1], found)
        _draw_agreement(panels[1, 2], found)
        sizes = sorted({round(values["flows"]) for values in found.values()})
        many = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0] if sizes else 0}"
        put_caption(
            figure,
            f"Share of flows (e: of nets) that bump. Bars: exact 95% intervals, n = {many} starts a point (f: all gaps "
            "of the grid together). Where nothing else is said: A, positive start of 1/5, d = h = 3, mu_2 = 2. Even "
            "size: the start's scale is divided by sqrt(h / 3), so that W(0) does not grow with the width. "
            "Concepts alone: bumps of the loss without what the idle coordinates answer.",
        )
    return figure


def _points(
    axes: Axes, x: list[float], series: list[Counts], number: int, name: str, marker: str = "o", open_: bool = False
) -> None:
    share = np.array([k / n for k, n in series])
    ends = np.array([proportion_interval(k, n) for k, n in series])
    bars = np.abs(ends.T - share)
    color = SERIES_COLORS[number % len(SERIES_COLORS)]
    axes.errorbar(
        x, share, bars, color=color, marker=marker, markersize=6, capsize=3, linewidth=2.2, label=name,
        linestyle=SERIES_DASHES[1] if open_ else "-", markerfacecolor="white" if open_ else color,
    )  # fmt: skip


def _finish(axes: Axes, label: str, title: str, drawn: bool, place: Place) -> None:
    axes.set_title(title)
    if not drawn:
        return empty_panel(axes, f"not counted: {label}")
    axes.set_xlabel(label)
    accuracy_axis(axes, "share that bumps")
    if place == "above":
        axes.set_ylim(-0.03, 1.3)
        axes.legend(loc="upper center", ncols=2, fontsize=11, columnspacing=1, handlelength=1.6)
    else:
        axes.legend(loc=place, fontsize=11)
    return None


def _draw_gap(axes: Axes, found: Cells) -> None:
    drawn = False
    for number, (power, name) in enumerate(NAMES.items()):
        series = along(found, "gap", {**BASE, "power": power})
        if len(series) > 1:
            drawn = True
            color = 4 if number == 0 else 5
            _points(axes, [float(gap) for gap in series], list(series.values()), color, name)
            expected = {
                gap: counted(where(found, **{**BASE, "power": power, "gap": gap}), "predicted") for gap in series
            }
            told_of = {float(gap): k / n for gap, (k, n) in expected.items() if n}
            label = "analytic" if number == 0 else None
            axes.plot(list(told_of), list(told_of.values()), ":", color=INK, linewidth=2, label=label, zorder=4)
    _finish(axes, "gap, $\\mu_2 / \\mu_1$", "a   Gap, start of 1/5", drawn, "lower right")


def _draw_sign(axes: Axes, found: Cells) -> None:
    kinds = {
        "positive": "(0, 1)",
        "quarter": "(-¼, 1)",
        "half": "(-½, 1)",
        "symmetric": "(-1, 1)",
        "gaussian": "normal",
    }
    drawn = False
    for number, gap in enumerate(("1.5", "2", "3")):
        series = [counted(where(found, **{**BASE, "gap": gap, "start": kind})) for kind in kinds]
        if all(n for _, n in series):
            drawn = True
            _points(axes, list(range(len(kinds))), series, (3, 4, 5)[number], f"gap {gap}")
    axes.set_xticks(range(len(kinds)), list(kinds.values()))
    _finish(axes, "entries of U, in units of its scale", "b   Sign of the start", drawn, "upper right")


def _draw_width(axes: Axes, found: Cells) -> None:
    drawn = False
    for start, number in (("positive", 4), ("gaussian", 5)):
        for size in ("even", "plain"):
            series = along(found, "h", {**BASE, "start": start, "size": size, "gap": "2"})
            if len(series) > 1:
                drawn = True
                name = f"{STARTS[start]}, {'even size' if size == 'even' else 'scale 1/5'}"
                _points(axes, [float(h) for h in series], list(series.values()), number, name, open_=size == "plain")
    _powers_of_two(axes)
    _finish(axes, "width h of U", "c   Width", drawn, "above")


def _draw_dimension(axes: Axes, found: Cells) -> None:
    square = {node: values for node, values in found.items() if told(node)["h"] == told(node)["d"]}
    fixed = {key: value for key, value in BASE.items() if key not in ("h", "d")}
    drawn = False
    for start, number in (("positive", 4), ("gaussian", 5)):
        chosen = where(square, **{**fixed, "start": start, "size": "even", "gap": "2"})
        dimensions = sorted({told(node)["d"] for node in chosen}, key=float)
        for hits, name in (("bumps", "loss"), ("bumps.concepts", "concepts alone")):
            series = [counted(where(chosen, d=d), hits) for d in dimensions]
            if len(series) > 1 and all(n for _, n in series):
                drawn = True
                label = f"{STARTS[start]}, {name}"
                _points(axes, [float(d) for d in dimensions], series, number, label, open_=hits != "bumps")
    _powers_of_two(axes)
    _finish(axes, "dimension d = width h", "d   Dimension, even size", drawn, "above")


def _draw_depth(axes: Axes, found: Cells) -> None:
    drawn = False
    for start, number in (("positive", 4), ("gaussian", 5)):
        for gap in ("1.5", "2"):
            series = {layers: counted(where(found, model=f"net{layers}", start=start, gap=gap)) for layers in "234"}
            series = {layers: counts for layers, counts in series.items() if counts[1]}
            if len(series) > 1:
                drawn = True
                name = f"{STARTS[start]}, gap {gap}"
                _points(axes, [float(n) for n in series], list(series.values()), number, name, open_=gap == "1.5")
            tied = counted(where(found, **{**BASE, "start": start, "gap": gap}))
            if tied[1] and drawn:
                color = SERIES_COLORS[number]
                face = "white" if gap == "1.5" else color
                axes.plot([1.85], [tied[0] / tied[1]], "D", color=color, markerfacecolor=face, markersize=8)
    if drawn:
        axes.plot([], [], "D", color=FAINT, label="two tied layers (flow)")
        axes.set_xticks([2, 3, 4])
    _finish(axes, "matrices of an untied linear net", "e   Depth", drawn, "lower right")


def _draw_agreement(axes: Axes, found: Cells) -> None:
    drawn = False
    lowest = 1.0
    for number, (power, name) in zip((4, 5), NAMES.items(), strict=True):
        grid = where(found, **GRID, power=power)
        scales = sorted({told(node)["scale"] for node in grid}, key=float)
        series = {scale: counted(where(grid, scale=scale), "agree") for scale in scales}
        series = {scale: counts for scale, counts in series.items() if counts[1]}
        if len(series) > 1:
            drawn = True
            lowest = min([lowest, *(k / n for k, n in series.values())])
            _points(axes, [float(scale) for scale in series], list(series.values()), number, name)
    if drawn:
        axes.axhline(0.95, color=FAINT, linestyle=":", linewidth=1.5)
        axes.set_xscale("log")
    _finish(axes, "scale of the start", "f   Where the analytic curve is right", drawn, "lower left")
    if drawn:
        axes.set_ylabel("share of flows it predicts")
        axes.set_ylim(min(0.9, lowest - 0.02), 1.005)
        axes.set_yticks([0.9, 0.95, 1], ["0.9", "0.95", "1"])


def _powers_of_two(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
