import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.settings import build
from recombine.worlds.bumps import BumpsWorld


def grey(world: BumpsWorld, x: float, y: float) -> torch.Tensor:
    """The image of one label, from 0 to 255."""
    return (world.render(torch.tensor([[x, y]], dtype=torch.float64))[0, 0] + 1) * 127.5


def test_a_bump_has_the_values_of_the_paper() -> None:
    image = grey(BumpsWorld(), 16, 10)  # row 10, column 16, counted from 1
    for (row, column), value in {(10, 16): 0.0, (10, 17): 56.41, (10, 18): 161.19, (11, 17): 100.33}.items():
        assert image[row - 1, column - 1].item() == pytest.approx(value, abs=0.01)
    assert image[29, 1].item() == pytest.approx(255, abs=1e-3)


def test_stripes_cross_in_black_and_are_grey_alone() -> None:
    image = grey(BumpsWorld(pattern="stripes"), 16, 10)
    assert image[9, 15].item() == pytest.approx(0, abs=1e-3)
    assert image[29, 15].item() == pytest.approx(127.5, abs=1e-3)  # the vertical stripe, far from the other
    assert image[9, 1].item() == pytest.approx(127.5, abs=1e-3)
    assert image[29, 1].item() == pytest.approx(255, abs=1e-3)


def test_half_maximum_is_where_the_exponent_says() -> None:
    line = BumpsWorld(pixels=200, width=10).render(torch.tensor([[100.0, 100.0]]))[0, 0, 99]
    dark = (1 - line) / 2
    wide = int((dark >= 0.5).sum())
    assert wide == pytest.approx(4 * 10 * math.sqrt(math.log(2)), abs=1)  # 33.3 px


@given(st.floats(0.1, 31.9), st.floats(0.1, 31.9), st.sampled_from(["bump", "stripes"]))
def test_a_periodic_image_is_shifted_by_whole_pixels(x: float, y: float, pattern: str) -> None:
    world = build(BumpsWorld, {"periodic": True, "pattern": pattern})
    moved = grey(world, (x + 5) % 32, (y + 7) % 32)
    assert torch.allclose(moved, grey(world, x, y).roll((7, 5), (0, 1)), atol=1e-3)


def test_plain_and_periodic_differ_at_the_edge_alone() -> None:
    plain, joined = BumpsWorld(), BumpsWorld(periodic=True)
    assert torch.allclose(grey(plain, 16, 16), grey(joined, 16, 16), atol=1e-3)
    assert not torch.allclose(grey(plain, 1, 16), grey(joined, 1, 16), atol=1)


def test_labels_with_a_margin_are_two_one_or_no_stripes() -> None:
    world = BumpsWorld(pattern="stripes", margin=6)
    labels = world.labels(0.1)
    assert labels.shape == (193_600, 2)
    assert torch.bincount(world.dimension(labels)).tolist() == [14_400, 76_800, 102_400]
    alone = world.render(torch.tensor([[22.0, 0.5]]))[0, 0]
    assert alone.min().item() == pytest.approx(0, abs=1e-3)  # a lone stripe keeps the half
    assert torch.allclose(world.render(torch.tensor([[0.5, 0.5]])), torch.ones(1, 1, 32, 32), atol=4e-3)


def test_what_is_hidden_shows_less_than_half_a_grey_level() -> None:
    world = BumpsWorld(pattern="stripes", margin=6)
    labels = torch.tensor([[22.0, 7 - 4.72], [22.0, 7 - 4.70]], dtype=torch.float64)  # beyond the edge pixel at 1 + 6
    assert world.hidden(labels).tolist() == [True, False]
    ideal = grey(world, 22, 0.01)
    shown = [(ideal - grey(world, 22, y)).abs().max().item() for y in labels[:, 1].tolist()]
    assert shown[0] < 0.51 < shown[1] + 0.02


def test_a_world_of_both_draws_bumps_inside_and_stripes_outside() -> None:
    world = BumpsWorld(pattern="bump+stripes", margin=6)
    assert torch.equal(world.render(torch.tensor([[22.0, 22.0]])), BumpsWorld().render(torch.tensor([[16.0, 16.0]])))
    stripe = BumpsWorld(pattern="stripes", margin=6).render(torch.tensor([[22.0, 1.0]]))
    assert torch.equal(world.render(torch.tensor([[22.0, 1.0]])), stripe)


def test_what_the_network_receives() -> None:
    label = torch.tensor([[8.0, 24.0]])
    assert BumpsWorld().condition(label).tolist() == [[8, 24]]
    assert BumpsWorld(encoding="scalar").condition(label).tolist() == [[-0.5, 0.5]]
    periodic = BumpsWorld(encoding="periodic")
    assert torch.allclose(periodic.condition(label), torch.tensor([[0.0, 1, 0, -1]]), atol=1e-6)
    assert sum(periodic.condition_widths) == 4


def test_the_grid_that_is_tested_is_every_pixel() -> None:
    centres = BumpsWorld(pixels=4, margin=2).centres()
    assert centres[0].tolist() == [3, 3]
    assert centres[-1].tolist() == [6, 6]
    assert len(centres) == 16


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: BumpsWorld().render(torch.tensor([[40.0, 3.0]])), "x and y go from 0 to 32"),
        (lambda: BumpsWorld(margin=6).condition(torch.tensor([[45.0, 3.0]])), "x and y go from 0 to 44"),
        (lambda: BumpsWorld().render(torch.zeros(3)), "one \\(x, y\\) for each image"),
        (lambda: BumpsWorld().labels(0.3), "does not divide the 32 px"),
        (lambda: build(BumpsWorld, {"periodic": True, "margin": 6}), "set margin to 0"),
    ],
)
def test_bad_input_gets_one_line(ask, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=says) as caught:
        ask()
    assert "\n" not in str(caught.value)
