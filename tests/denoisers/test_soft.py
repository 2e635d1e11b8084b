"""What a locality penalty asks about: a second place, and the pixels that are far from it."""

import pytest
import torch
from torch import nn

from recombine import seeds
from recombine.denoisers.configs import LocalityPenalty
from recombine.denoisers.soft import SoftNetwork, far_pixels
from recombine.errors import UserError
from recombine.settings import build
from recombine.worlds.scenes.labels import LabelConfig

GRID, PIXELS = 8, 16
LABELS = LabelConfig(grid=GRID, labelled="one")


class Echo(nn.Module):
    def forward(self, x, noise_level, condition=None):
        return x


def soft(weight=2.0, reach=1):
    return SoftNetwork(Echo(), LocalityPenalty(weight=weight, reach=reach), PIXELS, LABELS)


def one_hot(cells):
    return torch.nn.functional.one_hot(torch.as_tensor(cells), GRID**2).float()


def test_far_pixels_are_those_beyond_the_square_of_near_cells():
    far = far_pixels(GRID, PIXELS, 1)
    assert far.shape == (GRID**2, PIXELS, PIXELS)
    cell = 3 * GRID + 5  # row 3, column 5: near are rows 2 to 4 and columns 4 to 6, two pixels each
    expected = torch.ones(PIXELS, PIXELS)
    expected[4:10, 8:14] = 0
    assert torch.equal(far[cell], expected)
    assert far[0].sum() == PIXELS**2 - 16  # the corner has 2 x 2 near cells


def test_the_second_place_is_another_one_that_another_image_names():
    key = seeds.keys(0, "k", torch.arange(64))
    cells = seeds.bits(key, 1)[:, 0] % GRID**2
    condition = one_hot(cells)
    more, far = soft().second_place(condition, key)
    second = (more - condition).argmax(1)
    assert (more.sum(1) == 2).all()
    assert (more * condition == condition).all()
    differ = cells != cells.roll(1)
    assert torch.equal(second[differ], cells.roll(1)[differ])
    assert torch.equal(far[:, 0], far_pixels(GRID, PIXELS, 1)[second])


def test_where_the_next_image_names_no_other_place_any_free_cell_is_drawn_by_the_image_s_own_key():
    key = seeds.keys(0, "k", torch.arange(256))
    condition = one_hot([9] * 256)
    more, _ = soft().second_place(condition, key)
    second = (more - condition).argmax(1)
    assert (more.sum(1) == 2).all()
    assert len(second.unique()) > 55  # nearly all of the 63 others
    again, _ = soft().second_place(condition[:7], key[:7])
    assert torch.equal(again, more[:7])


def test_it_answers_as_its_network_and_keeps_nothing_in_checkpoints():
    x = torch.randn(2, 3, PIXELS, PIXELS, generator=torch.Generator().manual_seed(0))
    assert torch.equal(soft()(x, torch.zeros(2), one_hot([1, 2])), x)
    assert soft().state_dict() == {}


@pytest.mark.parametrize(
    ("changes", "labels", "message"),
    [
        ({"reach": 4}, {}, "give at most 3"),
        ({}, {"form": "list"}, "set labels.form = 'grid'"),
        ({"weight": 0}, {}, "'weight' = 0"),
        ({"reach": -1}, {}, "'reach' = -1"),
    ],
)
def test_what_cannot_be_penalised_is_refused_in_one_line(changes, labels, message):
    with pytest.raises(UserError) as caught:
        build(LocalityPenalty, changes).check(LABELS.replace(**labels))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_images_that_are_no_grid_of_cells():
    with pytest.raises(UserError, match="no grid of 8 x 8"):
        far_pixels(8, 20, 1)
