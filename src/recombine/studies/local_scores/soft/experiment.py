"""Beyond Bradley 2026: a plain network with a penalty on non-local conditions; does it go further?

*World, labels, split, network.* Those of `length`, Exp 2 trained on 1 to 3 objects, one of them labelled: a network of
the whole image. *Penalty.* Each training image also gets a second label c', and what that changes at pixels further
than 2 cells from it, D(x, c + c') - D(x, c), is squared and added to the loss with a weight: the influence A_i(j) of
far labels j is pushed to 0. *Swept.* The weight; at 0 it is Exp 2 itself. *Measured.* Recall over the number of labels,
K_max, and conditional locality. *For comparison.* Exp 2L, which is local by construction.
"""

from recombine.denoisers.configs import LocalityPenalty
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.scenes import ScenesRun
from recombine.runs.work import Work
from recombine.studies.local_scores._shared.label_recall import BEYOND, COLUMNS, HEADLINE, arm_of
from recombine.studies.local_scores.length.arms import experiments
from recombine.studies.local_scores.soft.claims import LOCAL, soft_arm

WEIGHTS = (1.0, 10.0)


def arms(budget: str, reach: int) -> dict[str, Work]:
    """Exp 2 without a penalty, with one of each weight, and Exp 2L: the first and the last are runs of `length`."""
    runs = experiments(budget, ("2", "2L"))
    plain = runs[arm_of("2", HEADLINE)]
    assert isinstance(plain, ScenesRun)
    penalties = {weight: LocalityPenalty(weight=weight, reach=reach).model_dump() for weight in WEIGHTS}
    softened = {soft_arm(weight): plain.replace(machine=None, penalty=p) for weight, p in penalties.items()}
    return {soft_arm(0): plain, **softened, LOCAL: runs[LOCAL]}


def penalty_of(run: ScenesRun) -> dict[str, float | None]:
    """The weight of the penalty; none where the network is local by construction."""
    if run.network.kind == "local":
        return {"penalty": None}
    return {"penalty": run.penalty.weight if run.penalty else 0.0}


EXPERIMENT = Experiment(
    question="Does a plain network with a penalty on the influence of far labels draw more objects than trained on?",
    figure="beyond Bradley 2026",
    columns={**COLUMNS, "penalty": float},
    of_arm=penalty_of,
    budgets={
        "smoke": Budget(arms("smoke", 1), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(
            arms("laptop", 1), 1,
            "flat discs at 32 px, Exp 2 with two weights beside the runs of `length`, one seed, about ten minutes on "
            "two CPU cores",
        ),
        "full": Budget(
            arms("full", 2), 5,
            "scenes at 64 px, Exp 2 with two weights of five seeds beside the runs of `length`, on one GPU",
        ),
    },
    assumptions=(
        "The penalty is the mean square over far pixels, in units of the loss: at each noise level a change of D "
        "counts as an error of D does. Far is further than 2 cells, rows or columns, as for L_i in `locality`.",
        "The second place is one that another training image's label names, in another cell than the first. No "
        "image shows two labelled objects, but at high noise x does not say which of the two is the image's own, "
        "so two labels are trained indirectly, more than two are not.",
        "A network can also satisfy the penalty by ignoring second labels; then C is of what is left, and recall "
        "shows it.",
        "A penalised step computes each image twice and costs twice as much. Images seen are the same.",
        f"More than {BEYOND} labels are beyond training, since no image holds more objects.",
        "At laptop: 8 x 8 cells of 4 px, and far is further than one cell.",
    ),
)  # fmt: skip
