"""Numbers of the findings that take more than one value of the table."""

import numpy as np

from recombine.lab.table import Table, select
from recombine.studies.concept_space.speed.claims import HELD_OUT
from recombine.studies.identity_mapping.diffusion.claims import (
    BLUR,
    images_behind,
    mean_path,
    mean_rise,
    paths,
    rise,
    rise_by_chance,
    slow_down,
    weak_and_strong,
)


def numbers(table: Table) -> dict[str, float | str]:
    """How far errors rise, where the path with the weakest colour turns, and how many samples hold no object."""
    import polars as pl

    found, images = paths(table), images_behind(table)
    sides = weak_and_strong(table)
    rises = [
        [(rise(run), rise_by_chance(run, images, s)) for runs in side for s, run in runs.items()] for side in sides
    ]
    weak, strong = (float(np.mean([each for each, _ in side])) for side in rises)
    colors = list(found)
    seen, way = mean_path(found[colors[0]].values(), BLUR)
    turn = int(way[:, 0].argmin())
    none = select(table, "reader.none", node=HELD_OUT).filter(pl.col("images_seen").is_between(10_000, 100_000))
    empty = none.group_by("color_separation").agg(pl.col("value").mean())["value"].to_numpy()
    return {
        "weak_beyond": sum(each > chance for each, chance in rises[0]), "weak_runs": len(rises[0]),
        "strong_beyond": sum(each > chance for each, chance in rises[1]), "strong_runs": len(rises[1]),
        "weak_rise": weak, "strong_rise": strong,
        "weakest": colors[0], "second": colors[1],
        "weakest_rise": mean_rise([found[colors[0]]], list(found[colors[0]])),
        "second_rise": mean_rise([found[colors[1]]], list(found[colors[1]])),
        "blue_before": float(way[: turn + 1, 0].max()), "blue_then": float(way[turn, 0]), "turn": float(seen[turn]),
        "small_then": float(way[turn, 1]),
        "back": float(next(s for s, p in zip(seen[turn:], way[turn:, 0], strict=True) if p > 0.5)),
        "slower": float(10 ** np.mean(list(slow_down(table).values()))),
        "empty_low": float(empty.min()), "empty_high": float(empty.max()),
    }  # fmt: skip
