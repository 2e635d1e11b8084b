"""Yang et al. 2025, Sec 5: does a diffusion model swing by, and how does its learning slow down?

*World, split, model.* Those of concept-space/speed, radii 0.4 apart, colours 0.137 to 0.689 apart. *Measured.* Samples
of the held-out class small blue, placed by a classifier: (probability of blue, probability of small). Its error is the
mean squared distance to (1, 1). *Asked.* Does the error rise again while it is learned, in single runs and beyond what
the number of samples explains, as in the paper's smoothed mean? Does speed fall exponentially or as a power of time?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.instruments.shapes.classifier import ClassifierConfig
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_space.speed import experiment as speed
from recombine.studies.identity_mapping.diffusion import claims

if TYPE_CHECKING:
    import polars

COLORS = (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)  # the paper's
SIZE = 0.4


SEEN = (
    "Runs rise whatever the colour. With weak colour the error of 10 of 10 runs rises by more than 100 images an "
    "evaluation explain (S13), but so does that of all 20 runs with stronger colours, by about as much (0.38 and 0.34 "
    "of 1, S13w): training shakes them, and the first samples are noise that a classifier has to call "
    "something. Coordinates that only rise are too quiet a null for a network under training, so S13 alone is no "
    "Swing-by.",
    "The smoothed mean hardly rises: by 2% of its largest error with colours 0.137 apart, not at all at 0.247 (S13m; "
    "the paper shows up to 0.3, which seeds drawn again reach too). What is left of Swing-by is the path: with the "
    "weakest colour the class first turns small and red (P(blue) falls from 0.7 to 0.22 while P(small) rises to 0.9, "
    "8,000 to 30,000 images) and becomes blue after 100,000; with stronger colours the path bends less and less. Its "
    "error stands still there, it does not rise.",
    "Speed falls by a factor of about 280, and a power law says it better than an exponential in every run left out "
    "(S13s, S13e): the paper's Fig 6 shows a line over logarithmic time, its text calls the slowing exponential.",
    "Between 10,000 and 100,000 images 0.2 to 0.4 of the small blue samples hold no object (by the reader, which can "
    "say so), as in concept-space/speed; the classifier answers for them like for any other image.",
)


def _arms(config: RunConfig, colors: tuple[float, ...], judge: ClassifierConfig, images: int) -> dict[str, RunConfig]:
    base = override(
        config,
        {"world.size_separation": SIZE, "evaluation.classifier": judge.model_dump(),
         "evaluation.images_per_node": images},
    )  # fmt: skip
    return {f"c{color:g}": override(base, {"world.color_separation": color}) for color in colors}


def draw(table: polars.DataFrame, config: RunConfig) -> dict[str, Drawing]:
    """Paths, errors and speeds over training, as in Fig 6; single runs beside the smoothed mean."""
    from recombine.studies.identity_mapping.diffusion import figures

    return {
        "figure": Drawing(
            figures.over_training(table),
            "The held-out class in concept space: its path (a), its error over training (b) and its speed (c).",
        ),
        "runs": Drawing(
            figures.single_runs(table),
            "The error of every run beside the monotone curve nearest to it.",
        ),
    }


EXPERIMENT = Experiment(
    study="identity-mapping",
    name="diffusion",
    question="Does a diffusion model swing by on its way to an unseen combination, and how does it slow down?",
    figure="Yang et al. 2025, Fig 6 and App G",
    budgets={
        "smoke": Budget(
            _arms(speed.SMOKE, (0.247, 0.689), ClassifierConfig(steps=4), 4), 2, "seconds; proves the path"
        ),
        "laptop": Budget(
            _arms(speed.LAPTOP, (0.247, 0.689), ClassifierConfig(), 32), 1, "16 px, one seed, minutes on two CPU cores"
        ),
        "full": Budget(
            _arms(override(speed.FULL, {"evaluation.points": 40}), COLORS, ClassifierConfig(steps=600), 100),
            5,
            "32 px, six arms of five seeds, five minutes on one GPU",
        ),
    },
    claims=claims.DIFFUSION,
    draw=draw,
    notes=(
        *speed.EXPERIMENT.notes[:4],
        "The paper's error is that of the mean over seeds, smoothed over two evaluations, of 32 images; here also that "
        "of every run, unsmoothed, of 100 images, against a null model: coordinates that only rise, seen on as many "
        "images.",
        "Speed is the distance moved between evaluations of the path smoothed over 1.5 of them, as in the released "
        "code. The laws are compared by the likelihood of a run that the fit has not seen.",
        "Colours up to 0.3 apart count as weak. S13w was added after seeing that runs with strong colours rise too.",
    ),
    seen=SEEN,
)
