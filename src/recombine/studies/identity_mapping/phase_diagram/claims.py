"""The claims of the phase diagram: how the share of bumps moves, each along one axis with the others fixed."""

from collections.abc import Callable
from typing import Any

from recombine.lab.claims import Claim, Judgement, NotMeasured
from recombine.lab.shares import Share, all_of, share_above, share_below
from recombine.lab.table import Table, select
from recombine.lab.trends import (
    Counts,
    Series,
    falling,
    judge_trend,
    larger,
    listed_shares,
    rising,
)
from recombine.runs.identity.phase_diagram import COLUMNS

BASE: dict[str, Any] = {
    "scale": 0.2, "start": "positive", "width": 3, "dimensions": 3, "layers": 0, "even": False, "power": 1,
}  # fmt: skip
"""The released script's start, with A."""
GRID = {key: value for key, value in BASE.items() if key not in ("scale", "power")}


def cells(table: Table) -> Table:
    """A row a cell and a column for everything counted; of a cell in two arms the one with more starts, which has all
    of the other's.
    """
    if table.is_empty():
        return table.select(*COLUMNS)
    wide = table.pivot(on="instrument", index=["arm", *COLUMNS], values="value", maintain_order=True)
    wide = wide.sort("flows", descending=True, maintain_order=True)
    return wide.unique(list(COLUMNS), keep="first", maintain_order=True)


def counted(found: Table, hits: str = "bumps", of: str = "flows", **where: Any) -> Counts:
    """The sum over these cells, where both were counted."""
    if not {hits, of} <= set(found.columns):
        return 0, 0
    both = select(found, **where).drop_nulls([hits, of])
    return round(both[hits].sum()), round(both[of].sum())


def along(found: Table, key: str, hits: str = "bumps", **where: Any) -> Series:
    """Bumps at each value of one column, ascending."""
    places = sorted(select(found, **where)[key].unique().to_list())
    series = {place: counted(found, hits, **{**where, key: place}) for place in places}
    return {place: counts for place, counts in series.items() if counts[1]}


def by_power(found: Table) -> dict[int, Counts]:
    """Bumps with A and with A^2, over the cells of the grid that both have."""
    grids = {power: select(found, **GRID, power=power) for power in (1, 2)}
    both = grids[1].select("gap", "scale").join(grids[2].select("gap", "scale"), on=["gap", "scale"])
    return {power: counted(grid.join(both, on=["gap", "scale"])) for power, grid in grids.items()}


def by_start(found: Table, *starts: str) -> dict[str, Counts]:
    """Bumps of each kind of start, over the gaps that the last one has."""
    gaps = select(found, **{**BASE, "start": starts[-1]})["gap"].to_list()
    series = {start: counted(found, **{**BASE, "start": start}, gap=gaps) for start in starts}
    return {start: counts for start, counts in series.items() if counts[1]}


def agreement(found: Table) -> Table:
    """The cells of the grid in which the analytic curve was asked which start bumps."""
    return select(found, **GRID).drop_nulls("agree") if "agree" in found.columns else found.clear()


def _axis(key: str, **changed: Any) -> Callable[[Table], Series]:
    """Bumps along an axis, from the released start with some of it changed."""
    where = {name: value for name, value in {**BASE, **changed}.items() if name != key}
    return lambda table: along(cells(table), key, **where)


def _square(**changed: Any) -> Callable[[Table], Series]:
    """Bumps along the dimension, where U is as wide as that."""
    where = {name: value for name, value in {**BASE, **changed}.items() if name not in ("width", "dimensions")}
    return lambda table: along(square(cells(table)), "dimensions", **where)


def square(found: Table) -> Table:
    """The cells in which U is as wide as the dimension."""
    return found.filter(found["width"] == found["dimensions"])


def _smallest(table: Table) -> tuple[float, Counts]:
    """The smallest scale at mu_2 = 2, and the bumps there."""
    series = _axis("scale", gap=2.0)(table)
    if not series:
        raise NotMeasured("no scales at gap 2 were counted")
    return next(iter(series.items()))


def _cells_that(hits: str = "bumps", of: str = "flows", **where: Any) -> Share:
    """How many of how many, over the cells in which columns have these values."""
    return lambda table: counted(cells(table), hits, of, **where)


def _of_power(power: int) -> Share:
    return lambda table: by_power(cells(table))[power]


def _of_start(start: str) -> Share:
    return lambda table: by_start(cells(table), "positive", "gaussian").get(start, (0, 0))


def _less_below_zero(table: Table) -> Judgement:
    return judge_trend(by_start(cells(table), "positive", "quarter", "half", "symmetric"), -1)


def _agrees(table: Table) -> Counts:
    return counted(agreement(cells(table)), "agree")


def _never_rises(table: Table) -> Counts:
    rises, flows = counted(cells(table), "rises")
    if not flows:
        raise NotMeasured("no training loss was followed")
    return flows - rises, flows


def _worst_cell(table: Table) -> str:
    right = agreement(cells(table))
    worst = right.sort(right["agree"] / right["flows"]).row(0, named=True)
    where = f"gap {worst['gap']:g}, scale {worst['scale']:g}, A^{worst['power']}"
    return f"worst cell {worst['agree'] / worst['flows']:.3f} ({where})"


def _by_depth(table: Table) -> str:
    return listed_shares({str(layers): counted(cells(table), layers=layers) for layers in (2, 3, 4)})


ASKED = "a question of this study"
CLAIMS = (
    Claim("PH1", "More flows swing by at a larger signal ratio (positive start of 1/5, A; largest less smallest "
          "ratio).",
          f"{ASKED}; earlier replication of ours: 1, 37, 84, 98% at 1.1, 1.5, 2, 3",
          rising(_axis("gap")), check=True),
    Claim("PH2", "From the smallest start more than 0.8 of the flows swing by (signal ratio 2, A).",
          f"{ASKED}; earlier replication of ours: >= 80% in networks of small start",
          share_above(lambda table: _smallest(table)[1], 0.8, lambda table: f"scale {_smallest(table)[0]:g}"),
          check=True),
    Claim("PH2b", "The smaller the start, the more flows swing by (signal ratio 2, A; smallest less largest start).",
          ASKED,
          falling(_axis("scale", gap=2.0)), check=True),
    Claim("PH2c", "The smaller the start, the more flows swing by at a small signal ratio, too (1.2, A; smallest "
          "less largest start).",
          ASKED,
          falling(_axis("scale", gap=1.2)), check=True),
    Claim("PH3", "More flows swing by with the released scripts' squared moments A^2 than with A (same starts, "
          "whole grid).",
          f"{ASKED}; earlier replication of ours: 89% against 37% at a signal ratio of 1.5",
          larger(_of_power(2), _of_power(1),
                 lambda table: listed_shares({f"A^{k}": v for k, v in by_power(cells(table)).items()})), check=True),
    Claim("PH4", "More positive starts than Gaussian ones swing by (difference of shares).",
          f"{ASKED}; earlier replication of ours: 37% against 10%",
          larger(_of_start("positive"), _of_start("gaussian"),
                 lambda table: listed_shares(by_start(cells(table), "positive", "gaussian"))), check=True),
    Claim("PH4b", "The further entries of the start reach below zero, the fewer starts swing by (uniform starts).",
          ASKED,
          _less_below_zero,
          check=True),
    Claim("PH5", "Wide Gaussian starts do not swing by: less than 0.05 at width 64 (signal ratio 1.5).",
          "earlier replication of ours: 0%",
          share_below(_cells_that(**{**BASE, "gap": 1.5, "start": "gaussian", "width": 64}), 0.05), check=True),
    Claim("PH5b", "Gaussian starts: the wider U at equal size of W(0), the fewer swing by (signal ratio 2).",
          ASKED,
          falling(_axis("width", start="gaussian", even=True, gap=2.0)), check=True),
    Claim("PH5c", "Positive starts: the wider U at equal size of W(0), the fewer swing by (signal ratio 2).",
          ASKED,
          falling(_axis("width", even=True, gap=2.0)), check=True),
    Claim("PH6", "The analytic curve says which start swings by, in at least 0.95 of the flows of the grid.",
          ASKED,
          share_above(_agrees, 0.95, _worst_cell), check=True),
    Claim("PH7", "Deeper networks swing by more often (four matrices less two).",
          ASKED,
          larger(_cells_that(layers=4), _cells_that(layers=2), _by_depth), check=True),
    Claim("PH8", "The more idle dimensions, the fewer Gaussian starts swing by (width = dimensions, signal ratio 2).",
          f"{ASKED}; earlier replication of ours: none in networks of 64 dimensions",
          falling(_square(start="gaussian", gap=2.0)), check=True),
    Claim("PH8b", "The more idle dimensions, the fewer positive starts of equal size swing by (width = dimensions, "
          "signal ratio 2).",
          ASKED,
          falling(_square(even=True, gap=2.0)),
          check=True),
    Claim("PH9", "A Gaussian start swings by only with a positive minor w_12 (share of those that swing by, above "
          "0.95).",
          ASKED,
          share_above(_cells_that("bumps.helped", "bumps", start="gaussian", layers=0), 0.95), check=True),
    Claim("PH10", "The training loss never rises meanwhile (share of flows and networks).",
          "monotone in Fig 17",
          all_of(_never_rises), check=True),
)  # fmt: skip
