"""Codes and their reach: what is shared with other experiments, verdicts on made-up tables, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.instruments.bumps.band_evaluation import BAND, depth_name
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.encodings.claims import LONG, RAW
from recombine.studies.bumps.crossing.encodings.figures import code_distances
from recombine.studies.bumps.holes.lesion import experiment as lesion
from recombine.studies.bumps.holes.lesion.claims import arm_of
from recombine.studies.bumps.holes.reach.claims import CODES, REACH, SHORT, WIDTHS, band_arm, lattice_arm
from recombine.studies.bumps.holes.reach.experiment import EXPERIMENT, told
from recombine.studies.bumps.percolation import experiment as percolation
from recombine.studies.bumps.percolation.claims import named
from recombine.worlds.holdouts import SEEN
from support.pictures import words

EXPECTED = {SHORT: (0.5, 0.3, 0.3), RAW: (0.9, 0.4, 0.5), LONG: (0.99, 0.9, 0.95)}  # bands of 4 and 8 px, lattice


def table(scores: Mapping[str, tuple[float, float, float]], seen: float = 0.97) -> pl.DataFrame:
    rows = []
    for code, (narrow, wide, lattice) in scores.items():
        asked = {
            (band_arm(code, WIDTHS[0]), BAND, "fine.both"): narrow,
            (band_arm(code, WIDTHS[1]), BAND, "fine.both"): wide,
            **{(band_arm(code, width), SEEN, "fine.both"): seen for width in WIDTHS},
            (band_arm(code, WIDTHS[1]), depth_name(0.3), "fine.both"): 1.0,
            (band_arm(code, WIDTHS[1]), depth_name(1.3), "fine.both"): wide,
            (lattice_arm(code), NEW, "darkest.both"): lattice,
            (lattice_arm(code), KNOWN, "darkest.both"): seen,
        }  # fmt: skip
        rows += [("bumps", "reach", arm, seed, 1000, node, None, name, min(1.0, value + 0.001 * seed))
                 for (arm, node, name), value in asked.items() for seed in range(5)]  # fmt: skip
    return make_table(rows)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(REACH, found, "bumps", "reach", "full")}


def test_codes_that_reach_farther_hold_all() -> None:
    assert set(verdicts(table(EXPECTED)).values()) == {"holds"}


def test_where_the_code_does_not_matter_nothing_holds_but_what_was_seen() -> None:
    found = verdicts(table(dict.fromkeys(CODES, (0.9, 0.4, 0.5))))
    assert found.pop("RC0") == "holds"
    assert set(found.values()) == {"fails"}


def test_without_what_was_seen_it_is_said() -> None:
    assert verdicts(table(EXPECTED, seen=0.5))["RC0"] == "fails"
    assert set(verdicts(table({})).values()) == {"undecided"}


def test_raw_runs_are_those_of_lesion_and_percolation() -> None:
    own = EXPERIMENT.budgets["full"].arms
    bands, lattices = lesion.EXPERIMENT.budgets["full"].arms, percolation.EXPERIMENT.budgets["full"].arms
    for width in WIDTHS:
        assert own[band_arm(RAW, width)].address == bands[arm_of(width)].address
        assert own[null_of(band_arm(RAW, width))].address == bands[null_of(arm_of(width))].address
    assert own[lattice_arm(RAW)].address == lattices[named(0.5, 0.1)].address


def test_distances_grow_the_longer_the_longer_the_periods() -> None:
    """Two pixels apart, as a share of twelve: short sinusoids are nearly as far as ever, long ones a sixth."""
    runs: dict[str, BumpsRun] = {code: told(lesion.FULL, code) for code in CODES}
    shares = {}
    for code, run in runs.items():
        away, distance = code_distances(run, 12.0)
        shares[code] = distance[abs(away - 2).argmin()]
    assert shares[SHORT] > shares[RAW] > shares[LONG]
    assert shares[LONG] == pytest.approx(1 / 6, abs=0.02)


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[band_arm(SHORT, 2.0)]
    whole = EXPERIMENT.draw(table(EXPECTED), config)["figure"].figure
    assert "0.1 of the lattice" in words(whole)
    for scores in ({RAW: EXPECTED[RAW]}, {}):
        assert len(EXPERIMENT.draw(table(scores), config)["figure"].figure.axes) == 3
