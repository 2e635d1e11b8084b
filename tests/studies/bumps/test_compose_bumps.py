"""Bumps composed from stripes: the memoriser's exact answers, and verdicts on made-up tables."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies.bumps._shared.memoriser import MemoriserConfig
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.compose.experiment import FULL
from recombine.studies.bumps.crossing.compose_bumps.claims import COMPOSE_BUMPS, WITH, WITHOUT, held_out, named
from recombine.studies.bumps.crossing.compose_bumps.experiment import ARMS, EXPERIMENT, arms
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL

Scores = tuple[float, float, float]  # seen, in each arm of the cross, where they meet
RECALL = (1.0, 2 / 7, 4 / 49)
HALVES = {named(WITH, 100): (0.99, 0.75, 0.6), named(WITH, 20): (0.97, 0.7, 0.55), named(WITHOUT, 100): RECALL,
          null_of(WITH): RECALL, null_of(WITHOUT): RECALL}  # fmt: skip


def table(scores: Mapping[str, Scores], seeds: int = 5, bumps: float = 0.97) -> pl.DataFrame:
    """`bumps`: the share of what is in place that is a bump."""
    return make_table(
        [
            (
                "bumps",
                "compose-bumps",
                arm,
                seed,
                1000,
                region,
                None,
                f"{how}.{what}",
                share * min(1, value + seed / 1e3),
            )
            for arm, (seen, along, crossing) in scores.items()
            for seed in range(1 if arm.startswith("memoriser") else seeds)
            for region, value in ((SEEN, seen), (VERTICAL, along), (HORIZONTAL, along), (INTERSECTION, crossing))
            for how in ("darkest", "fine")
            for what, share in (("both", 1.0), ("bump", bumps))
        ]
    )


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {
        claim["claim"]: claim["verdict"] for claim in judge_all(COMPOSE_BUMPS, found, "bumps", "compose-bumps", "full")
    }


def test_the_paper_holds_where_stripes_help_and_few_bumps_do() -> None:
    assert set(verdicts(table(HALVES)).values()) == {"holds"}


def test_a_model_that_recalls_shows_nothing_but_that_few_are_as_good() -> None:
    found = verdicts(table(dict.fromkeys([name for name in HALVES if "memoriser" not in name], RECALL)))
    assert found == {"CB0": "holds", "CB1": "fails", "CB1n": "undecided", "CB1b": "holds", "CB2": "holds",
                     "CB2n": "undecided", "CB3": "fails"}  # fmt: skip
    beside = verdicts(table({**HALVES, named(WITH, 100): RECALL, null_of(WITH): (1.0, 0.4, 0.3)}))
    assert beside["CB1n"] == "fails"


def test_crossing_stripes_are_no_bumps() -> None:
    assert verdicts(table(HALVES, bumps=0.3))["CB1b"] == "fails"


def test_few_bumps_that_are_not_enough_refute_it() -> None:
    found = verdicts(table({**HALVES, named(WITH, 20): (0.8, 0.4, 0.2)}))
    assert (found["CB0"], found["CB1"], found["CB2"], found["CB3"]) == ("fails", "holds", "fails", "holds")


def test_four_seeds_and_an_empty_table_leave_it_open() -> None:
    assert set(verdicts(table(HALVES, 4)).values()) == {"undecided"}
    answers = judge_all(COMPOSE_BUMPS, make_table([]), "bumps", "compose-bumps", "full")
    assert all(answer["verdict"] == "undecided" and answer["note"] for answer in answers)


def test_held_out_accuracy_counts_each_region_once() -> None:
    assert held_out(table(HALVES, 1), named(WITH, 100)) == {0: pytest.approx((0.75 + 0.75 + 0.6) / 3)}


def test_the_memoriser_of_stripes_gains_at_the_ends_of_the_arms_alone() -> None:
    """On 16 px with x or y in [6, 11] held out, 2 of 6 labels pass along an axis: those next to labels that were seen.
    At an end of an arm the nearest label may be a stripe of the right place, whose partner just shows.
    """
    cross = {"kind": "cross", "low": 6.0, "high": 11.0}
    made = arms(override(FULL, {"world.pixels": 16, "world.margin": 2.0, "split.held_out": cross}), 0.25)
    found = {}
    for kind in (WITH, WITHOUT):
        null = made[null_of(kind)]
        assert isinstance(null, MemoriserConfig)
        for row in null.rows():
            if row["instrument"] == "darkest.both":
                found[kind, row["node"]] = row["value"]
    assert found[WITHOUT, SEEN] == found[WITH, SEEN] == 1
    assert found[WITHOUT, INTERSECTION] == found[WITH, INTERSECTION] == pytest.approx(4 / 36)
    for region in (VERTICAL, HORIZONTAL):
        assert found[WITHOUT, region] == pytest.approx(2 / 6)
        assert 2 / 6 < found[WITH, region] < 2 / 3


def test_sets_differ_in_stripes_and_in_the_share_of_bumps() -> None:
    made = EXPERIMENT.budgets["full"].arms
    counts = {}
    for kind, percent in ARMS:
        run = made[named(kind, percent)]
        assert isinstance(run, BumpsRun)
        dimension = run.world.dimension(run.split.labels(run.world, 0))
        counts[kind, percent] = int((dimension == 2).sum()), int((dimension == 1).sum())
    assert counts == {(WITH, 100): (67081, 76800), (WITH, 20): (13416, 76800), (WITHOUT, 100): (67081, 0)}


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        for work in budget.arms.values():
            work.check()
        assert list(budget.arms) == [*(named(*arm) for arm in ARMS), null_of(WITH), null_of(WITHOUT)]
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms[named(WITH, 100)]
    for found in (table(HALVES), table({named(WITH, 20): RECALL}, 1), make_table([])):
        assert len(EXPERIMENT.draw(found, config)["figure"].figure.axes) == 2
