"""What is bridged (Liang et al. 2024, Fig. 11): the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recombine.instruments.bumps.band_evaluation import BAND
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import rank_correlation
from recombine.lab.table import at_end
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.worlds.holdouts import SEEN

if TYPE_CHECKING:
    import polars as pl

ORDERED = -0.8
FALL = 0.25
ARM = "W="


def arm_of(width: float) -> str:
    """The arm with a band of this width."""
    return f"{ARM}{width:g}"


def widths_of(table: pl.DataFrame) -> list[float]:
    """The widths that were trained with, ascending."""
    return sorted({float(arm.removeprefix(ARM)) for arm in table["arm"].unique() if arm.startswith(ARM)})


def recalled(width: float) -> float:
    """The share of a band in which a label is less than a pixel from the nearest one that was seen."""
    return min(1.0, 2 / width)


def over_widths(
    table: pl.DataFrame, node: str, how: str = "fine", null: bool = False
) -> tuple[list[float], NDArray[np.float64]]:
    """Widths at which this was measured, and how often both coordinates are right: seed by width.  # [s, w]"""
    found = {}
    for width in widths_of(table):
        arm = null_of(arm_of(width)) if null else arm_of(width)
        values = at_end(table, f"{how}.both", arm, [node])
        if values:
            found[width] = values
    seeds = sorted(set.intersection(*map(set, found.values()))) if found else []
    return list(found), np.array([[found[width][seed] for width in found] for seed in seeds])


def falls_all_the_way(table: pl.DataFrame) -> Judgement:
    """The rank correlation of width and accuracy, a value a seed."""
    widths, values = _band(table)
    ranks = [rank_correlation(widths, each) for each in values]
    return judge_below(ranks, ORDERED, _listed(widths, values))


def falls(table: pl.DataFrame) -> Judgement:
    """The narrowest band less the widest."""
    widths, values = _band(table)
    return judge_above(values[:, 0] - values[:, -1], FALL, _listed(widths, values))


def falls_gradually(table: pl.DataFrame) -> Judgement:
    """The largest step down from one width to the next, as a share of the whole fall."""
    widths, values = _band(table)
    whole = values[:, 0] - values[:, -1]
    if (whole < 0.05).any():
        raise NotMeasured("a seed does not fall at all")
    return judge_below(-np.diff(values, axis=1).min(axis=1) / whole, 0.6, _listed(widths, values))


def bridges(table: pl.DataFrame) -> Judgement:
    """The band less its recall: the mean over widths at which recall leaves something to win."""
    _, values = _band(table)
    widths, known = over_widths(table, BAND, null=True)
    if widths != widths_of(table):
        raise NotMeasured("recall was not computed")
    null = known.mean(axis=0)  # [w]
    open_ = null < 0.95
    if not open_.any():
        raise NotMeasured("every band that was measured is recalled whole: none is wider than 2 px")
    said = ", ".join(f"W {w:g}: {n:.2f}" for w, n, kept in zip(widths, null, open_, strict=True) if kept)
    return judge_above((values - null)[:, open_].mean(axis=1), 0.0, f"recall: {said}")


def deeper_than_a_pixel(table: pl.DataFrame) -> Judgement:
    """More than a pixel inside the widest band, where recall is always wrong: how often both are right."""
    widest = arm_of(_band(table)[0][-1])
    deep = [node for node in depths_of(table) if depths_of(table)[node] > 1]
    values = at_end(table, "fine.both", widest, deep)
    if not values:
        raise NotMeasured("nothing lies deeper than a pixel")
    return judge_above(list(values.values()), 0.1, f"at {widest}; the mean over depths")


def seen_stay_right(table: pl.DataFrame) -> Judgement:
    """Pixels that were seen, by the darkest pixel: the lowest over widths."""
    widths, values = over_widths(table, SEEN, "darkest")
    if not values.size:
        raise NotMeasured("no width was measured")
    return judge_above(values.min(axis=1), 0.9, _listed(widths, values))


def depths_of(table: pl.DataFrame) -> dict[str, float]:
    """Nodes that are a depth, and where each of them ends, ascending."""
    named = {node: float(node.split()[1]) for node in table["node"].unique() if node.startswith("depth ")}
    return dict(sorted(named.items(), key=lambda item: item[1]))


def _band(table: pl.DataFrame) -> tuple[list[float], NDArray[np.float64]]:
    widths, values = over_widths(table, BAND)
    if len(widths) < 2 or not values.size:
        raise NotMeasured("fewer than two widths were measured")
    return widths, values


def _listed(widths: list[float], values: NDArray[np.float64]) -> str:
    means = values.mean(axis=0)
    return "; ".join(f"W {width:g}: {value:.2f}" for width, value in zip(widths, means, strict=True))


LESION = (
    Claim(
        "L1",
        "What was held out is right less often the wider the band (rank correlation)",
        f"falls (below {ORDERED:g})",
        falls_all_the_way,
    ),
    Claim("L2", "From the narrowest band to the widest it falls (difference)", f"falls (above {FALL:g})", falls),
    Claim(
        "L3",
        "It falls gradually: no step from one width to the next makes up most of it (largest share)",
        "gradually (below 0.6)",
        falls_gradually,
    ),
    Claim("L4", "What was seen is right at every width (the lowest)", "high (above 0.9)", seen_stay_right),
    Claim(
        "L1n", "In bands wider than 2 px more is right than recall gives (difference)", "not asked (above 0)", bridges
    ),
    Claim(
        "L2n",
        "More than a pixel inside the widest band, where recall is never right, bumps are right",
        "not asked (above 0.1)",
        deeper_than_a_pixel,
    ),
)
