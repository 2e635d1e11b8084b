"""Which classes at distance one come, and when."""

import math

from recombine.lab.rules import median
from recombine.lab.table import Table, distances
from recombine.studies.concept_graphs._shared.times import emerges


def numbers(table: Table) -> dict[str, float | str | list[str]]:
    """The median time of the trained classes; the classes at distance one that come, in words, and that never do."""
    times = {node: median(emerges(node=node)(table)) for node, distance in distances(table).items() if distance == 1}
    return {
        "near": len(times),
        "d0": median(emerges(distance=0)(table)),
        "came": ", ".join(f"`{node}` ({at:,.0f})" for node, at in times.items() if math.isfinite(at)),
        "never": [f"`{node}`" for node, at in times.items() if math.isinf(at)],
    }
