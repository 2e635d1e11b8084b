"""Okawa et al. 2023, Fig 8: how many images of a class does it take to learn, and to recombine, what is new in it?

*Split.* As in Figs 5 and 6, with 1,500 images of a class; of one class only the first few: of 010, the only blue
one (Fig 8a), or of 100, the only triangle (Fig 8b). *As in the paper* (arms `color-30`, `shape-30`, ...) every image is
drawn equally often, so a class of few images is also a rare class. *Even* (arms `color-30-even`, ...): the class keeps
a quarter of the draws, and only the number of different images changes. *Measured.* Accuracy of every class at the end
of training.
"""

from typing import Any

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence

COUNT = 1_500  # images of the other classes, as in the released runs
CLASSES = {"color": "010", "shape": "100"}  # the concept that a class alone brings


def _arms(config: RunConfig, images: int, counts: tuple[int, ...], even: tuple[int, ...]) -> dict[str, RunConfig]:
    """A run for each concept and number of images of its class: all images alike, and the class at a quarter."""
    base = override(config, {"training.images": images, "evaluation.points": 3, "evaluation.first": images // 4,
                             "evaluation.sheet_points": 1})  # fmt: skip
    sweep = [(number, number / COUNT, "") for number in counts] + [(number, 1.0, "-even") for number in even]
    return {
        f"{concept}-{number}{mark}": override(base, {
            "split.count": dict.fromkeys(base.split.train, COUNT) | {node: number},
            "split.frequencies": {node: frequency},
        })
        for concept, node in CLASSES.items()
        for number, frequency, mark in sweep
    }  # fmt: skip


def _of_arm(config: RunConfig) -> dict[str, Any]:
    """Which concept is brought by few images, by how many, and whether these are drawn as rarely as they are few."""
    brings = min(CLASSES, key=lambda concept: config.split.unique(CLASSES[concept]))
    node = CLASSES[brings]
    return {"brings": brings, "images": config.split.unique(node), "rare": config.split.frequency(node) < 1}


EXPERIMENT = Experiment(
    question="How many images of a class are needed before its concept is learned, and before it is recombined?",
    figure="Okawa et al. 2023, Fig 8",
    columns=COLUMNS | {"brings": str, "images": int, "rare": bool},
    of_arm=_of_arm,
    budgets={
        "smoke": Budget(_arms(emergence.SMOKE, 256, (0, 10), (10,)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            _arms(emergence.LAPTOP, 20_000, (0, 10, 100), ()), 1, "16 px, one seed, about six minutes on two CPU cores"
        ),
        "full": Budget(
            _arms(emergence.FULL, 120_000, (0, 3, 10, 30, 100, 300), (3, 30, 300)), 5,
            "28 px, eighteen arms of five seeds, about eight minutes on one GPU",
        ),
    },
    assumptions=(
        "Digits are shape, colour, size; the paper prints the blue class as 001.",
        "The released sweep of colour takes its 000 images from another folder whose contents are not documented; here "
        "the other classes are the same at every number.",
        "With n images of a class beside 3 x 1,500 of the others, n / (4,500 + n) of the draws are of that class.",
        "At 0 images the class is not trained: it is then held out itself, at distance 1.",
    ),
)  # fmt: skip
