"""Seeds that bend as in the paper, and how many images are empty at worst with strong colour."""

from recombine.lab.table import Table
from recombine.studies.concept_space.speed.findings import emptiest
from recombine.studies.concept_space.trajectories.claims import bend_of


def numbers(table: Table) -> dict[str, float | str]:
    """How many weak paths go by small red; the largest mean share of empty images in the strong arm."""
    bends = bend_of("weak")(table).values()
    return {"weak_positive": sum(bend > 0 for bend in bends), "strong_empty": emptiest(table, "strong")[0]}
