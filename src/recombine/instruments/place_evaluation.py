"""Where on the image models are right: several samples of every place, told place by place.

Places that were never seen are also told together, in two ways: by how far the nearest one is that was seen, and by
how many were seen in their row or in their column, whichever are fewer.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from recombine.diffusion.samplers import sample
from recombine.instruments.bump_evaluation import PlacesEvaluation, members_of
from recombine.instruments.bump_subject import Subject, is_known, place_keys
from recombine.instruments.centres import find_centres, right
from recombine.instruments.observation import Row

EACH, NEAR, LINES = "each", "near", "lines"


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
        trained = subject.split.labels(world, subject.seeds.data)
        rows: list[Row] = []
        for how in ("darkest", "fine"):
            correct = right(getattr(found, how), truth.repeat(self.draws, 1), world).all(1) & ~found.blank
            shares = correct.double().reshape(self.draws, -1).mean(0)  # [n]
            rows += [
                {"node": f"{x:g},{y:g}", "instrument": f"{EACH}.{how}", "value": share}
                for (x, y), share in zip(truth.tolist(), shares.tolist(), strict=True)
            ]
            rows += unseen_rows(shares, labels, trained, how)
        return rows


def unseen_rows(shares: Tensor, labels: Tensor, trained: Tensor, how: str) -> list[Row]:
    """Means of these shares [n] over labels [n, 2] that were not trained on: by distance, rounded up to pixels, and by
    how many were in line. Node: the distance, or the number.
    """
    new = ~is_known(labels, trained)
    own = labels[new]
    distance = torch.cdist(own, trained).amin(1).sub(1e-6).ceil()
    in_line = (own[:, None] - trained[None]).abs() < 0.5  # [n, m, 2]: the same column, the same row
    fewest = in_line.sum(1).amin(1)
    rows: list[Row] = []
    for name, groups in ((NEAR, distance), (LINES, fewest)):
        members = members_of([f"{group:g}" for group in groups.tolist()])
        rows += [
            {"node": node, "instrument": f"{name}.{how}", "value": shares[new][places].mean().item()}
            for node, places in members.items()
        ]
    return rows
