"""Liang et al. 2024, Fig 5: how many images does a model of bumps need as the canvas grows, with stripes and without?

*World.* A bump of width 1 on a white square of N x N; labels reach 6 px beyond it, where a lone stripe is shown in
place of the bump. *Split.* A square in the middle, a fifth of the image, is held out. Arm `bumps` is trained on a share
of the other bumps; arm `stripes` on the same and all lone stripes, down to no bump at all. *Measured.* The bump asked
for at every pixel: how often is the darkest pixel there, and is it a bump's, over all labels and over those held out;
and the number of images from which on it is there for 60%. *Baseline.* The nearest label, computed exactly for every
set. *Judged.* With which power of N the number of images grows.
"""

from itertools import product
from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_sets import (
    KINDS,
    SHARES,
    SIZES,
    WITH,
    WITHOUT,
    NearestLabelBySize,
    training_set,
)
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import MODELS, REGIONS
from recombine.studies.bumps._shared.nearest_label import NEAREST, model_of
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.percolation import experiment as percolation


def named(kind: str, pixels: int, share: float) -> str:
    """The name of an arm."""
    return f"{kind}-{pixels}-{share:g}"


def arms(base: BumpsRun, sizes: tuple[int, ...], shares: tuple[float, ...]) -> dict[str, Work]:
    """A run for each kind, size and share, one of stripes alone for each size, and the nearest-label baseline."""
    runs: dict[str, Work] = {}
    for kind, pixels, share in [*product(KINDS, sizes, shares), *product((WITH,), sizes, (0.0,))]:
        world, split = training_set(kind, pixels, share)
        runs[named(kind, pixels, share)] = base.replace(world=world.model_dump(), split=split.model_dump())
    return {**runs, NEAREST: NearestLabelBySize(sizes=sizes, shares=shares)}


def columns_of_run(config: Any) -> dict[str, Any]:
    """What all rows of an arm share; the baseline names its training sets row by row."""
    if not isinstance(config, BumpsRun):
        return {"model": model_of(config)}
    share = config.split.share if "2D" in config.split.parts else 0.0
    kind = WITH if "1D" in config.split.parts else WITHOUT
    return {"model": model_of(config), "kind": kind, "pixels": config.world.pixels, "share": share}


LAPTOP = override(
    compose.LAPTOP,
    {"training.images": 80_000, "evaluation.points": 3, "evaluation.first": 20_000, "evaluation.sheet_points": 1},
)

EXPERIMENT = Experiment(
    question="How does the number of images that a model needs grow with the canvas, with each factor alone or not?",
    figure="Liang et al. 2024, Fig 5",
    budgets={
        "smoke": Budget(arms(compose.SMOKE, (8, 12), (0.2, 1.0)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms(LAPTOP, (12,), (0.1, 0.3, 1.0)), 1,
            "12 px, three shares with stripes and without, and stripes alone, one seed, minutes on two CPU cores",
        ),
        "full": Budget(
            arms(percolation.SMALL, SIZES, SHARES), 5,
            "12 to 32 px, five shares with stripes and without, and stripes alone, five seeds, on one GPU",
        ),
    },
    columns={**REGIONS, **MODELS, "kind": str, "pixels": int, "share": float},
    of_arm=columns_of_run,
    assumptions=(
        "The paper does not list its N; these are sides that can be halved twice. All runs see as many images, as the "
        "paper holds the number of images seen constant too, with the small network of `percolation`.",
        "Labels are one pixel apart, not a tenth as in the paper: a set has at most 0.8 N^2 bumps and 24 N stripes. In "
        "tenths of a pixel both are 100 times as many; their ratio is the same.",
        "Without stripes the nearest-label baseline needs 0.75 of the bumps outside of the square, 0.6 N^2 images, on "
        "any canvas: slope 2 is what counting gives, not a law of learning. With stripes it also has some labels "
        "of the outermost pixels right, where the nearest label is a stripe that just shows its partner.",
        "The paper does not say whether its accuracy is that of all labels or of those held out: both are judged. The "
        "square holds 25, 25, 17 and 19% of the pixels at N = 12, 16, 24, 32, so overall accuracy weighs the two by "
        "0.8 and 0.2 at every size.",
        "By place, as in the paper, the darkest pixel decides. Where two stripes cross it is as dark as in a bump: a "
        "model that was trained on no bump draws crossing stripes and is right. Whether the image is more like a bump "
        "than like stripes at that place is judged separately (DE0b, DE1b, DE3b, DE4b).",
        "A seed that at some size never reaches 60%, or has it with the least share already, has no number there and "
        "is left out of the slope; the note of a claim says how many are.",
    ),
)  # fmt: skip
