"""How far linear probes can be trusted on samples: the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_every
from recombine.lab.table import curves

if TYPE_CHECKING:
    import polars as pl

FARTHEST = "111"
ARMS = ("continuous", "binary", "joint")
CONCEPTS = ("shape", "color", "size")


def false_share(table: pl.DataFrame, arm: str, kinds: tuple[str, ...]) -> dict[int, float]:
    """For each seed: of all samples of the farthest class that the probes call right, over all evaluations, the share
    in which the reader finds one of these kinds of failure ("none", "several", "other").
    """
    right = curves(table, "probe.product", arm, FARTHEST)
    if not right:
        raise NotMeasured(f"the farthest class of arm {arm} was not measured")
    parts = [curves(table, f"probe.product.{kind}", arm, FARTHEST) for kind in kinds]
    if any(place not in part for part in parts for place in right):
        raise NotMeasured(
            f"what the reader finds in the images that the probes call right was not measured in arm {arm}"
        )
    return {
        place[0]: float(sum(part[place][1].sum() for part in parts) / values.sum())
        for place, (_, values) in right.items()
        if values.sum() > 0
    }


def not_there(arm: str, kinds: tuple[str, ...], bound: float) -> Callable[[pl.DataFrame], Judgement]:
    """The share of what the probes call right that is not, above a bound."""

    def judge(table: pl.DataFrame) -> Judgement:
        shares = false_share(table, arm, kinds)
        if not shares:
            raise NotMeasured(f"the probes call nothing of {FARTHEST} right in arm {arm}")
        return judge_above(list(shares.values()), bound)

    return judge


def blank_is_named(table: pl.DataFrame) -> Judgement:
    """B3: in how many seeds the probes' likeliest answer to an empty canvas is the farthest class."""
    answers = blank_answers(table)
    if not answers:
        raise NotMeasured("the probes were not asked about an empty canvas")
    said = list(answers.values())
    note = "they answer: " + ", ".join(f"{answer} in {said.count(answer)}" for answer in dict.fromkeys(said))
    return judge_every(sum(answer == "triangle blue small" for answer in said), len(said), note)


def blank_answers(table: pl.DataFrame, canvas: str = "blank") -> dict[int, str]:
    """For each seed of the first arm: the values that the probes find likeliest on this canvas, in words."""
    import polars as pl

    rows = table.filter((pl.col("node") == canvas) & pl.col("instrument").str.starts_with("calibration.probe."))
    if not rows.height:
        return {}
    rows = rows.filter(pl.col("arm") == rows["arm"][0])
    best: dict[int, dict[str, tuple[float, str]]] = {}
    for seed, instrument, value in rows.select("seed", "instrument", "value").iter_rows():
        concept, _, name = instrument.removeprefix("calibration.probe.").partition("=")
        held = best.setdefault(seed, {})
        held[concept] = max(held.get(concept, (-np.inf, "")), (value, name))
    return {seed: " ".join(held[concept][1] for concept in CONCEPTS if concept in held) for seed, held in best.items()}


BLANK = (
    Claim(
        "B1",
        "with a joint embedding, most of what the probes call a right 111 holds no object (share, over training)",
        "beyond (above 0.5)",
        not_there("joint", ("none",), 0.5),
    ),
    Claim(
        "B2",
        "with the paper's embedding and continuous conditions, most of what the probes call a right 111 is not one "
        "(share, over training)",
        "beyond (above 0.5)",
        not_there("continuous", ("none", "several", "other"), 0.5),
    ),
    Claim(
        "B2b",
        "the same with binary conditions",
        "beyond (above 0.5)",
        not_there("binary", ("none", "several", "other"), 0.5),
    ),
    Claim(
        "B3",
        "linear probes call an empty canvas a small blue triangle, the farthest class (share of seeds)",
        "beyond; so in a probe made before",
        blank_is_named,
    ),
)
