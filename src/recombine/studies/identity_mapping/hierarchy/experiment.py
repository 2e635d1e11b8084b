"""Yang et al. 2025, Fig 7: is a combination of concepts never learned before its parts?

*Data.* Four clusters at mu_p e_p, mu = (1, 2, 3, 4), variance 0.5 along each concept, in 64 dimensions, 5,000 points
each; with and without a cluster at the origin. *Model.* One linear layer, as in the released code, and two layers with
ReLU, as in the caption; with biases, as released, and without, as in the theory; PyTorch's start. *Measured.* The
squared error |f(x) - x|^2 at the 16 probes sum_p v_p mu_p e_p, and for the 65 pairs u < v (every concept of u is in v)
whether u has no larger one; the same for the linear layer from rest in closed form. *Judged.* Whether the order of the
lattice holds after 1, 3 and 5 epochs.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.hierarchy import COLUMNS, HierarchyConfig
from recombine.training.batched_networks import NetConfig


def arms(like: HierarchyConfig) -> dict[str, HierarchyConfig]:
    """A layer and two with ReLU; each as it is, with a cluster at the origin, and without biases."""
    found = {}
    for name, net in {"linear": NetConfig(layers=1), "relu": NetConfig(layers=2, activation="relu")}.items():
        found[name] = like.replace(net=net.model_dump())
        found[f"{name} origin"] = found[name].replace(world=like.world.replace(origin=True).model_dump())
        found[f"{name} no bias"] = found[name].replace(net=net.replace(bias=False).model_dump())
    return found


LAPTOP = HierarchyConfig(world=HierarchyConfig().world.replace(dimensions=16), count=1_250, starts=40, datasets=2)

EXPERIMENT = Experiment(
    question="Is a combination of concepts never learned before its parts?",
    figure="Yang et al. 2025, Fig 7",
    budgets={
        "smoke": Budget(arms(HierarchyConfig(count=50, starts=6, datasets=2)), 1, "a second; proves the path"),
        "laptop": Budget(arms(LAPTOP), 1, "40 starts in 16 dimensions, seconds"),
        "full": Budget(arms(HierarchyConfig()), 1, "200 starts, a minute on two CPU cores"),
    },
    columns=COLUMNS,
    assumptions=(
        "The caption says two layers with ReLU, the released run has one linear layer: both are arms. Whether that run "
        "has a cluster at the origin, as the two-dimensional ones do, is not known: both are arms.",
        "All 65 pairs of the lattice count, those with the empty combination (the origin) among them. Errors are not "
        "clipped before they are compared; the colours are, at 1, as in the paper.",
        "The paper gives no tolerance; the claim is judged by the share of pairs in order, a start, above 0.95. The "
        "claims S10b to S10h (no biases, no empty combination, ties left out) were added after S10 failed.",
    ),
)
