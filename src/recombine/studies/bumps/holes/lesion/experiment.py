"""Liang et al. 2024, Fig. 11: how wide a gap in x can a model of bumps bridge?

*World.* A bump at (x, y) on a white square of 32 x 32. *Split.* A vertical band in the middle is held out, 1 to 10 px
wide; an arm for each width. *Model.* As in `compose`. *Measured.* Where the bump of a sample is: at every pixel, seen
or held out, and in 32 columns across the band, by how far inside they lie. *Beside it.* The nearest-label baseline,
which is less than a pixel off only in the outer pixel of each side: min(1, 2 / W) of the band.
"""

from typing import Any

from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.representations.learned_maps import MapSettings
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import build, override
from recombine.studies.bumps._shared.columns import BANDS, MAPS, MODELS
from recombine.studies.bumps._shared.nearest_label import baseline_of, model_of, nearest_label
from recombine.studies.bumps.crossing.compose import experiment as compose

WIDTHS = (1.0, 2.0, 3.0, 3.5, 4.0, 6.0, 8.0, 10.0)


def lesioned(base: BumpsRun, columns: int) -> BumpsRun:
    """The run of `compose` on bumps inside the image, asked across a band."""
    bumps = override(base, {"world.pattern": "bump", "world.margin": 0.0, "split.parts": ("2D",),
                            "split.held_out": {"kind": "band", "across": WIDTHS[0]}})  # fmt: skip
    asked = {**bumps.evaluation.model_dump(mode="json"), "kind": "bumps-band", "columns": columns,
             "map": MapSettings().model_dump()}  # fmt: skip
    return build(BumpsRun, {**bumps.model_dump(mode="json"), "evaluation": asked})


FULL = override(
    lesioned(compose.FULL, 32), {"training.images": 120_000, "evaluation.points": 2, "evaluation.first": 60_000}
)
LAPTOP = override(lesioned(compose.LAPTOP, 16), {"training.images": 80_000, "evaluation.points": 5})
SMOKE = override(
    lesioned(compose.SMOKE, 4), {"split.step": 0.5, "evaluation.sampler": SamplerConfig(steps=4).model_dump()}
)


def arms(base: BumpsRun, widths: tuple[float, ...]) -> dict[str, Work]:
    """A run for each width, and its nearest-label baseline."""
    runs = {f"W={width:g}": override(base, {"split.held_out.across": width}) for width in widths}
    return {**runs, **{baseline_of(arm): nearest_label(run) for arm, run in runs.items()}}


def of_arm(config: Any) -> dict[str, Any]:
    """The width of the band that was held out, and what answers."""
    return {"width": config.split.held_out.across, "model": model_of(config)}


EXPERIMENT = Experiment(
    question="How wide a gap in x can a model of bumps bridge?",
    figure="Liang et al. 2024, Fig. 11",
    budgets={
        "smoke": Budget(arms(SMOKE, (1.0, 2.0, 4.0)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, (1.0, 3.0, 6.0)), 1, "16 px, three widths, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, WIDTHS), 5, "32 px, eight widths of five seeds, on one GPU"),
    },
    columns={**BANDS, **MAPS, **MODELS, "width": float},
    of_arm=of_arm,
    assumptions=(
        "The band holds what is less than W / 2 away from x = 16.5, the middle of the image; labels on its edges are "
        "seen. The paper names W = 1, 3.5 and 8; the others are ours.",
        "Held-out pixels are those whose middle lies in the band: none for W = 1, and their distances from the edge "
        "jump with W, so that the nearest label is right in all of 2 for W = 2, none of 2 for W = 3 and half of 4 for "
        "W = 4. So the band is also asked for in 32 columns, evenly spaced from edge to edge, on every row; claims "
        "about what was never seen are about these.",
        "Labels of the training set are a tenth of a pixel from each other. By the fine estimate the nearest-label "
        "baseline is right where that is less than a pixel away: 2 / W of the band, a little less for W = 3.5, "
        "whose edges lie between labels. (Asked at tenths of a pixel alone it would be 1.8 / W.) The darkest pixel "
        "rounds to whole pixels on top of that; its baseline is drawn beside it.",
        "Every width sees 120,000 images, fewer than in `compose`: it is a sweep. Longer: "
        "`--set training.images=300000`.",
        "At laptop: 16 px, bumps of 0.75, a label every quarter of a pixel, W of 1, 3 and 6.",
    ),
)
