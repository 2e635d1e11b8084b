"""Near ones, or rows and columns: the three sets, verdicts on made-up tables, and the figure."""

from collections.abc import Mapping

import polars as pl
import pytest
import torch

from recombine.instruments.bump_subject import KNOWN, NEW
from recombine.lab.bumps import BumpsRun
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.studies.bumps.claims_rows import ARMS, BLOCKS, GRID, RANDOM, ROWS
from recombine.studies.bumps.drawings_rows import hanging_together
from recombine.studies.bumps.rows import EXPERIMENT, SIGMA, splits
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import HELD_OUT, SEEN

NEARNESS = {GRID: 0.9, RANDOM: 0.6, BLOCKS: 0.2}
LINES_DECIDE = {GRID: 0.2, RANDOM: 0.6, BLOCKS: 0.6}


def table(scores: Mapping[str, float], seen: float = 0.97, by: str = "near") -> pl.DataFrame:
    rows = []
    for arm, score in scores.items():
        new, old = (NEW, KNOWN) if arm == RANDOM else (HELD_OUT, SEEN)
        asked = {(new, f"{how}.both"): score for how in ("fine", "darkest")} | {(old, "fine.both"): seen}
        asked |= {(str(at), "near.fine"): score - (0.1 * at if by == "near" else 0) for at in (1, 2, 3)}
        asked |= {(str(at), "lines.fine"): score + (0.1 * at if by == "lines" else 0) for at in (0, 1, 3)}
        asked |= {("1,2", "each.fine"): score, ("3,1", "each.fine"): 1.0}
        rows += [("bumps", "rows", arm, seed, 1000, node, None, name, min(1.0, value + 0.001 * seed))
                 for (node, name), value in asked.items() for seed in range(5)]  # fmt: skip
    return make_table(rows)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(ROWS, found, "bumps", "rows", "full")}


def test_if_what_is_near_decides() -> None:
    found = verdicts(table(NEARNESS))
    assert found.pop("RW5") == "fails"
    assert set(found.values()) == {"holds"}


def test_if_rows_and_columns_decide() -> None:
    found = verdicts(table(LINES_DECIDE, by="lines"))
    assert {claim: found[claim] for claim in ("RW1", "RW2", "RW3", "RW4", "RW5")} == {
        "RW1": "holds", "RW2": "fails", "RW3": "fails", "RW4": "fails", "RW5": "holds",
    }  # fmt: skip


def test_without_what_was_seen_it_is_said() -> None:
    assert verdicts(table(NEARNESS, seen=0.5))["RW0"] == "fails"
    assert set(verdicts(table({})).values()) == {"undecided"}


@pytest.mark.parametrize("pixels", [12, 24])
def test_sets_are_as_said(pixels: int) -> None:
    world = BumpsWorld(pixels=pixels, width=SIGMA)
    found = {arm: split.labels(world, 0) for arm, split in splits(pixels).items()}
    assert len(found[RANDOM]) == len(found[BLOCKS]) == 3 * pixels
    assert abs(len(found[GRID]) - 3 * pixels) <= pixels / 3
    for axis in (0, 1):
        assert found[BLOCKS][:, axis].unique(return_counts=True)[1].tolist() == [3] * pixels
        assert len(found[GRID][:, axis].unique()) <= pixels / 2
    everywhere = world.centres()
    assert torch.cdist(everywhere, found[GRID]).amin(1).max() < 2
    assert torch.cdist(everywhere, found[BLOCKS]).amin(1).max() > 2


def test_the_grid_hangs_together_and_blocks_do_not() -> None:
    world, sets = BumpsWorld(pixels=24, width=SIGMA), splits(24)
    assert hanging_together(world, sets[GRID]) == 1
    assert hanging_together(world, sets[BLOCKS]) == pytest.approx(1 / 8)
    assert hanging_together(world, sets[BLOCKS]) < hanging_together(world, sets[RANDOM]) < 1


def test_budgets() -> None:
    for budget in EXPERIMENT.budgets.values():
        assert set(budget.arms) == set(ARMS)
        for work in budget.arms.values():
            work.check()
            assert isinstance(work, BumpsRun)
            assert work.evaluation.kind == "bumps-each"
    assert EXPERIMENT.budgets["full"].seeds >= 5


def test_the_figure_is_drawn_from_any_part_of_the_table() -> None:
    config = EXPERIMENT.budgets["laptop"].arms[RANDOM]
    whole = table(NEARNESS)
    for found in (whole, whole.filter(pl.col("arm") == BLOCKS), make_table([])):
        assert len(EXPERIMENT.draw(found, config)["figure"].figure.axes) == 6
