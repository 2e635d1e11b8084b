"""Bradley 2026, Fig 2 left and its plot of metrics: on which pixels and labels does a model's answer depend?

*Models.* Those of `length` that were trained on 1 to 3 objects, measured while they train. *Prompts.* Scenes with four
labels. *Measured.* At the pixels of the four objects, at noise levels of the model's own trajectory: P_r, the share of
the gradient to the image that lies within r cells; C, the share of the labels' influence that comes from labels within
2 cells, by taking a label out, by moving it, and by the gradient to it. *Known answers.* The exact local-score machine
of a set of discs, and its global limit, which memorizes.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.local_machine import MachineLocality
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.local_scores._shared.label_recall import COLUMNS
from recombine.studies.local_scores.length.arms import EXPERIMENTS, experiments, variants_and_controls
from recombine.studies.local_scores.locality.claims import GLOBAL_MACHINE, LOCAL_MACHINE

MACHINES: dict[str, Work] = {LOCAL_MACHINE: MachineLocality(), GLOBAL_MACHINE: MachineLocality(radius=None)}
SMOKE_MACHINES: dict[str, Work] = {
    name: override(machine, {"world.pixels": 16, "split.images": 20, "sampler.steps": 2, "probe.prompts": 1,
                             "probe.gradients": 1})
    for name, machine in MACHINES.items()
}  # fmt: skip

EXPERIMENT = Experiment(
    question="Which models depend on near pixels and near labels alone: those that draw more objects than trained on?",
    figure="Bradley 2026, Fig 2 left and its plot of metrics",
    columns=COLUMNS,
    budgets={
        "smoke": Budget(
            {**experiments("smoke", EXPERIMENTS), **variants_and_controls("smoke"), **SMOKE_MACHINES}, 1,
            "seconds; proves the path, shows nothing",
        ),
        "laptop": Budget(
            {**experiments("laptop", ("1", "2", "2L")), **MACHINES}, 1,
            "flat discs at 32 px, Exps 1, 2 and 2L, one seed, the runs of length",
        ),
        "full": Budget(
            {**experiments("full", EXPERIMENTS), **variants_and_controls("full"), **MACHINES}, 5,
            "scenes at 64 px, five experiments of five seeds, two controls and six variants, the runs of length",
        ),
    },
    assumptions=(
        "The paper's formulas are not known. Ours, of the denoiser D and not of the score, whose -1 / sigma^2 at "
        "the pixel itself would hide the rest: P_r is the share of |dD_i/dx_k| that lies within r cells of pixel "
        "i; C the share of the change of D_i, over all conditions, that comes from conditions within 2 cells of "
        "the pixel's.",
        "x is a point on the model's own trajectory while it draws four labels: a model trained with one label an "
        "image has no real images of four labelled objects. The noise levels are the middles of eight equal parts "
        "of the sampling grid.",
        "Pixels are those at the centres of the four labelled objects, the means over them; the paper shows one.",
        "Taking a label out can lead to a label that never occurred in training. So a label is also moved, to the "
        "place of another layout that is farthest from all others, and the gradient to the label is taken.",
        "C over all noise levels is weighted by how much labels matter at each; P is the plain mean. Chance of C "
        "is the share of labels that are near, of P_r the share of the image within r. C above chance is no proof "
        "of locality: a label changes the pixels at its own place most, whatever else it does. C of 1 is.",
        "The exact machines hold 500 images of discs of 32 px; where no image agrees with the labels of a "
        "receptive field, those with the fewest disagreeing cells count.",
    ),
)  # fmt: skip
