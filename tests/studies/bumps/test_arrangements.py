"""Five arrangements: what each set is, what accounts say of it, verdicts on made-up tables, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest
import torch

from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.accounts import ACCOUNTS, GRAPH, LINES, NEAR, OVERLAP, AccountsConfig
from recombine.studies.bumps.arrangements.claims import APART, ARMS, ARRANGEMENTS, BLOCKS, GRID, JOINED, RANDOM, TOLD
from recombine.studies.bumps.arrangements.experiment import EXPERIMENT, SIGMA, random_sets, splits
from recombine.theory.percolation.value_graph import components
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import HELD_OUT, SEEN

EXPECTED = {
    OVERLAP: {RANDOM: 0.5, APART: 0.5, JOINED: 0.5, BLOCKS: 0.0, GRID: 1.0},
    NEAR: {RANDOM: 0.9, APART: 0.9, JOINED: 0.9, BLOCKS: 0.4, GRID: 1.0},
    LINES: {RANDOM: 0.9, APART: 1.0, JOINED: 1.0, BLOCKS: 1.0, GRID: 0.0},
    GRAPH: {RANDOM: 0.9, APART: 0.0, JOINED: 1.0, BLOCKS: 0.0, GRID: 0.0},
}


def table(scores: Mapping[str, float], seen: float = 0.97, others: float = 0.6) -> pl.DataFrame:
    """Arms have these scores; a random set has `others` where the graph expects 0.6 and all other accounts 0.1."""
    asked: dict[tuple[str, str, str], float] = {}
    for arm, score in scores.items():
        new, old = (NEW, KNOWN) if arm == RANDOM else (HELD_OUT, SEEN)
        asked |= {(arm, new, f"{how}.both"): score for how in ("fine", "darkest")}
        asked |= {(arm, old, "fine.both"): seen, (arm, "1,2", "each.fine"): score}
        asked |= {(TOLD, arm, f"account.{account}"): EXPECTED[account][arm] for account in ACCOUNTS}
    if scores:
        asked |= {("some set", NEW, f"{how}.both"): others for how in ("fine", "darkest")}
        asked |= {(TOLD, "some set", f"account.{each}"): 0.6 if each == GRAPH else 0.1 for each in ACCOUNTS}
    return make_table([
        ("bumps", "arrangements", arm, seed, 1000, node, None, name, value if arm == TOLD else value + 0.001 * seed)
        for (arm, node, name), value in asked.items() for seed in range(5)
    ])  # fmt: skip


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {
        claim["claim"]: claim["verdict"] for claim in judge_all(ARRANGEMENTS, found, "bumps", "arrangements", "full")
    }


@pytest.mark.parametrize("account", ACCOUNTS)
def test_an_account_holds_where_it_is_right_and_no_other_does(account: str) -> None:
    found = verdicts(table(EXPECTED[account]))
    assert found["AR0"] == "holds"
    assert {each: found[f"AR1-{each}"] for each in ACCOUNTS} == {
        each: "holds" if each == account else "fails" for each in ACCOUNTS
    }
    assert found["AR2"] == ("holds" if account == GRAPH else "fails")
    assert found["AR4"] == ("fails" if account in (OVERLAP, NEAR) else "holds")


def test_random_sets_are_judged_apart() -> None:
    found = verdicts(table(EXPECTED[NEAR]))
    assert {each: found[f"AR5-{each}"] for each in ACCOUNTS} == {
        each: "holds" if each == GRAPH else "fails" for each in ACCOUNTS
    }
    assert verdicts(table(EXPECTED[NEAR], others=0.1))["AR5-near"] == "holds"


def test_without_what_was_seen_it_is_said() -> None:
    assert verdicts(table(EXPECTED[NEAR], seen=0.5))["AR0"] == "fails"
    assert set(verdicts(table({})).values()) == {"undecided"}


@pytest.mark.parametrize("pixels", [12, 24])
def test_sets_are_as_said(pixels: int) -> None:
    world = BumpsWorld(pixels=pixels, width=SIGMA)
    found = {arm: split.labels(world, 0) for arm, split in splits(pixels).items()}
    for arm in (APART, JOINED, BLOCKS):
        for axis in (0, 1):
            assert found[arm][:, axis].unique(return_counts=True)[1].tolist() == [3] * pixels
        one, other = components(found[arm].long() - 1, pixels, pixels)
        assert len(set(one.tolist()) | set(other.tolist())) == (1 if arm == JOINED else pixels // 3)
    moved = {tuple(place) for place in found[APART].tolist()} - {tuple(place) for place in found[JOINED].tolist()}
    assert len(moved) == pixels // 3
    assert len(found[RANDOM]) == 3 * pixels
    assert abs(len(found[GRID]) - 3 * pixels) <= pixels / 3
    assert torch.cdist(world.centres(), found[GRID]).amin(1).max() < 2
    assert torch.cdist(world.centres(), found[BLOCKS]).amin(1).max() > 2


def test_accounts_say_what_they_are_for() -> None:
    runs = {arm: work for arm, work in EXPERIMENT.budgets["full"].arms.items() if arm in ARMS}
    config = AccountsConfig.of({arm: run for arm, run in runs.items() if isinstance(run, BumpsRun)})
    found = {(row["node"], row["instrument"].removeprefix("account.")): row["value"] for row in config.rows()}
    assert found[GRID, OVERLAP] == found[GRID, NEAR] == 1
    assert found[GRID, LINES] == found[GRID, GRAPH] == 0
    assert found[BLOCKS, OVERLAP] == found[BLOCKS, GRAPH] == found[APART, GRAPH] == 0
    assert found[BLOCKS, LINES] == found[APART, LINES] == found[JOINED, LINES] == found[JOINED, GRAPH] == 1
    assert 0.3 < found[BLOCKS, NEAR] < found[APART, NEAR] - 0.1
    assert 0.7 < found[RANDOM, GRAPH] <= found[RANDOM, LINES] < 1


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        assert set(budget.arms) >= {*ARMS, TOLD}
        for work in budget.arms.values():
            work.check()
        for arm in ARMS:
            run = budget.arms[arm]
            assert isinstance(run, BumpsRun)
            assert run.evaluation.kind == "bumps-each"
    full = EXPERIMENT.budgets["full"]
    assert full.seeds >= 5
    assert set(random_sets()) == set(full.arms) - {*ARMS, TOLD}
    assert len(random_sets()) == 36


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["laptop"].arms[RANDOM]
    whole = table(EXPECTED[NEAR])
    for found in (whole, whole.filter(pl.col("arm") == BLOCKS), make_table([])):
        assert len(EXPERIMENT.draw(found, config)["figure"].figure.axes) == 7
