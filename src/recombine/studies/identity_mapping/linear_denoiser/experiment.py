"""Beyond Yang et al. 2025: from identity mapping to diffusion, a linear conditional denoiser followed exactly.

*Data.* Two concepts mu = (1, gap); a denoiser gets x0 with noise sigma and is conditioned on the class, c = mu_p e_p,
or on the value, c = x0. *Model.* D = M x + K c, one layer from zero (closed form), or K = U U^T. Separate weights for
each level, one Theta for all levels inside EDM's preconditioning, or one (M, K) for all with M the best for the present
K. *Measured.* When each concept is learned at each sigma; the mean of what an Euler sampler makes of the unseen
condition xhat = sum_p mu_p e_p, exactly, over training; how often the weaker concept is gained and lost again there (a
retreat: Swing-by), beside the flow of identity mapping from the same U. *Judged.* Which concept comes first, at which
noise, under which condition; whether Swing-by reaches the samples, from which levels, and whether it is as frequent.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.linear_denoiser import COLUMNS, LinearDenoiserConfig, Model

SPREADS = ((0.05, 0.05), (0.3, 0.05), (0.6, 0.05), (1.0, 0.05), (1.2, 0.05), (1.25, 0.05), (1.6, 0.05), (2.0, 0.05))
"""Of the weaker concept, from narrow to wide; conditioned on the value, 1.226 makes both equal."""


def arms(
    starts: int, steps: int, gaps: tuple[float, ...], span: float, moments: int
) -> dict[str, LinearDenoiserConfig]:
    """The closed forms, and a gap of the deep denoisers an arm."""
    deep = LinearDenoiserConfig(asked="swing", starts=starts, steps=steps, span=span, moments=moments)
    every: tuple[Model, ...] = ("separate", "edm", "best")
    by_gap = {
        f"gap-{gap:g}": deep.replace(
            gaps=(gap,), models=every, shown=8 if gap == 2 else 0, step=0.05 if gap <= 2 else 0.025
        )
        for gap in gaps
    }
    return {
        "levels": LinearDenoiserConfig(asked="levels", spreads=SPREADS, steps=40),
        "order": LinearDenoiserConfig(asked="order", spreads=SPREADS, moments=2001),
        **by_gap,
        "gaussian": deep.replace(gaps=(2.0,), models=("edm",), sign="gaussian"),
    }


EXPERIMENT = Experiment(
    question="What is left of identity mapping in a denoiser that is conditioned on concepts, and in its samples?",
    figure="beyond Yang et al. 2025 (Sec. 5; what reviewers asked for)",
    budgets={
        "smoke": Budget(arms(6, 4, (2.0,), 10.0, 41), 1, "seconds"),
        "laptop": Budget(arms(60, 8, (1.5, 2.0, 3.0), 30.0, 151), 1, "half a minute, on a CPU"),
        "full": Budget(arms(400, 12, (1.1, 1.5, 2.0, 3.0), 30.0, 301), 1, "minutes, on a CPU"),
    },
    columns=COLUMNS,
    assumptions=(
        "Time is that of gradient flow.",
        "A retreat is how much of the weaker concept's share is lost again on the way, not counting what exceeds its "
        "last value: 0.05 and 0.01 are counted. A setback is a rise of the generated mean's loss by more than 0.1% of "
        "its largest; an overshoot makes one too, so Swing-by is judged by the retreat. With Gaussian starts a dip "
        "below the first value is a retreat as well, though nothing had been gained.",
        "Levels are those of the sampler (Karras et al.'s grid, 0.002 to 80), all with the same weight in training. "
        "edm: one Theta for all of them, M trained from zero. best: one (M, K), M always the best for the present K. "
        "separate: different weights at each level, M the best.",
        "A concept counts as learned at 0.8 of its target, as in the paper's order of concepts. The answer of a level "
        "to xhat is the mean over noise of D(xhat + sigma eps, xhat).",
        "The rules are not blind: they were written after pilots, of 2,000 starts with a coarser sampler and of 100 "
        "starts at mu_2 = 2 and three spreads with this one. None was changed after the run at full.",
    ),
)
