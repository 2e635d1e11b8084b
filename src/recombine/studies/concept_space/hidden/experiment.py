"""Park et al. 2024: is a concept learned before it can be prompted for?

*World, split, model.* Those of `speed` with weak colour: separations 0.2 and 0.3, radii 0.4 apart. *Asked plainly*,
small blue circles come late and in some runs only. *Over-prompted*: the same, with a blue up to (.05, .05, .95).
*Steered*: in every block the part of the condition's signal that answers to strong blue is made longer, that of the
large size shorter. *Controls.* Colours as far off in random directions, green for blue, steering along random
directions; as many tries of each, the best chosen on one half of the samples and scored on the other.
"""

from recombine.instruments.shapes.hidden import HIDDEN_COLUMNS, HiddenEvaluation
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_space.speed import experiment as speed

COLORS = (0.2, 0.3)


def _arms(config: RunConfig, colors: tuple[float, ...], tries: int) -> dict[str, RunConfig]:
    plain = config.evaluation.model_dump(exclude={"kind"})
    base = config.replace(evaluation=HiddenEvaluation(**plain, tries=tries).model_dump())
    return {f"c{color:g}": override(base, {"world.color_separation": color}) for color in colors}


EXPERIMENT = Experiment(
    question="Can a model draw a held-out class before it does so when asked plainly?",
    figure="Park et al. 2024, over-prompting and latent intervention",
    columns=HIDDEN_COLUMNS | {"color_separation": float, "size_separation": float},
    of_arm=speed.separations,
    budgets={
        "smoke": Budget(_arms(speed.SMOKE, (0.3,), 4), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(_arms(speed.LAPTOP, (0.2,), 16), 1, "16 px, one seed, minutes on two CPU cores"),
        "full": Budget(_arms(speed.FULL, COLORS, 64), 5, "32 px, two arms of five seeds, minutes on one GPU"),
    },
    assumptions=(
        *speed.EXPERIMENT.assumptions[:3],
        "Accuracy is the reader's product for small blue. The paper takes the largest of five noisy scores; here the "
        "best prompt is chosen on one half of the samples and scored on the other.",
        "The size of the prompts is that of the class; the paper's over-prompts say 0.3 where the class has 0.25.",
        "The paper's network has a condition MLP in every block; here all blocks share an embedding, and each has "
        "one linear map, whose output is steered.",
    ),
)
