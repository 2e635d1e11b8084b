"""Yang et al. 2025, Figs 15 and 16: does the answer to the probe depend on a few training points near it?

*Data.* Two concepts and the origin in 64 dimensions, as released; then the same points, but those within min(mu) / 2 of
the probe drawn again until they are outside; and, as a yardstick, other points of the same law. *Model.* One linear
layer with a bias, and two layers with ReLU. *Computed.* How many points lie inside at all; for each start, the largest
distance between the two paths of f(probe), over |probe|, and how much later a concept is learned; the same between two
sets of points of the same law. *Asked.* Is the path the same, and is it where truncation takes something away?
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.truncation import TruncationConfig


def arms(like: TruncationConfig, relu: int, epochs: int) -> dict[str, TruncationConfig]:
    """The labelled and the released sigma, and where truncation bites: wide clusters, weak signals; one with ReLU."""
    settings: dict[str, dict[str, Any]] = {
        "label": {"spread_as": "deviation"},
        "released": {},
        "wide": {"spreads": (0.5, 0.5)},
        "weak": {"signals": (0.5, 1.0), "spreads": (0.5, 0.5)},
        "round": {"signals": (2.0, 2.0), "spreads": (1.0, 1.0)},
    }
    found = {name: like.replace(world=like.world.replace(**change).model_dump()) for name, change in settings.items()}
    nets = {"layers": 2, "activation": "relu", "width": like.world.dimensions}
    descent = like.descent.replace(epochs=epochs).model_dump()
    small = {"net": nets, "descent": descent, "starts": relu, "datasets": min(2, relu)}
    return {**found, "wide relu": found["wide"].replace(**small)}


LAPTOP = TruncationConfig(
    world=TruncationConfig().world.replace(dimensions=16), count=1_250, starts=40, datasets=2, every=6
)

EXPERIMENT = Experiment(
    question="Does the answer to the probe depend on the few training points that lie near it?",
    figure="Yang et al. 2025, Figs 15 and 16",
    budgets={
        "smoke": Budget(arms(TruncationConfig(count=100, starts=6, datasets=2), 5, 2), 1, "seconds; proves the path"),
        "laptop": Budget(arms(LAPTOP, 10, 20), 1, "40 starts in 16 dimensions, seconds"),
        "full": Budget(arms(TruncationConfig(), 20, 12), 1, "200 starts, two minutes on two CPU cores"),
    },
    columns={"start": int, "dataset": int, "point": int, "inside": bool, "points": str, "concept": int, "epoch": float},
    assumptions=(
        "An epoch is 118 steps.",
        "label: sigma 0.05 as a standard deviation, as figures are labelled; released: as a variance, as the code has "
        "it. wide: variance 0.5; weak: the same with mu (0.5, 1); round: mu (2, 2), variance 1.",
        "A point inside is drawn again; all others, their order and the start are the same, so that paths differ by "
        "truncation alone. Redrawn: the same start, all points drawn anew, none cut.",
        "Unchanged means: the largest distance between the two paths of a start is below 5% of |probe|. A path "
        "can be the same and be walked later: S11t and S11u, added after a first run, hold the times to the same 5%.",
        "S11p, also added, compares the delay with that of the affine form on the truncated points' own second "
        "moments. Intervals are over starts; there are four datasets, as the bands of starts show.",
    ),
)
