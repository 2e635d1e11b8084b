"""Numbers of the findings that take more than a look into the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.table import select
from recombine.studies.identity_mapping._shared.trends import share
from recombine.studies.identity_mapping.phase_diagram.claims import (
    BASE,
    GRID,
    agreement,
    by_start,
    cells,
    counted,
)

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Shares of bumps over the cells that a sentence is about."""
    found = cells(table)

    def of(hits: str = "bumps", of: str = "flows", **where: object) -> float:
        return share(counted(found, hits, of, **where))

    def cut(hits: str = "bumps", **changed: object) -> float:
        return of(hits, **{**BASE, **changed})

    def height(**where: object) -> float:
        return float(select(found, **{**BASE, **where})["height"].item())

    starts = by_start(found, "positive", "gaussian")
    right, deepest = agreement(found), select(found, start="positive", layers=4)
    scales = sorted(right["scale"].unique().to_list())
    nets = select(found, layers=[2, 3, 4], start="positive", gap=1.5)["height"]
    return {
        "flows": float(found["flows"].sum()),
        "grid_plain": of(**GRID, power=1), "grid_squared": of(**GRID, power=2),
        "released_plain": cut(gap=1.5), "released_squared": cut(gap=1.5, power=2),
        "large_start": cut(gap=2.0, scale=scales[-1]), "small_gap": cut(gap=1.2, scale=scales[0]),
        "height_plain": height(gap=3.0), "height_plain_small": height(gap=3.0, scale=scales[0]),
        "height_squared_small": height(gap=3.0, scale=scales[0], power=2),
        "squared_small": cut(gap=3.0, scale=scales[0], power=2),
        "positive": share(starts["positive"]), "gaussian": share(starts["gaussian"]),
        "wide_positive": cut(gap=2.0, width=64, even=True), "wide_plain": cut(gap=2.0, width=64),
        "many_dimensions": cut(gap=2.0, width=16, dimensions=16, even=True),
        "many_concepts": cut("bumps.concepts", gap=2.0, width=16, dimensions=16, even=True),
        "some_concepts": cut("bumps.concepts", gap=2.0, width=8, dimensions=8, even=True),
        "many_gaussian": cut("bumps.concepts", gap=2.0, width=16, dimensions=16, even=True, start="gaussian"),
        "two": of(layers=2), "three": of(layers=3), "four": of(layers=4),
        "three_positive": of(layers=[3, 4], start="positive"),
        "net_height_low": float(nets.min()), "net_height_high": float(nets.max()),  # type: ignore[arg-type]
        "four_unfinished": share(counted(deepest, "unfinished")),
        "nets_helped": of("bumps.helped", "bumps", layers=[2, 3, 4], start="gaussian"),
        "right_small": share(counted(right, "agree", scale=scales[0])),
        "right_large": share(counted(right, "agree", scale=scales[-1])),
    }  # fmt: skip
