"""Training-free local-score models (beyond Bradley 2026): the rules."""

from collections.abc import Mapping

from recombine.instruments.scenes.machine_evaluation import GLOBAL, LOCAL
from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, below, difference
from recombine.lab.table import Table
from recombine.studies.local_scores._shared.label_recall import HEADLINE, arm_of, more, recall_by_count, with_many
from recombine.studies.local_scores.length.claims import reaches, stays


def machine_arm(experiment: str, objects: str, radius: int | None) -> str:
    """How the arms of machines are called: "machine 2 k=2 1-3"."""
    return f"machine {experiment} {'global' if radius is None else f'k={radius}'} {objects}"


def explained(network: str, what: str = f"{LOCAL}.r2") -> Measure:
    """What "machine." + this says of a network, for each seed the mean over numbers of labels."""

    def measure(table: Table) -> Mapping[int, float]:
        found = recall_by_count(table, arm_of(network, HEADLINE), f"machine.{what}")
        return {seed: sum(curve.values()) / len(curve) for seed, curve in found.items()}

    return measure


def _off(table: Table) -> Mapping[int, float]:
    """The largest difference over numbers of labels between the recall of 2L and of its local machine."""
    arm = arm_of("2L", HEADLINE)
    network = recall_by_count(table, arm, "machine.network.recall")
    machine = recall_by_count(table, arm, f"machine.{LOCAL}.recall")
    shared = sorted(network.keys() & machine.keys())
    return {s: max(abs(network[s][k] - machine[s][k]) for k in network[s]) for s in shared}


LOCAL_2, LOCAL_4, GLOBAL_2 = (machine_arm("2", HEADLINE, radius) for radius in (2, 4, None))

CLAIMS = (
    Claim("MA1", "With Exp 2's labels, a training-free local-score model goes far beyond 3 labels (K_max).",
          "not in the paper (at least 9)",
          reaches(LOCAL_2, 9), check=True),
    Claim("MA1b", "With Exp 1's labels, a training-free local-score model goes far beyond 3 labels (K_max).",
          "not in the paper (at least 9)",
          reaches(machine_arm("1", HEADLINE, 2), 9),
          check=True),
    Claim("MA1c", "From single discs alone, a training-free local-score model goes far beyond one label (K_max).",
          "not in the paper (at least 6); network 2L: 5",
          reaches(machine_arm("2", "1", 2), 6), check=True),
    Claim("MA2", "The training-free model of whole images does not go beyond 3 labels (K_max, Exp 2's labels).",
          "not in the paper (at most 3)",
          stays(GLOBAL_2, 3), check=True),
    Claim("MA2b", "The training-free model of whole images does not go beyond 3 labels with Exp 1's labels either "
          "(K_max).",
          "not in the paper (at most 3)",
          stays(machine_arm("1", HEADLINE, None), 3), check=True),
    Claim("MA3a", "The effect is gradual: patches of 9 x 9 cells do worse than 5 x 5 (recall with 6 labels, "
          "difference).",
          "not in the paper (above 0.1)",
          more(with_many, LOCAL_2, LOCAL_4, 0.1), check=True),
    Claim("MA3b", "Patches of 9 x 9 cells do better than the whole image (recall with 6 labels, difference).",
          "not in the paper (above 0.1)",
          more(with_many, LOCAL_4, GLOBAL_2, 0.1), check=True),
    Claim("MA4", "From the same noise, the local model predicts 2L's pixels (r2).",
          "Kamb and Ganguli: .82 to .90 without labels (above 0.5)",
          above(explained("2L"), 0.5), check=True),
    Claim("MA4b", "From the same noise, the local model predicts 2L's pixels better than the global model does "
          "(difference of r2).",
          "not in the paper (above 0.1)",
          above(difference(explained("2L"), explained("2L", f"{GLOBAL}.r2")), 0.1), check=True),
    Claim("MA4c", "The local model predicts 2L's pixels better from the same noise than from other noise, so more "
          "than the labels is predicted (difference of r2).",
          "not in the paper (above 0.05)",
          above(difference(explained("2L"), explained("2L", f"{LOCAL}.r2.noise")), 0.05),
          check=True),
    Claim("MA4d", "The local model predicts 2L's pixels better than those of the plain network of Exp 2 (difference "
          "of r2).",
          "not in the paper (above 0.1)",
          above(difference(explained("2L"), explained("2")), 0.1), check=True),
    Claim("MA5", "The local model has the recall of 2L at every number of labels (largest difference).",
          "not in the paper (below 0.15)",
          below(_off, 0.15), check=True),
)  # fmt: skip
