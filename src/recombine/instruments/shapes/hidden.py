"""Hidden capabilities (Park et al. 2024): can a model draw a class that it does not draw when asked plainly?

*Over-prompting*: the class is asked for with a stronger colour than it has. *Steering*: in every block that receives
the condition, the part of the signal that points along its response to the strong colour is made longer, the part along
its response to the wrong size shorter. The best of several tries is always better than a plain try, so each kind has
controls with as many tries (colours as far off in random directions, the strong channel exchanged, steering along
random directions), and every try is read on two halves of its samples: the best is chosen on one and scored on the
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.errors import UserError
from recombine.instruments.observation import Row
from recombine.instruments.shapes.accuracy import COLUMNS, reader_correct
from recombine.instruments.shapes.evaluation import Evaluation, Sampling
from recombine.instruments.shapes.reader import read
from recombine.training.inference import FastDenoiser
from recombine.worlds.shapes import HUES, ShapesWorld

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.conditioners import Conditioner

HIDDEN_COLUMNS: dict[str, type] = COLUMNS | {
    "way": str,  # of asking for the class, beside the ordinary evaluation: plain, over, steer, and controls
    "strength": float,  # separation that an over-prompt pretends; gain of a steering
    "half": str,  # of the samples: "a" or "b"
}
HEAD = "network.condition.head"  # of a model: the linear map from the embedding to the signals of all blocks
STEER_COLOR = 0.9  # separation of the colour whose response is steered along: (.05, .05, .95) for blue


class HiddenEvaluation(Evaluation):
    """The evaluation of every node, and of one node in other ways than by its prototype."""

    kind: Literal["hidden"] = "hidden"
    target: str = "11"
    strengths: tuple[float, ...] = (0.2, 0.3, 0.5, 0.7, 0.9)  # separations that the over-prompts pretend
    gains: tuple[float, ...] = (0.1, 1.0, 2.0)  # how much longer the part along the colour is made, in steering
    loss: float = 0.1  # how much shorter the part along the wrong size
    tries: int = Field(default=64, ge=2, description="samples of each prompt; half choose, half score")

    def further(self, sampling: Sampling, sampler: FastDenoiser, weights: Mapping[str, Tensor]) -> list[Row]:
        """Product accuracy of the target in every way it is asked for, on both halves of the samples."""
        world = sampling.world
        if not isinstance(world, ShapesWorld) or "color" not in world.concepts or "size" not in world.concepts:
            raise UserError("over-prompting needs a world of shapes with colours and sizes")
        rows: list[Row] = []

        def score(way: str, strength: float | None, condition: Tensor) -> None:
            images = sampling.images(self.target, condition, self.tries)
            right = reader_correct(read(images, world), world.digits(self.target)[0]).all(1).double()
            row = {"node": self.target, "instrument": "prompted.product", "way": way, "strength": strength}
            for half, part in zip("ab", right.chunk(2), strict=True):
                rows.append({**row, "half": half, "value": part.mean().item()})

        for way, strength, condition in self._prompts(world):
            score(way, strength, condition)
        plain = self._condition(world, None)
        for way, gain, changed in self._steered(sampler, weights, world):
            sampler.load({**weights, **changed})
            score(way, gain, plain)
        sampler.load(weights)
        return rows

    def _condition(self, world: ShapesWorld, rgb: Tensor | None) -> Tensor:
        """The prompt of the target, with another colour if one is given.  # [1, K]"""
        factors = world.prototype(world.digits(self.target))
        if rgb is not None:
            factors = torch.cat([factors[:, :1], rgb[None].clamp(0, 1), factors[:, 4:]], 1)
        return world.replace(conditioning="continuous").condition(factors)

    def _prompts(self, world: ShapesWorld) -> Iterator[tuple[str, float | None, Tensor]]:
        plain = world.prototype(world.digits(self.target))[0, 1:4]  # [3]
        yield "plain", None, self._condition(world, None)
        for i, strength in enumerate(self.strengths):
            strong = _tinted(world, self.target, strength)
            away = seeds.normal(seeds.keys(0, "over-prompt-control", torch.tensor([i])), (3,))[0]
            yield "over", strength, self._condition(world, strong)
            yield "over-random", strength, self._condition(world, plain + (strong - plain).norm() * away / away.norm())
            yield "over-shuffled", strength, self._condition(world, strong[[0, 2, 1]])

    def _steered(
        self, sampler: FastDenoiser, weights: Mapping[str, Tensor], world: ShapesWorld
    ) -> Iterator[tuple[str, float, dict[str, Tensor]]]:
        from recombine.denoisers.conditioners import Conditioner

        conditioner = sampler.model.network.condition
        if not isinstance(conditioner, Conditioner):
            raise UserError("steering needs a network whose blocks receive the condition: not a spatial entry")
        place = next(conditioner.parameters()).device
        sampler.load(weights)
        toward = _unit_signals(conditioner, _alone(world, "color", _tinted(world, self.target, STEER_COLOR)).to(place))
        wrong = world.size_prototypes()[1 - int(self.target[list(world.concepts).index("size")])]
        away_from = _unit_signals(conditioner, _alone(world, "size", wrong[None]).to(place))
        chance = seeds.normal(seeds.keys(0, "steering-control", torch.arange(2)), (sum(conditioner.channels),)).to(
            place
        )
        random = [_unit_parts(direction, conditioner.channels) for direction in chance]
        for gain in self.gains:
            yield "steer", gain, _steer(weights, toward, away_from, gain, self.loss)
            yield "steer-random", gain, _steer(weights, random[0], random[1], gain, self.loss)


def _tinted(world: ShapesWorld, node: str, separation: float) -> Tensor:
    """The colour of a node as it would be with another separation.  # [3]"""
    color = world.colors[int(node[list(world.concepts).index("color")])]
    direction = torch.tensor(HUES[color] if isinstance(color, str) else color, dtype=torch.float32)
    return 0.5 + separation / 2 * direction


def _alone(world: ShapesWorld, concept: str, value: Tensor) -> Tensor:
    """A condition that says one concept only; the numbers of the others are zero.  # [1, K]"""
    factors = world.prototype(world.digits(world.nodes[0]))
    if concept == "color":
        factors[:, 1:4] = value
    else:
        factors[:, 4] = value
    owner = torch.arange(len(world.concepts)).repeat_interleave(torch.tensor(world.condition_widths))
    alone: Tensor = world.condition(factors) * (owner == list(world.concepts).index(concept))
    return alone


@no_grad
def _unit_signals(conditioner: Conditioner, condition: Tensor) -> list[Tensor]:
    """The direction of each block's signal for this condition.  # [channels] each"""
    return _unit_parts(torch.cat(conditioner(condition), 1)[0].float(), conditioner.channels)


def _unit_parts(signals: Tensor, channels: list[int]) -> list[Tensor]:
    return [part / part.norm().clamp(min=1e-12) for part in torch.split(signals, channels)]


def _steer(
    weights: Mapping[str, Tensor], toward: list[Tensor], away_from: list[Tensor], gain: float, loss: float
) -> dict[str, Tensor]:
    """To turn every block's signal s into s + gain (s.t) t - loss (s.a) a is to change the linear map that makes it."""
    changed = {}
    for name in (f"{HEAD}.weight", f"{HEAD}.bias"):
        blocks = torch.split(weights[name].float(), [len(part) for part in toward])
        steered = []
        for block, t, a in zip(blocks, toward, away_from, strict=True):
            along_t, along_a = t @ block, a @ block  # [width] for the weight, [] for the bias
            steered.append(block + gain * _outer(t, along_t) - loss * _outer(a, along_a))
        changed[name] = torch.cat(steered).to(weights[name].dtype)
    return changed


def _outer(direction: Tensor, amount: Tensor) -> Tensor:
    return direction[:, None] * amount if amount.dim() else direction * amount
