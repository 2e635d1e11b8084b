"""Median thresholds of the findings."""

from recombine.lab.rules import median, rising
from recombine.lab.table import Table
from recombine.studies.concept_graphs.frequency.claims import ITSELF, UNSEEN, thresholds


def numbers(table: Table) -> dict[str, float | str]:
    """Median numbers of images for a concept in its class and in unseen classes; seeds in which the class is first."""
    color, shape, unseen = thresholds("color", ITSELF), thresholds("shape", ITSELF), thresholds("shape", UNSEEN)
    return {
        "color_itself": median(color(table)),
        "shape_itself": median(shape(table)),
        "shape_unseen": median(unseen(table)),
        "shape_in_order": int(sum(rising(shape, unseen)(table).values())),
    }
