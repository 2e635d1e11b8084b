"""Park et al. 2024: how fast is a concept learned, as its signal grows, and as the signal of the other one grows?

*World.* One circle on a pale background, 32 x 32: red or blue, large or small. The separations of the colours D_c and
of the radii D_s are the concept signals; values vary within a class in proportion (colour by an eighth, radius by three
eighths). *Split.* Large red, small red, large blue; small blue (11) is held out. *Model.* A U-Net with batch norms; an
MLP of the colour and the radius is added in every block. *Measured.* When the colour and when the size of samples of 11
are right.
"""

from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.evaluation import ConceptEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.training.replica import TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import design

COLOR = (0.2, 0.4, 0.6, 0.8)
SIZE = (0.2, 0.3, 0.4)

FULL = RunConfig(
    world=ShapesWorld(
        pixels=32, shapes=("circle",), color_separation=0.4, size_mean=0.45, size_separation=0.4, size_jitter=3 / 8,
        background_jitter=0.1, position_jitter=0.2,
    ),
    split=design("H22-train1").replace(count=2_048),
    network=UNetConfig(
        channels=32, attention=(2,), norm="batch", activation="gelu",
        condition=ConditionConfig(entry="add", where="all"),
    ),
    training=TrainingConfig(
        images=400_000, batch=64, rate=1e-3, warmup_images=6_400, decay="constant", weight_decay=0.01, ema_images=5_000
    ),
    evaluation=ConceptEvaluation(points=24, first=4_000, images_per_node=50, sheet_points=6),
)  # fmt: skip
LAPTOP = override(
    FULL,
    {"world.pixels": 16, "world.size_jitter": 0.25, "network.channels": 16, "network.attention": (),
     "training.images": 30_000, "training.batch": 32, "training.warmup_images": 0, "training.ema_images": 2_000,
     "evaluation.points": 12, "evaluation.first": 1_000, "evaluation.images_per_node": 16},
)  # fmt: skip
SMOKE = override(
    FULL,
    {"world.pixels": 16, "split.count": 32, "network.channels": 8, "network.attention": (),
     "training.images": 256, "training.batch": 32, "training.warmup_images": 0, "training.ema_images": 64,
     "evaluation.points": 3, "evaluation.first": 64, "evaluation.images_per_node": 4,
     "evaluation.calibration_images": 8, "evaluation.sheet_points": 2,
     "evaluation.sampler": SamplerConfig(steps=4).model_dump()},
)  # fmt: skip


def grid(config: RunConfig, colors: tuple[float, ...], sizes: tuple[float, ...]) -> dict[str, RunConfig]:
    """An arm for each pair of separations, named by them: "c0.2-s0.4"."""
    return {
        f"c{color:g}-s{size:g}": override(config, {"world.color_separation": color, "world.size_separation": size})
        for color in colors
        for size in sizes
    }


def separations(config: RunConfig) -> dict[str, float]:
    """The separations of colour and of size in an arm."""
    assert isinstance(config.world, ShapesWorld)
    return {"color_separation": config.world.color_separation, "size_separation": config.world.size_separation}


EXPERIMENT = Experiment(
    question="Is a concept learned faster the more signal it has, and slower the more signal the other one has?",
    figure="Park et al. 2024, learning speed over concept signal",
    columns=COLUMNS | {"color_separation": float, "size_separation": float},
    of_arm=separations,
    budgets={
        "smoke": Budget(grid(SMOKE, (0.4, 0.8), (0.3,)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            grid(LAPTOP, (0.2, 0.8), (0.2, 0.4)), 1, "16 px, one seed, about six minutes on two CPU cores"
        ),
        "full": Budget(grid(FULL, COLOR, SIZE), 5, "32 px, twelve arms of five seeds, ten minutes on one GPU"),
    },
    assumptions=(
        "Digits are colour, size: 0 = red, large; the paper counts classes as colour * 2 + size.",
        "The paper's centres are uniform in +-0.5, where large objects leave the canvas; here in +-0.2, so that every "
        "object is whole and can be measured. Its background varies in each channel from 0.8 to 1; here in grey.",
        "The paper: variational diffusion with a learned schedule, two blocks a level, dropout 0.1, gradients clipped "
        "at 0.01, 20,000 steps of 64, a grid of seven by seven. Here: the linear schedule of 500 steps, one block a "
        "level, no dropout, clipping at 1, half the channels, 6,250 steps of 64, a grid of four by three.",
        "Norms are batch norms; with the paper's group norms, which take an image's brightness away in every block, "
        "background and colours still drifted after 30,000 images at 16 px, where batch norms had learned them.",
        "While 11 is learned its object often vanishes. The paper's classifier has to name a colour and a size even "
        "then; the reader counts such an image as wrong, and P1o to P3o leave it out.",
        "A concept is learned where its accuracy in 11 first stays at 0.8 for three evaluations; the paper's text says "
        "80%, its code 0.9.",
    ),
)
