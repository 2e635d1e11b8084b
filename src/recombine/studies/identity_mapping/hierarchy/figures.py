"""The figure of the lattice of concepts: Yang et al. 2025, Fig 7."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from recombine.lab.report.kit.style import INK, SERIES_COLORS, SERIES_DASHES, empty_panel, house_style, put_caption
from recombine.lab.table import curves
from recombine.studies.identity_mapping.hierarchy.claims import EPOCHS, median_errors, pairs_of, starts_in_order

ROWS = {"linear": "one linear layer", "relu": "two layers, ReLU", "linear no bias": "one layer, no bias"}
BROKEN = "#D55E00"
OFTEN = 0.05  # share of starts out of order from which an edge is marked
CLIP = 1.0


def figure(table: pl.DataFrame) -> Figure:
    """A lattice for each net and epoch, coloured by the median error; at the right, the pairs in order over time."""
    with house_style():
        drawing = Figure(figsize=(19, 14.5), layout="constrained")
        grid = drawing.add_gridspec(len(ROWS), 4, width_ratios=(1, 1, 1, 0.95))
        lattices = []
        for line, (arm, name) in enumerate(ROWS.items()):
            for column, epoch in enumerate(EPOCHS):
                axes = drawing.add_subplot(grid[line, column])
                lattices.append(axes)
                axes.set_title(f"{'abcdefghi'[line * 3 + column]}   {name}, epoch {epoch}")
                _draw_lattice(axes, table, arm, epoch)
        right = grid[:, 3].subgridspec(2, 1)
        _draw_shares(drawing.add_subplot(right[0]), table)
        _draw_learned(drawing.add_subplot(right[1]), table)
        shade = ScalarMappable(Normalize(0, CLIP), colormaps["viridis"])
        drawing.colorbar(shade, ax=lattices, location="left", shrink=0.5, pad=0.01,
                         label="squared error (1 and more: yellow)")  # fmt: skip
        n = max((len(found) for arm in ROWS for found in starts_in_order(table, arm).values()), default=0)
        put_caption(
            drawing,
            "a-i: the combinations of four concepts (digit p: concept p), larger above smaller; colour: median squared "
            f"error over starts, clipped at {CLIP:g}. Orange: pairs out of order in more than {OFTEN:.0%} of starts. "
            "j: share of the 65 pairs in order, mean over starts. k: median error of single concepts and of all four. "
            f"n = {n} starts each.",
        )
    return drawing


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


def _draw_lattice(axes: Axes, table: pl.DataFrame, arm: str, epoch: int) -> None:
    errors = median_errors(table, arm).get(epoch)
    if not errors:
        return empty_panel(axes, f"not measured: error in {arm} at epoch {epoch}")
    where, colors = places(list(errors)), colormaps["viridis"]
    shares = {node: value for node, value in _pair_shares(table, arm, epoch).items() if "<" in node}
    for u, v in pairs_of(errors):
        (x, y), (x2, y2) = where[u], where[v]
        broken = 1 - shares.get(f"{u}<{v}", 1.0)
        if broken > OFTEN:
            axes.plot([x, x2], [y, y2], color=BROKEN, linewidth=1.5 + 6 * broken, alpha=0.9, zorder=2)
        elif v.count("1") - u.count("1") == 1:
            axes.plot([x, x2], [y, y2], color="#C8C8C8", linewidth=1, zorder=1)
    for name, (x, y) in where.items():
        level = min(errors[name], CLIP) / CLIP
        axes.plot(x, y, "o", markersize=34, color=colors(level), markeredgecolor=INK, markeredgewidth=0.8, zorder=3)
        ink = "white" if level < 0.6 else INK
        axes.text(x, y + 0.06, name, ha="center", va="center", fontsize=9.5, color=ink, zorder=4)
        text = f"{errors[name]:.2f}" if errors[name] < 9.995 else f"{errors[name]:.1f}"
        axes.text(x, y - 0.12, text, ha="center", va="center", fontsize=8.5, color=ink, zorder=4)
    axes.set_axis_off()
    axes.set(xlim=(-3, 3), ylim=(-0.4, max(y for _, y in where.values()) + 0.4))
    return None


def _pair_shares(table: pl.DataFrame, arm: str, epoch: int) -> dict[str, float]:
    found = curves(table, "ordered", arm).items()
    return {node: float(v[at == 1_000 * epoch][0]) for (_, node), (at, v) in found if (at == 1_000 * epoch).any()}


def _draw_shares(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("j   Pairs in order")
    drawn = False
    for position, arm in enumerate(
        f"{net}{kind}" for net in ("linear", "relu") for kind in ("", " origin", " no bias")
    ):
        found = list(curves(table, "ordered", arm, "all").values())
        if found:
            drawn = True
            (at, shares), color = found[0], SERIES_COLORS[4 if arm.startswith("linear") else 1]
            axes.plot(at / 1_000, shares, color=color, linewidth=2.6, linestyle=SERIES_DASHES[position % 3], label=arm)
    if not drawn:
        return empty_panel(axes, "not measured: ordered")
    axes.axhline(1, color=INK, linewidth=0.8)
    axes.set(xlabel="epochs", ylabel="share of pairs", ylim=(min(0.9, axes.get_ylim()[0]), 1.005))
    axes.legend(loc="lower left", handlelength=2.6, fontsize=10.5)
    return None


def _draw_learned(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_title("k   Concepts, and all of them")
    drawn = False
    for arm, dashes in (("linear", "-"), ("relu", (0, (4, 2)))):
        nodes = sorted({node for _, node in curves(table, "error", arm)})
        singles = [node for node in reversed(nodes) if node.count("1") == 1]
        for position, node in enumerate([*singles, *nodes[-1:]]):
            ((at, errors),) = curves(table, "error", arm, node).values()
            color = INK if node == nodes[-1] else SERIES_COLORS[(position + 1) % len(SERIES_COLORS)]
            label = node if arm == "linear" else None
            axes.plot(at / 1_000, np.maximum(errors, 1e-4), color=color, linewidth=2.2, linestyle=dashes, label=label)
            drawn = True
    if not drawn:
        return empty_panel(axes, "not measured: error")
    axes.set(yscale="log", xlabel="epochs", ylabel="squared error (log scale)")
    axes.legend(loc="upper right", fontsize=10.5, title="solid: linear, dashed: ReLU", title_fontsize=10.5, ncols=2)
    return None
