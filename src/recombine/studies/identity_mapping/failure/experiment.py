"""Yang et al. 2025, Fig 10: a map that seems to fail for good at a combination, and what becomes of it later.

*Data.* mu = (0.7, 1.7, 3), sigma = 0.05. *Model.* W = U U^T from U uniform in (0, 0.1), with A and the scripts' A^2:
by the exact flow on U, and as in the scripts, W by Euler's steps of 0.01, and of 0.001. *Computed.* When the weakest
concept is learned (w_11 at one half), over four times the time that is plotted; whether an Euler run ever has an
eigenvalue below zero, which no U U^T has, and whether it has learned the concept in the end. *Asked.* Does the flow
fail, and are the failures of Euler's steps those runs in which W stops being positive semidefinite?
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.failure import FailureConfig


def _arms(**changes: Any) -> dict[str, FailureConfig]:
    return {"A": FailureConfig(power=1, **changes), "A2": FailureConfig(power=2, **changes)}


EXPERIMENT = Experiment(
    question="Does a symmetric two-layer map ever fail for good at a combination?",
    figure="Yang et al. 2025, Fig 10",
    budgets={
        "smoke": Budget(_arms(starts=10, span=40.0, etas=(0.02,), moments_kept=20), 1, "a few seconds"),
        "laptop": Budget(_arms(starts=60, etas=(0.01,)), 1, "half a minute"),
        "full": Budget(_arms(), 1, "a minute on two CPU cores; 300 starts an arm"),
    },
    columns={"way": str, "eta": float, "at": str, "start": int, "quantile": float, "time": float},
    assumptions=(
        "Arm A2 has the scripts' A^2, element by element, in the place of A.",
        "Time is the scripts' (twice that of gradient flow); the paper's figure ends at 100. A start has escaped when "
        "w_11 reaches 0.5.",
        "W has lost semidefiniteness where an eigenvalue is below -1e-9; observed every 0.2 of time.",
    ),
)
