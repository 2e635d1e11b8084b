"""Numbers of the findings on colours."""

from collections.abc import Callable, Mapping
from functools import partial

from recombine.lab.rules import mean
from recombine.lab.table import Table, at_end
from recombine.studies.local_scores.colours.claims import ALL, CHANCE, RECALL, interference


def numbers(table: Table) -> Mapping[str, Callable[..., float]]:
    """Recall and chance of the model with all colours labelled, and its mean |cosine| in a representation."""

    def of(instrument: str, labels: int) -> float:
        return mean(at_end(table, instrument, arm=ALL, labels=labels))

    return {
        "recall": partial(of, RECALL),
        "chance": partial(of, CHANCE),
        "mean_cosine": lambda name: mean(interference(ALL, name)(table)),
    }
