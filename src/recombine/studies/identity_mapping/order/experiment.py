"""Yang et al. 2025, Fig 2: which of two concepts is learned first, and do the closed forms say when?

*Data.* Clusters at mu_1 e_1, mu_2 e_2 and the origin in 64 dimensions, 5,000 points each, as the released code makes
them. *Model.* One linear layer with a bias, as released, and without, as in Theorem 4.1; four linear layers; a small
start on full batches. *Computed.* The answer to the probe mu_1 e_1 + mu_2 e_2 over training; when each coordinate is at
80% of its target; the same from the closed forms, W(t) without a bias and the affine one with it; the closed forms
against an integration that shares no line with them. *Asked.* Is the concept with the larger a_k = mu_k^2 / clusters +
var_k first, does the order flip where the two are equal, and is the time predicted?
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity.order import OrderConfig


def columns(config: OrderConfig) -> dict[str, str | float]:
    """What an arm is, in columns."""
    name = ("" if config.net.scale == 1 else "small-") + ("bias" if config.net.bias else "no-bias")
    (one, two), (variance, _) = config.world.signals, config.world.spreads
    return {"net": name if config.net.layers == 1 else "deep", "mu_1": one, "mu_2": two, "variance": variance}


def arms(
    like: OrderConfig, variances: tuple[float, ...], fine: tuple[float, ...], deep: int, flips: int
) -> dict[str, OrderConfig]:
    """The released sweeps of mu and var_1, a finer one about the flip, the same without a bias, small, and deep."""
    found: dict[str, OrderConfig] = {}

    def add(name: str, signals: tuple[int, int], variance: float, epochs: int, **changes: object) -> None:
        net, descent = like.net.replace(bias="no-bias" not in name), like.descent.replace(epochs=epochs)
        world = like.world.replace(signals=signals, spreads=(variance, 0.05))
        base = like.replace(world=world.model_dump(), net=net.model_dump(), descent=descent.model_dump())
        found[f"{name}/mu={signals[0]},{signals[1]}/var={variance:g}"] = base.replace(**changes)

    for variance in variances:
        add("bias", (1, 2), variance, 40, flips=flips if variance == variances[0] else 0)
    for signals in ((2, 2), (3, 2)):
        add("bias", signals, 0.05, 40)
    for variance in fine:
        add("bias", (1, 2), variance, 12)
    add("no-bias", (1, 2), 0.05, 24)
    for variance in sorted({*fine, 1.0}):
        add("no-bias", (1, 2), variance, 12)
    for name, epochs in (("small-bias", 24), ("small-no-bias", 14)):
        steps = epochs * like.steps_per_epoch
        rest = {"layers": 1, "bias": name == "small-bias", "scale": 0.01}
        add(name, (1, 2), 0.05, epochs, net=rest, descent={"batch": None, "steps": steps}, slopes=True)
    for signals in ((2, 4), (1, 2)):
        add("deep", signals, 0.05, 40, net={"layers": 4, "width": 64}, starts=deep, datasets=min(4, deep))
    return found


PAPER, FINE = (0.05, 0.1, 0.5, 1.0, 2.0), (0.8, 0.9, 1.1, 1.2)
SMOKE = OrderConfig(count=100, starts=6, datasets=2, every=1, moments=8)
# A quarter of the dimensions and of the steps: the same time of gradient flow in an epoch.
LAPTOP = OrderConfig(world=OrderConfig().world.replace(dimensions=16), count=1_250, starts=40, datasets=2, every=2)

EXPERIMENT = Experiment(
    question="Which concept does an identity map learn first, and do the closed forms say when?",
    figure="Yang et al. 2025, Fig 2",
    budgets={
        "smoke": Budget(arms(SMOKE, (0.05, 2.0), (0.9, 1.2), 5, 5), 1, "a few seconds; proves the path"),
        "laptop": Budget(arms(LAPTOP, PAPER, (0.8, 1.2), 10, 20), 1, "40 starts in 16 dimensions, seconds"),
        "full": Budget(arms(OrderConfig(), PAPER, FINE, 20, 200), 1, "200 starts, two minutes on two CPU cores"),
    },
    columns={
        "net": str,
        "mu_1": float,
        "mu_2": float,
        "variance": float,
        "start": int,
        "form": str,
        "concept": int,
        "epoch": float,
        "world": int,
    },
    of_arm=columns,
    assumptions=(
        "An epoch is 118 steps, also where a step is on all points.",
        "Sigma is a variance, as the released code passes it, and there is always a cluster at the origin: "
        "a_k = mu_k^2 / 3 + var_k. Points are mixed once and come in the same order ever after.",
        "A concept is learned when its coordinate of f(probe) first is at 80% of its target, observed every 8 steps "
        "and in proportion between; observed at epochs only, as on plots, the strong concept's 3 epochs become 4.",
        "Slopes are fitted from the start to the time at which the closed form is at 80%, on full batches with the "
        "start scaled by 0.01: with PyTorch's own start every coordinate carries the slowest rate in its tail.",
        "Deep: run 28 has mu (2, 4), a digest of the paper says (1, 2); both are run.",
    ),
)
