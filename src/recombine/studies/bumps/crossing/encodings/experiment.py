"""Beyond Liang et al. 2024: is "cannot interpolate" a property of models, or of the code of the label?

The paper's model receives sinusoids of x and y whose shortest period is 6.3 px: the codes of labels a few pixels from
each other share little, which by itself works against interpolation. *World, split, model.* Stripes and the cross of
`compose`, trained on 2D, and on 2D+1D as the control. *Varied.* What the network receives: the sinusoids of the paper
("raw"); sinusoids with no period below twice the label space ("long"); x and y as two numbers from -1 to 1 ("scalar");
each as an angle, one turn over the label space ("angles"). *Measured.* Where stripes are, by region and coordinate.
*Beside it.* The nearest-label baseline.
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_codes import HIDDEN, RAW, SCALAR, code_of, with_code
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import DATA
from recombine.studies.bumps._shared.nearest_label import baseline_of, sampled_nearest_label
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.encodings.claims import CODES, LEARNT


def arms(base: BumpsRun, sets: tuple[str, ...], codes: tuple[str, ...], step: float) -> dict[str, Work]:
    """A run for each training set and code, and the nearest-label baseline of each training set."""
    runs = {data: override(base, compose.PARTS[data]) for data in sets}
    made: dict[str, Work] = {f"{data} {code}": with_code(run, code) for data, run in runs.items() for code in codes}
    return made | {baseline_of(data): sampled_nearest_label(run, step) for data, run in runs.items()}


def of_arm(config: Any) -> dict[str, Any]:
    """The training set, what answers, and the code in which the network receives labels."""
    return {**compose.of_arm(config), "code": code_of(config) if isinstance(config, BumpsRun) else None}


EXPERIMENT = Experiment(
    question="Does 'cannot interpolate' survive other codes of the label?",
    figure="beyond Liang et al. 2024; the arms 2D and 2D+1D of Fig. 4",
    budgets={
        "smoke": Budget(
            arms(compose.SMOKE, ("2D", "2D+1D"), CODES, 1.0), 1,
            "seconds; proves the path, shows nothing",
        ),
        "laptop": Budget(
            arms(compose.LAPTOP, ("2D",), (RAW, SCALAR), 0.25), 1,
            "16 px, 2D, raw against scalar, one seed, minutes on two CPU cores",
        ),
        "full": Budget(
            arms(compose.FULL, ("2D", "2D+1D"), CODES, 0.25), 5,
            "32 px, two training sets, four encodings of five seeds, on one GPU; the raw ones are those of compose",
        ),
    },
    columns={**DATA, "code": str},
    of_arm=of_arm,
    assumptions=(
        "Raw is `compose` as it is: 64 sines and as many cosines of x, and of y, with periods from 6.3 px up, one "
        "linear map to every block. Long changes the periods alone: from 88 to 880 px at full, so that every sinusoid "
        "turns by half at most over the label space and neighbours look alike.",
        f"Scalar and angles enter by an MLP of {HIDDEN} hidden units for x and one for y, whose embeddings are summed: "
        "like the sinusoids they do not bind x to y before the blocks. So they differ from raw by a trained embedding "
        "too; long does not.",
        "An angle makes one turn over the 44 px of the label space, so its two ends have the same code; 2D has no "
        "labels near them.",
        "The coordinate that is held out, and both where the arms cross, are compared by the fine estimate; the "
        "darkest pixel asks for the exact pixel, which smooth codes learn later. EN1, which is the paper's, is by the "
        "darkest pixel as in `compose` (C2).",
        "An encoding that does not place what was seen says nothing about interpolation: EN1 to EN4 stay undecided "
        f"unless {LEARNT:g} of the seen labels are right by the fine estimate, mean over seeds.",
        "At laptop: as for compose; the raw arm is shared with it.",
    ),
)  # fmt: skip
