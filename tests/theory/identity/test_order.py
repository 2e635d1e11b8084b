"""Which concept one layer learns first: closed forms from rest, the integration beside them, and the flip."""

import math

import numpy as np
import pytest
import torch

from recombine.theory.identity.curves import first_times
from recombine.theory.identity.flow import affine, augmented, one_layer
from recombine.theory.identity.order import closed_forms, integrated, located_flips
from recombine.worlds.mixture import MixtureWorld

WORLD = MixtureWorld(dimensions=3, spread_as="variance", origin=True)


def test_times_from_rest_are_those_worked_out_independently() -> None:
    """20.95 and 3.05 epochs with a bias, 11.4 and 3.2 without, for mu (1, 2), variance 0.05, d 64 and rate 0.1."""
    epochs = torch.linspace(0, 40, 4_001, dtype=torch.float64)
    forms = closed_forms(WORLD, epochs * 0.36875)
    level = 0.8 * WORLD.probe()[:2]
    assert first_times(epochs, forms["affine"], level).tolist() == pytest.approx([20.95, 3.05], abs=0.02)
    rates = 0.36875 * WORLD.second_moment()[:2]
    assert first_times(epochs, forms["plain"], level).tolist() == pytest.approx(
        (math.log(5) / rates).tolist(), rel=1e-4
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_integration_is_the_closed_form(bias: bool) -> None:
    torch.manual_seed(0)
    start = torch.randn(4, 3, 3 + bias, dtype=torch.float64)
    times = torch.linspace(0, 6, 5, dtype=torch.float64)
    closed = affine(augmented(WORLD), start, times) if bias else one_layer(WORLD.second_moment(), start, times)
    assert torch.allclose(integrated(WORLD, start, times), closed, atol=1e-11, rtol=0)


def test_the_flip_is_found_where_the_rule_says() -> None:
    found = located_flips(3, WORLD, 0)
    assert {form: len(ratios) for form, ratios in found.items()} == {"affine": 3, "plain": 3}
    assert np.ravel(list(found.values())).tolist() == pytest.approx([1.0] * 6, abs=1e-4)
    assert located_flips(0, WORLD, 0) == {"affine": [], "plain": []}
