"""Okawa et al. 2023, Figs 5 and 6: which combinations of concepts does a model learn to draw, and in what order?

*World.* One object on white paper, 28 x 28: circle or triangle, red or blue, large or small; colour and size vary
within a class, position is free. *Split.* The model sees large red circles and their three neighbours (000, 001, 010,
100) and never the four other classes. *Model.* A conditional U-Net; one small MLP a concept, summed, multiplies the
features; 500 noise levels. *Measured.* 50 samples of each class, prompted by its prototype, at log-spaced moments of
training. *Judged.* By a reader that looks for exactly one object; the paper's linear probes stay as a second judge.
"""

from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.observation import Audit
from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.evaluation import ConceptEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.training.replica import TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import design

HEADLINE = "continuous"  # the released code's conditions: the image's own colour and size

SPLIT = design("H32-train1")
# Radii 0.5 and 0.3: the released sizes 2.7 and 1.6 have this ratio. Ranges as in the same group's later generator.
RANGES = {"size_mean": 0.4, "size_separation": 0.2, "size_jitter": 3 / 8, "position_jitter": 0.1}
FULL = RunConfig(
    world=ShapesWorld(pixels=28, **RANGES),
    split=SPLIT.replace(count=5_000),
    network=UNetConfig(
        channels=64, attention=(1, 2), norm="batch", activation="gelu", condition=ConditionConfig(entry="multiply")
    ),
    training=TrainingConfig(images=400_000, batch=64, rate=1e-3, decay="constant", ema_images=10_000),
    evaluation=ConceptEvaluation(points=32, first=5_000, images_per_node=50),
)
LAPTOP = RunConfig(
    world=ShapesWorld(pixels=16, **RANGES),
    split=SPLIT.replace(count=5_000),
    network=UNetConfig(channels=32, attention=(2,), norm="batch", activation="gelu"),
    training=TrainingConfig(images=80_000, batch=32, rate=1.5e-3, decay="constant", ema_images=4_000),
    evaluation=ConceptEvaluation(points=16, first=3_000, images_per_node=16),
)
SMOKE = RunConfig(
    world=ShapesWorld(pixels=8, position_jitter=0.0),
    split=SPLIT.replace(count=64),
    network=UNetConfig(channels=8, multipliers=(1, 2)),
    training=TrainingConfig(images=1_024, batch=32, rate=1e-3, ema_images=200),
    evaluation=ConceptEvaluation(
        points=4, first=128, images_per_node=4, calibration_images=8, sampler=SamplerConfig(steps=4),
        audit=Audit(points=1, sampler=SamplerConfig(method="ancestral", steps=20, spacing="steps")), sheet_points=3,
    ),
)  # fmt: skip
BINARY = override(FULL, {"world.conditioning": "binary"})  # the paper's text: the network receives the tuple only

EXPERIMENT = Experiment(
    question="Which unseen combinations of concepts does a diffusion model learn to draw, in what order, how suddenly?",
    figure="Okawa et al. 2023, Figs 5 and 6",
    columns=COLUMNS,
    budgets={
        "smoke": Budget({HEADLINE: SMOKE}, 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget({HEADLINE: LAPTOP}, 1, "16 px, one seed, about five minutes on two CPU cores"),
        "full": Budget({HEADLINE: FULL, "binary": BINARY}, 5, "28 px, two arms of five seeds, minutes on one GPU"),
    },
    assumptions=(
        "Digits are shape, colour, size, the order of the released file names; the paper's figures print shape, size, "
        "colour.",
        "Conditions are the image's own colour and size, as in the released code (arm continuous); the paper's text "
        "says binary tuples (arm binary, at full).",
        "Ranges within a class are not in the paper: here colour varies by an eighth and size by three eighths of the "
        "distance between the classes, as in the same group's later generator (Park et al. 2024).",
        "Size is the radius of the circle of equal area, whatever the shape.",
        "Headline accuracy is the reader's: an image without exactly one object is wrong. The probes are the paper's.",
        "A class has emerged where its accuracy first reaches 0.8 and stays there for three evaluations.",
        "The learning rate stays constant and the weights are averaged, so that emergence times do not depend on the "
        "length of the run; the released code decays the rate linearly to zero.",
    ),
)
