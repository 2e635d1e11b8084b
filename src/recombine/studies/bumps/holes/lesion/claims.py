"""What is bridged (Liang et al. 2024, Fig. 11): the rules."""

import numpy as np

from recombine.instruments.bumps.band_evaluation import BAND
from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import BySeed, above, below, rank_correlation
from recombine.lab.sweeps import Swept, levels, swept
from recombine.lab.table import Table, at_end
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.worlds.holdouts import SEEN

ORDERED = -0.8
FALL = 0.25


def widths_of(table: Table) -> list[float]:
    """The widths that were trained with, ascending."""
    return levels(table, "width", model=TRAINED)


def expected(width: float) -> float:
    """The share of a band in which a label is less than a pixel from the nearest one that was seen."""
    return min(1.0, 2 / width)


def over_widths(table: Table, region: str, how: str = "fine", model: str = TRAINED) -> Swept:
    """Widths at which this was measured, and how often both coordinates are right: seed by width.  # [s, w]"""
    return swept(table, "width", f"{how}.both", model=model, region=region)


def falls_all_the_way(table: Table) -> BySeed:
    """The rank correlation of width and accuracy."""
    widths, values = _band(table)
    return dict(enumerate(rank_correlation(widths, each) for each in values))


def falls(table: Table) -> BySeed:
    """The narrowest band less the widest."""
    _, values = _band(table)
    return dict(enumerate(values[:, 0] - values[:, -1]))


def largest_step(table: Table) -> BySeed:
    """The largest step down from one width to the next, as a share of the whole fall."""
    _, values = _band(table)
    whole = values[:, 0] - values[:, -1]
    if (whole < 0.05).any():
        raise NotMeasured("a seed does not fall at all")
    return dict(enumerate(-np.diff(values, axis=1).min(axis=1) / whole))


def bridged(table: Table) -> BySeed:
    """The band less the nearest-label baseline: the mean over widths at which that leaves something to win."""
    _, values = _band(table)
    widths, nearest = over_widths(table, BAND, model=NEAREST)
    if widths != widths_of(table):
        raise NotMeasured("the nearest-label baseline was not computed")
    null = nearest.mean(axis=0)  # [w]
    if not (null < 0.95).any():
        raise NotMeasured("the nearest label is right in all of every band: none is wider than 2 px")
    return dict(enumerate((values - null)[:, null < 0.95].mean(axis=1)))


def deeper_than_a_pixel(table: Table) -> BySeed:
    """More than a pixel inside the widest band, where the nearest label is never right: how often both are right."""
    widest = _band(table)[0][-1]
    values = at_end(
        table, "fine.both", model=TRAINED, width=widest, depth=[each for each in levels(table, "depth") if each > 1]
    )
    if not values:
        raise NotMeasured("nothing lies deeper than a pixel")
    return values


def seen_stay_right(table: Table) -> BySeed:
    """Pixels that were seen, by the darkest pixel: the lowest over widths."""
    _, values = over_widths(table, SEEN, "darkest")
    return dict(enumerate(values.min(axis=1))) if values.size else {}


def listed(table: Table) -> str:
    """The mean accuracy across the band at each width."""
    widths, values = _band(table)
    return "; ".join(f"W {width:g}: {value:.2f}" for width, value in zip(widths, values.mean(axis=0), strict=True))


def _band(table: Table) -> Swept:
    widths, values = over_widths(table, BAND)
    if len(widths) < 2 or not values.size:
        raise NotMeasured("fewer than two widths were measured")
    return widths, values


CLAIMS = (
    Claim("L1", "What was held out is right less often the wider the band (rank correlation)",
          f"falls (below {ORDERED:g})", below(falls_all_the_way, ORDERED, listed)),
    Claim("L2", "From the narrowest band to the widest it falls (difference)", f"falls (above {FALL:g})",
          above(falls, FALL, listed)),
    Claim("L3", "It falls gradually: no step from one width to the next makes up most of it (largest share)",
          "gradually (below 0.6)", below(largest_step, 0.6, listed)),
    Claim("L4", "What was seen is right at every width (the lowest)", "high (above 0.9)", above(seen_stay_right, 0.9)),
    Claim("L1n", "In bands wider than 2 px more is right than for the nearest-label baseline (difference)",
          "not asked (above 0)", above(bridged, 0.0), check=True),
    Claim("L2n", "More than a pixel inside the widest band, where the nearest label is never right, bumps are right",
          "not asked (above 0.1)", above(deeper_than_a_pixel, 0.1), check=True),
)  # fmt: skip
