"""Beyond Liang et al. 2024: a model is trained on the same number of bumps, arranged in five ways. Which others follow?

`percolation` finds that a tenth of a lattice is enough whatever the width of bumps, `efficiency` that the number needed
grows with the side of the canvas and not with its area, `squares` that bumps far from any trained one are right.
*World.* Bumps at the middles of pixels. *Split.* Three in every row and column: drawn at `random`; `blocks` of 3 x 3,
one in each row and column of blocks; the same blocks with columns and rows shuffled, so that labels lie scattered while
rows and columns still fall into `pieces` that never occur together; the same with one label in nine moved so that each
piece leads to the next (`joined`); as many on a `grid` that leaves most rows and columns out. *Hypotheses.* What
overlaps, what is near, trained rows and columns, rows and columns that are joined; each predicts of every set which
bumps are right, with nothing to fit. *Also.* The random sets of `percolation` and `efficiency`, trained there.
*Judged.* How far each hypothesis is off. *Baseline.* The nearest label is never right off the training set.
"""

from recombine.instruments.bumps.place_evaluation import EachPlaceEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_hypotheses import COLUMNS, Predictions
from recombine.runs.bump_sets import SIZES, WITHOUT
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import MAPS, REGIONS
from recombine.studies.bumps.arrangements.claims import BLOCKS, GRID, JOINED, PER_ROW, PIECES, PREDICTED, RANDOM
from recombine.studies.bumps.efficiency import experiment as efficiency
from recombine.studies.bumps.percolation import experiment as percolation
from recombine.worlds.holdouts import Blocks, Grid, LabelSplit

SIGMA = 0.5
SHARES = (0.05, 0.1, 0.25, 0.5)  # of `efficiency`; with all bumps trained on only the square is left
LAMBDAS = (0.05, 0.1, 0.2, 0.4)  # of `percolation`: beyond, all are right


def splits(pixels: int) -> dict[str, LabelSplit]:
    """Three labels to every row and column, at random on the mean; the grid has about as many in all."""
    count = pixels // PER_ROW
    order = tuple((block + 1) * (count // 2) % (count + 1) - 1 for block in range(count))  # no two blocks touch
    held_out = {
        PIECES: Blocks(order=order, shuffled=0),
        JOINED: Blocks(order=order, shuffled=0, joined=True),
        BLOCKS: Blocks(order=order),
        GRID: Grid(every=round(count**0.5)),
    }
    return {
        RANDOM: LabelSplit(step=1.0, share=PER_ROW / pixels),
        **{arm: LabelSplit(step=1.0, held_out=hold_out) for arm, hold_out in held_out.items()},
    }


def arms(base: BumpsRun, others: dict[str, BumpsRun] | None = None) -> dict[str, Work]:
    """A run for each arrangement, runs of other experiments on random sets, and what the hypotheses predict of all."""
    measured = base.evaluation.model_dump(mode="json", exclude={"kind", "map", "losses"})
    base = base.replace(evaluation=EachPlaceEvaluation(**measured).model_dump(mode="json"))
    base = override(base, {"world.width": SIGMA})
    runs = {arm: base.replace(split=split.model_dump()) for arm, split in splits(base.world.pixels).items()}
    runs |= others or {}
    return {**runs, PREDICTED: Predictions.of(runs)}


def random_sets() -> dict[str, BumpsRun]:
    """The runs of `percolation` and `efficiency` at full that were trained on a part of all bumps and nothing else."""
    names = [(percolation.EXPERIMENT, percolation.named(width, lam)) for width in percolation.WIDTHS for lam in LAMBDAS]
    names += [(efficiency.EXPERIMENT, efficiency.named(WITHOUT, pixels, s)) for pixels in SIZES for s in SHARES]
    found = {name: experiment.budgets["full"].arms[name] for experiment, name in names}
    return {name: run for name, run in found.items() if isinstance(run, BumpsRun)}


EXPERIMENT = Experiment(
    question="Of as many bumps, arranged in five ways: what decides which others a model can draw?",
    figure="beyond Liang et al. 2024, Figs 5 and 6e",
    budgets={
        "smoke": Budget(arms(override(percolation.SMOKE, {"world.pixels": 12})), 1, "seconds; proves the path"),
        "laptop": Budget(arms(percolation.LAPTOP), 1, "12 px, five arrangements, one seed, minutes on two CPU cores"),
        "full": Budget(
            arms(percolation.FULL, random_sets()), 5,
            "24 px, five arrangements of five seeds, on one GPU; random sets are those of percolation and efficiency",
        ),
    },
    columns={**REGIONS, **MAPS, **COLUMNS},
    assumptions=(
        "Asked after `percolation`, `squares` and `efficiency` were judged. That the graph of rows and columns fits "
        "the random sets was found on those very sets, as the best of eight such rules; the arrangements are the test "
        "of it. Random, blocks, grid and pieces were known at laptop when these claims were written down, joined was "
        "not, and nothing at full.",
        "On 24 px: 72 labels at random, 72 in eight blocks that do not touch, 64 on a grid of every third row and "
        "column. Recipe and network are those of `percolation`, width 0.5, at which by an overlap of 0.05, the larger "
        "of the paper's, the grid hangs together and blocks do not.",
        "Pieces and joined have the same number of labels in every row and column, and differ in one label of nine.",
        "Claims are by the fine estimate; their notes have the darkest pixel's. Place by place: four samples of each.",
        "Two more arrangements were tried at laptop and are not arms: one label anywhere in each cell of 2 x 2, which "
        "gives back the rows that a grid leaves out; and blocks with their columns shuffled and their rows side by "
        "side.",
    ),
)  # fmt: skip
