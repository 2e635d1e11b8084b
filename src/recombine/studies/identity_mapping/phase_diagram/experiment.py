"""Beyond Yang et al. 2025: how likely is Swing-by? A phase diagram over tens of thousands of flows.

*Data.* Two concepts mu = (1, gap), spread 0.05; every other coordinate is idle, a = spread^2 as in the released script.
*Model.* The exact flow of f = U U^T x with A, or with A^2 as the released script has it; U has entries between 0 and
`scale` (positive), down to a quarter, a half or all of `scale` below 0, or normal ones. For depth, untied linear nets
of 2 to 4 matrices by descent on the population's loss. Each cell of the product of all lists has starts of its own.
*Measured.* In how many flows the probe's loss falls, rises by more than 0.1% of its largest and falls again; how high;
the same from the analytic curve of `theory.identity.bump`. *Judged.* How the share of bumps moves with the gap, the
start's scale and sign, the width of U, depth and dimension; whether the analytic curve says which start bumps.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.phase_diagram import COLUMNS, PhaseConfig, Sign

GAPS = (1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 3.0)
SCALES = (0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56)
WIDTHS = (2, 3, 4, 8, 16, 32, 64)
SIGNS: tuple[Sign, ...] = ("positive", "quarter", "half", "symmetric", "gaussian")
ENDS: tuple[Sign, ...] = ("positive", "gaussian")


def arms(
    grid: tuple[tuple[float, ...], tuple[float, ...], int],  # gaps, scales, starts a cell
    cut: tuple[tuple[float, ...], int],  # gaps, starts a cell
    widths: tuple[int, ...],
    dimensions: tuple[int, ...],
    patience: float,
    moments_kept: int,
) -> dict[str, PhaseConfig]:
    """The grids with A and A^2 (those with wide gaps, which take the longest, by themselves), and the cuts."""
    gaps, scales, cell = grid
    near, far = tuple(gap for gap in gaps if gap <= 2), tuple(gap for gap in gaps if gap > 2)
    along = PhaseConfig(gaps=cut[0], starts=cut[1])
    wide = {"widths": widths, "signs": ENDS, "gaps": tuple(gap for gap in cut[0] if gap <= 2)}
    large = {"dimensions": dimensions, "signs": ENDS, "gaps": (2.0,)}
    chosen = {
        "grid": PhaseConfig(gaps=gaps, scales=scales, starts=cell),
        "squared-far": PhaseConfig(power=2, gaps=far, scales=scales, starts=cell),
        "squared-near": PhaseConfig(power=2, gaps=near, scales=scales, starts=cell),
        "depth": along.replace(gaps=wide["gaps"], signs=ENDS, layers=(2, 3, 4), patience=patience),
        "sign": along.replace(signs=SIGNS),
        "width": along.replace(**wide),
        "width-even": along.replace(even=True, **wide),
        "dimension": along.replace(**large),
        "dimension-even": along.replace(even=True, **large),
    }
    return {name: config.replace(moments_kept=moments_kept) for name, config in chosen.items() if config.gaps}


EXPERIMENT = Experiment(
    question="When is Swing-by the rule, and when the exception?",
    figure="beyond Yang et al. 2025 (Fig 5, 17)",
    budgets={
        "smoke": Budget(arms(((1.1, 2.0), (0.02, 0.2), 5), ((2.0,), 5), (3, 16), (2, 3), 3, 200), 1, "seconds"),
        "laptop": Budget(
            arms(((1.1, 1.5, 2.0, 3.0), (0.01, 0.04, 0.2, 0.56), 25), ((1.5, 2.0), 40), (3, 64), (2, 8), 30, 500),
            1,
            "half a minute, on a CPU",
        ),
        "full": Budget(
            arms((GAPS, SCALES, 200), ((1.5, 2.0, 3.0), 300), WIDTHS, (2, 3, 4, 8, 16), 100, 1500),
            1,
            "minutes, on a CPU",
        ),
    },
    columns=COLUMNS,
    assumptions=(
        "A bump: the probe's loss falls, rises by more than 0.1% of its largest, and is no longer at its lowest.",
        "The gap is mu_2 / mu_1 with mu_1 = 1. `scale` is the largest entry of U (positive) or its standard deviation "
        "(gaussian). Even size divides by sqrt(width / 3), so that width does not also mean a larger start.",
        "Starts are drawn for each cell anew, the same for A and A^2: cells may be pooled and are compared as "
        "independent, which is on the safe side between A and A^2.",
        "A difference of two shares has the interval between the exact 97.5% intervals of both, so it covers with at "
        "least 95%. A trend holds if its ends differ so and no two neighbours clearly differ the other way.",
        "The rules were fixed before the cells were counted, knowing rates counted before; for depth a pilot of 200 "
        "nets at mu_2 = 2 had been looked at. Bumps of the concepts alone were counted after the first results, to "
        "explain PH8; no rule uses them.",
    ),
)
