"""What is claimed of SDXL: the rules. They are judged on trained weights alone.

The paper gives pictures and no numbers here; the bounds are this study's, fixed before any real weights were looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from recombine.lab.claims import Claim, Judgement, NotMeasured, judge_above, judge_within
from recombine.lab.table import at_end
from recombine.studies.local_scores._shared.sdxl import REAL, demand_real

if TYPE_CHECKING:
    import polars as pl

ARM, OWN_NOISE = "concept", "own noise"  # the reading that is taken of Fig 5, and one where prompts share no noise
PROMPT = "prompt"  # the one arm of Fig 4
TEXT, LATENT, PIXEL = "text", "latent", "pixel"
SIDES = ("down", "mid", "up")

MAP, IMAGE = "map", "image"
NEAR, NEAR_CHANCE = "gradient.near", "gradient.near.chance"  # of all pixels but its own
OWN = "gradient.own"  # the share of the pixel itself
WORD, WORD_MAP, SAME, LOCAL = "word.influence", "word.map", "word.coincidence", "word.own share"


def readings(table: pl.DataFrame, arm: str, instrument: str) -> dict[int, dict[str, float]]:
    """Seed -> node -> value, the nodes in the order they were measured."""
    import polars as pl

    chosen = table.filter((pl.col("instrument") == instrument) & (pl.col("arm") == arm)).drop_nulls("value")
    found: dict[int, dict[str, float]] = {}
    for seed, node, value in chosen.select("seed", "node", "value").iter_rows():
        found.setdefault(int(seed), {})[str(node)] = float(value)
    return found


def real(table: pl.DataFrame, arm: str) -> None:
    """Refuse to judge others than SDXL's trained weights."""
    demand_real(list(at_end(table, REAL, arm, ["all"]).values()))


def by_seed(
    arm: str, instrument: str, number: Callable[[dict[str, float]], float], judge: Callable[[list[float]], Judgement]
) -> Callable[[pl.DataFrame], Judgement]:
    """A number of each seed's readings, judged over seeds."""

    def judged(table: pl.DataFrame) -> Judgement:
        real(table, arm)
        found = readings(table, arm, instrument)
        if not found:
            raise NotMeasured(f"{instrument} was not measured")
        return judge([number(found[seed]) for seed in sorted(found)])

    return judged


def above(bound: float) -> Callable[[list[float]], Judgement]:
    return lambda values: judge_above(values, bound)


# --- Fig 4 -----------------------------------------------------------------------------------------------------------


def mean_at(level: str) -> Callable[[dict[str, float]], float]:
    """The mean over places at a noise level."""

    def mean(found: dict[str, float]) -> float:
        values = [value for node, value in found.items() if node.endswith(f"/{level}")]
        if not values:
            raise NotMeasured(f"no gradient at {level} noise")
        return float(np.mean(values))

    return mean


def everywhere(found: dict[str, float]) -> float:
    return float(np.mean(list(found.values())))


PIXELS = (
    Claim(
        "SD1",
        "the answer at a latent pixel depends on others near it (gradient within 1/16 of the side, low noise)",
        "local crosses, no number (above 0.5; chance about 0.02)",
        by_seed(PROMPT, NEAR, mean_at("low"), above(0.5)),
    ),
    Claim(
        "SD2",
        "most so at low noise (the same, low less high noise)",
        "especially at low noise, no number (above 0)",
        by_seed(PROMPT, NEAR, lambda found: mean_at("low")(found) - mean_at("high")(found), above(0.0)),
    ),
    Claim(
        "SD3",
        "words act alike at distant places (overlap of the curves of all words at two places)",
        "nearly identical, no number (above 0.8)",
        by_seed(PROMPT, SAME, everywhere, above(0.8)),
    ),
    Claim(
        "SD4",
        "a place does not listen to its own object more (its share of the three objects' influence)",
        "no conditional locality, no number (1/3, from 0.23 to 0.43)",
        by_seed(PROMPT, LOCAL, everywhere, lambda values: judge_within(values, 1 / 3 - 0.1, 1 / 3 + 0.1)),
    ),
)


# --- Fig 5 -----------------------------------------------------------------------------------------------------------


def side_mean(found: dict[str, float], side: str) -> float:
    """The mean over the blocks of a side of the network."""
    values = [value for node, value in found.items() if node.startswith(f"{side}_")]
    if not values:
        raise NotMeasured(f"no {side} block was measured")
    return float(np.mean(values))


def clearer_than_outputs(found: dict[str, float]) -> float:
    """The gap in the middle of the network less the larger one of the outputs."""
    if LATENT not in found or PIXEL not in found:
        raise NotMeasured("an output has no gap")
    return side_mean(found, "mid") - max(found[LATENT], found[PIXEL])


def arch(found: dict[str, float]) -> float:
    """How far the middle of the network stands above the first and the last eighth of its blocks, whichever is higher.

    Of 70 blocks an eighth is nine: those farthest from the bottleneck.
    """
    blocks = [node for node in found if node.split("_")[0] in SIDES]
    end = max(1, len(blocks) // 8)
    ends = [float(np.mean([found[node] for node in part])) for part in (blocks[:end], blocks[-end:])]
    return side_mean(found, "mid") - max(ends)


def biased(table: pl.DataFrame) -> Judgement:
    """How much nearer to 1/2 the naive cosine between categories is than one of a split background, where noise is own.

    There that one is right. Halves of few draws of a weak direction may not agree on its length at all.
    """
    real(table, OWN_NOISE)
    naive, split = (readings(table, OWN_NOISE, f"{name}.between") for name in ("naive", "background"))
    both = [(side_mean(naive[seed], "mid"), side_mean(split[seed], "mid")) for seed in sorted(set(naive) & set(split))]
    return judge_above([abs(right - 0.5) - abs(plain - 0.5) for plain, right in both], 0.0)


FEATURES = (
    Claim(
        "SD5",
        "concepts of one category are nearer in features than those of two (gap of cosines, mid blocks)",
        "larger within, no number (above 0)",
        by_seed(ARM, "halves.gap", lambda found: side_mean(found, "mid"), above(0.0)),
    ),
    Claim(
        "SD6",
        "more so than in the outputs (gap in mid blocks less the larger one of latent and pixel)",
        "more disentangled, no number (above 0)",
        by_seed(ARM, "halves.gap", clearer_than_outputs, above(0.0)),
    ),
    Claim(
        "SD7",
        "the ratio within / between is an arch over the blocks (naive, mid blocks less the higher end)",
        "peak near the bottleneck, no number (above 0)",
        by_seed(ARM, "naive.ratio", arch, above(0.0)),
    ),
    Claim(
        "SD8",
        "so is the unbiased gap (mid blocks less the higher end)",
        "not asked (above 0)",
        by_seed(ARM, "halves.gap", arch, above(0.0)),
    ),
    Claim(
        "SD9",
        "features say more of categories than the text that the network is told (gap in mid blocks less that of text)",
        "not asked (above 0)",
        by_seed(ARM, "halves.gap", lambda found: side_mean(found, "mid") - found.get(TEXT, np.nan), above(0.0)),
    ),
    Claim(
        "SD10",
        "with noise of each prompt's own the naive cosine between categories is drawn to 1/2 (how much nearer it is)",
        "not asked (above 0)",
        biased,
    ),
)
