"""Okawa et al. 2023, Fig 9: a split that binds two concepts together, and fine-tuning as the remedy.

*Split.* The model sees large circles of both colours, large red triangles and small blue triangles (000, 010, 100,
111): small never comes without triangle. *Then.* It is fine-tuned on one class that was missing: 001 (small red
circle), 011 (small blue circle) or 110 (large blue triangle), alone, as in the released configs, or mixed with the old
data, as the caption says. *Measured.* What every prompt draws before and after, and how much of the old classes is
forgotten.
"""

from typing import Any

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.worlds.splits import design

CLASSES = ("001", "011", "110")  # the paper prints them 010, 011 and 101: shape, size, colour
BASE = "adversarial"


def _arms(config: RunConfig, images: int, tuning: int, points: int) -> dict[str, RunConfig]:
    """The adversarial run, and six that go on from its weights."""
    count = config.split.count
    base = override(config, {"split": {**design("H32-fail1").model_dump(), "count": count}, "training.images": images,
                             "evaluation.points": points})  # fmt: skip
    arms = {BASE: base}
    for name in CLASSES:
        for suffix in ("", "-mixed"):
            split = {**design(f"H32-tune-{name}{suffix}").model_dump(), "count": count}
            changes = {"split": split, "training.images": tuning, "evaluation.first": max(1, tuning // 30)}
            arms[f"{name}{suffix}"] = override(base, changes).replace(start=base.model_dump())
    return arms


def _of_arm(config: RunConfig) -> dict[str, Any]:
    """The class that is fine-tuned on, and whether it is mixed with the old data; nothing before fine-tuning."""
    if config.start is None:
        return {}
    (new,) = (node for node in config.split.train if node not in config.start.split.train)
    return {"tuned_on": new, "mixed": len(config.split.train) > 1}


EXPERIMENT = Experiment(
    question="If small is only ever seen with triangles, can a model draw a small circle, and does fine-tuning help?",
    figure="Okawa et al. 2023, Fig 9",
    columns=COLUMNS | {"tuned_on": str, "mixed": bool},
    of_arm=_of_arm,
    budgets={
        "smoke": Budget(_arms(emergence.SMOKE, 512, 256, 3), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            _arms(emergence.LAPTOP, 40_000, 8_000, 6), 1, "16 px, one seed, about six minutes on two CPU cores"
        ),
        "full": Budget(
            _arms(emergence.FULL, 200_000, 40_000, 8), 5, "28 px, seven arms of five seeds, minutes on one GPU"
        ),
    },
    assumptions=(
        "Digits are shape, colour, size; the paper's figure prints shape, size, colour: its 010 is 001 here, its 101 "
        "is 110.",
        "Fine-tuning keeps the learning rate of training, as in the paper; images seen count from the start of the "
        "fine-tuning.",
        "The released code fine-tunes on the new class alone (arms 001, 011, 110); the caption says that the class is "
        "added to the data set (arms -mixed). Both are run.",
    ),
)
