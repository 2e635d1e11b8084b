"""Five arrangements: what each set is, what hypotheses predict of it, verdicts on made-up tables, and the figure."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import torch

from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bump_hypotheses import GRAPH, HYPOTHESES, LINES, NEAR, OVERLAP, Predictions
from recombine.runs.bumps import BumpsRun
from recombine.studies import EXPERIMENTS
from recombine.studies.bumps.arrangements.claims import ARMS, BLOCKS, CLAIMS, GRID, JOINED, PIECES, PREDICTED, RANDOM
from recombine.studies.bumps.arrangements.experiment import SIGMA, random_sets, splits
from recombine.studies.bumps.arrangements.findings import numbers
from recombine.theory.percolation.value_graph import components
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import HELD_OUT, SEEN
from support.pictures import words
from support.tables import rows_of

EXPERIMENT = EXPERIMENTS["bumps/arrangements"]
EXPECTED = {
    OVERLAP: {RANDOM: 0.5, PIECES: 0.5, JOINED: 0.5, BLOCKS: 0.0, GRID: 1.0},
    NEAR: {RANDOM: 0.9, PIECES: 0.9, JOINED: 0.9, BLOCKS: 0.4, GRID: 1.0},
    LINES: {RANDOM: 0.9, PIECES: 1.0, JOINED: 1.0, BLOCKS: 1.0, GRID: 0.0},
    GRAPH: {RANDOM: 0.9, PIECES: 0.0, JOINED: 1.0, BLOCKS: 0.0, GRID: 0.0},
}


def table(scores: Mapping[str, float], trained: float = 0.97, others: float = 0.6) -> pl.DataFrame:
    """Arms have these scores; a random set has `others` where the graph predicts 0.6 and all others 0.1."""
    rows: list[dict[str, Any]] = []
    for seed in range(5):
        end = {"seed": seed, "images_seen": 1000}
        for arm, score in scores.items():
            new, old = (NEW, KNOWN) if arm == RANDOM else (HELD_OUT, SEEN)
            rows += rows_of(score + 0.001 * seed, instrument=["fine.both", "darkest.both"], arm=arm, region=new, **end)
            rows += rows_of(trained + 0.001 * seed, instrument="fine.both", arm=arm, region=old, **end)
            rows += rows_of(score, instrument="each.fine", arm=arm, x=1.0, y=2.0, **end)
            rows += predictions(seed, arm, {name: EXPECTED[name][arm] for name in HYPOTHESES})
        if scores:
            rows += rows_of(others, instrument=["fine.both", "darkest.both"], arm="some set", region=NEW, **end)
            rows += predictions(seed, "some set", {name: 0.6 if name == GRAPH else 0.1 for name in HYPOTHESES})
    return make_table(rows, EXPERIMENT.columns)


def predictions(seed: int, arm: str, values: Mapping[str, float]) -> list[dict[str, Any]]:
    head = {"arm": PREDICTED, "seed": seed, "instrument": "predicted", "training_set": arm}
    return [head | {"hypothesis": name, "value": value} for name, value in values.items()]


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "arrangements", "full")}


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_a_hypothesis_holds_where_it_is_right_and_no_other_does(hypothesis: str) -> None:
    found = verdicts(table(EXPECTED[hypothesis]))
    assert found["AR0"] == "holds"
    assert {each: found[f"AR1-{each}"] for each in HYPOTHESES} == {
        each: "holds" if each == hypothesis else "fails" for each in HYPOTHESES
    }
    assert found["AR2"] == ("holds" if hypothesis == GRAPH else "fails")
    assert found["AR4"] == ("fails" if hypothesis in (OVERLAP, NEAR) else "holds")


def test_random_sets_are_judged_separately() -> None:
    found = verdicts(table(EXPECTED[NEAR]))
    assert {each: found[f"AR5-{each}"] for each in HYPOTHESES} == {
        each: "holds" if each == GRAPH else "fails" for each in HYPOTHESES
    }
    assert verdicts(table(EXPECTED[NEAR], others=0.1))["AR5-near"] == "holds"


def test_what_was_not_learnt_is_said() -> None:
    assert verdicts(table(EXPECTED[NEAR], trained=0.5))["AR0"] == "fails"
    assert set(verdicts(table({})).values()) == {"undecided"}


@pytest.mark.parametrize("pixels", [12, 24])
def test_sets_are_as_said(pixels: int) -> None:
    world = BumpsWorld(pixels=pixels, width=SIGMA)
    found = {arm: split.labels(world, 0) for arm, split in splits(pixels).items()}
    for arm in (PIECES, JOINED, BLOCKS):
        for axis in (0, 1):
            assert found[arm][:, axis].unique(return_counts=True)[1].tolist() == [3] * pixels
        one, other = components(found[arm].long() - 1, pixels, pixels)
        assert len(set(one.tolist()) | set(other.tolist())) == (1 if arm == JOINED else pixels // 3)
    moved = {tuple(place) for place in found[PIECES].tolist()} - {tuple(place) for place in found[JOINED].tolist()}
    assert len(moved) == pixels // 3
    assert len(found[RANDOM]) == 3 * pixels
    assert abs(len(found[GRID]) - 3 * pixels) <= pixels / 3
    assert torch.cdist(world.centres(), found[GRID]).amin(1).max() < 2
    assert torch.cdist(world.centres(), found[BLOCKS]).amin(1).max() > 2


def test_hypotheses_predict_what_they_are_for() -> None:
    runs = {arm: work for arm, work in EXPERIMENT.budgets["full"].arms.items() if arm in ARMS}
    config = Predictions.of({arm: run for arm, run in runs.items() if isinstance(run, BumpsRun)})
    found = {(row["training_set"], row["hypothesis"]): row["value"] for row in config.rows()}
    assert found[GRID, OVERLAP] == found[GRID, NEAR] == 1
    assert found[GRID, LINES] == found[GRID, GRAPH] == 0
    assert found[BLOCKS, OVERLAP] == found[BLOCKS, GRAPH] == found[PIECES, GRAPH] == 0
    assert found[BLOCKS, LINES] == found[PIECES, LINES] == found[JOINED, LINES] == found[JOINED, GRAPH] == 1
    assert 0.3 < found[BLOCKS, NEAR] < found[PIECES, NEAR] - 0.1
    assert 0.7 < found[RANDOM, GRAPH] <= found[RANDOM, LINES] < 1


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        assert set(budget.arms) >= {*ARMS, PREDICTED}
        for work in budget.arms.values():
            work.check()
        for arm in ARMS:
            run = budget.arms[arm]
            assert isinstance(run, BumpsRun)
            assert run.evaluation.kind == "bumps-each"
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert set(random_sets()) == set(full.arms) - {*ARMS, PREDICTED}
    assert len(random_sets()) == 36


def test_the_figures_are_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["laptop"].arms[RANDOM]
    whole, empty = table(EXPECTED[NEAR]), make_table([], EXPERIMENT.columns)
    assert EXPERIMENT.draw is not None
    for found in (whole, whole.filter(pl.col("arm") == BLOCKS), empty):
        drawn = EXPERIMENT.draw(found, config)
        assert [len(drawing.figure.axes) for drawing in drawn.values()] == [2, 6]
    assert "off by 0.00 to" in words(EXPERIMENT.draw(whole, config)["figure"].figure)


def test_numbers_of_the_findings() -> None:
    found = numbers(table(EXPECTED[LINES]))
    assert (found["acc_blocks"], found["acc_grid"]) == (pytest.approx(1.002), pytest.approx(0.002))
