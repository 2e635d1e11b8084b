"""Whether few network calls measure the same: the rule, and the cells it is judged on."""

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import between
from recombine.lab.table import Table, select

EMERGED = 0.8
TOLERANCE = 0.05  # about the sampling error of an accuracy over 50 images


def audited_cells(table: Table) -> Table:
    """Product accuracy by the run's own sampler (fast) and the audit's (slow) where both were measured, and the gap."""
    place = ("arm", "seed", "images_seen", "node", "distance")
    rows = select(table, "reader.product")
    slow = rows.drop_nulls("sampler").select(*place, "sampler", slow="value")
    cells = slow.join(select(rows, sampler=None).select(*place, fast="value"), on=place)
    if not cells.height:
        raise NotMeasured("no evaluation that was measured was audited with a slower sampler")
    return cells.with_columns(gap=cells["fast"] - cells["slow"]).sort(*place)


def gaps(table: Table) -> dict[int, float]:
    """The first sampler's product accuracy less the audit's, the mean over classes and moments."""
    return dict(audited_cells(table).select("seed", "gap").group_by("seed").mean().sort("seed").iter_rows())


def _agreement(table: Table) -> str:
    cells = audited_cells(table)
    same = int(((cells["fast"] >= EMERGED) == (cells["slow"] >= EMERGED)).sum())
    size = cells["gap"].abs().to_numpy().mean()
    return (
        f"{cells['sampler'][0]}: {same} of {cells.height} cells on the same side of {EMERGED:g}; mean size of a "
        f"difference {size:.3f}"
    )


CLAIMS = (
    Claim("AS1", "few-step sampling measures the same as 500-step ancestral sampling (difference)", "0 (within 0.05)",
          between(gaps, -TOLERANCE, TOLERANCE, _agreement), general=True, check=True),
)  # fmt: skip
