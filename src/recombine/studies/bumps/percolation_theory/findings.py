"""Numbers of the findings that no claim holds."""

from recombine.lab.table import Table
from recombine.studies.bumps.percolation_theory.claims import DISKS, critical_of_mean, neighbours_of


def numbers(table: Table) -> dict[str, float | str]:
    """How much later disks in the plane percolate than bumps of as many neighbours, from 20 to 70 of them."""
    later = [
        DISKS / z / critical_of_mean(table, cell)[0].value - 1
        for cell, z in neighbours_of(table).items()
        if 20 <= z <= 70
    ]
    return {"disks": f"{min(later):.0%} to {max(later):.0%}"}
