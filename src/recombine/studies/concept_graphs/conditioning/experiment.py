"""Beyond the paper: is compositionality built in by the way the condition enters the network?

The paper says binary tuples, concatenated; its code gives each image's own colour and size, one MLP a concept, summed.
*Conditions* (first word of an arm): `continuous`, the image's own values; `binary`, the tuple; `masked`, continuous,
each concept withheld in three tenths of the images. *Entry*: `sum`, an embedding of each concept, summed, multiplies
the features; `added`, the same sum is added; `joint`, one embedding of the whole condition multiplies.
*Attention* on at the two inner levels, or off (`-plain`). All the rest is that of `emergence`.
"""

from itertools import product
from typing import Any

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.worlds.shapes import ShapesWorld

CONDITIONS: dict[str, dict[str, Any]] = {
    "continuous": {},
    "binary": {"world.conditioning": "binary"},
    "masked": {"training.mask": 0.3},
}
ENTRIES = {"sum": "multiply", "added": "add", "joint": "joint"}


def _arms(config: RunConfig, images: int, points: int, attention: tuple[str, ...]) -> dict[str, RunConfig]:
    base = override(config, {"training.images": images, "evaluation.points": points})
    levels = {"": base.network.attention, "-plain": ()}
    return {
        f"{conditions}-{entry}{mark}": override(
            base, {**changes, "network.condition.entry": name, "network.attention": levels[mark]}
        )
        for (conditions, changes), (entry, name), mark in product(CONDITIONS.items(), ENTRIES.items(), attention)
    }


def _of_arm(config: RunConfig) -> dict[str, Any]:
    """What the network receives, how it enters, and whether there is attention."""
    assert isinstance(config.world, ShapesWorld)
    return {
        "conditions": "masked" if config.training.mask else config.world.conditioning,
        "entry": config.network.condition.entry,
        "attention": bool(config.network.attention),
    }


EXPERIMENT = Experiment(
    question="When is compositionality built in by the way the condition enters the network?",
    figure="beyond the paper, whose text and code disagree on it",
    columns=COLUMNS | {"conditions": str, "entry": str, "attention": bool},
    of_arm=_of_arm,
    budgets={
        "smoke": Budget(_arms(emergence.SMOKE, 128, 2, ("-plain",)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            _arms(emergence.LAPTOP, 30_000, 4, ("-plain",)), 1, "16 px, nine arms, about a quarter of an hour"
        ),
        "full": Budget(
            _arms(emergence.FULL, 120_000, 8, ("", "-plain")), 5, "28 px, eighteen arms of five seeds, on one GPU"
        ),
    },
    assumptions=(
        "Masked: in three tenths of the training images, drawn for each concept separately, its numbers are zero. "
        "Prompts are always complete.",
        "The paper's text concatenates the concepts' embeddings; `joint` goes further and binds them in one MLP.",
    ),
)
