"""Figures of emergence: Okawa et al. 2023, Figs 5 and 6, arm by arm."""

from recombine.lab.experiment import Drawing
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.figures import cube, emergence, two_judges
from recombine.studies.concept_graphs._shared.times import HEADLINE


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """Figs 5b, 6a and 6b with the concept graph; the graph over time; the two judges."""
    concepts = config.world.concepts
    figures: dict[str, Drawing] = {}
    for arm in dict.fromkeys(table["arm"].to_list()):
        suffix = "" if arm == HEADLINE["arm"] else f"-{arm}"
        figures[f"figure{suffix}"] = Drawing(
            emergence(table, arm, concepts),
            f"Arm {arm}. Product accuracy of every class (a), the concepts of the farthest class (b), its product "
            "against its additive accuracy (c), and where on the concept graph accuracy arrives (d).",
        )
        figures[f"cube{suffix}"] = Drawing(
            cube(table, arm, concepts), f"Arm {arm}. How accuracy fills the concept graph."
        )
    figures["judges"] = Drawing(
        two_judges(table, concepts), "The farthest class by the paper's linear probes and by the reader."
    )
    return figures
