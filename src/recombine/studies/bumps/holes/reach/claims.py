"""How far codes of the label reach: the rules, which say what is expected if the code decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recombine.instruments.bumps.band_evaluation import BAND
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import Claim, Judgement, judge_above
from recombine.lab.rules import least, less, mean
from recombine.lab.table import at_end
from recombine.studies.bumps.crossing.encodings.claims import LONG, RAW
from recombine.worlds.holdouts import SEEN

if TYPE_CHECKING:
    import polars as pl

SHORT = "short"
CODES = (SHORT, RAW, LONG)
NARROW, WIDE = WIDTHS = (4.0, 8.0)  # px: raw sinusoids bridge the one and not the other
SIGMA, SHARE = 0.5, 0.1  # on the lattice, where raw sinusoids have half of what was never seen

Rule = Callable[["pl.DataFrame"], Judgement]
Reading = Callable[["pl.DataFrame", str], dict[int, float]]
"""The table and a code -> a value a seed."""


def band_arm(code: str, width: float) -> str:
    """The arm with a band of this width."""
    return f"{code} W={width:g}"


def lattice_arm(code: str) -> str:
    """The arm that saw a share of the lattice."""
    return f"{code} lambda={SHARE:g}"


def in_band(width: float) -> Reading:
    """What is right across a band, by the fine estimate."""
    return lambda table, code: at_end(table, "fine.both", band_arm(code, width), [BAND])


def on_lattice(table: pl.DataFrame, code: str) -> dict[int, float]:
    """What is right of the labels of the lattice that were never seen."""
    return at_end(table, "darkest.both", lattice_arm(code), [NEW])


def seen(table: pl.DataFrame, code: str) -> dict[int, float]:
    """What was seen and is right: in the band's run or the lattice's where it is least."""
    found = [at_end(table, "fine.both", band_arm(code, width), [SEEN]) for width in WIDTHS]
    found.append(at_end(table, "darkest.both", lattice_arm(code), [KNOWN]))
    return {seed: min(each[seed] for each in found) for seed in set.intersection(*map(set, found))}


def farther(reading: Reading, near: str, far: str) -> Rule:
    """With one code more is right than with another, the same seed of both."""

    def judge(table: pl.DataFrame) -> Judgement:
        fewer, more = reading(table, near), reading(table, far)
        values = less(more, fewer, f"{near} and {far}")
        return judge_above(list(values.values()), 0.0, f"{near} {mean(fewer):.2f}, {far} {mean(more):.2f}")

    return judge


def all_seen(table: pl.DataFrame) -> Judgement:
    """What was seen is right, with the code where that is least."""
    found = {code: seen(table, code) for code in CODES}
    code = least(found, "no code was measured")
    return judge_above(list(found[code].values()), 0.9, f"least with {code}")


_NAMES = {SHORT: "short sinusoids", RAW: "the paper's sinusoids", LONG: "long sinusoids"}


def _pair(claim: str, where: str, reading: Reading) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"{claim}{mark}",
            f"{where}: more is right with {_NAMES[far]} than with {_NAMES[near]} (difference)",
            "not asked (above 0)",
            farther(reading, near, far),
        )
        for mark, near, far in (("s", SHORT, RAW), ("l", RAW, LONG))
    )


REACH = (
    Claim(
        "RC0",
        "What was seen is right with every code (the lowest)",
        "not asked (above 0.9); without it the others say little",
        all_seen,
    ),
    *_pair("RC1", f"A band of {NARROW:g} px", in_band(NARROW)),
    *_pair("RC2", f"A band of {WIDE:g} px", in_band(WIDE)),
    *_pair("RC3", "A tenth of the lattice", on_lattice),
)
