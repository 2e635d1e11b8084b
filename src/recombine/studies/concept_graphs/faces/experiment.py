"""Okawa et al. 2023, Fig 10: does the order of emergence hold for real images?

*World.* CelebA by gender, smile and hair: 0 = female, smiling, black hair; 1 = male, not smiling, blond. *Split.* 000
and its three neighbours, as in Figs 5 and 6. *Model.* As there, conditioned on the tuple. *Judged.* By a classifier of
three convolutions for each concept, trained on real faces of every class and checked on other people.
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.classifier import ClassifierConfig
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.worlds.faces import FacesWorld
from recombine.worlds.splits import design

ARM = emergence.HEADLINE
SPLIT = design("H32-train1")


def _faces(config: RunConfig, pixels: int, count: int, judge: ClassifierConfig, judged_on: int) -> RunConfig:
    """A run of `emergence` on faces: the same network and training, judged by a classifier."""
    evaluation = config.evaluation.replace(
        classifier=judge.model_dump(), calibration_images=judged_on, audit=None
    ).model_dump()
    world = FacesWorld(pixels=pixels).model_dump()
    return config.replace(world=world, split=SPLIT.replace(count=count).model_dump(), evaluation=evaluation)


EXPERIMENT = Experiment(
    question="Do classes of real faces emerge in the order of their distance from training?",
    figure="Okawa et al. 2023, Fig 10",
    columns=COLUMNS,
    budgets={
        "smoke": Budget(
            {ARM: _faces(emergence.SMOKE, 8, 2, ClassifierConfig(kind="cnn", steps=4), 2)}, 1,
            "seconds once the faces are cached; needs CelebA",
        ),
        "laptop": Budget(
            {ARM: _faces(emergence.LAPTOP, 16, 500, ClassifierConfig(kind="cnn", steps=600), 200)}, 1,
            "16 px, one seed, minutes on two CPU cores; needs CelebA",
        ),
        "full": Budget(
            {ARM: _faces(emergence.FULL, 28, 2_000, ClassifierConfig(kind="cnn", steps=4_000), 500)}, 5,
            "28 px, five seeds, minutes on one GPU; needs CelebA",
        ),
    },
    assumptions=(
        "Needs the real CelebA files; nothing is downloaded, and without them nothing is claimed.",
        "The aligned images are cropped to their centre square and resized; the paper's size is 28 px by default.",
        "Training draws from CelebA's train partition; the classifier is checked on its test partition, other people.",
        "The released split script sends the first 10,000 files of a class to its test folder; here the partition file "
        "decides.",
    ),
)  # fmt: skip
