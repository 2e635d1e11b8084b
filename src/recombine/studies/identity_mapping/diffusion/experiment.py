"""Yang et al. 2025, Sec 5: does a diffusion model swing by, and how does its learning slow down?

*World, split, model.* Those of concept-space/speed, radii 0.4 apart, colours 0.137 to 0.689 apart (the arms).
*Measured.* Samples of the held-out class small blue, placed by a classifier: (probability of blue, probability of
small). Its error is the mean squared distance to (1, 1). *Judged.* Whether the error rises again while the class is
learned, in single runs beyond what the number of samples explains, and in the paper's smoothed mean; whether speed
falls exponentially or as a power of time.
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.classifier import ClassifierConfig
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_space.speed import experiment as speed

COLORS = (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)  # the paper's
SIZE = 0.4


def arms(config: RunConfig, colors: tuple[float, ...], judge: ClassifierConfig, images: int) -> dict[str, RunConfig]:
    """An arm for each separation of the colours."""
    base = override(
        config,
        {"world.size_separation": SIZE, "evaluation.classifier": judge.model_dump(),
         "evaluation.images_per_node": images},
    )  # fmt: skip
    return {f"c{color:g}": override(base, {"world.color_separation": color}) for color in colors}


SMOKE = arms(speed.SMOKE, (0.247, 0.689), ClassifierConfig(steps=4), 4)
LAPTOP = arms(speed.LAPTOP, (0.247, 0.689), ClassifierConfig(), 32)
FULL = arms(override(speed.FULL, {"evaluation.points": 40}), COLORS, ClassifierConfig(steps=600), 100)

EXPERIMENT = Experiment(
    question="Does a diffusion model swing by on its way to an unseen combination, and how does it slow down?",
    figure="Yang et al. 2025, Fig 6 and App G",
    budgets={
        "smoke": Budget(SMOKE, 2, "seconds; proves the path"),
        "laptop": Budget(LAPTOP, 1, "16 px, one seed, minutes on two CPU cores"),
        "full": Budget(FULL, 5, "32 px, six arms of five seeds, five minutes on one GPU"),
    },
    columns=COLUMNS | {"color_separation": float},
    of_arm=lambda config: {"color_separation": config.world.color_separation},
    assumptions=(
        *speed.EXPERIMENT.assumptions[:4],
        "The paper's error is that of the mean over seeds, smoothed over two evaluations, of 32 images; here also that "
        "of every run, unsmoothed, of 100 images, against a null model: coordinates that only rise, measured on as "
        "many images.",
        "Speed is the distance moved between evaluations of the path smoothed over 1.5 of them, as in the released "
        "code. The laws are compared by the likelihood of a run that the fit has not used.",
        "Colours up to 0.3 apart count as weak. S13w was added when runs with strong colours turned out to rise too.",
    ),
)
