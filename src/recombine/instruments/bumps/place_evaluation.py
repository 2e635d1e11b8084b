"""Where on the image models are right: several samples of every place, a row for each place."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field

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
        world = subject.world
        labels = self.places(world)
        keys = [place_keys(world, labels, subject.seeds.sampling, number) for number in range(self.draws)]
        drawn = subject.sampling(self.sampler).draw(labels.repeat(self.draws, 1), torch.cat(keys))
        found, truth = find_centres(drawn, world), labels - world.margin
        rows: list[Row] = []
        for how in ("darkest", "fine"):
            correct = right(getattr(found, how), truth.repeat(self.draws, 1), world).all(1) & ~found.blank
            shares = correct.double().reshape(self.draws, -1).mean(0)  # [n]
            rows += [
                {"x": x, "y": y, "instrument": f"{EACH}.{how}", "value": share}
                for (x, y), share in zip(truth.tolist(), shares.tolist(), strict=True)
            ]
        return rows
