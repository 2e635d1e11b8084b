"""Yang et al. 2025, Figs 8 and 9: with three and four concepts the loss at the probe may fall three and four times.

*Data.* Triple: mu = (1, 1.5, 2.2) with sigma = 0.05 as in the text, mu = (1, 1.7, 2.25) with sigma = (0.5, 0.25, 0.25)
as in the script. Quadruple: mu = (1, 1.5, 2.2, 2.7), sigma = 0.05 in the script, the last one 0.5 in the text.
*Model.* W = U U^T from U uniform in (0, 0.1), moved as in the scripts (W by Euler's step of 0.01, 10,000 of them), and
by the exact flow on U over the same time; with A and with the scripts' A^2. *Computed.* How often the loss at the
probe falls, counting only rises above 0.1% of its largest; Euler runs that diverge are cut first. *Asked.* How many
starts have it?
"""

from typing import Any, Literal

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.descents import DescentsConfig

SETTINGS: dict[str, dict[str, Any]] = {
    "triple": {"signals": (1.0, 1.5, 2.2), "spreads": (0.05, 0.05, 0.05)},
    "triple script": {"signals": (1.0, 1.7, 2.25), "spreads": (0.5, 0.25, 0.25)},
    "quadruple": {"signals": (1.0, 1.5, 2.2, 2.7), "spreads": (0.05, 0.05, 0.05, 0.5)},
    "quadruple script": {"signals": (1.0, 1.5, 2.2, 2.7), "spreads": (0.05, 0.05, 0.05, 0.05)},
}


def _arms(**changes: int) -> dict[str, DescentsConfig]:
    powers: dict[str, Literal[1, 2]] = {"A": 1, "A2": 2}
    return {
        f"{name} {short}": DescentsConfig(power=power, **setting, **changes)
        for name, setting in SETTINGS.items()
        for short, power in powers.items()
    }


EXPERIMENT = Experiment(
    question="How often does the loss at the combination of three or four concepts fall three or four times?",
    figure="Yang et al. 2025, Figs 8, 9",
    budgets={
        "smoke": Budget(_arms(starts=8, steps=600, keep=10, moments_kept=30), 1, "a few seconds"),
        "laptop": Budget(_arms(starts=100), 1, "half a minute"),
        "full": Budget(_arms(), 1, "a minute on two CPU cores; 1,000 starts an arm"),
    },
    columns={"concepts": int, "way": str, "falls": int, "time": float},
    of_arm=lambda config: {"concepts": config.wanted},
    assumptions=(
        "Arms end in A, or in A2 for the scripts' A^2, element by element. d is the number of concepts.",
        "Time is the scripts' (twice that of gradient flow).",
        "Shares are of all starts: an Euler run that diverges is cut and has no descents. It is cut where it is not "
        "finite or ends above twice its first loss.",
    ),
)
