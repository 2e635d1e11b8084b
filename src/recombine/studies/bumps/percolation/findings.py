"""Numbers of the findings that no claim holds."""

from recombine.lab.rules import mean
from recombine.lab.table import Table
from recombine.studies.bumps.percolation.claims import THEORY, THRESHOLDS, early_accuracies, half_learnt
from recombine.studies.bumps.percolation_theory.claims import critical_shares


def numbers(table: Table) -> dict[str, float | str]:
    """Where half is learnt and where sets percolate, by width; accuracy at the first evaluation."""
    learnt = [mean({seed: own.value for seed, own in seeds.items()}) for seeds in half_learnt(table).values()]
    critical = {width: mean(own) for (width, level), own in critical_shares(table, THEORY).items()
                if level == THRESHOLDS[1]}  # fmt: skip
    first, early = early_accuracies(table)
    return {
        "learnt_low": min(learnt), "learnt_high": max(learnt),
        "critical_wide": critical[1.0], "critical_narrow": critical[0.3],
        "early_images": first,
        "early_narrow": mean(early[0.1][1.0]),
        "early_wide": mean(early[1.0][1.0]),
    }  # fmt: skip
