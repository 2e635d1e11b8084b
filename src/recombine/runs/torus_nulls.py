"""Representations that were not learned: what the geometry of a trained block is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch

from recombine.instruments.bumps.torus_evaluation import representation_rows
from recombine.instruments.representations.activations import activations, compact, stages
from recombine.instruments.representations.null import as_grid, label_code, pooled, random_layer
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Computation, Row


class NullsConfig(Computation):
    """Codes of a run's world that no network made, and the network of that run before training."""

    kind: Literal["bumps-torus-nulls"] = "bumps-torus-nulls"
    run: BumpsRun
    holes: bool = True  # whether their holes are counted; needs the extra `topology`

    def check(self) -> None:
        self.run.check()

    def following(self, changes: Mapping[str, Any]) -> NullsConfig:
        """Changed settings are those of the run."""
        return self.replace(run=self.run.overridden(changes).model_dump(mode="json"))

    def rows(self) -> list[Row]:
        """The numbers of each, with its distributions."""
        world, evaluation, code = self.run.world, self.run.evaluation, self.run.network.condition
        labels = evaluation.places(world)
        images = world.render(labels)
        known = {
            "pixels": images,
            "pooled by 4": pooled(images, 4).flatten(1),
            "label code": label_code(labels, code.width, code.periods),
            "random layer": random_layer(images, seed=self.seeds.init),
        }
        rows: list[Row] = [{"block": "pixels", "instrument": "places", "value": float(len(labels))}]
        for name, values in known.items():
            rows += representation_rows({"block": name}, as_grid(values), True, self.holes)
        model = self.run.with_seeds(self.seeds).model().eval()
        last = self.run.schedule.sigmas(evaluation.sampler.steps, evaluation.sampler.spacing)[-2]  # before 0
        sigma = torch.full((len(images),), float(last))
        for name, values in activations(model, images, sigma, world.condition(labels), list(stages(model))).items():
            block = {"block": name, "trained": False}
            rows += representation_rows(block, as_grid(compact(values)), True, False)
        return rows
