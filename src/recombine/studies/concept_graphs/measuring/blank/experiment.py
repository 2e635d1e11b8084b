"""Beyond the paper: how much of a published kind of emergence curve is the probe's answer to what is not there?

The paper's linear probes must name a class whatever they are shown. *Arms.* The runs of `emergence` (conditions
continuous and binary), and one that binds the concepts into a joint embedding before the network receives them, which
leaves canvases empty. *Measured.* Of the images that the probes call right: how many hold no object, several, or one
that the reader calls something else; over training, class by class. *Asked.* Is the curve of the farthest class real?
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence

ARMS = {"continuous": {}, "binary": {"world.conditioning": "binary"}, "joint": {"network.condition.entry": "joint"}}


def _arms(config: RunConfig) -> dict[str, RunConfig]:
    return {arm: override(config, changes) for arm, changes in ARMS.items()}


EXPERIMENT = Experiment(
    question="How much of a probe's emergence curve is its answer to an empty or wrong canvas?",
    figure="beyond the paper; its Figs 5 and 6 are judged by such probes",
    columns=COLUMNS,
    budgets={
        "smoke": Budget(_arms(emergence.SMOKE), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(_arms(emergence.LAPTOP), 1, "16 px, one seed, about twelve minutes on two CPU cores"),
        "full": Budget(_arms(emergence.FULL), 5, "28 px, three arms of five seeds, two of them those of emergence"),
    },
    assumptions=(
        "Runs of the arms continuous and binary are shared with concept-graphs/emergence.",
        "The share is of all samples of a class: right by the probes in every concept, and by the reader without an "
        "object, with several, or with one that is not the one asked for.",
    ),
)
