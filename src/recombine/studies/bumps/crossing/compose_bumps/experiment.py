"""Liang et al. 2024, Fig 4g: do lone stripes and a few bumps teach a model bumps where it never saw one?

*World.* A bump at (x, y) on a white square of 32 x 32; labels reach 6 px beyond it, where a lone stripe is shown in
place of the bump. *Split.* A cross is held out: x in [13, 19], or y. Arms `stripes-100` and `stripes-20` see all lone
stripes and all, or a fifth, of the bumps that are left; `bumps-100` sees those bumps and no stripe. *Measured.* Where
the bump of samples is, at every pixel: x, y and both, by region. *Beside it.* The nearest-label baseline, with
stripes and without.
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import MODELS, REGIONS
from recombine.studies.bumps._shared.nearest_label import baseline_of, model_of, sampled_nearest_label
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose_bumps.claims import SETS

COLUMNS: dict[str, type] = {**REGIONS, **MODELS, "stripes": bool, "share": float}


def arms(base: BumpsRun, step: float) -> dict[str, Work]:
    """A run for each training set, and the nearest-label baselines with stripes and without."""
    base = override(base, {"world.pattern": "bump+stripes"})
    runs = {
        arm: override(base, {"split.parts": ("2D", "1D") if stripes else ("2D",), "split.share": share})
        for arm, (stripes, share) in SETS.items()
    }
    nulls = {"stripes": runs["stripes-100"], "bumps": runs["bumps-100"]}
    return {**runs, **{baseline_of(name): sampled_nearest_label(run, step) for name, run in nulls.items()}}


def of_arm(config: Any) -> dict[str, Any]:
    """What an arm is trained on, and what answers there."""
    return {"stripes": "1D" in config.split.parts, "share": config.split.share, "model": model_of(config)}


LAPTOP = override(compose.LAPTOP, {"training.images": 90_000, "evaluation.points": 4, "evaluation.first": 15_000})

EXPERIMENT = Experiment(
    question="Do lone stripes and few bumps teach a model bumps where it never saw one?",
    figure="Liang et al. 2024, Fig 4g",
    budgets={
        "smoke": Budget(arms(compose.SMOKE, 1.0), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, 0.25), 1, "16 px, three training sets, one seed, minutes on two CPU cores"),
        "full": Budget(arms(compose.FULL, 0.25), 5, "32 px, three training sets of five seeds, on one GPU"),
    },
    columns=COLUMNS,
    of_arm=of_arm,
    assumptions=(
        "World, hold-out, network and training are those of `compose`; only what is shown inside the image differs. "
        "At full 15 runs of 160,000 images, as there.",
        "A bump outside of the image would be blank, so that a lone stripe is shown there, of half the contrast, as in "
        "the paper (Fig 9h). The stripe of a label just outside still shows its partner at the edge: the rim belongs "
        "to the stripes.",
        "A fifth of the labels, 20 to a square pixel, lie as close as those of a grid of a quarter of a pixel, 16: the "
        "baseline with those stands for both shares.",
        "Held-out accuracy is the mean over the two arms of the cross and where they meet, each counted once, as in "
        "`compose`; the paper does not say which of them its 70% is of.",
        "With stripes the baseline is also right at the two ends of each arm, where the nearest label is a stripe "
        "whose partner just shows.",
        "At laptop: 16 px, bumps of 0.75, x or y in [6, 11] held out, a label every quarter of a pixel.",
    ),
)
