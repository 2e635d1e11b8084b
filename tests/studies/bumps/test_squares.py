"""A square is held out: recall scores its closed form, and verdicts on made-up tables."""

from collections.abc import Callable

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies.bumps._shared.recall import RecallConfig, recall
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.holes.squares.claims import (
    CENTRE,
    PATTERNS,
    PLACES,
    SQUARES,
    STRIPES,
    arm_of,
    over_sides,
    recalled,
    sides_of,
)
from recombine.studies.bumps.holes.squares.experiment import EXPERIMENT, FULL, SIDES
from recombine.worlds.holdouts import HELD_OUT, SEEN

Right = Callable[[str, str, int], float]


def table(right: Right, seeds: int = 5) -> pl.DataFrame:
    rows = []
    for pattern in PATTERNS:
        for place in PLACES:
            for side in SIDES:
                arm = arm_of(pattern, place, side)
                for name, value, count in ((arm, right(pattern, place, side), seeds),
                                           (null_of(arm), recalled(place, side), 1)):  # fmt: skip
                    rows += [
                        ("bumps", "squares", name, seed, 100, node, None, f"{how}.both", each - 0.001 * seed)
                        for seed in range(count)
                        for node, each in ((HELD_OUT, value), (SEEN, 0.99))
                        for how in ("darkest", "fine")
                    ]
    return make_table(rows)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(SQUARES, found, "bumps", "squares", "full")}


def _recall(pattern: str, place: str, side: int) -> float:
    return recalled(place, side)


def _paper(pattern: str, place: str, side: int) -> float:
    """Stripes fill every hole; bumps fill one from all around."""
    if pattern == STRIPES:
        return 0.95
    return 0.97 - 0.02 * side if place == CENTRE else recalled(place, side) + 0.03


def test_the_paper_holds_where_stripes_fill_the_hole() -> None:
    assert set(verdicts(table(_paper)).values()) == {"holds"}


def test_a_model_that_recalls_shows_bumps_as_the_paper_does_and_no_stripes() -> None:
    found = verdicts(table(_recall))
    assert [found[name] for name in ("S1", "S2", "S4")] == ["holds"] * 3
    assert [found[name] for name in ("S2n", "S3", "S3n", "S5n", "S6n")] == ["fails"] * 5


def test_a_model_that_fills_every_hole_refutes_the_paper_on_bumps() -> None:
    found = verdicts(table(lambda pattern, place, side: 0.95))
    assert [found[name] for name in ("S1", "S2", "S2n", "S3", "S3n", "S5n", "S6n")] == [
        "fails", "fails", "fails", "holds", "holds", "holds", "holds",
    ]  # fmt: skip


def test_stripes_must_stay_high_in_both_places() -> None:
    found = verdicts(table(lambda pattern, place, side: 0.95 if place == CENTRE else recalled(place, side)))
    assert found["S3"] == found["S3n"] == "fails"


def test_nothing_is_judged_of_what_was_not_measured() -> None:
    whole = table(_paper)
    assert set(verdicts(whole.clear()).values()) == {"undecided"}
    bumps = verdicts(whole.filter(pl.col("arm").str.contains("bump")))
    assert bumps["S1"] == bumps["S2"] == "holds"
    assert bumps["S3"] == bumps["S3n"] == bumps["S4"] == "undecided"


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("place", PLACES)
def test_recall_scores_its_closed_form(pattern: str, place: str) -> None:
    hole = {"kind": "square", "side": 6, "at": place}
    run = override(FULL, {"world.pixels": 16, "world.pattern": pattern, "split.held_out": hole})
    found = {(row["node"], row["instrument"]): row["value"] for row in recall(run).rows()}
    assert found[SEEN, "fine.both"] == 1
    assert found[HELD_OUT, "fine.both"] == pytest.approx(recalled(place, 6))


def test_the_closed_forms() -> None:
    inside = [round(recalled("centre", side), 3) for side in (2, 4, 6, 8, 10, 12)]
    corner = [round(recalled("corner", side), 3) for side in (4, 6, 8, 10, 12)]
    assert inside == [1, 0.75, 0.556, 0.438, 0.36, 0.306]
    assert corner == [0.438, 0.306, 0.234, 0.19, 0.16]


def test_every_budget_has_each_square_beside_its_recall() -> None:
    for budget in EXPERIMENT.budgets.values():
        trained = {arm: work for arm, work in budget.arms.items() if isinstance(work, BumpsRun)}
        assert set(budget.arms) == {*trained, *map(null_of, trained)}
        assert len({run.training.images for run in trained.values()}) == 1
        for arm, work in budget.arms.items():
            work.check()
            assert isinstance(work, RecallConfig) == arm.startswith("memoriser")
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    whole = table(_paper)
    assert sides_of(whole, STRIPES, CENTRE) == list(SIDES)
    assert over_sides(whole, STRIPES, CENTRE, "fine")[1].shape == (5, len(SIDES))
    for part in (whole, whole.filter(pl.col("arm") == "bump corner W=8", pl.col("seed") == 0), whole.clear()):
        assert len(EXPERIMENT.draw(part, FULL)["figure"].figure.axes) == 5
