"""A square is held out: the baseline scores its closed form, and verdicts on made-up tables."""

from collections.abc import Callable

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.sweeps import levels
from recombine.lab.table import make_table
from recombine.runs.bump_baselines import NearestLabel
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, baseline_of, nearest_label
from recombine.studies.bumps.holes.squares.claims import (
    CENTRE,
    CLAIMS,
    PATTERNS,
    PLACES,
    STRIPES,
    expected,
    over_sides,
)
from recombine.studies.bumps.holes.squares.experiment import FULL, SIDES, of_arm
from recombine.worlds.holdouts import HELD_OUT, SEEN
from support.tables import rows_of

EXPERIMENT = EXPERIMENTS["bumps/squares"]
Right = Callable[[str, str, int], float]


def table(right: Right, seeds: int = 5) -> pl.DataFrame:
    def value(row: dict[str, object]) -> float:
        chance = right if row["model"] == TRAINED else _near
        inside = chance(row["pattern"], row["place"], row["side"])  # type: ignore[arg-type]
        return (inside if row["region"] == HELD_OUT else 0.99) - 0.001 * row["seed"]  # type: ignore[operator]

    rows = []
    for model, count in ((TRAINED, seeds), (NEAREST, 1)):
        rows += rows_of(
            value, model=model, pattern=list(PATTERNS), place=list(PLACES), side=list(SIDES), region=[HELD_OUT, SEEN],
            instrument=["darkest.both", "fine.both"], seed=range(count),
            images_seen=100 if model == TRAINED else None,
        )  # fmt: skip
    named = ({"arm": "{model} {pattern} {place} {side}".format(**row), **row} for row in rows)
    return make_table(named, EXPERIMENT.columns)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "squares", "full")}


def _near(pattern: str, place: str, side: int) -> float:
    return expected(place, side)


def _paper(pattern: str, place: str, side: int) -> float:
    """Stripes fill every hole; bumps fill one from all around."""
    if pattern == STRIPES:
        return 0.95
    return 0.97 - 0.02 * side if place == CENTRE else expected(place, side) + 0.03


def test_the_paper_holds_where_stripes_fill_the_hole() -> None:
    assert set(verdicts(table(_paper)).values()) == {"holds"}


def test_the_baseline_shows_bumps_as_the_paper_does_and_no_stripes() -> None:
    found = verdicts(table(_near))
    assert [found[name] for name in ("SQ1", "SQ2", "SQ4")] == ["holds"] * 3
    assert [found[name] for name in ("SQ2n", "SQ3", "SQ3n", "SQ5n", "SQ6n")] == ["fails"] * 5


def test_a_model_that_fills_every_hole_refutes_the_paper_on_bumps() -> None:
    found = verdicts(table(lambda pattern, place, side: 0.95))
    assert [found[name] for name in ("SQ1", "SQ2", "SQ2n", "SQ3", "SQ3n", "SQ5n", "SQ6n")] == [
        "fails", "fails", "fails", "holds", "holds", "holds", "holds",
    ]  # fmt: skip


def test_stripes_must_stay_high_in_both_places() -> None:
    found = verdicts(table(lambda pattern, place, side: 0.95 if place == CENTRE else expected(place, side)))
    assert found["SQ3"] == found["SQ3n"] == "fails"


def test_nothing_is_judged_of_what_was_not_measured() -> None:
    whole = table(_paper)
    assert set(verdicts(whole.clear()).values()) == {"undecided"}
    bumps = verdicts(whole.filter(pl.col("pattern") == "bump"))
    assert bumps["SQ1"] == bumps["SQ2"] == "holds"
    assert bumps["SQ3"] == bumps["SQ3n"] == bumps["SQ4"] == "undecided"


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("place", PLACES)
def test_the_baseline_scores_its_closed_form(pattern: str, place: str) -> None:
    hole = {"kind": "square", "side": 6, "at": place}
    run = override(FULL, {"world.pixels": 16, "world.pattern": pattern, "split.held_out": hole})
    found = {(row["region"], row["instrument"]): row["value"] for row in nearest_label(run).rows()}
    assert found[SEEN, "fine.both"] == 1
    assert found[HELD_OUT, "fine.both"] == pytest.approx(expected(place, 6))


def test_the_closed_forms() -> None:
    inside = [round(expected("centre", side), 3) for side in (2, 4, 6, 8, 10, 12)]
    corner = [round(expected("corner", side), 3) for side in (4, 6, 8, 10, 12)]
    assert inside == [1, 0.75, 0.556, 0.438, 0.36, 0.306]
    assert corner == [0.438, 0.306, 0.234, 0.19, 0.16]


def test_every_budget_has_each_square_beside_its_baseline() -> None:
    for budget in EXPERIMENT.budgets.values():
        trained = {arm: work for arm, work in budget.arms.items() if isinstance(work, BumpsRun)}
        assert set(budget.arms) == {*trained, *map(baseline_of, trained)}
        assert len({run.training.images for run in trained.values()}) == 1
        for arm, work in budget.arms.items():
            work.check()
            assert isinstance(work, NearestLabel) == arm.startswith(NEAREST)
            assert arm.endswith("{pattern} {place} W={side:g}".format(**of_arm(work)))
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    whole = table(_paper)
    assert levels(whole, "side", pattern=STRIPES, place=CENTRE) == list(SIDES)
    assert over_sides(whole, STRIPES, CENTRE, "fine")[1].shape == (5, len(SIDES))
    assert EXPERIMENT.draw is not None
    for part in (whole, whole.filter(pl.col("arm") == "trained bump corner 8", pl.col("seed") == 0), whole.clear()):
        assert len(EXPERIMENT.draw(part, FULL)["figure"].figure.axes) == 4
