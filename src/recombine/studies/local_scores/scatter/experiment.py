"""Bradley 2026, Fig 2 right: do models that hear of near labels alone go further beyond what they were trained on?

*Models.* Those of `length`, but for labels told otherwise, each at the checkpoints at which its locality was read.
*Measured.* K_max less the number trained on, and C, the share of the labels' influence that comes from near labels;
Spearman's rank correlation over all points, with an interval over seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.experiment import Budget, Drawing, Experiment, no_sheets
from recombine.studies.local_scores.length import experiment as length
from recombine.studies.local_scores.length.claims import arm_of
from recombine.studies.local_scores.scatter import claims

if TYPE_CHECKING:
    import polars

    from recombine.runs.scenes import ScenesRun


def draw(table: polars.DataFrame, config: ScenesRun) -> dict[str, Drawing]:
    """Length generalization over conditional locality."""
    from recombine.studies.local_scores.scatter import figures

    return {
        "figure": Drawing(
            figures.scatter(table),
            "Conditional locality over length generalization, models and checkpoints, by several readings of each.",
        )
    }


LEFT_OUT = (*length.OTHERWISE, arm_of("1", "1"))  # the last is the run of Exp 2: all of one is one of one
SAYS = {
    "smoke": "seconds; proves the path, shows nothing",
    "laptop": "flat discs at 32 px, three models, one seed, the runs of length; too few points to say anything",
    "full": "14 models of length at three checkpoints, two controls at the end, five seeds",
}
SEEN = (
    "Fourteen models at three checkpoints and two controls at the end of training, five seeds. By K_max there is next "
    "to no correlation, or a negative one: -0.25 in labels, -0.15 in objects, 0.00 and -0.02 with C by the gradient, "
    "-0.54 in labels among networks that are not local by construction. 0.9 of all labels is met by few: nine of ten "
    "points have a K_max of 0 or 1, whatever their C, and K_max less the number trained on is then lowest for models "
    "trained on many.",
    "By recall of 6 to 12 labels, from chance 0 to 1, it is 0.79 (0.78 to 0.80), as much at the end of training "
    "alone, 0.89 among networks that are not local by construction, 0.69 with C by the gradient, and 0.78 without the "
    "controls, which fall in line: 2L whole has C at chance and meets no more than chance, 2L far lies between it and "
    "Exp 1. The interval is a bootstrap over five seeds, and holds the models fixed; there are seven kinds of them, "
    "and without any one kind it is 0.60 to 0.89, at the end of training 0.63 to 0.90 (least without Exp 2 or 3).",
    "Models whose K_max rises during training gain 0.03 of C (SC4 holds); the others gain nothing.",
)

EXPERIMENT = Experiment(
    study="local-scores",
    name="scatter",
    question="Do models with more local conditions go further beyond the number of objects they were trained on?",
    figure="Bradley 2026, Fig 2 right",
    budgets={
        name: Budget({arm: run for arm, run in budget.arms.items() if arm not in LEFT_OUT}, budget.seeds, SAYS[name])
        for name, budget in length.EXPERIMENT.budgets.items()
    },
    claims=claims.SCATTER,
    draw=draw,
    sheets=no_sheets,
    seen=SEEN,
    notes=(
        "What Exps 2 and 2L were trained on can be read in two ways: labels of an image, which is one, or objects in "
        "it, up to 1, 3 or 5. The paper's caption says locations, so labels come first; both are judged and drawn.",
        "C and K_max are those of `locality` and `length`. A checkpoint counts where both were read. Models on 1 and "
        "on 1 to 5 objects are trained half as long as those on 1 to 3.",
        "The interval draws seeds, with all models and checkpoints of a seed: checkpoints of a run are not "
        "independent. It says how the correlation would vary if these models were trained again, not if other models "
        "were chosen: there are seven kinds of them, and the correlation without any one kind stands beside.",
        "Exps 2L and 3L have C = 1 by construction. They are ties in rank, and much of the correlation: SC3 leaves "
        "them out.",
        "An early checkpoint draws little and obeys no label yet. That alone makes both numbers low: SC2 takes the end "
        "of training alone.",
        "K_max ends at 12, the most labels that are asked for, and 0.9 of all labels is a narrow gate: models on "
        "either side of it can have much the same curve. SC5 takes recall with more labels than a training image has "
        "objects in its place, from chance 0 to 1; it was asked after the first five models of five "
        "seeds had been looked at.",
    ),
)
