"""Beyond Liang et al. 2024: what of `compose` is only a matter of time?

*World, split, network.* Those of `compose`. *Arms.* 2D, 1D and 1D+rim trained three times as long, the rate falling as
much more slowly; 2D+1D is that of `compose`, which needs no more. *Measured.* The same. *Beside it.* The
nearest-label baseline of each training set.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import DATA
from recombine.studies.bumps.crossing.compose import experiment as compose


def arms(base: BumpsRun, times: int, names: tuple[str, ...], step: float) -> dict[str, Work]:
    """2D+1D of `compose`, and these of its arms so many times as long; their baselines."""
    more = {"training.images": times * base.training.images, "evaluation.first": times * base.evaluation.first}
    return compose.arms(base, ("2D+1D",), step) | compose.arms(override(base, more), names, step)


EXPERIMENT = Experiment(
    question="What do models of single stripes, or of crossings alone, still learn in three times the time?",
    figure="beyond Liang et al. 2024, Figs 4 and 10",
    budgets={
        "smoke": Budget(arms(compose.SMOKE, 2, ("2D", "1D", "1D+rim"), 1.0), 1, "seconds; proves the path"),
        "laptop": Budget(
            arms(compose.LAPTOP, 2, ("1D+rim",), 0.25), 1, "16 px, 1D+rim twice as long, one seed, on two CPU cores"
        ),
        "full": Budget(
            arms(compose.FULL, 3, ("2D", "1D", "1D+rim"), 0.25), 5, "32 px, three sets of five seeds, on one GPU"
        ),
    },
    columns=DATA,
    of_arm=compose.of_arm,
    assumptions=(
        "Asked after `compose` was judged: there 1D and 1D+rim were still rising when training ended.",
        "480,000 images at full, 160,000 for 2D+1D, which is that run of `compose`; all else is as there.",
    ),
)
