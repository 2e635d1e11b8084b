"""Yang et al. 2025, Figs 5, 17 and 18: the stages in which a symmetric two-layer map learns two concepts.

*Data.* mu = (1, 1.5), sigma = 0.05, and a third coordinate without a concept. *Model.* The exact flow of f = U U^T x,
W = U U^T, from the released start, with A and with the scripts' A^2. *Computed.* W' by automatic differentiation of the
loss in U, against growth G, suppression S and noise N of every entry; when the diagonal entries (majors) reach 0.8,
when the entry between the two concepts (their minor) is largest and when it has fallen to half of that. *Asked.* Is
W' = 2 (G - S - N), and is the stronger concept learned first, its minor suppressed next, the weaker concept last?
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.stages import StagesConfig


def _arms(**changes: int) -> dict[str, StagesConfig]:
    return {"A": StagesConfig(power=1, **changes), "A2": StagesConfig(power=2, span=20.0, **changes)}


EXPERIMENT = Experiment(
    question="In which order do the entries of a symmetric two-layer map come and go?",
    figure="Yang et al. 2025, Figs 5, 17, 18",
    budgets={
        "smoke": Budget(_arms(starts=20, moments_kept=20), 1, "a second"),
        "laptop": Budget(_arms(starts=200), 1, "seconds"),
        "full": Budget(_arms(), 1, "seconds, on a CPU; 500 starts an arm"),
    },
    columns={"start": int, "stage": str, "i": int, "j": int, "quantile": float, "time": float},
    assumptions=(
        "Arm A2 has the scripts' A^2, element by element, in the place of A.",
        "Time is that of gradient flow on 1/2 E|f(x) - x|^2; the scripts' clock shows twice as much, as they step W by "
        "G - S - N without the 2.",
        "A major is learned at 0.8, a minor suppressed at half of its peak. One start is start 0, not a chosen one.",
    ),
)
