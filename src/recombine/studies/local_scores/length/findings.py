"""Numbers of the findings of length generalization."""

from collections.abc import Callable
from functools import partial

from recombine.instruments.scenes.counting import CHANCE_ISOLATED, OBJECTS, RECALL, RECALL_ISOLATED, STRICT
from recombine.lab.rules import mean
from recombine.lab.table import Table
from recombine.studies.local_scores._shared import label_recall
from recombine.studies.local_scores.length.claims import FEW, MANY, isolated, off_the_paper


def numbers(table: Table) -> dict[str, Callable[..., float]]:
    """Label recall of arms, recall of isolated labels, and how far other rules of K_max are from the paper."""
    found = label_recall.numbers(table)

    def of_isolated(arm: str, many: bool, instrument: str = RECALL_ISOLATED) -> float:
        return mean(isolated(table, arm, MANY if many else FEW, instrument))

    return {
        **found,
        "isolated": of_isolated,
        "isolated_chance": partial(of_isolated, instrument=CHANCE_ISOLATED),
        "strict_k_max": partial(found["k_max"], instrument=STRICT, least=0.1),
        "lax_k_max": partial(found["k_max"], instrument=RECALL, least=0.75),
        "count_k_max": partial(found["k_max"], instrument=OBJECTS, least=1.0),
        "off_strict": partial(off_the_paper, table, STRICT, 0.1),
        "off_lax": partial(off_the_paper, table, RECALL, 0.75),
        "off_count": partial(off_the_paper, table, OBJECTS, 1.0),
        "off": partial(off_the_paper, table),
    }
