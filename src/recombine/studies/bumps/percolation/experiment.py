"""Liang et al. 2024, Figs 6d, 6e, 14a, 14c, 15: does learning set in where the bumps of the training set hang together?

*World.* One bump of width sigma on a white square; sides are not joined. *Split.* Labels are the middles of the pixels.
A model is trained on a share lambda of them, the first of one random order: each set is a part of every larger one, and
at one data seed the sets are the same at every width. *Measured.* The bump asked for at every pixel, trained on or not:
how often is it there? The loss of trained labels and of the others; a map of places in a block. *Baselines.* The
nearest label scores lambda; maps of the untrained block and of pixels. *Theory.* The lambda from which on half of the
same set hangs together, if bumps are linked that overlap by more than 0.005, or 0.05. *Judged.* Whether labels that
were not trained on come right where their set percolates, width by width.
"""

from itertools import product
from typing import Any

from recombine.instruments.representations.learned_maps import MapSettings
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_percolation import COLUMNS, PercolationConfig
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import MAPS, REGIONS
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.percolation.claims import THEORY, THRESHOLDS

SMALL = override(
    compose.FULL,
    {"network.channels": 16, "network.multipliers": (1, 2, 4), "network.attention": (1, 2),
     "training.images": 160_000, "training.batch": 64, "training.ema_images": 5_000,
     "evaluation.points": 2, "evaluation.first": 40_000, "evaluation.sheet_points": 0},
)  # fmt: skip
"""For sweeps: half as wide as the network of `compose` and a level less, 2,500 steps, measured twice."""


def on_lattice(base: BumpsRun) -> BumpsRun:
    """The run on bumps at the middles of pixels, with losses and a map at its end."""
    closing = {"kind": "bumps-lattice", "map": MapSettings().model_dump(), "losses": 8}
    return override(base, {"world.pattern": "bump", "world.margin": 0.0, "split.step": 1.0, "split.held_out": None,
                           "evaluation": {**base.evaluation.model_dump(mode="json"), **closing}})  # fmt: skip


FULL = override(on_lattice(SMALL), {"world.pixels": 24, "network.channels": 32, "training.rate": 2e-3})
LAPTOP = override(
    on_lattice(compose.LAPTOP),
    {"world.pixels": 12, "training.images": 80_000, "evaluation.points": 3, "evaluation.first": 20_000,
     "evaluation.sheet_points": 1},
)  # fmt: skip
SMOKE = on_lattice(compose.SMOKE)

WIDTHS = (0.1, 0.3, 0.5, 0.7, 1.0)
LAMBDAS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def named(width: float, lam: float) -> str:
    """The name of an arm."""
    return f"sigma-{width:g}-lambda-{lam:g}"


def arms(base: BumpsRun, widths: tuple[float, ...], lams: tuple[float, ...]) -> dict[str, Work]:
    """A run for each width and share, and the percolation of the same sets."""
    runs = {
        named(width, lam): override(base, {"world.width": width, "split.share": lam})
        for width, lam in product(widths, lams)
    }
    return {
        **runs,
        THEORY: PercolationConfig(pixels=base.world.pixels, widths=widths, thresholds=THRESHOLDS, lambdas=lams),
    }


def width_and_share(config: Any) -> dict[str, float]:
    """Columns of an arm: the width of its bumps and the share of the lattice it is trained on."""
    return {"width": config.world.width, "share": config.split.share} if isinstance(config, BumpsRun) else {}


EXPERIMENT = Experiment(
    question="Are bumps learnt from that share of all places on at which the training set hangs together?",
    figure="Liang et al. 2024, Figs 6d, 6e, 14a, 14c, 15",
    budgets={
        "smoke": Budget(arms(SMOKE, (0.3, 1.0), (0.2, 0.5, 1.0)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms(LAPTOP, (0.3, 1.0), (0.2, 0.5, 0.8)), 1, "12 px, six sets, one seed, minutes on two CPU cores"
        ),
        "full": Budget(arms(FULL, WIDTHS, LAMBDAS), 5, "24 px, five widths and seven shares of five seeds, on one GPU"),
    },
    columns={**REGIONS, **MAPS, **COLUMNS},
    of_arm=width_and_share,
    assumptions=(
        "The paper has 32 x 32 labels; here 24 x 24 at full, and a network of one level less than in `compose`, as "
        "there are 175 runs of 160,000 images.",
        "All runs see as many images, as in the paper: a small set is seen more often.",
        "The critical lambdas are those of the same lattice and of the very sets that were trained on.",
        "`Learnt`: more than half of the labels not trained on are right. The paper gives no definition; half is ours, "
        "as for the critical lambda, where half of the set hangs together.",
        "Where half is learnt at the first lambda tried, or hangs together from three bumps on, no place can be read "
        "off and PC5 leaves the width out; PC4 takes it for the smallest.",
        "Accuracy is by the darkest pixel alone: a bump of sigma = 0.1 is one dark pixel, and the fine estimate cannot "
        "say where in it the bump is.",
        "Losses (Fig 14c): the mean squared error of the predicted noise at every label and eight evenly spread "
        "quantiles of the training noise, at the end.",
        "Maps (Fig 15): the first up block at the last step of the generation, every second pixel in x and y. The "
        "paper does not say how its maps were made; elsewhere it uses UMAP, here the first principal coordinates are "
        "drawn (`--set evaluation.map.how=umap` with the extra `umap`). What it calls rigid is measured as the share "
        "of neighbours: of as many nearest places in the block as a place has neighbours, those that are.",
    ),
)
