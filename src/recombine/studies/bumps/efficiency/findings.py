"""Numbers of the findings that no claim holds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from recombine.lab.rules import mean
from recombine.lab.table import Table, at_end
from recombine.runs.bump_sets import WITH, WITHOUT
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.studies.bumps.efficiency.claims import LEVEL, Accuracy, images_needed, medians, slopes, stripes_alone
from recombine.worlds.holdouts import SEEN


def numbers(table: Table) -> dict[str, float | str]:
    """Images needed at each size, in words, and what stripes alone earn."""
    alone = medians(images_needed(table, Accuracy(WITHOUT)))
    crossings = {pixels: mean(values) for pixels, values in stripes_alone(table, Accuracy(WITH)).items()}
    per_row = [number / pixels for pixels, number in alone.items()]
    largest = max(alone)

    def seen(kind: str) -> float:
        where = {"model": TRAINED, "kind": kind, "pixels": largest, "share": 1.0, "region": SEEN}
        return mean(at_end(table, "darkest.both", **where))

    return {
        "level": LEVEL,
        "sizes": _listed(map(str, alone)),
        "alone": _listed(map(_images, alone.values())),
        "as_bump": _listed(map(_images, medians(images_needed(table, Accuracy(WITH, judged="bump"))).values())),
        "per_row": f"{min(per_row):.1f} to {max(per_row):.1f}",
        "crossings": _listed(f"{value:.0%}" for value in crossings.values()),
        "baseline_slope": mean(slopes(images_needed(table, Accuracy(WITHOUT).nearest))),
        "largest_seen": seen(WITH),
        "largest_seen_alone": seen(WITHOUT),
        "largest_alone": crossings[largest],
    }


def _images(number: float) -> str:
    return "all" if math.isinf(number) else f"{number:.0f}"


def _listed(words: Iterable[str]) -> str:
    """ "12, 16 and 24" """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
