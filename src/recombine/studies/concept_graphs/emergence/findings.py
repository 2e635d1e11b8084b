"""Numbers of the findings that take more than one query."""

from recombine.lab.numbers import number_text
from recombine.lab.rules import median, rising
from recombine.lab.table import Table, curves
from recombine.studies.concept_graphs._shared.times import EMERGED, emerges


def numbers(table: Table) -> dict[str, float | str]:
    """Median times of the distances by reader and probes, and the best that small red triangles ever reach."""
    reader, probe = ([emerges(f"{by}.product", distance=d) for d in range(3)] for by in ("reader", "probe"))
    tops = [values.max() for _, values in curves(table, "reader.product", arm="binary", node="101").values()]
    return {
        "emerged": EMERGED,
        "d0": median(reader[0](table)),
        "d1": median(reader[1](table)),
        "probe_order": int(sum(rising(*probe)(table).values())),
        "probe_d2": median(probe[2](table)),
        "best_101": ", ".join(map(number_text, tops)),
    }
