"""Codes and their reach: what is shared with other experiments, verdicts on made-up tables, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.instruments.bumps.band_evaluation import BAND, bin_of
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bump_codes import LONG, RAW, SHORT, code_distances, with_code
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import TRAINED, baseline_of
from recombine.studies.bumps.holes.lesion import experiment as lesion
from recombine.studies.bumps.holes.reach.claims import CLAIMS, CODES, SHARE, SIGMA, WIDTHS
from recombine.studies.bumps.holes.reach.experiment import of_arm
from recombine.worlds.holdouts import SEEN
from support.pictures import words

EXPERIMENT = EXPERIMENTS["bumps/reach"]
EXPECTED = {SHORT: (0.5, 0.3, 0.3), RAW: (0.9, 0.4, 0.5), LONG: (0.99, 0.9, 0.95)}  # bands of 4 and 8 px, lattice


def table(scores: Mapping[str, tuple[float, float, float]], seen: float = 0.97) -> pl.DataFrame:
    rows = []
    for code, (narrow, wide, lattice) in scores.items():
        bands = [
            (WIDTHS[0], {"region": BAND}, narrow), (WIDTHS[1], {"region": BAND}, wide),
            *((width, {"region": SEEN}, seen) for width in WIDTHS),
            (WIDTHS[1], {"depth": bin_of(0.3)}, 1.0), (WIDTHS[1], {"depth": bin_of(1.3)}, wide),
        ]  # fmt: skip
        asked = [({"width": width, **where, "instrument": "fine.both"}, value) for width, where, value in bands]
        asked += [
            ({"share": SHARE, "region": region, "instrument": "darkest.both"}, value)
            for region, value in ((NEW, lattice), (KNOWN, seen))
        ]
        rows += [
            {"arm": f"{code} {where.get('width')}", "code": code, "model": TRAINED, "seed": seed, "images_seen": 1000,
             **where, "value": min(1.0, value + 0.001 * seed)}
            for where, value in asked
            for seed in range(5)
        ]  # fmt: skip
    return make_table(rows, EXPERIMENT.columns)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "reach", "full")}


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
    here = EXPERIMENT.budgets["full"].arms
    bands = lesion.EXPERIMENT.budgets["full"].arms
    for width in WIDTHS:
        assert here[f"{RAW} W={width:g}"].address == bands[f"W={width:g}"].address
        assert here[baseline_of(f"{RAW} W={width:g}")].address == bands[baseline_of(f"W={width:g}")].address
    lattices = EXPERIMENTS["bumps/percolation"].budgets["full"].arms
    assert here[f"{RAW} lambda={SHARE:g}"].address == lattices[f"sigma-{SIGMA:g}-lambda-{SHARE:g}"].address
    assert [of_arm(here[f"{code} W=4"])["code"] for code in CODES] == list(CODES)


def test_distances_grow_the_longer_the_longer_the_periods() -> None:
    """Two pixels apart, as a share of twelve: short sinusoids are nearly as far as ever, long ones a sixth."""
    shares = {}
    for code in CODES:
        away, distance = code_distances(with_code(lesion.FULL, code), 12.0)
        shares[code] = distance[abs(away - 2).argmin()]
    assert shares[SHORT] > shares[RAW] > shares[LONG]
    assert shares[LONG] == pytest.approx(1 / 6, abs=0.02)


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[f"{SHORT} W=2"]
    assert EXPERIMENT.draw is not None
    whole = EXPERIMENT.draw(table(EXPECTED), config)["figure"].figure
    assert "0.1 of the lattice" in words(whole)
    for scores in ({RAW: EXPECTED[RAW]}, {}):
        assert len(EXPERIMENT.draw(table(scores), config)["figure"].figure.axes) == 3
