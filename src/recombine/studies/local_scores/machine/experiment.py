"""Beyond Bradley 2026: a training-free local-score model generalizes in length; does it predict the local network?

*Machine.* Each cell of an image is the average of training images that agree with the label on the 5 x 5 cells around
it, weighted by how near their patch is: the best local conditional score of the training set (Kamb and Ganguli 2024
without conditions). Its global limit, which depends on the whole image and label, memorizes. *World, split.* Flat discs
at 32 px, 16 x 16 cells; 1500 images of 1 or of 1 to 3 discs, all labelled (Exp 1) or one (Exp 2). *Measured.* Label
recall, extras and number of discs over the number of labels. *Prediction.* Networks of `length`, Exps 2L and 2 trained
on 1 to 3 objects, and machines made of their training images draw from the same noise.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.local_machine import LocalMachineConfig
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.local_scores._shared.label_recall import COLUMNS
from recombine.studies.local_scores.length.arms import EXPERIMENTS, TRAINED, experiments
from recombine.studies.local_scores.machine.claims import machine_arm

FULL = LocalMachineConfig()
LAPTOP = override(FULL, {"split.images": 1000, "evaluation.layouts": 6})
SMOKE = override(
    FULL,
    {"world.pixels": 16, "world.grid": 8, "labels.grid": 8, "split.images": 64, "evaluation.counts": (1, 3),
     "evaluation.layouts": 2, "evaluation.sampler.steps": 3},
)  # fmt: skip

MACHINES: tuple[tuple[str, str, int | None], ...] = (
    ("1", "1-3", 2),
    ("2", "1-3", 2),
    ("2", "1", 2),
    ("2", "1-3", 4),
    ("2", "1-3", None),
    ("1", "1-3", None),
    ("2", "1", None),
)
"""Labels of which experiment, made of how many discs, and the radius of both receptive fields; None: everything."""
NETWORKS = ("2L", "2")


def arms(budget: str, base: LocalMachineConfig) -> dict[str, Work]:
    """The networks of `length`, and the machines."""
    made = experiments(budget, NETWORKS)
    for experiment, objects, radius in MACHINES:
        reach = base.labels.grid if radius is None else radius
        made[machine_arm(experiment, objects, radius)] = override(
            base,
            {**EXPERIMENTS[experiment], "split.objects": TRAINED[objects], "receptive_fields.radius": reach,
             "receptive_fields.label_radius": reach},
        )  # fmt: skip
    return made


EXPERIMENT = Experiment(
    question="Does a training-free local score draw more objects than its images hold, and predict the local network?",
    figure="beyond Bradley 2026; without conditions, Kamb and Ganguli 2024",
    columns=COLUMNS,
    budgets={
        "smoke": Budget(arms("smoke", SMOKE), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms("laptop", LAPTOP), 1,
            "flat discs at 32 px: machines in a minute on one CPU core, the two networks of `length` beside them",
        ),
        "full": Budget(
            arms("full", FULL), 5,
            "machines of five training sets of discs, and the networks of `length` at 64 px, on one GPU",
        ),
    },
    assumptions=(
        "Machines over the number of labels are made of flat discs; those compared with networks are made of the "
        "first images of the network's own training set (at full, scenes at 64 px) and draw from the same noise.",
        "Where no training image agrees with the label on all cells of a receptive field, those with the fewest "
        "wrong cells count. How often that is so is measured. An empirical machine fails on whole labels because "
        "the same layout never recurs; a network could do better.",
        "r2 is 1 less the squared error over the variance of the network's pixels, the median over samples, by 25 "
        "deterministic steps. Both have the same labels and would be alike for that alone: the figure shows the "
        "same from other noise, and between different layouts.",
    ),
)  # fmt: skip
