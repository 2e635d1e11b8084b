"""The order of emergence in the arms where every distance comes."""

from recombine.lab.rules import median, rising
from recombine.lab.table import Table
from recombine.studies.concept_graphs._shared.times import emerges


def numbers(table: Table) -> dict[str, float | str]:
    """In how many seeds the distances come in order, and the median times with equal signals."""
    equal, weak = ([emerges(distance=d, arm=arm) for d in range(3)] for arm in ("equal", "weak-size"))
    return {
        "equal_order": int(sum(rising(*equal)(table).values())),
        "weak_order": int(sum(rising(*weak)(table).values())),
        "equal_times": ", ".join(f"{median(time(table)):,.0f}" for time in equal),
    }
