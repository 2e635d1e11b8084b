"""Beyond Liang et al. 2024: what do denoisers that were not trained compose and interpolate from the same data?

*World, split.* Crossing stripes at 16 px with a cross held out, as `compose` at laptop: 2D, 2D+1D, 1D. *Models.* The
nearest-label baseline: the optimal denoiser of the training set, which receives the label. The same with a wide kernel:
it blurs labels. Added scores: D(x | x place) + D(x | y place) - D(x). Local scores: every pixel from its 5 x 5 patch,
training images matched by the whole label, or by either of its numbers. *Asked.* Which of composing, interpolating and
answering with the nearest label follows from what a denoiser can use?
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_baselines import ExactModel
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import DATA, data_of
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.exact.claims import ADDED, BY_NUMBER, LOCAL, NEAREST, WIDE

FULL = ExactModel(
    world=compose.LAPTOP.world,
    split=compose.LAPTOP.split,
)
SMOKE = override(
    FULL,
    {"world.pixels": 8, "world.margin": 4, "split.step": 1.0, "split.held_out": {"kind": "cross", "low": 4, "high": 5},
     "evaluation.sampler.steps": 4},
)  # fmt: skip
SETS = ("2D", "2D+1D", "1D")
STEPS: dict[str, float] = {NEAREST: 0.25, WIDE: 0.25, ADDED: 0.25, LOCAL: 1.0, BY_NUMBER: 1.0}
"""From one label of the training set to the next: local scores compare every patch of every image."""


def arms(base: ExactModel, fine: bool) -> dict[str, Work]:
    """Every model on every training set."""
    return {
        f"{model} {data}": override(
            base, {**compose.PARTS[data], "model": model, **({"split.step": step} if fine else {})}
        )
        for model, step in STEPS.items()
        for data in SETS
    }


def of_arm(config: Any) -> dict[str, str]:
    """The denoiser of an arm and its training set."""
    return {"data": data_of(config.split), "model": config.model}


EXPERIMENT = Experiment(
    question="Do denoisers that were not trained compose or interpolate, and which?",
    figure="beyond Liang et al. 2024",
    budgets={
        "smoke": Budget(arms(SMOKE, False), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(FULL, True), 1, "16 px, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, True), 5, "16 px, five sampling seeds, minutes on a CPU"),
    },
    columns=DATA,
    of_arm=of_arm,
    assumptions=(
        "16 px, stripes of 0.75, x or y in [6, 11] held out: the first and the last of six held-out labels are less "
        "than a pixel from one that was seen, so the nearest label scores 2/6 for a coordinate and 4/36 for both.",
        "Seeds change the noise that sampling starts from, nothing else.",
        "Of stripes the fine estimate fits row and column profiles separately: it says where both stripes are, even if "
        "their crossing is not black.",
        "Summed scores are not the score of the noised product: added scores are an arithmetic, no exact answer.",
        "Local scores compare patches at the same place only; what translation would add is not asked here. Their "
        "labels are a whole pixel from each other, so that the nearest label scores nothing inside the hold-out.",
    ),
)
