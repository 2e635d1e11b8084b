"""Beyond the paper: is the last concept the one that changes the fewest pixels, or the one that is rarest?

Okawa et al. explain late colour by red being the majority; but in their split every concept is 3 : 1. Here the pixel
signal of a concept (the mean squared difference between images of two classes that differ in it alone) and its
imbalance are changed one at a time. *Arms.* As it is: shape changes the fewest pixels. `equal`: all three signals
alike. `weak-color`, `weak-size`: that concept has the least. `blue-even`, `blue-most`: signals as they are, blue in
half and in three quarters of the images. *Asked.* Which concept of the farthest class comes last?
"""

from collections.abc import Iterable
from itertools import product
from typing import Any

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.worlds.base import World

ARMS: dict[str, dict[str, Any]] = {
    "as-is": {},
    "equal": {"world.color_separation": 0.39, "world.size_separation": 0.08},
    "weak-color": {"world.color_separation": 0.3},
    "weak-size": {"world.size_separation": 0.055},
    "blue-even": {"split.frequencies": {"010": 3.0}},
    "blue-most": {"split.frequencies": {"010": 9.0}},
}


def pixel_signals(world: World) -> dict[str, float]:
    """The mean squared pixel difference between prototypes that differ in one concept only, for each concept."""
    images = dict(zip(world.nodes, world.render(world.prototype(world.digits(world.nodes))), strict=True))
    signals = {}
    for place, (name, values) in enumerate(world.concepts.items()):
        gaps = [
            float((images[node] - images[node[:place] + str(other) + node[place + 1 :]]).square().mean())
            for node, other in product(world.nodes, range(len(values)))
            if int(node[place]) < other
        ]
        signals[name] = sum(gaps) / len(gaps)
    return signals


def _arms(config: RunConfig, images: int, names: Iterable[str] = ARMS) -> dict[str, RunConfig]:
    base = override(config, {"training.images": images})
    return {arm: override(base, ARMS[arm]) for arm in names}


EXPERIMENT = Experiment(
    question="Which concept comes last: the one with the weakest pixel signal, or the rarest?",
    figure="beyond the paper",
    columns=COLUMNS,
    budgets={
        "smoke": Budget(_arms(override(emergence.SMOKE, {"world.pixels": 16}), 128), 1, "seconds; proves the path"),
        "laptop": Budget(
            _arms(emergence.LAPTOP, 40_000, ("as-is", "weak-color", "weak-size")), 1,
            "16 px, one seed, about six minutes on two CPU cores",
        ),
        "full": Budget(_arms(emergence.FULL, 200_000), 5, "28 px, six arms of five seeds, minutes on one GPU"),
    },
    assumptions=(
        "A concept's signal is the mean squared pixel difference between prototypes that differ in it alone; at full "
        "size and with colours 0.8 apart shape has 0.073, colour 0.213, size 0.237.",
        "Every arm keeps the four trained classes; blue is seen in 010 only, so its frequency sets how rare blue is.",
    ),
)  # fmt: skip
