"""The figures of the phase diagram: heat maps over gap and scale, and cuts along one axis at a time."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.axes import accuracy_axis
from recombine.lab.report.kit.style import FAINT, INK, SERIES_COLORS, empty_panel, house_style, put_caption
from recombine.lab.table import select
from recombine.lab.trends import Counts, Series, share
from recombine.studies.identity_mapping._shared.figures import share_line
from recombine.studies.identity_mapping.phase_diagram.claims import (
    BASE,
    GRID,
    agreement,
    along,
    by_start,
    cells,
    counted,
    square,
)

Grid = NDArray[np.float64]
NAMES = {1: "A", 2: "A² (released script)"}
KINDS = {"positive": "(0, 1)", "quarter": "(-¼, 1)", "half": "(-½, 1)", "symmetric": "(-1, 1)", "gaussian": "normal"}
STARTS = {"positive": ("positive", 4), "gaussian": ("Gaussian", 5)}
RELEASED = 1.5, 0.2  # gap and scale of the paper's Fig 5 and 17
PREDICTED = "#FF5A36"


class Line(NamedTuple):
    """One line of a cut."""

    label: str
    series: Series
    color: int
    open: bool = False


def draw(table: pl.DataFrame, config: Any) -> dict[str, Drawing]:
    """The diagram over gap and scale, and the cuts."""
    found = cells(table)
    return {
        "figure": Drawing(_diagram(found), "Share of flows that swing by, and how high they do."),
        "starts": Drawing(_cuts(found, _gaps, _signs, _right), "The same over gap and start; the theory."),
        "sizes": Drawing(_cuts(found, _widths, _dimensions, _depths), "The same over width, dimension and depth."),
    }


# The diagram


def _diagram(found: pl.DataFrame) -> Figure:
    with house_style():
        figure = Figure(figsize=(17, 14), layout="constrained")
        panels = figure.subplots(2, 2)
        for column, (power, name) in enumerate(NAMES.items()):
            grid = select(found, **GRID, power=power)
            if grid["gap"].n_unique() < 2 or grid["scale"].n_unique() < 2:
                for axes in panels[:, column]:
                    empty_panel(axes, f"not counted: a grid of gaps and scales with {name}")
                continue
            panels[0, column].set_title(f"{name}: {share(counted(grid)):.0%} of flows swing by")
            panels[1, column].set_title(f"{name}: median height of the bump")
            _draw_shares(panels[0, column], grid)
            _draw_heights(panels[1, column], grid)
        figure.legend(
            [Line2D([], [], color=INK, linewidth=2.6), Line2D([], [], color=PREDICTED, linewidth=2.6, linestyle="--")],
            ["half of the flows", "half of them, by the analytic curve"],
            loc="outside upper center", ncols=2, handlelength=3.2,
        )  # fmt: skip
        every = select(found, **GRID)
        least = round(every["flows"].min() or 0) if len(every) else 0  # type: ignore[arg-type]
        put_caption(
            figure,
            f"Each cell: {least} or more positive starts U of its own, two concepts mu = (1, gap) and an idle "
            "coordinate, exact flow. A bump is a rise of the probe's loss by more than 0.1% of its largest. Its height "
            "is the rise over the largest loss. Dashes: the analytic "
            "curve on the same starts. White frame: the paper's Fig 5. Minus: fewer than five flows bump.",
        )
    return figure


def _matrix(grid: pl.DataFrame, value: pl.Expr) -> Grid:
    """One number a cell; NaN where there is none.  # [scales, gaps]"""
    wide = grid.select("scale", "gap", value.alias("value")).sort("gap").pivot(on="gap", index="scale", values="value")
    return wide.sort("scale").drop("scale").to_numpy().astype(np.float64)


def _draw_shares(axes: Axes, grid: pl.DataFrame) -> None:
    found, expected = (_matrix(grid, pl.col(name) / pl.col("flows")) for name in ("bumps", "predicted"))
    image = axes.imshow(found, origin="lower", aspect="auto", cmap="viridis", vmin=0, vmax=1)
    for level, color, dashes, width in ((found, "#FFFFFF", "-", 4.2), (found, INK, "-", 2.0),
                                        (expected, PREDICTED, "--", 2.4)):  # fmt: skip
        if np.isfinite(level).all() and level.min() < 0.5 < level.max():
            axes.contour(level, levels=[0.5], colors=[color], linestyles=[dashes], linewidths=[width])
    _write(axes, 100 * found, "{:.0f}", 100)
    axes.figure.colorbar(image, ax=axes, label="share that bumps (numbers: %)", pad=0.015)
    gaps, scales = _label(axes, grid)
    if RELEASED[0] in gaps and RELEASED[1] in scales:
        corner = gaps.index(RELEASED[0]) - 0.5, scales.index(RELEASED[1]) - 0.5
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=2.6, zorder=4))


def _draw_heights(axes: Axes, grid: pl.DataFrame) -> None:
    height = 100 * _matrix(grid, pl.when(pl.col("bumps") >= 5).then(pl.col("height")))
    most = max(1.0, float(np.nanmax(height)) if np.isfinite(height).any() else 0.0)
    image = axes.imshow(height, origin="lower", aspect="auto", cmap="magma", vmin=0, vmax=most)
    _write(axes, height, "{:.1f}", most)
    for row, column in np.argwhere(~np.isfinite(height)):
        axes.text(column, row, "-", ha="center", va="center", fontsize=13, color=FAINT)
    axes.figure.colorbar(image, ax=axes, label="height, % of the largest loss", pad=0.015)
    _label(axes, grid)


def _write(axes: Axes, values: Grid, form: str, most: float) -> None:
    """Each number into its cell, with an edge that keeps it readable on a line."""
    for row, column in np.argwhere(np.isfinite(values)):
        ink, edge = (INK, "#FFFFFF88") if values[row, column] > 0.6 * most else ("white", "#00000088")
        axes.text(column, row, form.format(values[row, column]), ha="center", va="center", fontsize=13, color=ink,
                  path_effects=[Stroke(linewidth=2.5, foreground=edge), Normal()], zorder=5)  # fmt: skip


def _label(axes: Axes, grid: pl.DataFrame) -> tuple[list[float], list[float]]:
    gaps, scales = (sorted(grid[name].unique().to_list()) for name in ("gap", "scale"))
    axes.set_xticks(range(len(gaps)), [f"{gap:g}" for gap in gaps])
    axes.set_yticks(range(len(scales)), [f"{scale:g}" for scale in scales])
    axes.set(xlabel="gap, $\\mu_2 / \\mu_1$", ylabel="scale of the start (largest entry of U)")
    axes.grid(False)
    return gaps, scales


# Cuts


def _cuts(found: pl.DataFrame, *panels: Any) -> Figure:
    with house_style():
        figure = Figure(figsize=(19, 7.8), layout="constrained")
        for axes, drawn in zip(figure.subplots(1, len(panels)), panels, strict=True):
            drawn(axes, found)
        sizes = sorted({round(n) for n in found["flows"]}) if "flows" in found.columns else [0]
        put_caption(
            figure,
            f"Share of flows (of nets, for depth) that bump. Bars: exact 95% intervals, n = {sizes[0]} to {sizes[-1]} "
            "starts a point (analytic curve: all gaps of the grid together). Where nothing else is said: A, positive "
            "start of 1/5, d = h = 3, mu_2 = 2. Even size: the start's scale is divided by sqrt(h / 3), so that W(0) "
            "does not grow with the width. Concepts: bumps of the loss without what the idle coordinates answer.",
        )
    return figure


def _draw_lines(axes: Axes, lines: list[Line], xlabel: str, title: str) -> bool:
    lines = [line for line in lines if len(line.series) > 1]
    if not lines:
        empty_panel(axes, f"not counted: {xlabel}")
        return False
    for line in lines:
        share_line(axes, line.series, SERIES_COLORS[line.color], line.label, line.open)
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    accuracy_axis(axes, "share that bumps")
    axes.set_ylim(-0.03, 1.36)
    axes.legend(loc="upper center", ncols=2, columnspacing=1, handlelength=1.8)
    return True


def _titled(name: str, shares: Mapping[str, Counts]) -> str:
    said = ", ".join(f"{share(counts):.0%} {what}" for what, counts in shares.items() if counts[1])
    return f"{name}: {said}" if said else name


def _gaps(axes: Axes, found: pl.DataFrame) -> None:
    along_gap = {power: {**BASE, "power": power} for power in NAMES}
    lines = [Line(name, along(found, "gap", **along_gap[power]), 3 + power) for power, name in NAMES.items()]
    at = {f"with {name}": counted(found, **along_gap[power], gap=1.5) for name, power in (("A", 1), ("A²", 2))}
    if _draw_lines(axes, lines, "gap, $\\mu_2 / \\mu_1$", _titled("Gap 1.5", at)):
        for power, where in along_gap.items():
            series = along(found, "gap", "predicted", **where)
            axes.plot(list(series), [share(counts) for counts in series.values()], ":", color=INK, linewidth=2.4,
                      label="analytic" if power == 1 else None, zorder=4)  # fmt: skip
        axes.legend(loc="upper center", ncols=2, columnspacing=1, handlelength=1.8)


def _signs(axes: Axes, found: pl.DataFrame) -> None:
    lines = []
    for number, gap in enumerate((1.5, 2.0, 3.0)):
        series = {
            float(place): counted(found, **{**BASE, "gap": gap, "start": kind}) for place, kind in enumerate(KINDS)
        }
        if all(n for _, n in series.values()):
            lines.append(Line(f"gap {gap:g}", series, 3 + number))
    ends = by_start(found, "positive", "gaussian")
    named = {STARTS[start][0]: counts for start, counts in ends.items()}
    if _draw_lines(axes, lines, "entries of U, in units of its scale", _titled("Start", named)):
        axes.set_xticks(range(len(KINDS)), list(KINDS.values()))


def _right(axes: Axes, found: pl.DataFrame) -> None:
    right = agreement(found)
    lines = [Line(name, along(right, "scale", "agree", power=power), 3 + power) for power, name in NAMES.items()]
    title = _titled("Analytic curve", {"right": counted(right, "agree")})
    if _draw_lines(axes, lines, "scale of the start", title):
        lowest = min(share(counts) for line in lines for counts in line.series.values())
        axes.axhline(0.95, color=FAINT, linestyle=":", linewidth=1.5)
        axes.set(xscale="log", ylabel="share of flows it predicts", ylim=(min(0.9, lowest - 0.02), 1.01))
        axes.set_yticks([0.9, 0.95, 1], ["0.9", "0.95", "1"])
        axes.legend(loc="lower left")


def _widths(axes: Axes, found: pl.DataFrame) -> None:
    lines, widest = [], {}
    for start, (name, color) in STARTS.items():
        for even in (True, False):
            series = along(found, "width", **_but("width", start=start, even=even, gap=2.0))
            lines.append(Line(f"{name}, {'even size' if even else 'scale 1/5'}", series, color, not even))
            if even and series:
                widest[name] = series[max(series)]
    widths = [max(line.series) for line in lines if line.series]
    title = _titled(f"Width {max(widths, default=0):g}", widest)
    if _draw_lines(axes, lines, "width h of U", title):
        _powers_of_two(axes)


def _dimensions(axes: Axes, found: pl.DataFrame) -> None:
    lines, alone = [], {}
    for start, (name, color) in STARTS.items():
        where = _but("width", "dimensions", start=start, even=True, gap=2.0)
        for hits, what in (("bumps", "loss"), ("bumps.concepts", "concepts")):
            series = along(square(found), "dimensions", hits, **where)
            lines.append(Line(f"{name}, {what}", series, color, hits != "bumps"))
            if start == "positive" and series:
                alone[f"by {what}"] = series[max(series)]
    dimensions = [max(line.series) for line in lines if line.series]
    title = _titled(f"d = {max(dimensions, default=0):g}", alone)
    if _draw_lines(axes, lines, "dimension d = width h, even size", title):
        _powers_of_two(axes)


def _depths(axes: Axes, found: pl.DataFrame) -> None:
    lines = [
        Line(f"{name}, gap {gap:g}", along(found.filter(pl.col("layers") > 0), "layers", start=start, gap=gap), color,
             gap == 1.5)
        for start, (name, color) in STARTS.items() for gap in (1.5, 2.0)
    ]  # fmt: skip
    title = _titled("Matrices", {f"with {n}": counted(found, layers=n) for n in (2, 4)})
    if not _draw_lines(axes, lines, "matrices of an untied linear net", title):
        return
    for start, (_, color) in STARTS.items():
        for gap in (1.5, 2.0):
            tied = counted(found, **{**BASE, "start": start, "gap": gap})
            if tied[1]:
                face = "white" if gap == 1.5 else SERIES_COLORS[color]
                axes.plot([1.85], [share(tied)], "D", color=SERIES_COLORS[color], markerfacecolor=face, markersize=10)
    axes.plot([], [], "D", color=FAINT, label="two tied layers (flow)")
    axes.set_xticks([2, 3, 4])
    axes.legend(loc="upper center", ncols=2, columnspacing=1, handlelength=1.8)


def _but(*without: str, **changed: Any) -> dict[str, Any]:
    """The released start with some of it changed and some of it free."""
    return {name: value for name, value in {**BASE, **changed}.items() if name not in without}


def _powers_of_two(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
