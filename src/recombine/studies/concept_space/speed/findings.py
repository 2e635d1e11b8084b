"""How many images of the held-out class are empty at worst, with strong and with weak colours."""

import numpy as np

from recombine.lab.table import Table, curves
from recombine.studies.concept_space.speed.claims import HELD_OUT


def numbers(table: Table) -> dict[str, float | str]:
    """The largest mean share of empty images over training, and when."""
    strong, weak = (emptiest(table, arm) for arm in ("c0.8-s0.4", "c0.2-s0.4"))
    return {"strong_worst": strong[0], "strong_when": strong[1], "weak_worst": weak[0], "weak_when": weak[1]}


def emptiest(table: Table, arm: str) -> tuple[float, float]:
    """The largest share of empty images of the held-out class, the mean over seeds, and the images seen there."""
    empty = list(curves(table, "reader.none", arm=arm, node=HELD_OUT, sampler=None).values())
    mean = np.mean([share for _, share in empty], axis=0)
    return float(mean.max()), float(empty[0][0][mean.argmax()])
