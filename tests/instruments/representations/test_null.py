"""Codes that are not learned: their values by hand. Their geometry is in test_geometry."""

import math

import numpy as np
import pytest
import torch

from recombine.errors import UserError
from recombine.instruments.representations.null import as_grid, label_code, pixels, pooled, random_layer
from recombine.worlds.bumps import BumpsWorld

SMALL = BumpsWorld(pixels=6)


def test_the_first_axis_is_x_and_the_second_y() -> None:
    grid = pixels(SMALL)
    assert grid.shape == (6, 6, 36)
    assert grid[1, 4].argmin() == 4 * 6 + 1  # row y, column x
    assert as_grid(SMALL.centres())[1, 4].tolist() == [2, 5]
    with pytest.raises(UserError, match="square"):
        as_grid(torch.zeros(35, 2))
    with pytest.raises(UserError, match="square"):
        as_grid(torch.zeros(0, 2))


def test_pooling_takes_means_of_squares() -> None:
    images = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert pooled(images, 2).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert pooled(images, 1).equal(images)
    with pytest.raises(UserError, match="divisor"):
        pooled(images, 3)


def test_a_label_code_is_sinusoids_of_x_beside_those_of_y() -> None:
    code = label_code(torch.tensor([[0.0, 1.5]]), 4, (2 * math.pi, 4 * math.pi))
    expected = [0, 0, 1, 1, *np.sin([1.5, 0.75]), *np.cos([1.5, 0.75])]
    assert code.flatten().tolist() == pytest.approx(expected, abs=1e-6)


def test_a_random_layer_is_a_function_of_its_seed() -> None:
    images = SMALL.render(SMALL.centres())
    layer = random_layer(images, 16, seed=3)
    assert layer.shape == (36, 16)
    assert layer.equal(random_layer(images, 16, seed=3))
    assert not layer.equal(random_layer(images, 16, seed=4))
    assert 0.3 < (layer == 0).double().mean() < 0.7
    assert (random_layer(torch.ones(2, 1, 6, 6), 16) == 0).all()  # a blank image has no activation
