"""Liang et al. 2024, Fig. 12: a square of labels is held out, in the middle of the image or in its corner.

*World.* A bump, or two crossing stripes, at (x, y) on a white square of 32 x 32. *Split.* W x W pixels are held out,
inside (seen all around) or at the corner (seen on two sides). Every row and every column of labels is still seen
elsewhere: two stripes are the sum of what was seen, a bump is its product. *Model.* As in `compose`. *Measured.* Where
bumps are, and where stripes cross, at every pixel. *Null.* Recall of the nearest label, which is less than a pixel off
in the outer ring of pixels alone: 1 - ((W - 2) / W)^2 inside, 1 - ((W - 1) / W)^2 at the corner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.recall import recall
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.holes.squares import claims as claims_squares

if TYPE_CHECKING:
    import polars

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
    """A run for each pattern, place and side, and its recall."""
    runs = {
        claims_squares.arm_of(pattern, place, side): override(
            base, {"world.pattern": pattern, "split.held_out.side": side, "split.held_out.at": place}
        )
        for pattern in claims_squares.PATTERNS
        for place in claims_squares.PLACES
        for side in sides
    }
    return {**runs, **{null_of(arm): recall(run) for arm, run in runs.items()}}


def draw(table: polars.DataFrame, config: BumpsRun) -> dict[str, Drawing]:
    """Held-out accuracy over the side of the square, for both patterns and both places."""
    from recombine.studies.bumps.holes.squares import figures

    return {
        "figure": Drawing(
            figures.over_side(table, config),
            "Bumps and stripes that are right in a square that was held out, over its side, in the middle of the image "
            "and in its corner; beside recall of the nearest label.",
        )
    }


SEEN = (
    "Bumps are composed too. Inside, squares of 4, 8 and 16 px are filled with bumps as with stripes (fine estimate: "
    "1.00, 1.00, 0.99; recall 0.75, 0.44, 0.23), up to 8 px from the nearest that was seen, where bands whose columns "
    "were never seen are filled as far as 2 px (`lesion`). So it is not how far the nearest bump was: here each row "
    "and each column was seen, to both sides of the square. By the darkest pixel the largest square has 0.88.",
    "At the corner, where rows and columns were seen on one side, bumps fall, as the paper says (S1: 0.99, 0.91, "
    "0.51), and stripes hardly do (1.00, 1.00, 0.98). The paper's rule for stripes, by the darkest pixel, is met on "
    "the mean and undecided by its interval (S3: 0.82). S2n is undecided as well: over the three sides bumps inside "
    "are ahead of those at the corner by 0.19, recall by 0.21.",
)

EXPERIMENT = Experiment(
    study="bumps",
    name="squares",
    question="Is a hole in the middle of what was seen filled better than one at its corner, by bumps and by stripes?",
    figure="Liang et al. 2024, Fig. 12",
    budgets={
        "smoke": Budget(arms(SMOKE, (2, 4)), 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget(arms(LAPTOP, (6,)), 1, "16 px, squares of 6, one seed, minutes on two CPU cores"),
        "full": Budget(arms(FULL, SIDES), 5, "32 px, three sides, two places, two patterns of five seeds, on one GPU"),
    },
    claims=claims_squares.SQUARES,
    draw=draw,
    seen=SEEN,
    notes=(
        "A square of side W holds W x W middles of pixels: x and y less than W / 2 away from 16.5, or below W + 0.5 at "
        "the corner, which is the upper left one; labels on its edges are seen. The paper does not list its sides; "
        "W = 2, 6, 10, 12 and 14 were left out for the cost.",
        "Stripes have no labels outside of the image here: each is seen with partners outside of the square only.",
        "Recall answers with the nearest label, a tenth of a pixel from the next. By the fine estimate it scores the "
        "closed forms exactly. The labels on the edges lie half-way between two pixels, and the darkest pixel is "
        "the first of two: inside, recall is then right in half of the ring. So claims are by the fine estimate, but "
        "for S3 and S4, which are the paper's.",
        "Inside, recall has twice as much ring as at the corner: that bumps are better inside is expected of a machine "
        "that cannot fill a hole. S2 is what the paper says, S2n what is left of it when recall is taken off.",
        "Every arm sees 120,000 images, fewer than in `compose`: it is a sweep of 60 runs. Longer: "
        "`--set training.images=300000`.",
        "At laptop: 16 px, widths of 0.75, labels a quarter of a pixel apart, W = 6.",
    ),
)
