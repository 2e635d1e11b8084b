"""Training-free local-score models (beyond Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recombine.instruments.scenes.machine_evaluation import GLOBAL, LOCAL
from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, below, difference
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of, more, recall_by_count, with_many
from recombine.studies.local_scores.length.claims import reaches, stays

if TYPE_CHECKING:
    import polars as pl


def machine_arm(experiment: str, objects: str, radius: int | None) -> str:
    """How the arms of machines are called: "machine 2 k=2 1-3"."""
    return f"machine {experiment} {'global' if radius is None else f'k={radius}'} {objects}"


def explained(network: str, what: str = f"{LOCAL}.r2") -> Measure:
    """What "machine." + this says of a network, for each seed the mean over numbers of labels."""

    def measure(table: pl.DataFrame) -> Mapping[int, float]:
        found = recall_by_count(table, arm_of(network, HEADLINE), f"machine.{what}")
        return {seed: sum(curve.values()) / len(curve) for seed, curve in found.items()}

    return measure


def _off(table: pl.DataFrame) -> Mapping[int, float]:
    """The largest difference over numbers of labels between the recall of 2L and of its local machine."""
    arm = arm_of("2L", HEADLINE)
    network = recall_by_count(table, arm, "machine.network.recall")
    machine = recall_by_count(table, arm, f"machine.{LOCAL}.recall")
    shared = sorted(network.keys() & machine.keys())
    return {s: max(abs(network[s][k] - machine[s][k]) for k in network[s]) for s in shared}


LOCAL_2, LOCAL_4, GLOBAL_2 = (machine_arm("2", HEADLINE, radius) for radius in (2, 4, None))

CLAIMS = (
    Claim("MA1", "with Exp 2's labels, a training-free local-score model goes far beyond 3 labels (K_max)",
          "not asked (at least 9)", reaches(LOCAL_2, 9), check=True),
    Claim("MA1b", "with Exp 1's labels (K_max)", "not asked (at least 9)", reaches(machine_arm("1", HEADLINE, 2), 9),
          check=True),
    Claim("MA1c", "from single discs alone (K_max)", "not asked (at least 6; network 2L: 5)",
          reaches(machine_arm("2", "1", 2), 6), check=True),
    Claim("MA2", "the global machine of the same images does not (K_max, Exp 2)", "not asked (at most 3)",
          stays(GLOBAL_2, 3), check=True),
    Claim("MA2b", "nor with Exp 1's labels (K_max)", "not asked (at most 3)",
          stays(machine_arm("1", HEADLINE, None), 3), check=True),
    Claim("MA3a", "the effect is gradual: 9 x 9 cells do worse than 5 x 5 (recall with 6 labels, difference)",
          "not asked (above 0.1)", more(with_many, LOCAL_2, LOCAL_4, 0.1), check=True),
    Claim("MA3b", "and better than everything (recall with 6 labels, difference)", "not asked (above 0.1)",
          more(with_many, LOCAL_4, GLOBAL_2, 0.1), check=True),
    Claim("MA4", "from the same noise, the local machine predicts 2L's pixels (r2)",
          "Kamb and Ganguli: .82 to .90 without labels (above 0.5)", above(explained("2L"), 0.5), check=True),
    Claim("MA4b", "better than the global machine does (difference of r2)", "not asked (above 0.1)",
          above(difference(explained("2L"), explained("2L", f"{GLOBAL}.r2")), 0.1), check=True),
    Claim("MA4c", "and better than from other noise: more than the labels is predicted (difference of r2)",
          "not asked (above 0.05)", above(difference(explained("2L"), explained("2L", f"{LOCAL}.r2.noise")), 0.05),
          check=True),
    Claim("MA4d", "but not the plain network of Exp 2 as well (difference of r2, 2L less 2)", "not asked (above 0.1)",
          above(difference(explained("2L"), explained("2")), 0.1), check=True),
    Claim("MA5", "the local machine has the recall of 2L at every number of labels (largest difference)",
          "not asked (below 0.15)", below(_off, 0.15), check=True),
)  # fmt: skip
