"""Figures of four concepts: Okawa et al. 2023, Fig 16."""

from recombine.lab.experiment import Drawing
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs._shared.figures import cube, emergence, two_judges
from recombine.studies.concept_graphs._shared.times import HEADLINE


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """Product accuracy by distance, the graph of sixteen classes over training, and the two judges."""
    arm, concepts = HEADLINE["arm"], config.world.concepts
    return {
        "figure": Drawing(
            emergence(table, arm, concepts),
            "Product accuracy of all sixteen classes (a), the concepts of the farthest (b), its product against its "
            "additive accuracy (c), and where on the concept graph accuracy arrives (d).",
        ),
        "cube": Drawing(cube(table, arm, concepts), "How accuracy fills the concept graph."),
        "judges": Drawing(
            two_judges(table, concepts), "The farthest class by the paper's linear probes and by the reader."
        ),
    }
