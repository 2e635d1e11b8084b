"""Yang et al. 2025, Figs 3, 13, 14 and 17: Swing-by, the loss at the unseen combination that falls, rises and falls.

*Data.* Flows: mu = (1, mu_2), sigma = 0.05 and a coordinate without a concept. Networks: the released data, see
`runs.identity.swing_by_networks`. *Model.* The exact flow of f = U U^T x with A and with the scripts' A^2, from
positive, Gaussian and wide Gaussian starts; small networks as released. *Computed.* In how many starts the probe's
loss rises, after a fall, by more than 0.1% of its largest (networks: 1%); whether the training loss falls all the
while; the bump that `theory.identity.bump` predicts. *Asked.* How often does it happen, for which gap, start, depth
and dimension?
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.swing_by import SwingByConfig
from recombine.runs.identity.swing_by_networks import SwingByNetsConfig
from recombine.runs.work import Work
from recombine.training.batched import DescentConfig
from recombine.training.batched_networks import NetConfig
from recombine.worlds.mixture import MixtureWorld

MOST_RELU = 200  # nets: they are trained on every point, and take ten times as long


def arms_of_nets(nets: int, large: int, epochs: int, every: int) -> dict[str, SwingByNetsConfig]:
    """The runs; the large ones, with `large` nets (linear: three times as many), only if there are to be any."""
    two, three = MixtureWorld(dimensions=2, **_RELEASED), MixtureWorld(dimensions=3, **_RELEASED)
    slow = DescentConfig(rate=0.01, epochs=epochs)
    triple = NetConfig(layers=3, width=3)
    small: dict[str, dict[str, Any]] = {
        "run 29": {"world": two.replace(rotated=True), "net": NetConfig(layers=4, width=4)},
        "run 26": {"world": three.replace(signals=(1.0, 2.0)), "net": triple},
        "run 27": {"world": three, "net": triple},
        "run 27 small": {"world": three, "net": triple.replace(scale=0.3)},
        "two layers": {"world": two, "net": NetConfig(layers=2, width=4)},
        "ReLU": {"world": three, "net": NetConfig(layers=2, width=16, activation="relu")},
    }
    arms = {}
    for name, parts in small.items():
        number = min(nets, MOST_RELU) if name == "ReLU" else nets
        arms[name] = SwingByNetsConfig(**parts, descent=slow, starts=number, datasets=number, every=every)
    if large:
        many = MixtureWorld(dimensions=64, rotated=True, **_RELEASED)
        single = many.replace(signals=(1.0, 2.0))
        fast = DescentConfig(rate=0.1, epochs=epochs)
        wide: dict[str, dict[str, Any]] = {
            "one layer d 64": {"world": single, "net": NetConfig(layers=1), "starts": 3 * large},
            "ReLU d 64": {"world": single, "net": NetConfig(layers=2, activation="relu"), "starts": large},
            "run 28": {"world": many, "net": NetConfig(layers=4), "starts": 3 * large},
        }
        for name, parts in wide.items():
            arms[name] = SwingByNetsConfig(**parts, descent=fast, datasets=large, every=2 * every)
    return arms


_RELEASED: dict[str, Any] = {"signals": (2.0, 4.0), "spreads": (0.05, 0.05), "spread_as": "variance", "origin": True}


def _arms(nets: int, large: int, epochs: int, every: int, **changes: Any) -> dict[str, Work]:
    flows = {"A": SwingByConfig(power=1, **changes), "A2": SwingByConfig(power=2, **changes)}
    return {**flows, **arms_of_nets(nets, large, epochs, every)}


EXPERIMENT = Experiment(
    question="How often, and where, does the loss at an unseen combination fall, rise and fall again?",
    figure="Yang et al. 2025, Figs 3, 13, 14, 17",
    budgets={
        "smoke": Budget(_arms(2, 0, 1, 10, starts=6, wide_starts=6, gaps=(1.5,), moments_kept=20), 1, "a few seconds"),
        "laptop": Budget(
            _arms(40, 0, 40, 4, starts=200, wide_starts=50, gaps=(1.1, 1.5, 2.0, 3.0)), 1, "half a minute"
        ),
        "full": Budget(_arms(500, 20, 40, 1), 1, "two minutes on two CPU cores; 1,000 flows a gap, 500 networks a run"),
    },
    columns={"gap": float, "start_law": str, "start": int, "level": str, "swings": bool, "concept": int, "time": float},
    assumptions=(
        "Arms A and A2: flows with A, and with the scripts' A^2, element by element. Time is that of gradient flow; of "
        "networks, epochs.",
        "The Gaussian start has the standard deviation 0.2; the wide one (64 columns) is scaled so that W(0) is as "
        "large. Unscaled it begins above the identity and bumps even less.",
        "500 networks a run, where 200 were counted before: S9r compares counts by Fisher's exact test at "
        "0.05 for all twelve, since those before are samples too.",
        "Rates found before (100 flows, 200 networks a run) are counts too, each with its exact interval.",
        "The counts to compare with give neither width nor signals of the two-layer nets: mu = (2, 4) and rate 0.01 "
        "are taken as in runs 27 and 29, and width 4 as in run 29.",
    ),
)
