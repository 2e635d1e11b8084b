"""Park et al. 2024: which way does a held-out class take through concept space while it is learned?

*World, split, model.* Those of `speed`, with radii 0.3 apart and weak, middling or strong colour. *Measured.* Samples
of every class are placed by a classifier: (probability of blue, probability of small), averaged over the samples; a
class is learned where it arrives at its corner. *Asked.* Does the held-out class, small blue, first go to small red
where colour is weak, and to large blue where it is strong?
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.classifier import ClassifierConfig
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_space.speed import experiment as speed

SIGNALS = {"weak": 0.15, "middling": 0.3, "strong": 0.8}  # separations of the colours
SIZE = 0.3


def _arms(config: RunConfig, names: tuple[str, ...], judge: ClassifierConfig) -> dict[str, RunConfig]:
    base = override(config, {"world.size_separation": SIZE, "evaluation.classifier": judge.model_dump()})
    return {name: override(base, {"world.color_separation": SIGNALS[name]}) for name in names}


EXPERIMENT = Experiment(
    question="Which way does a held-out class take through concept space, with weak and with strong colour?",
    figure="Park et al. 2024, trajectories in concept space",
    columns=COLUMNS | {"color_separation": float, "size_separation": float},
    of_arm=speed.separations,
    budgets={
        "smoke": Budget(
            _arms(speed.SMOKE, ("weak", "strong"), ClassifierConfig(steps=4)), 1, "seconds; proves the path"
        ),
        "laptop": Budget(
            _arms(speed.LAPTOP, ("weak", "strong"), ClassifierConfig()), 1, "16 px, one seed, minutes on two CPU cores"
        ),
        "full": Budget(
            _arms(speed.FULL, tuple(SIGNALS), ClassifierConfig(steps=600)),
            5,
            "32 px, three arms of five seeds, one GPU",
        ),
    },
    assumptions=(
        *speed.EXPERIMENT.assumptions[:3],
        "The classifier is trained on real images of all four classes of the same world; the paper's on a mixture of "
        "the extreme separations.",
        "A path's bend is the mean of P(small) - P(blue) over the evaluations before both are at 0.8.",
    ),
)
