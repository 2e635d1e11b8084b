"""What the findings ask: shares of bumps over any cells."""

from typing import Any

from recombine.lab.table import Table, select
from recombine.lab.trends import share
from recombine.studies.identity_mapping.phase_diagram.claims import BASE, GRID, agreement, by_start, cells, counted


def numbers(table: Table) -> dict[str, Any]:
    """`of` asks for the share of bumps in any cells, `cut` in those of the released start with some of it changed."""
    found = cells(table)

    def of(hits: str = "bumps", total: str = "flows", **where: Any) -> float:
        return share(counted(found, hits, total, **where))

    def height(**changed: Any) -> float:
        return float(select(found, **{**BASE, **changed})["height"].item())

    nets = select(found, layers=[2, 3, 4], start="positive", gap=1.5)["height"].to_numpy()
    return {
        "flows": float(found["flows"].sum()),
        "of": of,
        "cut": lambda hits="bumps", **changed: of(hits, **{**BASE, **changed}),
        "grid": lambda power: of(**GRID, power=power),
        "start": lambda name: share(by_start(found, "positive", "gaussian")[name]),
        "right": lambda scale: share(counted(agreement(found), "agree", scale=scale)),
        "height": height,
        "net_heights": (float(nets.min()), float(nets.max())),
    }
