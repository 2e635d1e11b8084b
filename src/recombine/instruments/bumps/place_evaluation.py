"""Where on the image models are right: several samples of every place, told place by place."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field

from recombine.diffusion.samplers import sample
from recombine.instruments.bumps.centres import find_centres, right
from recombine.instruments.bumps.evaluation import PlacesEvaluation
from recombine.instruments.bumps.subject import Subject, place_keys
from recombine.instruments.observation import Row

EACH = "each"


class EachPlaceEvaluation(PlacesEvaluation):
    """Every pixel, and at the end of training each of them by itself."""

    kind: Literal["bumps-each"] = "bumps-each"
    draws: int = Field(default=4, ge=1, description="samples of every place")

    def further(self, subject: Subject) -> list[Row]:
        """The share of the samples of each place that are right in x and y, by both estimates; a blank never is."""
        if subject.seen != subject.training.total:
            return []
        world, device = subject.world, subject.device
        labels = self.places(world)
        keys = [place_keys(world, labels, subject.seeds.sampling, number) for number in range(self.draws)]
        condition = world.condition(labels).repeat(self.draws, 1).to(device)
        drawn = sample(
            subject.sampler.denoise, self.sampler, subject.schedule, world.image_shape, condition,
            torch.cat(keys).to(device),
        )  # fmt: skip
        found, truth = find_centres(drawn.float(), world), labels - world.margin
        rows: list[Row] = []
        for how in ("darkest", "fine"):
            correct = right(getattr(found, how), truth.repeat(self.draws, 1), world).all(1) & ~found.blank
            shares = correct.double().reshape(self.draws, -1).mean(0)  # [n]
            rows += [
                {"node": f"{x:g},{y:g}", "instrument": f"{EACH}.{how}", "value": share}
                for (x, y), share in zip(truth.tolist(), shares.tolist(), strict=True)
            ]
        return rows
