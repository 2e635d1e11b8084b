"""Liang et al. 2024, Fig. 12: a square of labels is held out, in the middle of the image or in its corner.

*World.* A bump, or two crossing stripes, at (x, y) on a white square of 32 x 32. *Split.* W x W pixels are held out,
inside (seen all around) or at the corner (seen on two sides). Every row and every column of labels is still seen
elsewhere: two stripes are the sum of what was seen, a bump is its product. *Model.* As in `compose`. *Measured.* Where
bumps are, and where stripes cross, at every pixel. *Beside it.* The nearest-label baseline, which is less
than a pixel off in the outer ring of pixels alone: 1 - ((W - 2) / W)^2 inside, 1 - ((W - 1) / W)^2 at the corner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import MODELS, REGIONS
from recombine.studies.bumps._shared.nearest_label import baseline_of, model_of, nearest_label
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.holes.squares.claims import PATTERNS, PLACES

if TYPE_CHECKING:
    from recombine.runs.bumps import BumpsRun

SIDES = (4, 8, 16)
INSIDE: dict[str, object] = {
    "world.margin": 0.0, "split.parts": ("2D",), "split.held_out": {"kind": "square", "side": SIDES[0]},
}  # fmt: skip
FULL = override(
    compose.FULL, {**INSIDE, "training.images": 120_000, "evaluation.points": 2, "evaluation.first": 60_000}
)
LAPTOP = override(compose.LAPTOP, {**INSIDE, "training.images": 90_000, "evaluation.points": 4})
SMOKE = override(compose.SMOKE, {**INSIDE, "split.step": 0.5})


def arms(base: BumpsRun, sides: tuple[int, ...]) -> dict[str, Work]:
    """A run for each pattern, place and side, and its nearest-label baseline."""
    runs = {
        f"{pattern} {place} W={side}": override(
            base, {"world.pattern": pattern, "split.held_out.side": side, "split.held_out.at": place}
        )
        for pattern in PATTERNS
        for place in PLACES
        for side in sides
    }
    return {**runs, **{baseline_of(arm): nearest_label(run) for arm, run in runs.items()}}


def of_arm(config: Any) -> dict[str, Any]:
    """The square that was held out, of what it holds, and what answers."""
    square = config.split.held_out
    return {"pattern": config.world.pattern, "place": square.at, "side": square.side, "model": model_of(config)}


EXPERIMENT = Experiment(
    question="Is a hole in the middle of what was seen filled better than one at its corner, by bumps and by stripes?",
    figure="Liang et al. 2024, Fig. 12",
    budgets={
        "smoke": Budget(arms(SMOKE, (2, 4)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, (6,)), 1, "16 px, squares of 6, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, SIDES), 5, "32 px, three sides, two places, two patterns of five seeds, on one GPU"),
    },
    columns={**REGIONS, **MODELS, "pattern": str, "place": str, "side": float},
    of_arm=of_arm,
    assumptions=(
        "A square of side W holds W x W middles of pixels: x and y less than W / 2 away from 16.5, or below W + 0.5 at "
        "the corner, which is the upper left one; labels on its edges are seen. The paper does not list its sides; "
        "W = 2, 6, 10, 12 and 14 were left out for the cost.",
        "Stripes have no labels outside of the image here: each is seen with partners outside of the square only.",
        "Labels are a tenth of a pixel from each other. By the fine estimate the nearest-label baseline scores the "
        "closed forms exactly. The labels on the edges lie half-way between two pixels, and the darkest pixel is "
        "the first of two: inside, the baseline is then right in half of the ring. So claims are by the fine estimate, "
        "but for SQ3 and SQ4.",
        "Inside, the baseline has twice as much ring as at the corner: that bumps are better inside is expected of "
        "a model that cannot fill a hole. SQ2 is what the paper says, SQ2n what is left of it beyond the baseline.",
        "Every arm sees 120,000 images, fewer than in `compose`: it is a sweep of 60 runs. Longer: "
        "`--set training.images=300000`.",
        "At laptop: 16 px, widths of 0.75, a label every quarter of a pixel, W = 6.",
    ),
)
