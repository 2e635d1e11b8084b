"""Bradley 2026, the feature-space case: scenes conditioned on colours, where no condition has a place.

*Question.* Do conditions without a place compose, and are pairs of colours that interfere drawn worse?
*World.* The scenes of `length`, but no two objects of a scene share a colour, and the label says which colours occur:
seven of CLEVR's eight (the ground is gray), all eight for flat discs.
*Split.* Images of no object, one, or up to three. *Arms.* All colours of an image labelled, or one of them; and single
objects only. *Network.* The U-Net of the whole image.
*Measured.* The share of 1 to 6 labelled colours that a reader finds, and extras; every pair, with both colours in the
label or by adding the scores of each (linear composition); the cosines of Lemma 2 between d_i, colour i minus no
colour, in pixels and in the stages of the network.
"""

from recombine.denoisers.configs import ConditionConfig, FoldedConfig, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.scenes.colour_evaluation import COLUMNS, ColourEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.coloured_scenes import ColoursRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.local_scores.colours.claims import ALL, ONE, SINGLE
from recombine.studies.local_scores.length.arms import NOISE
from recombine.training.replica import TrainingConfig
from recombine.worlds.scenes.colours import ColouredScenes
from recombine.worlds.scenes.world import SceneWorld

CONDITION = ConditionConfig(entry="joint", where="all", hidden=128, width=128, mode="multiply")

FULL = ColoursRun(
    network=FoldedConfig(
        fold=4, inner=UNetConfig(channels=64, multipliers=(1, 2, 2), attention=(1, 2), condition=CONDITION)
    ),
    schedule=NOISE,
    training=TrainingConfig(images=600_000, batch=128, rate=2e-3, warmup_images=10_000, ema_images=10_000),
    evaluation=ColourEvaluation(points=2, first=100_000, sheet_points=1, draws=256),
)
LAPTOP = override(
    FULL,
    {"world": ColouredScenes(scenes=SceneWorld(pixels=32, style="discs", grid=8, most=8)).model_dump(),
     "split.images": 8_000, "network.inner.multipliers": (1, 2), "network.inner.attention": (1,),
     "training.images": 64_000, "training.batch": 64, "training.rate": 3e-3, "training.warmup_images": 1_000,
     "training.ema_images": 2_000, "evaluation.points": 1, "evaluation.images": 32, "evaluation.pair_images": 4,
     "evaluation.together": 32, "evaluation.sampler": SamplerConfig(steps=18).model_dump()},
)  # fmt: skip
SMOKE = override(
    LAPTOP,
    {"world.scenes.pixels": 16, "split.images": 64, "network.inner.channels": 8, "training.images": 64,
     "training.warmup_images": 0, "training.ema_images": 64, "evaluation.counts": (1, 2, 4), "evaluation.images": 2,
     "evaluation.pair_images": 1, "evaluation.draws": 4, "evaluation.scenes": 64, "evaluation.calibration_scenes": 4,
     "evaluation.reader": {"singles": 16, "crowds": 8}, "evaluation.sampler": SamplerConfig(steps=3).model_dump()},
)  # fmt: skip


def arms(base: ColoursRun) -> dict[str, Work]:
    """All colours of up to three labelled, one of them labelled, and single objects only."""
    return {
        ALL: base,
        ONE: base.replace(labelled="one"),
        SINGLE: override(base, {"split.objects": (0, 1)}),
    }


EXPERIMENT = Experiment(
    question="Do conditions without a place compose, and are pairs of colours that interfere drawn worse?",
    figure="Bradley 2026, Corollary 1 and Lemma 2, on scenes conditioned on colours; no figure of the paper",
    budgets={
        "smoke": Budget(arms(SMOKE), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms(LAPTOP), 1, "flat discs at 32 px, three models, one seed, a quarter of an hour on two CPU cores"
        ),
        "full": Budget(arms(FULL), 5, "scenes at 64 px, three models of five seeds, on one GPU"),
    },
    columns=COLUMNS,
    assumptions=(
        "Of the paper's colour experiments only the abstract and captions were available: world, labels and rules are "
        "ours. That yellow and blue compose and yellow and red do not is the preceding paper's result, at second hand.",
        "Gray is left out of CLEVR's scenes: the ground and shadows are gray, and a reader of pixels finds gray "
        "objects in half of the scenes without one.",
        "Some training images show no object, so that a label without colours means an empty scene: that is the "
        "background b of d_i = mu_i - mu_b, and of linear composition.",
        "A colour is found if enough pixels belong to it; cells of colours and thresholds are fitted to rendered "
        "scenes. The error on fresh ones is CO0. Where objects are, and how many of a colour, is not judged.",
        "With six of seven or eight colours in the label, an image of other colours often has many of them: chance, "
        "the recall when labels are exchanged between images, is reported beside recall.",
        "In pixels, colours occur at the same places, so the cosine of two is that of their differences from the "
        "ground: on white all colours are dark, and none are orthogonal.",
        "Cosines are taken from halves of the draws: the plain estimate is biased where the background is shared. At "
        "the highest noise the model's answer is the mean of its images; the bottleneck is the middle of the U-Net.",
        "Linear composition adds, at every noise level, to the unconditional score what each colour alone adds to it, "
        "in the same model and from the same noise.",
        "K_max by the rule of `length`: recall of 0.9, from one colour on without a gap.",
        "Samples: 25 steps with fresh noise at each (`length` has 18 deterministic ones).",
        "At laptop: flat discs of one size on white, all eight colours.",
    ),
)
