"""Which concept comes last, the one with the weakest pixel signal or the rarest: the rules."""

import numpy as np

from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, difference, in_every_seed, of_curve, shared_seeds
from recombine.lab.table import Table

FARTHEST = "111"
CONCEPTS = ("shape", "color", "size")
WEAKEST = {"as-is": "shape", "weak-color": "color", "weak-size": "size"}


def lateness(arm: str, concept: str) -> Measure:
    """How late a concept of the farthest class is: one less its accuracy, averaged over the log-spaced evaluations;
    0 for a concept that is right from the first, 1 for one that never comes.
    """
    where = {"concept": concept, "arm": arm, "node": FARTHEST, "sampler": None}
    return of_curve(lambda seen, value: 1 - float(np.mean(value)), "reader.accuracy", **where)


def last_concepts(table: Table, arm: str) -> dict[int, str | None]:
    """The latest concept of each seed that has all of them; None where two are equally late."""
    late = {concept: lateness(arm, concept)(table) for concept in CONCEPTS}
    last: dict[int, str | None] = {}
    for seed in shared_seeds(*late.values()):
        latest = max(found[seed] for found in late.values())
        candidates = [concept for concept in CONCEPTS if late[concept][seed] == latest]
        last[seed] = candidates[0] if len(candidates) == 1 else None
    return last


def weakest_is_last(table: Table) -> dict[int, float]:
    """Whether the concept with the weakest signal is the last, in all three arms."""
    last = {arm: last_concepts(table, arm) for arm in WEAKEST}
    return {
        seed: float(all(last[arm][seed] == concept for arm, concept in WEAKEST.items()))
        for seed in shared_seeds(*last.values())
    }


def _how_often(table: Table) -> str:
    last = {arm: list(last_concepts(table, arm).values()) for arm in WEAKEST}
    each = (f"{arm}: {weak} last in {last[arm].count(weak)} of {len(last[arm])}" for arm, weak in WEAKEST.items())
    return "; ".join(each)


CLAIMS = (
    Claim("G1", "the last concept of 111 is the one with the weakest pixel signal, whichever that is (share of seeds)",
          "beyond; the paper: the minority value, blue", in_every_seed(weakest_is_last, _how_often), check=True),
    Claim("G2", "where blue is in three quarters of the images, the colour of 111 comes earlier (difference in "
          "lateness)", "beyond; implied by the paper's explanation (above 0)",
          above(difference(lateness("as-is", "color"), lateness("blue-most", "color")), 0), check=True),
    Claim("G3", "with more pixel signal the colour of 111 comes earlier (difference in lateness)", "beyond (above 0)",
          above(difference(lateness("weak-color", "color"), lateness("as-is", "color")), 0), check=True),
)  # fmt: skip
