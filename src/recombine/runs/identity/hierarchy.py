"""Networks on the lattice of concepts: their error at every combination, and the pairs that are in order.

See the experiment identity-mapping/hierarchy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field

from recombine.errors import UserError
from recombine.runs.identity.networks import NetsConfig
from recombine.runs.work import Row
from recombine.theory.identity.flow import affine, augmented
from recombine.training.batched import DescentConfig
from recombine.worlds.mixture import MixtureWorld

if TYPE_CHECKING:
    from torch import Tensor

CONCEPTS = (1.0, 2.0, 3.0, 4.0)
EPOCHS = (1.0, 3.0, 5.0)
TIE = 0.01  # of a start's largest error: pairs that differ by less are ties, where ties are allowed
MOST = 6  # concepts whose pairs are still worth a row each

COLUMNS: dict[str, type] = {
    "epoch": float, "combination": str, "pairs": str, "start": int, "lower": str, "upper": str,
}  # fmt: skip


class HierarchyConfig(NetsConfig):
    """Several concepts, and every combination of them as a probe."""

    kind: Literal["identity-hierarchy"] = "identity-hierarchy"
    world: MixtureWorld = MixtureWorld(signals=CONCEPTS, spreads=(0.5,) * 4, spread_as="variance", rotated=True)
    descent: DescentConfig = DescentConfig(epochs=int(max(EPOCHS)))
    observations: int = Field(default=4, ge=1, description="an epoch")

    def check(self) -> None:
        """Refuse what makes no lattice to draw."""
        if not 2 <= self.world.concepts <= MOST:
            raise UserError(f"{self.world.concepts} concepts make no lattice to draw: give 2 to {MOST} signals")

    def rows(self) -> list[Row]:
        """Median error at each probe; the pairs in order, by start, by pair and on average, over training."""
        probes = every_probe(self.world)  # digits -> [d]
        names, places = list(probes), torch.stack(list(probes.values()))
        found = pairs(names)
        lower, upper = (torch.tensor([names.index(pair[end]) for pair in found]) for end in (0, 1))
        watched = self.replace(every=max(1, round(self.steps_per_epoch / self.observations)))
        paths = watched.paths(places)
        errors = (paths.answers - places).square().sum(-1)  # [T, n, P]
        ordered = errors[..., lower] <= errors[..., upper]  # [T, n, pairs]
        exact = self._from_rest(paths.epochs, places)
        rows: list[Row] = []
        for moment, epoch in enumerate(paths.epochs.tolist()):
            rows.append({"instrument": "ordered", "epoch": epoch, "value": float(ordered[moment].double().mean())})
            medians = dict(zip(names, errors[moment].median(0).values.tolist(), strict=True))
            rows += [{"instrument": "error", "epoch": epoch, "combination": n, "value": v} for n, v in medians.items()]
        for epoch in EPOCHS:
            moment = int((paths.epochs - epoch).abs().argmin())
            now = ordered[moment].double()
            margin = TIE * errors[moment].amax(-1, keepdim=True)  # [n, 1]
            with_ties = (errors[moment][:, lower] <= errors[moment][:, upper] + margin).double()
            kinds = {"all": now, "not empty": now[:, lower > 0], "ties allowed": with_ties}  # [n, pairs]; 0 is empty
            for kind, kept in kinds.items():
                rows += [
                    {"instrument": "ordered.by_start", "epoch": epoch, "pairs": kind, "start": start, "value": share}
                    for start, share in enumerate(kept.mean(1).tolist())
                ]
            rows += [
                {"instrument": "ordered.by_pair", "epoch": epoch, "lower": u, "upper": v, "value": share}
                for (u, v), share in zip(found, now.mean(0).tolist(), strict=True)
            ]
            if exact is not None:
                share = float((exact[moment, lower] <= exact[moment, upper]).double().mean())
                rows.append({"instrument": "ordered.from_rest", "epoch": epoch, "value": share})
        return rows

    def _from_rest(self, epochs: Tensor, places: Tensor) -> Tensor | None:
        """The errors of one linear layer that starts at 0, in closed form; none for other nets.  # [T, P]"""
        if self.net.layers > 1 or not self.net.bias:
            return None
        flat = self.world.replace(dimensions=self.world.concepts)
        d, points = flat.dimensions, places[:, : flat.dimensions]
        theta = affine(augmented(flat), points.new_zeros(1, d, d + 1), epochs * self.time_per_epoch)[:, 0]
        answers = points @ theta[..., :d].mT + theta[:, None, :, d]  # [T, P, d]
        return (answers - points).square().sum(-1)


def every_probe(world: MixtureWorld) -> dict[str, Tensor]:
    """Every combination of concepts, the empty one first.  # [d] each"""
    return {"0" * world.concepts: torch.zeros_like(world.probe()), **world.probes()}


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every u < v: all concepts of u are in v, and more."""
    return [(u, v) for u in names for v in names if u != v and all(a <= b for a, b in zip(u, v, strict=True))]
