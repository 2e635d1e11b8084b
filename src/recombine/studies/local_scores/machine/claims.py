"""Machines that nobody trained (beyond Bradley 2026): the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from recombine.instruments.scenes.machine_evaluation import GLOBAL, LOCAL
from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_below
from recombine.lab.rules import less
from recombine.studies.local_scores.length.claims import HEADLINE, arm_of, reaches, recall_by_count, stays

if TYPE_CHECKING:
    import polars as pl

TIED = "machine.tied"  # the share of cells in whose field no training image agrees with the label
MANY = 6  # labels at which machines of different fields are compared


def machine_arm(experiment: str, objects: str, radius: int | None) -> str:
    """How the arms of machines are called: "machine 2 k=2 1-3"."""
    return f"machine {experiment} {'global' if radius is None else f'k={radius}'} {objects}"


def better(arm: str, other: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """Recall with MANY labels of one arm less that of another, a value a seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        first, second = recall_by_count(table, arm), recall_by_count(table, other)
        return judge_above(
            [first[s][MANY] - second[s][MANY] for s in _shared(first, second) if MANY in first[s].keys() & second[s]],
            bound,
        )

    return judge


def explained(table: pl.DataFrame, network: str, reading: str) -> dict[int, float]:
    """What "machine." + reading says of a network, for each seed the mean over numbers of labels."""
    found = recall_by_count(table, arm_of(network, HEADLINE), f"machine.{reading}")
    return {seed: sum(curve.values()) / len(curve) for seed, curve in found.items()}


def predicts(network: str, bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """r2 of the local machine's samples is above a bound."""
    return lambda table: judge_above(list(explained(table, network, f"{LOCAL}.r2").values()), bound)


def predicts_better(one: tuple[str, str], other: tuple[str, str], bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """One reading of a network less another (of the same or another), a value a seed, is above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        return judge_above(list(less(explained(table, *one), explained(table, *other)).values()), bound)

    return judge


def same_curve(table: pl.DataFrame) -> Judgement:
    """The largest difference over numbers of labels between the recall of 2L and of its local machine."""
    arm = arm_of("2L", HEADLINE)
    network = recall_by_count(table, arm, "machine.network.recall")
    machine = recall_by_count(table, arm, f"machine.{LOCAL}.recall")
    return judge_below(
        [max(abs(network[s][k] - machine[s][k]) for k in network[s]) for s in _shared(network, machine)], 0.15
    )


def _shared(one: Mapping[int, object], other: Mapping[int, object]) -> list[int]:
    seeds = sorted(one.keys() & other.keys())
    if not seeds:
        raise NotMeasured("no seed has both")
    return seeds


LOCAL_2, LOCAL_4, GLOBAL_2 = (machine_arm("2", HEADLINE, radius) for radius in (2, 4, None))

MACHINE = (
    Claim("MA1", "with Exp 2's labels, a local machine that nobody trained goes far beyond 3 labels (K_max)",
          "not asked (at least 9)", reaches(LOCAL_2, 9)),
    Claim("MA1b", "with Exp 1's labels (K_max)", "not asked (at least 9)", reaches(machine_arm("1", HEADLINE, 2), 9)),
    Claim("MA1c", "from single discs alone (K_max)", "not asked (at least 6; network 2L: 5)",
          reaches(machine_arm("2", "1", 2), 6)),
    Claim("MA2", "the global machine of the same images does not (K_max, Exp 2)", "not asked (at most 3)",
          stays(GLOBAL_2, 3)),
    Claim("MA2b", "nor with Exp 1's labels (K_max)", "not asked (at most 3)",
          stays(machine_arm("1", HEADLINE, None), 3)),
    Claim("MA3a", "it is a matter of degree: 9 x 9 cells do worse than 5 x 5 (recall with 6 labels, difference)",
          "not asked (above 0.1)", better(LOCAL_2, LOCAL_4, 0.1)),
    Claim("MA3b", "and better than everything (recall with 6 labels, difference)", "not asked (above 0.1)",
          better(LOCAL_4, GLOBAL_2, 0.1)),
    Claim("MA4", "from the same noise, the local machine predicts 2L's pixels (r2)",
          "Kamb and Ganguli: .82 to .90 without labels (above 0.5)", predicts("2L", 0.5)),
    Claim("MA4b", "better than the global machine does (difference of r2)", "not asked (above 0.1)",
          predicts_better(("2L", f"{LOCAL}.r2"), ("2L", f"{GLOBAL}.r2"), 0.1)),
    Claim("MA4c", "and better than from other noise: more than the labels is predicted (difference of r2)",
          "not asked (above 0.05)", predicts_better(("2L", f"{LOCAL}.r2"), ("2L", f"{LOCAL}.r2.noise"), 0.05)),
    Claim("MA4d", "but not the plain network of Exp 2 as well (difference of r2, 2L less 2)", "not asked (above 0.1)",
          predicts_better(("2L", f"{LOCAL}.r2"), ("2", f"{LOCAL}.r2"), 0.1)),
    Claim("MA5", "the local machine has the recall of 2L at every number of labels (largest difference)",
          "not asked (below 0.15)", same_curve),
)  # fmt: skip
