"""Okawa et al. 2023, Fig 16: does the order hold with a fourth concept, so that there are classes at distance 3?

*World.* As in Figs 5 and 6, on white or black paper: shape, colour, size, background. *Split.* The origin 0000 and its
four neighbours; six classes are at distance 1, four at 2, one at 3. *Measured.* Product accuracy of all sixteen, by
distance.
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.worlds.splits import design


def _four(config: RunConfig, images: int) -> RunConfig:
    split = {**design("H42-train1").model_dump(), "count": config.split.count}
    changes = {"world.backgrounds": ("white", "black"), "split": split, "training.images": images}
    return override(config, changes)


EXPERIMENT = Experiment(
    question="With four concepts, do classes still emerge in the order of their distance, up to distance 3?",
    figure="Okawa et al. 2023, Fig 16",
    columns=COLUMNS,
    budgets={
        "smoke": Budget({emergence.HEADLINE: _four(emergence.SMOKE, 512)}, 1, "seconds; proves the path"),
        "laptop": Budget(
            {emergence.HEADLINE: _four(emergence.LAPTOP, 80_000)}, 1, "16 px, one seed, about six minutes on two cores"
        ),
        "full": Budget({emergence.HEADLINE: _four(emergence.FULL, 400_000)}, 5, "28 px, five seeds, minutes on a GPU"),
    },
    assumptions=(
        "Digits are shape, colour, size, background; 0 = circle, red, large, white.",
        "The released first commit feeds the fourth concept as one number, as here; it calls it position.",
    ),
)  # fmt: skip
