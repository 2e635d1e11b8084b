"""The gain of a sum over a joint embedding, by what the network receives."""

from recombine.lab.rules import mean
from recombine.lab.table import Table, select
from recombine.studies.concept_graphs.conditioning.claims import gain


def numbers(table: Table) -> dict[str, float | str]:
    """The mean gain with masked conditions and with tuples."""
    measure = gain("entry", "multiply", "joint")
    return {f"sum_{how}": mean(measure(select(table, conditions=how))) for how in ("masked", "binary")}
