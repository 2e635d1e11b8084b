"""A mixture of Gaussians, one cluster a concept: the world of structured identity mapping (Yang et al. 2025, Sec. 3).

Cluster p lies at mu_p e_p and all share the covariance diag(sigma_1^2 .. sigma_s^2, 0 .. 0). A model is trained to give
its input back; the probe sum_p mu_p e_p holds every concept at once and lies in no cluster. Points and probes come
unrotated, so that coordinate p is concept p: whoever trains on a rotated world multiplies both by `rotation(seed)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Literal, Self

import torch
from pydantic import model_validator

from recombine.errors import UserError
from recombine.seeds import keys, normal
from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

MOST_PROBED = 12  # concepts whose 2^s - 1 combinations are still worth listing


class MixtureWorld(Settings):
    """Clusters on the axes of R^d. Tensors are float64; where they lie and how they vary is in coordinates."""

    kind: Literal["mixture"] = "mixture"
    dimensions: int = 64  # d
    signals: tuple[float, ...] = (1.0, 2.0)  # mu, one a concept
    spreads: tuple[float, ...] = (0.05, 0.05)  # sigma, one a concept
    spread_as: Literal["deviation", "variance"] = "deviation"  # the released code passes sigma as a variance
    origin: bool = False  # one more cluster at the origin; the released code always has it
    rotated: bool = False  # whether data and probes are turned by a common random rotation
    truncated: bool = False  # points within min |mu| / 2 of the probe are drawn again

    @property
    def concepts(self) -> int:
        """How many there are: s."""
        return len(self.signals)

    @property
    def clusters(self) -> int:
        """One a concept, and the origin where it is asked for."""
        return self.concepts + int(self.origin)

    @property
    def variances(self) -> Tensor:
        """sigma^2 of each concept, or sigma itself where the spread is given as a variance.  # [s]"""
        spreads = torch.tensor(self.spreads, dtype=torch.float64)
        return spreads if self.spread_as == "variance" else spreads**2

    def centres(self) -> Tensor:
        """mu_p e_p for each concept; then the origin, where it is asked for.  # [clusters, d]"""
        centres = torch.zeros(self.clusters, self.dimensions, dtype=torch.float64)
        axes = range(self.concepts)
        centres[axes, axes] = torch.tensor(self.signals, dtype=torch.float64)
        return centres

    def mean(self) -> Tensor:
        """E[x] over all clusters, as if none were truncated.  # [d]"""
        return self.centres().mean(0)

    def second_moment(self) -> Tensor:
        """The diagonal of E[x x^T], a_p = sigma_p^2 + mu_p^2 / clusters, as if none were truncated.  # [d]"""
        moments = (self.centres() ** 2).mean(0)
        moments[: self.concepts] += self.variances
        return moments

    def probe(self) -> Tensor:
        """All concepts at once: sum_p mu_p e_p.  # [d]"""
        return self.centres().sum(0)

    def probes(self) -> dict[str, Tensor]:
        """Every combination of concepts but the empty one, digit p for concept p: {"01": mu_2 e_2, ..}.  # [d] each"""
        if self.concepts > MOST_PROBED:
            raise UserError(f"{self.concepts} concepts have too many combinations: ask for {MOST_PROBED} at most")
        probe = self.probe()
        combinations: dict[str, Tensor] = {}
        for digits in product((0, 1), repeat=self.concepts):
            if any(digits):
                chosen = torch.zeros_like(probe)
                chosen[: self.concepts] = torch.tensor(digits, dtype=torch.float64)
                combinations["".join(map(str, digits))] = chosen * probe
        return combinations

    def rotation(self, seed: int) -> Tensor:
        """A random orthogonal matrix, uniform over all of them; the identity where nothing is rotated.  # [d, d]"""
        if not self.rotated:
            return torch.eye(self.dimensions, dtype=torch.float64)
        rows = keys(seed, "mixture rotation", torch.arange(self.dimensions))
        random = normal(rows, (self.dimensions,)).double()
        orthogonal, upper = torch.linalg.qr(random)
        turned: Tensor = orthogonal * upper.diagonal().sign()  # without the signs QR is not uniform
        return turned

    def points(self, count: int, seed: int, dtype: torch.dtype | None = None) -> Tensor:
        """`count` points of each cluster, cluster after cluster.  # [clusters * count, d]"""
        return self.points_of(count, [seed], dtype)[0]

    def points_of(self, count: int, seeds: Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
        """The points of many seeds. Point i of a cluster is the same at any count.  # [seeds, clusters * count, d]"""
        index = torch.arange(count)
        names = [f"mixture {cluster}" for cluster in range(self.clusters)]
        key = torch.cat([torch.empty(0, dtype=torch.int64), *(keys(s, name, index) for s in seeds for name in names)])
        middles = self.centres()[:, : self.concepts].repeat_interleave(count, 0).repeat(len(seeds), 1)
        varied = self._vary(middles, key)  # [seeds * clusters * count, s]
        points = torch.zeros(len(seeds), self.clusters * count, self.dimensions, dtype=dtype or torch.float64)
        points[..., : self.concepts] = varied.reshape(len(seeds), self.clusters * count, self.concepts)
        return points

    def _vary(self, middles: Tensor, key: Tensor) -> Tensor:
        """One draw around each middle; if truncated, further draws (lanes of its key) until none is inside.  # [n, s]

        A middle is at least twice the radius away from the probe, so half of the draws at least are outside.
        """
        deviations = self.variances.sqrt()
        drawn = middles + deviations * normal(key, (self.concepts,))
        if self.truncated:
            probe = self.probe()[: self.concepts]
            radius = min(map(abs, self.signals)) / 2
            again, lane = torch.arange(len(key)), 0
            while len(again := again[(drawn[again] - probe).norm(dim=1) < radius]):
                lane += 1
                drawn[again] = middles[again] + deviations * normal(key[again], (self.concepts,), lane)
        return drawn

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.signals:
            raise ValueError("no concepts: give at least one signal, as signals=(1, 2)")
        if len(self.spreads) != self.concepts:
            raise ValueError(f"{self.concepts} signals but {len(self.spreads)} spreads: give one spread a signal")
        if self.concepts > self.dimensions:
            raise ValueError(f"{self.concepts} concepts do not fit into {self.dimensions} dimensions: raise dimensions")
        if min(self.spreads) < 0:
            raise ValueError(f"spread {min(self.spreads):g} is negative: give 0 or more")
        if self.truncated and self.concepts == 1:
            raise ValueError("the only cluster lies at the probe: truncated needs two signals or more")
        return self
