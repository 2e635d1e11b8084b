"""Liang et al. 2024, Fig 4g: do lone stripes and a few bumps teach a model bumps where it never saw one?

*World.* A bump at (x, y) on a white square of 32 x 32; labels reach 6 px beyond it, where a lone stripe is shown in
place of the bump. *Split.* A cross is held out: x in [13, 19], or y. Arms `stripes-100` and `stripes-20` see all lone
stripes and all, or a fifth, of the bumps that are left; `bumps-100` sees those bumps and no stripe. *Measured.* Where
the bump of samples is, at every pixel: x, y and both, by region. *Null.* The memoriser, with stripes and without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.memoriser import memoriser
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.compose_bumps import claims
from recombine.studies.bumps.crossing.compose_bumps.claims import LEAST, WITH, WITHOUT, named

if TYPE_CHECKING:
    import polars

ARMS = ((WITH, 100), (WITH, LEAST), (WITHOUT, 100))
PARTS = {WITH: ("2D", "1D"), WITHOUT: ("2D",)}


def arms(base: BumpsRun, null_step: float) -> dict[str, Work]:
    """A run for each training set, and the memorisers with stripes and without."""
    base = override(base, {"world.pattern": "bump+stripes"})
    runs = {
        named(kind, percent): override(base, {"split.parts": PARTS[kind], "split.share": percent / 100})
        for kind, percent in ARMS
    }
    nulls = {null_of(kind): memoriser(runs[named(kind, 100)], null_step) for kind in (WITH, WITHOUT)}
    return {**runs, **nulls}


def draw(table: polars.DataFrame, config: BumpsRun) -> dict[str, Drawing]:
    """Accuracy by region for each training set, and over training where none was seen."""
    from recombine.studies.bumps.crossing.compose_bumps import figures

    return {
        "figure": Drawing(
            figures.figure(table),
            "Where bumps are right, by region, for each training set; black lines: the memoriser. Bumps that were "
            "never seen over training.",
        )
    }


LAPTOP = override(compose.LAPTOP, {"training.images": 90_000, "evaluation.points": 4, "evaluation.first": 15_000})

SEEN = (
    "Stripes teach bumps, as the paper says: 0.74 of the places where no bump was seen are right (0.95 by the fine "
    "estimate) against 0.31 without stripes (0.52) and 0.26 of recall (CB1, CB3). What is right there is a bump: 0.97 "
    "of it, where least, and not two stripes that cross (CB1b), which the darkest pixel cannot tell apart.",
    "A fifth of the bumps does as well (0.78; CB2, by a hair).",
    "The ten runs with stripes were trained twice, the second time to count bumps; nothing else differed but the "
    "order of a GPU's sums (beside ten runs instead of sixteen). The first time they had 0.78 and 0.81, with seeds "
    "farther apart, and CB1 and CB2 were undecided: the verdicts of both are as sure as that.",
)

EXPERIMENT = Experiment(
    study="bumps",
    name="compose-bumps",
    question="Do lone stripes and few bumps teach a model bumps where it never saw one?",
    figure="Liang et al. 2024, Fig 4g",
    budgets={
        "smoke": Budget(arms(compose.SMOKE, 1.0), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, 0.25), 1, "16 px, three training sets, one seed, minutes on two CPU cores"),
        "full": Budget(arms(compose.FULL, 0.25), 5, "32 px, three training sets of five seeds, on one GPU"),
    },
    claims=claims.COMPOSE_BUMPS,
    draw=draw,
    seen=SEEN,
    notes=(
        "World, hold-out, network and training are those of `compose`; only what is shown inside the image differs. "
        "At full 15 runs of 160,000 images, as there.",
        "A bump outside of the image would be blank, so that a lone stripe is shown there, of half the contrast, as in "
        "the paper (Fig 9h). The stripe of a label just outside still shows its partner at the edge: the rim belongs "
        "to the stripes.",
        "A fifth of labels a tenth of a pixel apart, 20 to a square pixel, lie as close as all labels a quarter of a "
        "pixel apart, 16: the memoriser with those stands for both shares.",
        "Held-out accuracy is the mean over the two arms of the cross and where they meet, each counted once, as in "
        "`compose`; the paper does not say which of them its 70% is of.",
        "With stripes the memoriser is also right at the two ends of each arm, where the nearest label is a stripe "
        "whose partner just shows.",
        "At laptop: 16 px, bumps of 0.75, x or y in [6, 11] held out, labels a quarter of a pixel apart.",
    ),
)
