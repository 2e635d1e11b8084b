"""Exact composition: densities against scipy, scores against autograd, Lemma 1 in both directions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from recombine.denoisers.exact import MixtureDenoiser
from recombine.errors import UserError
from recombine.theory.composition.families import (
    Composition,
    Condition,
    Crowded,
    Family,
    Unfolded,
    random_composition,
    random_coupled,
)
from recombine.theory.composition.features import Featured, generic_map
from recombine.theory.composition.laws import Law, Mixture, Product, mix
from recombine.theory.composition.scores import (
    conditioned_block,
    largest_changes,
    linear_composition,
    neighbourhoods,
    pixel_changes,
    rebuilt,
)
from support.compositions import ALL, exact, keys, points, tied

SIGMAS = (0.0, 0.3, 1.0, 3.0)


# Laws


def test_a_mixture_is_that_of_scipy() -> None:
    law = exact().conditional[0][0]
    x = points(law, 20, 0.7)
    for sigma in (0.0, 0.7):
        parts = zip(law.weights.tolist(), law.means.numpy(), law.covariances.numpy(), strict=True)
        known = sum(w * multivariate_normal(m, c + sigma**2 * np.eye(2)).pdf(x.numpy()) for w, m, c in parts)
        assert law.log_density(x, sigma).exp().numpy() == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("name", ["mixture", "product", "tied", "featured"])
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    laws: dict[str, Law] = {
        "mixture": exact().at(ALL).joint(),
        "product": exact().at((1, 0, 3)),
        "tied": random_coupled(exact(), 0).at(ALL),
        "featured": Featured(exact().at(ALL).joint(), generic_map(7, 0)),
    }
    law = laws[name]
    sigma = torch.linspace(0.0, 2.0, 12, dtype=torch.float64)  # one for each x
    x = points(law, 12, 0.5).requires_grad_()
    (slope,) = torch.autograd.grad(law.log_density(x, sigma).sum(), x)
    x = x.detach()
    assert float((law.score(x, sigma) - slope).abs().max()) < 1e-10
    assert torch.allclose(law.score(x, sigma)[3], law.score(x[3:4], float(sigma[3]))[0], rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 5.0])
def test_the_joint_mixture_is_the_same_law(sigma: float) -> None:
    for law in (exact().at(ALL), exact().at((0, 0, 2)), tied().at((0, 3, 0)), random_coupled(exact(), 1).at(ALL)):
        x = points(law, 30, sigma)
        for one, other in zip(law.evaluate(x, sigma), law.joint().evaluate(x, sigma), strict=True):
            assert float((one - other).abs().max()) < 1e-12
    assert len(exact().at(ALL).joint().weights) == 81


def test_samples_have_the_moments_of_the_law() -> None:
    for law in (exact().at(ALL), tied().at((0, 2, 0)), random_coupled(exact(), 0).at(ALL)):
        joint = law.joint()
        drawn = law.sample(keys(40_000))
        around = joint.means - joint.mean()
        spread = torch.einsum("k,kde->de", joint.weights, joint.covariances) + (around.T * joint.weights) @ around
        assert float((drawn.mean(0) - joint.mean()).abs().max()) < 0.03
        assert float((drawn.T.cov() - spread).abs().max()) < 0.05


def test_maps_and_marginals() -> None:
    law = exact().at(ALL)
    assert torch.allclose(law.mean(), law.joint().mean(), atol=1e-14)
    assert torch.equal(law.joint().marginal([5, 4]).means, law.joint().means[:, [5, 4]])
    matrix = generic_map(7, 3)
    assert torch.allclose(law.joint().mapped(matrix).mean(), matrix @ law.mean(), atol=1e-12)
    pair = mix(torch.tensor([0.25, 0.75], dtype=torch.float64), [law.joint(), law.joint().moved(1.0)])
    assert torch.allclose(pair.mean(), law.mean() + 0.75, atol=1e-12)


# Families


def test_conditioned_and_other_blocks_are_what_the_definition_says() -> None:
    family = tied()
    x = points(family.at(ALL), 10, 0.5)
    rest = [2, 3, 6]
    law = family.at((2, 0, 4))
    known = family.conditional[0][1].log_density(x[:, :2], 0.5) + family.conditional[2][3].log_density(x[:, 4:6], 0.5)
    known += family.at((0, 0, 0)).joint().marginal(rest).log_density(x[:, rest], 0.5)
    assert torch.allclose(law.log_density(x, 0.5), known, atol=1e-12)
    assert conditioned_block(family.blocks, (2, 0, 4), 7).tolist() == [0, 0, -1, -1, 2, 2, -1]
    assert neighbourhoods(family.blocks, (2, 0, 4), 7).nonzero()[:, 1].tolist() == [
        *[0, 1] * 2, *[2, 3, 6] * 2, *[4, 5] * 2, *[2, 3, 6],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "said"), [((1, 1), "3 blocks"), ((1, 5, 1), "1 to 4"), ((0, -1, 0), "has condition -1")]
)
def test_bad_conditions_are_one_line(condition: Condition, said: str) -> None:
    with pytest.raises(UserError, match=said):
        exact().at(condition)


def test_bad_laws_are_one_line() -> None:
    good = exact()
    one = good.conditional[0][0]
    with pytest.raises(UserError, match="add up to 1"):
        Mixture(2 * one.weights, one.means, one.covariances)
    with pytest.raises(UserError, match="positive definite"):
        Mixture(one.weights, one.means, 0 * one.covariances)
    with pytest.raises(UserError, match="3 weights and 2 x 2 covariances"):
        Mixture(one.weights, one.means, one.covariances[:2])
    with pytest.raises(UserError, match="disjoint"):
        Composition(((0, 1), (1, 2)), (good.conditional[0], good.conditional[1]), good.null)
    with pytest.raises(UserError, match="as many pixels"):
        Composition(((0, 1, 2),), (good.conditional[0],), good.null)
    with pytest.raises(UserError, match="in just one part"):
        Composition(((0, 1),), (good.conditional[0],), Product((((1, 2), one),)))
    with pytest.raises(UserError, match="blocks of 1 pixel"):
        random_composition((2, 0), 1, 4, 3, 0)


def test_it_agrees_with_the_mixture_denoiser() -> None:
    means = torch.tensor([[0.0, 1.0], [2.0, -1.0]], dtype=torch.float64)
    variances, weights = torch.tensor([0.5, 0.1]), torch.tensor([0.3, 0.7], dtype=torch.float64)
    law = Mixture(weights, means, variances.double()[:, None, None] * torch.eye(2, dtype=torch.float64))
    x, sigma = points(law, 9, 0.8), torch.full((9,), 0.8, dtype=torch.float64)
    known = MixtureDenoiser(means, variances, weights).denoise(x, sigma)
    assert torch.allclose(x + 0.64 * law.score(x, sigma), known, atol=1e-7)  # Tweedie


# Lemma 1


@given(seed=st.integers(0, 10_000), condition=st.tuples(*[st.integers(0, 4)] * 3), together=st.booleans())
@settings(max_examples=8, deadline=None)
def test_composed_laws_have_local_scores(seed: int, condition: Condition, together: bool) -> None:
    family = tied(seed) if together else exact(seed)
    unfolded = Unfolded(family)
    for sigma in SIGMAS:
        found = largest_changes(unfolded, condition, points(family.at(condition), 4, sigma), sigma, 0.3, 4)
        for name in ("pixel.outside", "condition.outside", "dropped.outside"):
            assert found[name] < 1e-10
        assert found["pixel.inside"] > 1e-3
        assert (found["condition.inside"] > 1e-3) == any(condition)


def test_a_shared_latent_leaks_less_in_more_noise() -> None:
    family = random_coupled(exact(), 0)
    unfolded = Unfolded(family)
    found = [
        largest_changes(unfolded, ALL, points(family.at(ALL), 40, sigma), sigma, 0.3, 4) for sigma in (0.3, 1, 3, 10)
    ]
    for name in ("pixel.outside", "condition.outside", "dropped.outside"):
        leaks = [one[name] for one in found]
        assert leaks == sorted(leaks, reverse=True)
        assert leaks[0] > 0.1
        assert 1e-6 < leaks[-1] < 1e-2


def test_a_change_is_that_of_the_moved_pixel() -> None:
    law = exact().at(ALL)
    x = points(law, 3, 0.5)
    change = pixel_changes(law, x, 0.5, 0.3)
    moved = x.clone()
    moved[:, 4] += 0.3
    assert torch.allclose(change[:, :, 4], law.score(moved, 0.5) - law.score(x, 0.5), atol=1e-14)


def rebuilding_error(family: Family, truth: Family, condition: Condition, sigma: float, rest: bool = True) -> float:
    law = truth.at(condition)
    start, end = (points(law, 4, sigma, name) for name in ("start", "end"))
    if not rest:  # what is outside the conditioned blocks stays
        outside = conditioned_block(truth.blocks, condition, 7) < 0
        end[:, outside] = start[:, outside]
    junk = torch.linspace(-4, 4, 7, dtype=torch.float64)
    true = law.log_density(end, sigma) - law.log_density(start, sigma)
    return float((rebuilt(family, condition, start, end, sigma, junk) - true).abs().max())


@pytest.mark.parametrize("sigma", [0.0, 1.0])
@pytest.mark.parametrize("condition", [ALL, (0, 3, 0), (0, 0, 0)])
def test_models_of_one_condition_rebuild_the_law(condition: Condition, sigma: float) -> None:
    assert rebuilding_error(Unfolded(exact()), exact(), condition, sigma) < 1e-9


def test_what_cannot_be_rebuilt() -> None:
    coupled = random_coupled(exact(), 0)
    assert rebuilding_error(coupled, coupled, ALL, 0.3) > 0.1
    assert rebuilding_error(tied(), tied(), (2, 1, 0), 0.3) > 0.1  # the law without conditions has no blocks to take
    assert rebuilding_error(tied(), tied(), (2, 1, 0), 0.3, rest=False) < 1e-9


def test_one_function_must_serve_every_set_of_conditions() -> None:
    crowded = Crowded(exact(), 0.5)
    found = largest_changes(Unfolded(crowded), ALL, points(crowded.at(ALL), 5, 0.3), 0.3, 0.3, 4)
    assert max(found["pixel.outside"], found["condition.outside"]) < 1e-10
    assert found["dropped.outside"] > 0.1
    assert rebuilding_error(crowded, crowded, ALL, 0.3) > 0.1
    assert rebuilding_error(crowded, crowded, (0, 3, 0), 0.3) < 1e-9  # under one condition it is the exact one


def test_linear_composition() -> None:
    def error(family: Family, condition: Condition = ALL) -> float:
        x = points(family.at(condition), 50, 0.3)
        true = family.at(condition).score(x, 0.3)
        return float((linear_composition(family, condition, x, 0.3) - true).norm() / true.norm())

    assert error(Unfolded(exact())) < 1e-12
    assert error(Unfolded(tied())) > 0.1
    assert error(random_coupled(exact(), 0)) > 0.1
    assert error(Unfolded(tied()), (0, 2, 0)) < 1e-12  # nothing to add
