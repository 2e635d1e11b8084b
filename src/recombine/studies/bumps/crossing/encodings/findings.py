"""Numbers of the findings by training set and code."""

from collections.abc import Callable
from typing import Any

import polars as pl

from recombine.lab.claims import judge_all
from recombine.lab.rules import average, mean
from recombine.studies.bumps.crossing.compose.claims import BOTH, HELD_COORDINATE, right
from recombine.studies.bumps.crossing.encodings.claims import CLAIMS


def numbers(table: pl.DataFrame) -> dict[str, Any]:
    """Functions of the training set and the code; and the verdict that all claims of these names share."""

    def accuracy(asked: tuple[tuple[str, str], ...]) -> Callable[..., float]:
        return lambda data, code, how="fine": mean(right(average, asked, data, how, code=code)(table))

    def verdicts(*names: str) -> str:
        claims = (claim for claim in CLAIMS if claim.id.split("-")[0] in names)
        judged = judge_all(claims, table, "bumps", "encodings", "full")
        return " or ".join(dict.fromkeys(claim["verdict"] for claim in judged))

    return {"held": accuracy(HELD_COORDINATE), "meet": accuracy(BOTH), "verdicts": verdicts}
