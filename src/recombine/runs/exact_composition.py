"""A computation on exact laws: leaks of the score, local errors, composition in features, cosines from samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.runs.work import Computation, Row
from recombine.theory.composition.error import (
    compare,
    equicoupled,
    error_over_noise,
    fisher,
    local_errors,
    noise_quadrature,
    total_correlation,
)
from recombine.theory.composition.families import (
    Composition,
    Condition,
    Coupled,
    Crowded,
    Family,
    Unfolded,
    random_composition,
    random_coupled,
)
from recombine.theory.composition.features import (
    Featured,
    cosines,
    expected_cosine,
    generic_map,
    orthogonal_map,
    partial_correlations,
    sampled_cosines,
    shifts,
)
from recombine.theory.composition.laws import Law, gaussian
from recombine.theory.composition.scores import (
    largest_changes,
    linear_composition,
    neighbourhoods,
    pixel_changes,
    rebuilt,
)

if TYPE_CHECKING:
    from torch import Tensor

SIZES, REST, VALUES, COMPONENTS = (2, 2, 2), 1, 4, 3
PAIR = ((0, 1, 2), (3, 4, 5))  # the two blocks of the Gaussians
REBUILT = 3  # conditions, and points of each, between which the log density is rebuilt
STEP = 0.3  # by which a pixel is moved
CROWD = 0.5  # by which a conditioned block moves for every further condition
LEAST_VARIANCE = 0.05  # of a random mixture along any axis
FROM, TO = 0.01, 10.0  # noise levels between which total errors are taken
WIDE, SQUARED = 256, 3.6  # dimensions, and the squared length of a shift, of the cosines from samples

COLUMNS = {
    "law": str,  # composed, null-tied, coupled, crowded; or gaussian
    "rho": float,  # the coupling of the Gaussian blocks
    "map": str,  # from features to pixels: identity, orthogonal, generic
    "sigma": float,
    "background": str,  # whose mean is subtracted: shared by both shifts, or split in halves
    "samples": int,  # in each mean
}


class LemmaConfig(Computation):
    """One random set of mixtures."""

    kind: Literal["local-scores-lemma"] = "local-scores-lemma"
    sigmas: tuple[Annotated[float, Field(ge=0)], ...] = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    conditions: int = Field(default=8, ge=1)  # random ones; a block has none in one of five cases
    points: int = Field(default=5, ge=2)  # drawn with each
    samples: int = Field(default=20_000, ge=100)  # of Monte Carlo
    levels: int = Field(default=20, ge=4)  # noise levels of its integral
    couplings: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.1, 0.3, 0.6)  # rho of the Gaussian
    images: tuple[Annotated[int, Field(ge=2)], ...] = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
    draws: int = Field(default=400, ge=2)  # of cosines

    def rows(self) -> list[Row]:
        """All measurements, part by part."""
        parts = (self._lemma_1, self._gaussian, self._mixture, self._features, self._sampled_cosines)
        return [row for part in parts for row in part()]

    def families(self) -> dict[str, Composition | Coupled | Crowded]:
        """The exact composition, and the laws that it is compared with."""
        exact = self._exact()
        return {
            "composed": exact,
            "null-tied": random_composition(SIZES, REST, VALUES, COMPONENTS, self.seeds.data, null="joint"),
            "coupled": random_coupled(exact, self.seeds.data),
            "crowded": Crowded(exact, CROWD),
        }

    def asked(self) -> list[Condition]:
        """Random conditions; the first has a value for every block."""
        key = seeds.keys(self.seeds.data, "conditions", torch.arange(self.conditions))
        drawn = (seeds.uniform(key, (len(SIZES),)) * (VALUES + 1)).long()
        drawn[0] = drawn[0].clamp(min=1)
        return [tuple(row) for row in drawn.tolist()]

    def _lemma_1(self) -> Iterator[Row]:
        """Leaks, the rebuilt law, and linear composition, of every family."""
        for law, family in self.families().items():
            unfolded = Unfolded(family)
            drawn = {c: self._drawn(family.at(c), self.points, f"points.{c}") for c in self.asked()}
            few = dict(list(drawn.items())[:REBUILT])
            for sigma in self.sigmas:
                found: dict[str, float] = {}
                for condition, (clean, noise) in drawn.items():
                    changes = largest_changes(unfolded, condition, clean + sigma * noise, sigma, STEP, VALUES)
                    found = {key: max(value, found.get(key, 0.0)) for key, value in changes.items()}
                if law != "null-tied":  # rebuilding starts from the law without conditions, block by block
                    source = unfolded if law == "composed" else family  # unfolded only where it should be exact
                    found["rebuilt"] = max(self._rebuilt(source, c, *pair, sigma) for c, pair in few.items())
                found["linear"] = self._linear(unfolded, sigma)
                yield from _rows(found, law=law, sigma=sigma)

    def _rebuilt(self, family: Family, condition: Condition, clean: Tensor, noise: Tensor, sigma: float) -> float:
        """The largest error of the log density rebuilt from models of one condition, from each point to the next."""
        start = (clean + sigma * noise)[:REBUILT]
        end = start.roll(1, 0)
        junk = 3 * self._normals(1, start.shape[1], "junk")[0]
        law = family.at(condition)
        true = law.log_density(end, sigma) - law.log_density(start, sigma)
        return float((rebuilt(family, condition, start, end, sigma, junk) - true).abs().max())

    def _linear(self, family: Family, sigma: float) -> float:
        """The error of linear composition with all conditions, over the size of the score (root mean square)."""
        condition = self.asked()[0]
        law = family.at(condition)
        clean, noise = self._drawn(law, 200, "linear")
        x = clean + sigma * noise
        true = law.score(x, sigma)
        error = linear_composition(family, condition, x, sigma) - true
        return float((error.square().mean() / true.square().mean()).sqrt())

    def _gaussian(self) -> Iterator[Row]:
        """The best local score of two coupled Gaussian blocks, by formula and from samples."""
        sigmas = [sigma for sigma in self.sigmas if sigma > 0]
        for rho in self.couplings:
            covariance = equicoupled(rho)
            law, local = gaussian(covariance), gaussian(equicoupled(0.0))
            errors = local_errors(covariance, PAIR, torch.tensor(sigmas)).mean(1)
            sizes = fisher(covariance, torch.tensor(sigmas)).mean(1)
            clean, noise = self._drawn(law, self.samples, f"gaussian,rho={rho:g}")
            for sigma, error, size in zip(sigmas, errors.tolist(), sizes.tolist(), strict=True):
                sampled = compare(law, local, clean + sigma * noise, sigma).errors
                found = {"error": error, "score.squared": size, "error.sampled": float(sampled.mean())}
                yield from _rows(found, law="gaussian", rho=rho, sigma=sigma)
            whole, start, end = total_correlation(covariance, PAIR, torch.tensor([0, FROM, TO])).tolist()
            total = error_over_noise(covariance, PAIR, FROM, TO)
            found = {"divergence": whole, "divergence.lost": start - end, "error.total": total}
            yield from _rows(found, law="gaussian", rho=rho)

    def _mixture(self) -> Iterator[Row]:
        """The same of the coupled mixtures, from samples: the same ones at every noise level."""
        family, condition = random_coupled(self._exact(), self.seeds.data), self.asked()[0]
        law, local = family.at(condition), family.marginals().at(condition)
        clean, noise = self._drawn(law, self.samples, "mixture")
        for sigma in (sigma for sigma in self.sigmas if sigma > 0):
            at = compare(law, local, clean + sigma * noise, sigma)
            found = {"error.sampled": float(at.errors.mean()), "gap.sampled": float(at.gaps.mean())}
            yield from _rows(found, law="coupled", sigma=sigma)
        whole, start, end = (
            float(compare(law, local, clean + sigma * noise, sigma).log_ratios.mean()) for sigma in (0.0, FROM, TO)
        )
        levels, weights = noise_quadrature(FROM, TO, LEAST_VARIANCE, self.levels)
        errors = [compare(law, local, clean + sigma * noise, sigma).errors.mean(0) for sigma in levels.tolist()]
        total = float(weights @ torch.stack(errors).sum(1)) / 2
        yield from _rows({"divergence": whole, "divergence.lost": start - end, "error.total": total}, law="coupled")

    def _features(self) -> Iterator[Row]:
        """The exact family in features z = A x, with noise in pixels."""
        family = self._exact()
        condition = self.asked()[0]
        clean = family.at(condition).joint()
        size = clean.means.shape[1]
        spread = torch.einsum("k,kde->de", clean.weights, clean.covariances)  # block diagonal
        outside = ~neighbourhoods(family.blocks, condition, size)
        moved = shifts(family)
        yield from _rows({"cosine": float(cosines(moved).abs().max())}, map="identity")
        for name, matrix in (
            ("orthogonal", orthogonal_map(size, self.seeds.data)),
            ("generic", generic_map(size, self.seeds.data)),
        ):
            law = Featured(clean, matrix)
            in_pixels = moved @ torch.linalg.inv(matrix).T
            yield from _rows({"cosine": float(cosines(in_pixels).abs().max())}, map=name)
            clean_z, noise = self._drawn(law, 8 * self.points, "features")
            for sigma in self.sigmas:
                change = pixel_changes(law, clean_z + sigma * noise @ matrix.T, sigma, STEP)[:, outside]
                partial = partial_correlations(spread, matrix, torch.tensor([sigma]))[0][outside]
                found = {"pixel.outside": float(change.abs().max()), "partial": float(partial.abs().max())}
                yield from _rows(found, map=name, sigma=sigma)

    def _sampled_cosines(self) -> Iterator[Row]:
        """Cosines of two orthogonal shifts that are estimated from so many samples."""
        for count in self.images:
            for background in ("shared", "split"):
                split = background == "split"
                found = sampled_cosines(count, WIDE, SQUARED, self.draws, self.seeds.sampling, split)
                yield from _rows({"cosine.sampled": float(found.mean())}, background=background, samples=count)
            known = expected_cosine(count, WIDE, SQUARED)
            yield from _rows({"cosine.expected": known}, background="shared", samples=count)

    def _exact(self) -> Composition:
        return random_composition(SIZES, REST, VALUES, COMPONENTS, self.seeds.data)

    def _keys(self, count: int, name: str) -> Tensor:
        return seeds.keys(self.seeds.sampling, f"lemma.{name}", torch.arange(count))

    def _normals(self, count: int, size: int, name: str) -> Tensor:
        return seeds.normal(self._keys(count, f"noise.{name}"), (size,)).double()

    def _drawn(self, law: Law, count: int, name: str) -> tuple[Tensor, Tensor]:
        """Clean points, and noise for them.  # [count, D] each"""
        clean = law.sample(self._keys(count, name))
        return clean, self._normals(count, clean.shape[1], name)


def _rows(found: dict[str, float], **columns: Any) -> list[Row]:
    return [{**columns, "instrument": instrument, "value": value} for instrument, value in found.items()]
