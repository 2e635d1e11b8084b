"""Beyond the paper: is the last concept the one that changes the fewest pixels, or the one that is rarest?

Okawa et al. explain late colour by red being the majority; but in their split every concept is 3 : 1. Here the pixel
signal of a concept (the mean squared difference between images of two classes that differ in it alone) and its
imbalance are changed one at a time. *Arms.* As it is: shape changes the fewest pixels. `equal`: all three signals
alike. `weak-color`, `weak-size`: that concept has the least. `blue-even`, `blue-most`: signals as they are, blue in
half and in three quarters of the images. *Asked.* Which concept of the farthest class comes last?
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs._shared import seen
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.studies.concept_graphs.signal import claims
from recombine.worlds.base import World

if TYPE_CHECKING:
    import polars

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


def draw(table: polars.DataFrame, config: RunConfig) -> dict[str, Drawing]:
    """The three concepts of the farthest class over training, arm by arm."""
    from recombine.studies.concept_graphs.signal import figures

    changes = {arm: {k: v for k, v in each.items() if k.startswith("world.")} for arm, each in ARMS.items()}
    signals = {arm: pixel_signals(override(config, each).world) for arm, each in changes.items()}

    return {
        "figure": Drawing(
            figures.concepts_by_arm(table, config.world.concepts, signals),
            "The concepts of the farthest class over training, by arm, with each concept's pixel signal.",
        )
    }


EXPERIMENT = Experiment(
    study="concept-graphs",
    name="signal",
    question="Which concept comes last: the one with the weakest pixel signal, or the rarest?",
    figure="beyond the paper",
    budgets={
        "smoke": Budget(_arms(override(emergence.SMOKE, {"world.pixels": 16}), 128), 1, "seconds; proves the path"),
        "laptop": Budget(
            _arms(emergence.LAPTOP, 40_000, ("as-is", "weak-color", "weak-size")),
            1,
            "16 px, one seed, about six minutes on two CPU cores",
        ),
        "full": Budget(_arms(emergence.FULL, 200_000), 5, "28 px, six arms of five seeds, minutes on one GPU"),
    },
    claims=claims.SIGNAL,
    draw=draw,
    seen=seen.SIGNAL,
    notes=(
        "A concept's signal is the mean squared pixel difference between prototypes that differ in it alone; at full "
        "size and with colours 0.8 apart shape has 0.073, colour 0.213, size 0.237.",
        "Every arm keeps the four trained classes; blue is seen in 010 only, so its frequency sets how rare blue is.",
    ),
)
