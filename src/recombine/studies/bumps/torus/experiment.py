"""Liang et al. 2024, Figs 2, 3 and 8: does a network that draws bumps on a torus hold one, and is it learned?

*World.* One bump on a square of 32 x 32 whose opposite sides are joined, labels a tenth of a pixel apart; nothing is
held out. *Model.* A U-Net that receives sinusoids of the raw label in every block; the label itself is not periodic, so
a torus has to come from the images. *Measured.* Accuracy; and, for every block at the last step of the generation of
one sample a pixel: dimension, spectrum, rings, distances to ideal tori, additive fraction, holes. *Nulls.* The same
numbers of what is not learned: pixels, pooled pixels, the code of the label, a random layer, the untrained network.
*Judged.* The paper's description of the trained block, and whether it differs from the nulls.
"""

from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.bumps.torus_evaluation import TorusEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.torus_nulls import NullsConfig
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import BLOCKS, REGIONS
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.torus.claims import NULLS, TRAINED

FULL = override(
    compose.FULL,
    {"world.pattern": "bump", "world.periodic": True, "world.margin": 0.0, "split.held_out": None,
     "training.images": 300_000, "training.rate": 1e-3,
     "evaluation": TorusEvaluation(points=12, first=5_000, sheet_points=5, probes=5).model_dump()},
)  # fmt: skip
LAPTOP = override(
    FULL,
    {"world.pixels": 16, "split.step": 0.25, "network.channels": 16, "network.multipliers": (1, 2, 2),
     "network.attention": (), "network.condition.width": 32, "training.images": 100_000, "training.batch": 32,
     "training.rate": 1e-3, "training.ema_images": 2_000, "evaluation.points": 8, "evaluation.probes": 4,
     "evaluation.homology": ()},
)  # fmt: skip
SMOKE = override(
    LAPTOP,
    {"world.pixels": 8, "split.step": 1.0, "network.channels": 8, "network.condition.width": 8,
     "training.images": 256, "training.ema_images": 64, "evaluation.points": 2, "evaluation.first": 64,
     "evaluation.probes": 2, "evaluation.sheet_points": 1,
     "evaluation.sampler": SamplerConfig(steps=4).model_dump()},
)  # fmt: skip


def arms(run: BumpsRun, holes: bool) -> dict[str, Work]:
    """The trained network, and the nulls."""
    return {TRAINED: run, NULLS: NullsConfig(run=run, holes=holes)}


EXPERIMENT = Experiment(
    question="Does a network that draws bumps on a torus hold a torus inside, and is it learned?",
    figure="Liang et al. 2024, Figs 2, 3, 8",
    budgets={
        "smoke": Budget(arms(SMOKE, False), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, False), 1, "16 px, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, True), 5, "32 px, five seeds, on one GPU; homology needs the extra `topology`"),
    },
    columns={**REGIONS, **BLOCKS},
    assumptions=(
        "Periodic: distances wrap around, labels and their sinusoids do not.",
        "Which block the paper means by layer 4 is not said. Every block is measured; claims are about the first on "
        "the way up (up.0).",
        "A circle's two principal components are arbitrary, so cosines between single components mean nothing: rings "
        "are compared by principal cosines, and by the share of a ring outside of the other's plane, r.",
        "Representations are the flattened activations of one sample a pixel at the last step of its generation, in "
        "float32. The untrained network is shown the exact images at that noise level instead.",
        "Additive fraction: the share of variance that is a function of x plus a function of y. It is 1 for a code "
        "that keeps x and y separate (Clifford torus, sums of stripes) and 0.27 for the pixels of a bump of width 1; "
        "of blurred bumps it is known for every participation ratio, the line in the figure.",
        "Holes: persistent homology of 16 x 16 places. Where the rule cannot decide how many there are, a seed counts "
        "as without the holes of a torus.",
    ),
)
