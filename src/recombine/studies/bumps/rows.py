"""Beyond Liang et al. 2024: to draw a bump, must a model have seen bumps near it, or its row and its column?

`percolation` finds that a tenth of a lattice is enough whatever the width of bumps, `efficiency` that the number of
bumps needed grows with the side of the canvas and not with its area: two to three in a row. Either they must be near
enough in the label's code, or every x and every y must have been seen a few times, anywhere. *World.* Bumps at the
middles of pixels. *Split.* Three in each row and column on the mean: scattered (`random`), clumped into blocks of
3 x 3, one in each row and column of blocks (`blocks`), or as many on a grid that leaves most rows and columns out
(`grid`). *Expected, before any of them was trained:* if what is near decides, the grid is best and blocks are worst; if
rows and columns decide, blocks are as good as random and the grid is worst. *Null.* Recall of the nearest label, which
is never right off the training set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.instruments.place_evaluation import EachPlaceEvaluation
from recombine.lab.bumps import BumpsRun
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.lab.work import Work
from recombine.settings import override
from recombine.studies.bumps import claims_rows, percolation
from recombine.studies.bumps.claims_rows import BLOCKS, GRID, PER_ROW, RANDOM
from recombine.worlds.holdouts import Blocks, Grid, LabelSplit

if TYPE_CHECKING:
    import polars

SIGMA = 0.5


def splits(pixels: int) -> dict[str, LabelSplit]:
    """About three labels to a row in each: all but the grid have exactly 3 N of them."""
    count = pixels // PER_ROW
    order = tuple((block + 1) * (count // 2) % (count + 1) - 1 for block in range(count))  # no two blocks touch
    return {
        RANDOM: LabelSplit(step=1.0, share=PER_ROW / pixels),
        BLOCKS: LabelSplit(step=1.0, held_out=Blocks(order=order)),
        GRID: LabelSplit(step=1.0, held_out=Grid(every=round(count**0.5))),
    }


def arms(base: BumpsRun) -> dict[str, Work]:
    """A run for each way to place the labels."""
    looked = base.evaluation.model_dump(mode="json", exclude={"kind", "map", "losses"})
    base = base.replace(evaluation=EachPlaceEvaluation(**looked).model_dump(mode="json"))
    base = override(base, {"world.width": SIGMA})
    return {arm: base.replace(split=split.model_dump()) for arm, split in splits(base.world.pixels).items()}


def draw(table: polars.DataFrame, config: BumpsRun) -> dict[str, Drawing]:
    """Where bumps are right in each arm, and what it depends on."""
    from recombine.studies.bumps import drawings_rows

    return {
        "figure": Drawing(
            drawings_rows.figure(table, config.world, splits(config.world.pixels)),
            "Where bumps are right if labels are scattered, clumped or on a grid; by how near one was seen, and by how "
            "many were seen in the same row and column.",
        )
    }


EXPERIMENT = Experiment(
    study="bumps",
    name="rows",
    question="To draw a bump, must a model have seen bumps near it, or its row and its column?",
    figure="beyond Liang et al. 2024, Figs 5 and 6e",
    budgets={
        "smoke": Budget(arms(override(percolation.SMOKE, {"world.pixels": 12})), 1, "seconds; proves the path"),
        "laptop": Budget(arms(percolation.LAPTOP), 1, "12 px, three ways, one seed, minutes on two CPU cores"),
        "full": Budget(arms(percolation.FULL), 5, "24 px, three ways of five seeds, on one GPU"),
    },
    claims=claims_rows.ROWS,
    draw=draw,
    notes=(
        "Asked after `percolation`, `squares` and `efficiency` were judged; what either account expects was written "
        "down before.",
        "On 24 px: 72 labels at random, 72 in eight blocks that do not touch, 64 on a grid of every third row and "
        "column. Recipe and network are those of `percolation`, width 0.5: by an overlap of 0.05, the paper's, the "
        "grid hangs together, blocks do not, and scattered labels do in part (drawn in panel d).",
        "Claims are by the fine estimate; their notes have the darkest pixel's. Place by place: four samples of each.",
    ),
)
