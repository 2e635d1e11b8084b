"""Okawa et al. 2023, Fig 7: why a product of smooth things looks sudden, in a model without any network.

*Model.* A composition needs n atoms; each is learned with probability p at every step and then stays. *Computed.* The
probability that all are there, P(n) = (1 - (1 - p)^t)^n, and the first step t*(n) at which it reaches P*; the same from
simulated Bernoulli atoms. *Asked.* Is P sharper and later with more atoms, and does t* grow like log n?
"""

from typing import Annotated, Literal

import torch
from pydantic import Field

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.work import Computation, Row
from recombine.theory.emergence import composed_by, learned_at, time_to_compose

Probability = Annotated[float, Field(gt=0, lt=1)]


class ToyConfig(Computation):
    """Atoms, and how they are learned."""

    kind: Literal["toy"] = "toy"
    atoms: tuple[Annotated[int, Field(ge=1)], ...] = (1, 2, 3, 4, 8, 16, 32)
    chance: Probability = 0.01  # p: of learning an atom in a step; the paper does not say which
    levels: tuple[Probability, ...] = (0.5, 0.9)  # P*
    trials: int = Field(default=10_000, ge=1)
    moments: int = Field(default=120, ge=2)

    def rows(self) -> list[Row]:
        """For each n: P over time by the closed form and by simulation; t* for each level by both."""
        rows: list[Row] = []
        moments = torch.linspace(0, 8 / self.chance, self.moments).round().long().tolist()
        steps = torch.tensor(sorted(set(moments)))
        for n in self.atoms:
            drawn = learned_at(n, self.chance, self.trials, self.seeds.data)  # [trials]
            simulated = (drawn[None] <= steps[:, None]).double().mean(1)  # [moments]
            for way, curve in {"closed": composed_by(steps, n, self.chance), "simulated": simulated}.items():
                at = {"instrument": "probability", "atoms": n, "way": way}
                rows += [{**at, "step": t, "value": p} for t, p in zip(steps.tolist(), curve.tolist(), strict=True)]
            for level in self.levels:
                rank = max(0, -int(-level * self.trials // 1) - 1)  # the ceil(level * trials)-th smallest
                closed, simulated_time = time_to_compose(n, self.chance, level), float(drawn.sort().values[rank])
                for way, time in (("closed", float(closed)), ("simulated", simulated_time)):
                    rows.append({"instrument": "time", "atoms": n, "level": level, "way": way, "value": time})
        return rows


EXPERIMENT = Experiment(
    question="How sudden does a composition of smoothly learned atoms look, and how late is it?",
    figure="Okawa et al. 2023, Fig 7",
    columns={"atoms": int, "chance": float, "step": int, "level": float, "way": str},
    of_arm=lambda config: {"chance": config.chance},
    budgets={
        "smoke": Budget({"toy": ToyConfig(trials=500, moments=20)}, 1, "a second"),
        "laptop": Budget({"toy": ToyConfig()}, 5, "seconds"),
        "full": Budget({"toy": ToyConfig(trials=100_000)}, 10, "seconds, on a CPU"),
    },
    assumptions=(
        "The paper does not give p; 0.01 is taken. Any n, p and level: `--set chance=0.05 --set atoms=[2,5]`.",
    ),
)
