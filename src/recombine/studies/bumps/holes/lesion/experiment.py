"""Liang et al. 2024, Fig. 11: how wide a gap in x can a model of bumps bridge?

*World.* A bump at (x, y) on a white square of 32 x 32. *Split.* A vertical band in the middle is held out, 1 to 10 px
wide; an arm for each width. *Model.* As in `compose`. *Measured.* Where the bump of a sample is: at every pixel, seen
or held out, and in 32 columns across the band, by how far inside they lie. *Null.* Recall of the nearest label, which
is less than a pixel off only in the outer pixel of each side: min(1, 2 / W) of the band.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.diffusion.samplers import SamplerConfig
from recombine.instruments.representations.learned_maps import MapSettings
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import build, override
from recombine.studies.bumps._shared.recall import recall
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.holes.lesion import claims as claims_lesion

if TYPE_CHECKING:
    import polars

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
    """A run for each width, and its recall."""
    runs = {claims_lesion.arm_of(width): override(base, {"split.held_out.across": width}) for width in widths}
    return {**runs, **{null_of(arm): recall(run) for arm, run in runs.items()}}


def draw(table: polars.DataFrame, config: BumpsRun) -> dict[str, Drawing]:
    """Accuracy over the width of the band, by region and by depth."""
    from recombine.studies.bumps.holes.lesion import figures

    return {
        "figure": Drawing(
            figures.over_width(table, config),
            "Bumps that are right where they were seen, where they were not and overall, over the width of the band "
            "that was held out; and how far inside a band they still are.",
        ),
        "maps": Drawing(figures.maps(table), "What a block holds of every place, for bands of three widths."),
    }


SEEN = (
    "A band is filled as long as no place in it is more than 2 px from a bump that was seen: all of it up to W = 3.5, "
    "0.94 at W = 4. Wider ones are filled from both sides, half of what is asked for at 1.5 px from the nearest bump, "
    "next to nothing beyond 2.5. At W = 10 recall explains nearly all of it (0.24 against 0.19 to 0.20); L2n is "
    "undecided (0.06 beyond recall's reach, up to 0.107 by its interval, where 0.1 is asked for).",
    "L1 and L3 are undecided: the fall is steep between 4 and 6 px (half of it in one step, 0.45 to 0.73), which the "
    "paper calls gradual, and up to 3.5 px there is no fall to be ranked.",
    "The code of the label has the same reach: the distance between two of the paper's sinusoids grows over the first "
    "4 px, as wide as the widest band that is bridged, and hardly beyond (`encodings`, panel a).",
)

EXPERIMENT = Experiment(
    study="bumps",
    name="lesion",
    question="How wide a gap in x can a model of bumps bridge?",
    figure="Liang et al. 2024, Fig. 11",
    budgets={
        "smoke": Budget(arms(SMOKE, (1.0, 2.0, 4.0)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, (1.0, 3.0, 6.0)), 1, "16 px, three widths, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, WIDTHS), 5, "32 px, eight widths of five seeds, on one GPU"),
    },
    claims=claims_lesion.LESION,
    draw=draw,
    seen=SEEN,
    notes=(
        "The band holds what is less than W / 2 away from x = 16.5, the middle of the image; labels on its edges are "
        "seen. The paper names W = 1, 3.5 and 8; the others are ours.",
        "Held-out pixels are those whose middle lies in the band: none for W = 1, and their distances from the edge "
        "jump with W, so that recall is right in all of 2 for W = 2, none of 2 for W = 3 and half of 4 for W = 4. "
        "So the band is also asked for in 32 columns, evenly spaced from edge to edge, on every row; claims about what "
        "was never seen are about these.",
        "Recall answers with the nearest label of the training set, a tenth of a pixel from the next. By the fine "
        "estimate it is right where that is less than a pixel away: 2 / W of the band, a little less for W = 3.5, "
        "whose edges lie between labels. (Asked at tenths of a pixel alone it would be 1.8 / W.) The darkest pixel "
        "rounds to whole pixels on top of that; its own recall is drawn beside it.",
        "Every width sees 120,000 images, fewer than in `compose`: it is a sweep. Longer: "
        "`--set training.images=300000`.",
        "At laptop: 16 px, bumps of 0.75, labels a quarter of a pixel apart, W of 1, 3 and 6.",
    ),
)
