"""Numbers of the findings that no claim holds."""

from recombine.lab.rules import less, mean
from recombine.lab.statistics import mean_text
from recombine.lab.table import Table, at_end, select
from recombine.studies.bumps.torus.claims import ADDITIVE, BLOCK, HEADLINE, RATIO, TORUS, holes


def numbers(table: Table) -> dict[str, float | str]:
    """Nulls beside the trained block, gains over the untrained one by seed, and how many seeds have which holes."""
    counted = list(holes(table, **BLOCK).values())
    return {
        "probes": select(table, RATIO, **BLOCK)["images_seen"].n_unique(),
        "torus_seeds": sum(own == TORUS for own in counted),
        "open_seeds": sum(None in own for own in counted),
        "additive": mean(at_end(table, ADDITIVE, **BLOCK)),
        "label_code": mean(at_end(table, ADDITIVE, block="label code")),
        "paired_up": _gain(table, HEADLINE),
        "paired_middle": _gain(table, "middle"),
    }


def _gain(table: Table, block: str) -> str:
    """The additive fraction after training less that before, paired by seed, with its interval."""
    after, before = (at_end(table, ADDITIVE, block=block, trained=trained) for trained in (True, False))
    gains = less(after, before)
    return mean_text(list(gains.values()))
