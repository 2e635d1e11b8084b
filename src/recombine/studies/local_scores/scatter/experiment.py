"""Bradley 2026, Fig 2 right: do models whose conditions act locally go further beyond what they were trained on?

*Models.* Those of `length`, but for the variants of how labels enter, each at the checkpoints at which its locality was
measured. *Measured.* K_max less the number trained on, and C, the share of the labels' influence that comes from near
labels; Spearman's rank correlation over all points, with an interval over seeds.
"""

from collections.abc import Mapping
from typing import Any

from recombine.denoisers.configs import LocalConfig
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.scenes import ScenesRun
from recombine.studies.local_scores._shared.label_recall import COLUMNS, arm_of
from recombine.studies.local_scores.length.arms import VARIANTS
from recombine.studies.local_scores.length.experiment import EXPERIMENT as LENGTH

LEFT_OUT = (*VARIANTS, arm_of("1", "1"))  # the last is the run of Exp 2: all of one is one of one
SAYS = {
    "smoke": "seconds; proves the path, shows nothing",
    "laptop": "flat discs at 32 px, three models, one seed, the runs of length; too few points to say anything",
    "full": "14 models of length at three checkpoints, two controls at the end, five seeds",
}


def trained_on(run: ScenesRun) -> Mapping[str, Any]:
    """What a training image holds at most, and whether the network cannot but have C = 1."""
    most, reach = max(run.split.objects), 0 if run.locality is None else run.locality.reach
    network = run.network
    exact = isinstance(network, LocalConfig) and max(network.radius, network.labels_within) <= reach
    labels = most if run.labels.labelled == "all" else 1
    return {"trained_objects": most, "trained_labels": labels, "local_by_construction": exact}


EXPERIMENT = Experiment(
    question="Do models with more local conditions go further beyond the number of objects they were trained on?",
    figure="Bradley 2026, Fig 2 right",
    columns={**COLUMNS, "trained_objects": int, "trained_labels": int, "local_by_construction": bool},
    of_arm=trained_on,
    budgets={
        name: Budget({arm: run for arm, run in budget.arms.items() if arm not in LEFT_OUT}, budget.seeds, SAYS[name])
        for name, budget in LENGTH.budgets.items()
    },
    assumptions=(
        "What Exps 2 and 2L were trained on can be counted in two ways: labels of an image, which is one, or "
        "objects in it, up to 1, 3 or 5. The paper's caption says locations, so labels come first; both are "
        "judged.",
        "C and K_max are those of `locality` and `length`, at checkpoints where both were measured.",
        "The interval draws seeds, with all models and checkpoints of a seed. It says how the correlation would "
        "vary if these models were trained once more, not if other models were chosen; without any one kind it "
        "stands in the note.",
        "Exps 2L and 3L have C = 1 by construction and are ties in rank: SC3 leaves them out. An early checkpoint "
        "draws little and ignores its labels, which makes both numbers low: SC2 takes the end of training only.",
        "A recall of 0.9 is a narrow gate: models on either side of it can have much the same curve. SC5 takes "
        "recall with more labels than a training image has objects; it was added after the first five models had "
        "been evaluated.",
    ),
)
