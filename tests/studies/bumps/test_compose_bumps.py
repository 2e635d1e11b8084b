"""Bumps composed from stripes: the baseline's exact answers, and verdicts on made-up tables."""

from collections.abc import Mapping

import polars as pl
import pytest

from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bump_baselines import SampledNearestLabel
from recombine.runs.bumps import BumpsRun
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED, baseline_of
from recombine.studies.bumps.crossing.compose.experiment import FULL
from recombine.studies.bumps.crossing.compose_bumps.claims import CLAIMS, SETS, held_out
from recombine.studies.bumps.crossing.compose_bumps.experiment import COLUMNS, arms, of_arm
from recombine.worlds.holdouts import HORIZONTAL, INTERSECTION, SEEN, VERTICAL
from support.tables import rows_of

EXPERIMENT = EXPERIMENTS["bumps/compose-bumps"]
Scores = tuple[float, float, float]  # seen, in each arm of the cross, where they meet
NEAR = (1.0, 2 / 7, 4 / 49)
HALVES = {"stripes-100": (0.99, 0.75, 0.6), "stripes-20": (0.97, 0.7, 0.55), "bumps-100": NEAR}
NULL = {"stripes": NEAR, "bumps": NEAR}


def table(
    scores: Mapping[str, Scores], nearest: Mapping[str, Scores] = NULL, seeds: int = 5, bumps: float = 0.97
) -> pl.DataFrame:
    """`bumps`: the share of what is in place that is a bump."""
    rows = []
    for arm, found in {**scores, **nearest}.items():
        stripes, share = SETS.get(arm, (arm == "stripes", 1.0))
        model = TRAINED if arm in SETS else NEAREST
        values = dict(zip((SEEN, VERTICAL, HORIZONTAL, INTERSECTION), (*found[:2], *found[1:]), strict=True))
        rows += rows_of(
            lambda row, values=values: (bumps if row["instrument"].endswith("bump") else 1.0)
            * min(1, values[row["region"]] + row["seed"] / 1e3),
            arm=arm, stripes=stripes, share=share, model=model, region=list(values),
            seed=range(seeds if model == TRAINED else 1), images_seen=1000 if model == TRAINED else None,
            instrument=[f"{how}.{what}" for how in ("darkest", "fine") for what in ("both", "bump")],
        )  # fmt: skip
    return make_table(rows, COLUMNS)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "compose-bumps", "full")}


def test_the_paper_holds_where_stripes_help_and_few_bumps_do() -> None:
    assert set(verdicts(table(HALVES)).values()) == {"holds"}


def test_the_nearest_label_shows_nothing_but_that_few_are_as_good() -> None:
    found = verdicts(table(dict.fromkeys(HALVES, NEAR), {}))
    assert found == {"CB0": "holds", "CB1": "fails", "CB1n": "undecided", "CB1b": "holds", "CB2": "holds",
                     "CB2n": "undecided", "CB3": "fails"}  # fmt: skip
    beside = verdicts(table({**HALVES, "stripes-100": NEAR}, {"stripes": (1.0, 0.4, 0.3)}))
    assert beside["CB1n"] == "fails"


def test_crossing_stripes_are_no_bumps() -> None:
    assert verdicts(table(HALVES, bumps=0.3))["CB1b"] == "fails"


def test_few_bumps_that_are_not_enough_refute_it() -> None:
    found = verdicts(table({**HALVES, "stripes-20": (0.8, 0.4, 0.2)}))
    assert (found["CB0"], found["CB1"], found["CB2"], found["CB3"]) == ("fails", "holds", "fails", "holds")


def test_four_seeds_and_an_empty_table_leave_it_open() -> None:
    assert set(verdicts(table(HALVES, seeds=4)).values()) == {"undecided"}
    answers = judge_all(CLAIMS, make_table([], COLUMNS), "bumps", "compose-bumps", "full")
    assert all(answer["verdict"] == "undecided" and answer["note"] for answer in answers)


def test_held_out_accuracy_counts_each_region_once() -> None:
    assert held_out(True, 1.0)(table(HALVES, seeds=1)) == {0: pytest.approx((0.75 + 0.75 + 0.6) / 3)}


def test_the_baseline_of_stripes_gains_at_the_ends_of_the_arms_alone() -> None:
    """On 16 px with x or y in [6, 11] held out, 2 of 6 labels pass along an axis: those next to labels that were seen.
    At an end of an arm the nearest label may be a stripe of the right place, whose partner just shows.
    """
    cross = {"kind": "cross", "low": 6.0, "high": 11.0}
    made = arms(override(FULL, {"world.pixels": 16, "world.margin": 2.0, "split.held_out": cross}), 0.25)
    found = {}
    for kind in ("stripes", "bumps"):
        null = made[baseline_of(kind)]
        assert isinstance(null, SampledNearestLabel)
        for row in null.rows():
            if row["instrument"] == "darkest.both":
                found[kind, row["region"]] = row["value"]
    assert found["bumps", SEEN] == found["stripes", SEEN] == 1
    assert found["bumps", INTERSECTION] == found["stripes", INTERSECTION] == pytest.approx(4 / 36)
    for region in (VERTICAL, HORIZONTAL):
        assert found["bumps", region] == pytest.approx(2 / 6)
        assert 2 / 6 < found["stripes", region] < 2 / 3


def test_sets_differ_in_stripes_and_in_the_share_of_bumps() -> None:
    made = EXPERIMENT.budgets["full"].arms
    counts = {}
    for arm, (stripes, share) in SETS.items():
        run = made[arm]
        assert isinstance(run, BumpsRun)
        assert of_arm(run) == {"stripes": stripes, "share": share, "model": TRAINED}
        dimension = run.world.dimension(run.split.labels(run.world, 0))
        counts[arm] = int((dimension == 2).sum()), int((dimension == 1).sum())
    assert counts == {"stripes-100": (67081, 76800), "stripes-20": (13416, 76800), "bumps-100": (67081, 0)}


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        for work in budget.arms.values():
            work.check()
        assert list(budget.arms) == [*SETS, baseline_of("stripes"), baseline_of("bumps")]
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["smoke"].arms["stripes-100"]
    assert EXPERIMENT.draw is not None
    for found in (table(HALVES), table({"stripes-20": NEAR}, seeds=1), make_table([], COLUMNS)):
        assert len(EXPERIMENT.draw(found, config)["figure"].figure.axes) == 2
