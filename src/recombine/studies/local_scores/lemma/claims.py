"""The claims of exact composition (Bradley 2026, Lemmas 1 to 3, Corollary 1), in which a seed is a set of mixtures."""

from itertools import pairwise
from typing import Any

from recombine.lab.claims import Claim, NotMeasured
from recombine.lab.rules import Measure, Rule, above, between, final, in_every_seed, mean, ratio
from recombine.lab.table import Table, curves

ZERO = 1e-8  # what counts as zero; rounding is five orders of magnitude below
KNOWN_ERRORS = {0.1: 0.1400, 1.0: 9.12e-3, 10.0: 1.279e-7}  # {sigma: error}, at rho = 0.3
KNOWN_TOTALS = {0.1: 0.01507, 0.3: 0.14140, 0.6: 0.66910}  # {rho: total error}, sigma from 0.01 to 10
"""Computed independently of this code, for two blocks of three pixels."""

COUPLED, GAUSSIAN = {"law": "coupled"}, {"law": "gaussian", "rho": 0.3}


def over_noise(table: Table, instrument: str, **where: Any) -> dict[int, dict[float, float]]:
    """{seed: {sigma: value}}, sigma ascending."""
    found = curves(table, instrument, over="sigma", **where)
    if not found:
        raise NotMeasured(f"{instrument} of {', '.join(map(str, where.values()))} was not computed")
    return {
        seed: dict(zip(at.tolist(), values.tolist(), strict=True)) for (seed,), (at, values) in sorted(found.items())
    }


def largest(instrument: str, **where: Any) -> Measure:
    """The largest value over all noise levels."""
    return lambda table: {seed: max(own.values()) for seed, own in over_noise(table, instrument, **where).items()}


def zero(*measures: Measure) -> Rule:
    """All of them are zero, up to rounding, in every set of mixtures."""

    def worst(table: Table) -> dict[int, float]:
        found = [measure(table) for measure in measures]
        if not all(found):
            raise NotMeasured("not everything that must be zero was computed")
        return {seed: max(one[seed] for one in found) for seed in found[0]}

    return in_every_seed(
        lambda table: {seed: float(value < ZERO) for seed, value in worst(table).items()},
        lambda table: f"at most {max(worst(table).values()):.1e}, over all noise levels",
    )


def above_at(instrument: str, sigma: float, bound: float, **where: Any) -> Rule:
    """The mean over sets of mixtures at one noise level is above a bound; the note has it at all of them."""

    def note(table: Table) -> str:
        found = over_noise(table, instrument, **where)
        levels = next(iter(found.values()))
        return "; ".join(f"{at:g}: {mean({s: own[at] for s, own in found.items()}):.2g}" for at in levels)

    return above(final(instrument, sigma=sigma, **where), bound, note)


def falls(instrument: str, over: str | None = None, **where: Any) -> Measure:
    """Whether it falls from each noise level to the next; as a share of another instrument if one is given."""

    def measure(table: Table) -> dict[int, float]:
        found = over_noise(table, instrument, **where)
        sizes = (
            over_noise(table, over, **where) if over else {seed: dict.fromkeys(own, 1.0) for seed, own in found.items()}
        )
        shares = {seed: [value / sizes[seed][at] for at, value in own.items()] for seed, own in found.items()}
        return {seed: float(all(a > b for a, b in pairwise(series))) for seed, series in shares.items()}

    return measure


def farthest_ratio(one: str, other: str, most: float, **where: Any) -> Measure:
    """One instrument over another, at the noise level (up to `most`) where the mean is farthest from 1."""

    def measure(table: Table) -> dict[int, float]:
        over, under = over_noise(table, one, **where), over_noise(table, other, **where)
        levels = [sigma for sigma in next(iter(over.values())) if sigma <= most]
        ratios = [{seed: over[seed][sigma] / under[seed][sigma] for seed in over} for sigma in levels]
        if not ratios:
            raise NotMeasured(f"no noise level up to {most:g} was sampled")
        return max(ratios, key=lambda by_seed: abs(mean(by_seed) - 1))

    return measure


def local_but_not_composed(table: Table) -> dict[int, float]:
    """Nothing leaks while J stays, yet models of one condition rebuild the wrong law (LS1f)."""
    leaks = [largest(name, law="crowded")(table) for name in ("pixel.outside", "condition.outside")]
    off = final("rebuilt", law="crowded", sigma=1.0)(table)
    return {seed: float(max(own[seed] for own in leaks) < ZERO and value > 0.1) for seed, value in off.items()}


def known_errors(table: Table) -> dict[int, float]:
    """Whether the formula gives the numbers that were computed independently (LS2e)."""
    found = over_noise(table, "error", **GAUSSIAN)
    return {
        seed: float(all(abs(own.get(sigma, 0) / known - 1) < 2e-3 for sigma, known in KNOWN_ERRORS.items()))
        for seed, own in found.items()
    }


def peak(table: Table) -> dict[int, float]:
    """The sigma at which sigma^2 times the error is largest (LS2f)."""
    found = over_noise(table, "error.sampled", **COUPLED)
    return {seed: max(own, key=lambda sigma: sigma**2 * own[sigma]) for seed, own in found.items()}


def total_of(rho: float, instrument: str) -> Measure:
    """A number of the Gaussian blocks of this coupling, over all noise levels."""
    return final(instrument, law="gaussian", rho=rho)


def totals_match(table: Table) -> dict[int, float]:
    """Whether the divergence lost is the total error, and the known number, at every coupling (LS3a)."""
    good: dict[int, float] = {}
    for rho, known in KNOWN_TOTALS.items():
        total = total_of(rho, "error.total")(table)
        for seed, lost in total_of(rho, "divergence.lost")(table).items():
            right = abs(lost - total[seed]) < 1e-8 and abs(lost - known) < 1e-5
            good[seed] = float(good.get(seed, 1.0) and right)
    return good


def bounded(table: Table) -> dict[int, float]:
    """Whether the total error is at most the total correlation, at every coupling (LS3c)."""
    pairs = [[total_of(rho, name)(table) for name in ("error.total", "divergence")] for rho in KNOWN_TOTALS]
    return {seed: float(all(total[seed] <= bound[seed] for total, bound in pairs)) for seed in pairs[0][0]}


def cosine(samples: int, background: str = "shared") -> Measure:
    """The mean cosine of two orthogonal shifts from so many samples."""
    return final("cosine.sampled", background=background, samples=samples)


OURS, IN_PLACE = "not in the paper; computed independently", "in place of Lemma 3's constant"
FORMULA = "a formula: the same for all seeds"
CLAIMS = (
    Claim("LS1a", "Laws that compose have local scores: no pixel outside N_i changes s_i, at any noise level.",
          f"Lemma 1; {OURS}: 5e-11",
          zero(largest("pixel.outside", law="composed"), largest("pixel.outside", law="null-tied"))),
    Claim("LS1b", "Laws that compose have local scores: no condition outside L_i changes s_i when it is changed or "
          "dropped.",
          f"Lemma 1; {OURS}: 5e-11",
          zero(*(largest(f"{what}.outside", law=law)
                 for law in ("composed", "null-tied") for what in ("condition", "dropped")))),
    Claim("LS1c", "Local scores compose: models of one condition each, given junk elsewhere, rebuild the joint law.",
          f"Lemma 1; {OURS}: 1.2e-11", zero(largest("rebuilt", law="composed"))),
    Claim("LS1d", "With a latent that blocks share, outside pixels change the score by more than 0.1 at sigma = 0.3.",
          f"{OURS}: 0.95, one set of mixtures", above_at("pixel.outside", 0.3, 0.1, law="coupled"), check=True),
    Claim("LS1e", "With a latent that blocks share, outside conditions change the score by more than 0.1 at sigma = "
          "0.3, too.",
          f"{OURS}: 3.6, one set of mixtures",
          above_at("condition.outside", 0.3, 0.1, law="coupled"), check=True),
    Claim("LS1f", "A score that is local for each set of conditions is not enough: one f_i must serve all sets.",
          "not in the paper: an assumption about Lemma 1", in_every_seed(local_but_not_composed), check=True),
    Claim("LS2a", "The error of the best local score falls with noise (coupled mixtures, sampled).",
          "Lemma 3: direction", in_every_seed(falls("error.sampled", **COUPLED))),
    Claim("LS2b", "The share of that error in E s_i^2 falls with noise (two Gaussian blocks, rho = 0.3).",
          "Lemma 3: direction",
          in_every_seed(falls("error", over="score.squared", **GAUSSIAN))),
    Claim("LS2c", "The marginal score is the best local one: its error is the Fisher gap (ratio, within 0.1).",
          IN_PLACE, between(farthest_ratio("gap.sampled", "error.sampled", 1, **COUPLED), 0.9, 1.1), check=True),
    Claim("LS2d", "From samples, the error is that of the Gaussian formula (ratio, within 0.02).",
          f"{OURS}: 0.1397 for 0.1400",
          between(farthest_ratio("error.sampled", "error", float("inf"), **GAUSSIAN), 0.98, 1.02), check=True),
    Claim("LS2e", "The formula gives 0.1400, 9.12e-3, 1.279e-7 at sigma 0.1, 1, 10 (within 0.2%).", OURS,
          in_every_seed(known_errors, FORMULA), check=True),
    Claim("LS2f", "Weighted by sigma^2, the error peaks near the data's own scale (sigma from 0.1 to 3).", OURS,
          between(peak, 0.1, 3, "sigma of the peak; data have a standard deviation of about 1"), check=True),
    Claim("LS3a", "Divergence lost to noise is the total local error: 0.01507, 0.14140, 0.66910 (within 1e-5).",
          IN_PLACE, in_every_seed(totals_match, FORMULA), check=True),
    Claim("LS3b", "Divergence lost to noise is the total local error also for coupled mixtures, sampled (ratio, "
          "within 0.05).",
          IN_PLACE,
          between(ratio(final("error.total", **COUPLED), final("divergence.lost", **COUPLED)), 0.95, 1.05), check=True),
    Claim("LS3c", "All local errors together are at most the total correlation of the blocks (Gaussians).",
          IN_PLACE, in_every_seed(bounded, FORMULA), check=True),
    Claim("LS4a", "For a law that composes in features, an orthogonal map keeps the score local under pixel noise.",
          "Corollary 1", zero(largest("pixel.outside", map="orthogonal"), largest("partial", map="orthogonal"))),
    Claim("LS4b", "A generic map does not keep the score local: the partial correlation between blocks is above "
          "0.05 at sigma = 1.",
          f"{OURS}: 0.27, one map",
          above_at("partial", 1.0, 0.05, map="generic"), check=True),
    Claim("LS4c", "Mean shifts are orthogonal in features and, if the map is orthogonal, in pixels.", "Lemma 2",
          zero(final("cosine", map="identity"), final("cosine", map="orthogonal"))),
    Claim("LS4d", "Behind a generic map mean shifts are not orthogonal in pixels (largest of three cosines above "
          "0.1).",
          f"{OURS}: 0.39, one map",
          above(final("cosine", map="generic"), 0.1), check=True),
    Claim("LS5a", "Subtracting one background mean from both gives orthogonal shifts a cosine of 0.37 at 50 samples.",
          OURS, between(cosine(50), 0.36, 0.38), check=True),
    Claim("LS5b", "Subtracting one background mean from both gives orthogonal shifts a cosine of 0.11 at 500 samples.",
          OURS,
          between(cosine(500), 0.10, 0.12), check=True),
    Claim("LS5c", "Subtracting a different half of the background from each gives orthogonal shifts a cosine of 0 "
          "(50 samples, within 0.01).",
          OURS,
          between(cosine(50, "split"), -0.01, 0.01), check=True),
    Claim("LS6a", "Adding scores is exact where the law composes and its blocks are independent without conditions.",
          "the composition rule of the preceding paper", zero(largest("linear", law="composed")), check=True),
    Claim("LS6b", "Adding scores is wrong on the coupled law (relative error above 0.1 at sigma = 0.3).",
          "not in the paper",
          above_at("linear", 0.3, 0.1, law="coupled"), check=True),
    Claim("LS6c", "Adding scores is wrong where the blocks are tied without conditions, although Lemma 1 holds there.",
          "not in the paper",
          above_at("linear", 0.3, 0.1, law="null-tied"), check=True),
)  # fmt: skip
