"""The lattice of concepts: Yang et al. 2025, Fig 7."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.style import INK, SERIES_COLORS, SERIES_DASHES, empty_panel, house_style, put_caption
from recombine.lab.table import Table, curves, select
from recombine.runs.identity.hierarchy import EPOCHS, pairs
from recombine.studies.identity_mapping.hierarchy.claims import median_errors, shares_in_order

NETS = {"linear": "one linear layer", "relu": "two layers with ReLU", "linear no bias": "one linear layer without bias"}
SERIES = {
    "linear": ("linear", 4, 0), "linear origin": ("linear, cluster at origin", 4, 1),
    "linear no bias": ("linear, no bias", 4, 2), "relu": ("ReLU", 1, 0),
    "relu origin": ("ReLU, cluster at origin", 1, 1), "relu no bias": ("ReLU, no bias", 1, 2),
}  # fmt: skip
"""{arm: name, colour, dashes}"""
BROKEN = "#D55E00"
OFTEN = 0.05  # share of starts out of order from which an edge is marked
CLIP = 1.0


def draw(table: Table, config: Any) -> dict[str, Drawing]:
    """The lattice of each kind of network at three epochs, and beside it what happens over training."""
    names = {"linear": "figure", "relu": "relu", "linear no bias": "no-bias"}
    return {
        name: Drawing(
            _lattices(table, arm),
            f"Squared error at every combination of four concepts on their lattice, {NETS[arm]}; "
            + ("share of pairs in order." if arm == "linear" else "error of single concepts and of all four."),
        )
        for arm, name in names.items()
    }


def _lattices(table: Table, arm: str) -> Figure:
    errors, shares = median_errors(table, arm), shares_in_order(table, arm)
    with house_style():
        figure = Figure(figsize=(15, 12.5), layout="constrained")
        panels = figure.subplots(2, 2)
        for axes, epoch in zip(panels.flat, EPOCHS, strict=False):
            if epoch not in errors:
                empty_panel(axes, f"not measured: error in {arm} at epoch {epoch:g}")
                continue
            order = f": {np.mean(shares[epoch]):.1%} of pairs in order" if epoch in shares else ""
            axes.set_title(f"Epoch {epoch:g}{order}")
            often = select(table, "ordered.by_pair", arm=arm, epoch=epoch).select("lower", "upper", "value")
            _draw_lattice(axes, errors[epoch], {(u, v): share for u, v, share in often.iter_rows()})
        (_draw_shares if arm == "linear" else _draw_errors)(panels[1, 1], table, arm)
        shade = ScalarMappable(Normalize(0, CLIP), colormaps["viridis"])
        figure.colorbar(shade, ax=panels[:, 0], location="left", shrink=0.5, pad=0.01, label="squared error")
        figure.suptitle(
            f"{NETS[arm][0].upper()}{NETS[arm][1:]}: a combination and its parts", fontsize=18, fontweight="bold"
        )
        n = max(map(len, shares.values()), default=0)
        put_caption(
            figure,
            "Lattices: the combinations of four concepts (digit p: concept p), larger above smaller. Colour, number: "
            f"median squared error over starts (colour clipped at {CLIP:g}). Orange: the smaller combination has the "
            f"larger error in more than {OFTEN:.0%} of starts. Curves: mean over starts of the share of pairs in "
            f"order, or median errors. n = {n} starts.",
        )
    return figure


def places(names: list[str]) -> dict[str, tuple[float, float]]:
    """Where a combination is drawn: as high as it has concepts, side by side with those of its rank."""
    ranks: dict[int, list[str]] = {}
    for name in sorted(names, reverse=True):
        ranks.setdefault(name.count("1"), []).append(name)
    return {
        name: (position - (len(row) - 1) / 2, float(rank))
        for rank, row in ranks.items()
        for position, name in enumerate(row)
    }


def _draw_lattice(axes: Axes, errors: dict[str, float], shares: dict[tuple[str, str], float]) -> None:
    where, colors = places(list(errors)), colormaps["viridis"]
    for u, v in pairs(list(errors)):
        (x, y), (x2, y2) = where[u], where[v]
        broken = 1 - shares.get((u, v), 1.0)
        if broken > OFTEN:
            axes.plot([x, x2], [y, y2], color=BROKEN, linewidth=1.5 + 6 * broken, alpha=0.9, zorder=2)
        elif v.count("1") - u.count("1") == 1:
            axes.plot([x, x2], [y, y2], color="#C8C8C8", linewidth=1, zorder=1)
    for name, (x, y) in where.items():
        level = min(errors[name], CLIP) / CLIP
        axes.plot(x, y, "o", markersize=49, color=colors(level), markeredgecolor=INK, markeredgewidth=0.8, zorder=3)
        text = f"{errors[name]:.2f}" if errors[name] < 9.995 else f"{errors[name]:.1f}"
        axes.text(x, y, f"{name}\n{text}", ha="center", va="center", fontsize=13, color="white" if level < 0.6 else INK,
                  zorder=4)  # fmt: skip
    axes.set_axis_off()
    axes.set(xlim=(-3, 3), ylim=(-0.4, max(y for _, y in where.values()) + 0.4))


def _draw_shares(axes: Axes, table: Table, arm: str) -> None:
    axes.set_title("Pairs in order over training")
    found = {(name,): curve for (_, name), curve in curves(table, "ordered", "arm", over="epoch").items()}
    if not found:
        return empty_panel(axes, "not measured: ordered")
    for name, (label, color, dashes) in SERIES.items():
        if (name,) in found:
            axes.plot(*found[name,], color=SERIES_COLORS[color], linewidth=2.8, linestyle=SERIES_DASHES[dashes],
                      label=label)  # fmt: skip
    axes.axhline(1, color=INK, linewidth=0.8)
    axes.set(xlabel="epochs", ylabel="share of pairs", ylim=(min(0.7, axes.get_ylim()[0]), 1.01))
    axes.legend(loc="lower left", handlelength=2.6, ncols=2)
    return None


def _draw_errors(axes: Axes, table: Table, arm: str) -> None:
    axes.set_title("Single concepts, and all of them")
    found = {name: curve for (_, name), curve in curves(table, "error", "combination", over="epoch", arm=arm).items()}
    if not found:
        return empty_panel(axes, f"not measured: error in {arm}")
    every = max(found)
    for position, name in enumerate([*sorted((n for n in found if n.count("1") == 1), reverse=True), every]):
        color = INK if name == every else SERIES_COLORS[(position + 1) % len(SERIES_COLORS)]
        at, errors = found[name]
        axes.plot(at, np.maximum(errors, 1e-4), color=color, linewidth=2.8, label=name)
    axes.set(yscale="log", xlabel="epochs", ylabel="squared error (log scale)")
    axes.legend(loc="lower left", ncols=2)
    return None
