"""Rendering has known areas, centroids and colours; settings that cannot work are refused in one line."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.seeds import keys
from recombine.settings import build, fingerprint
from recombine.worlds.shapes import ShapesWorld

ALL = ShapesWorld(shapes=("circle", "triangle", "square"), position_jitter=0.1)


def factors(shape=0, rgb=(0.9, 0.1, 0.1), size=0.4, background=1.0, x=0.0, y=0.0):
    return torch.tensor([[shape, *rgb, size, background, x, y]])


def members(world, per_node, seed=0):
    nodes = world.digits(world.nodes).repeat_interleave(per_node, 0)
    return nodes, world.vary(nodes, keys(seed, "test", torch.arange(len(nodes))))


@pytest.mark.parametrize("pixels", [16, 28, 64])
def test_area_is_that_of_the_circle_for_every_shape(pixels):
    world = ALL.replace(pixels=pixels)
    _, varied = members(world, 60)
    area = world.coverage(varied).sum((1, 2)) * (2 / pixels) ** 2 / (math.pi * varied[:, 4] ** 2)
    for shape in range(3):
        assert area[varied[:, 0] == shape].mean() == pytest.approx(1, abs=0.004)
    assert (area - 1).abs().max() < (0.07 if pixels == 16 else 0.03)  # one image, sampled at pixel centres


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2), st.floats(0.2, 0.5), st.floats(-0.15, 0.15), st.floats(-0.15, 0.15))
def test_centroid_is_where_the_factors_say(shape, size, x, y):
    cover = ALL.coverage(factors(shape, size=size, x=x, y=y))[0]
    ticks = (torch.arange(28) + 0.5) / 14 - 1
    assert (cover.sum(0) * ticks).sum() / cover.sum() == pytest.approx(x, abs=0.01)
    assert -(cover.sum(1) * ticks).sum() / cover.sum() == pytest.approx(y, abs=0.01)


def test_triangle_matches_an_independent_polygon_test():
    """Supersampled inside-test with the corners of an equilateral triangle of area pi r^2."""
    size, pixels, fine = 0.4, 28, 8
    side = math.sqrt(4 * math.pi * size**2 / math.sqrt(3))
    height = side * math.sqrt(3) / 2
    ticks = (torch.arange(pixels * fine) + 0.5) * 2 / (pixels * fine) - 1
    x, y = ticks[None, :], -ticks[:, None]
    above_base = y >= -height / 3
    half_width = (2 * height / 3 - y) / height * side / 2
    inside = (above_base & (x.abs() <= half_width)).float()
    expected = torch.nn.functional.avg_pool2d(inside[None, None], fine)[0, 0]
    got = ALL.coverage(factors(1, size=size))[0]
    assert (got - expected).abs().max() < 0.3  # at a corner; edges are soft
    assert (got - expected).abs().sum() / expected.sum() < 0.03


def test_colours_at_the_centre_and_in_the_corner():
    image = ShapesWorld().render(factors())[0]
    assert torch.allclose(image[:, 14, 14], torch.tensor([0.8, -0.8, -0.8]))
    assert torch.allclose(image[:, 0, 0], torch.ones(3))
    black = ShapesWorld(backgrounds=("white", "black")).render(factors(background=0.0))[0]
    assert torch.allclose(black[:, 0, 0], -torch.ones(3))


def test_shapes_are_symmetric():
    for shape in range(3):
        cover = ALL.coverage(factors(shape))[0]
        assert torch.allclose(cover, cover.flip(1), atol=1e-5)
        upright = torch.allclose(cover, cover.flip(0), atol=1e-5)
        assert upright == (shape != 1)
    widths = [width for width in ALL.coverage(factors(1))[0].sum(1).tolist() if width > 0]
    assert widths[0] < 1 < widths[-2]  # the tip is at the top, the base below


def test_resolution_does_not_change_the_picture():
    _, varied = members(ALL.replace(pixels=64), 10)
    small, large = ALL.replace(pixels=32).render(varied), ALL.replace(pixels=64).render(varied)
    halved = torch.nn.functional.avg_pool2d(large, 2)
    assert (small - halved).abs().mean() < 0.01


def test_an_image_does_not_depend_on_its_batch():
    world = ShapesWorld()
    nodes, varied = members(world, 300)  # more than one chunk
    images = world.render(varied)
    assert images.shape == (2400, 3, 28, 28)
    assert images.dtype == torch.float32
    assert not images.requires_grad
    for row in (0, 700, 2399):
        assert torch.equal(images[row], world.render(varied[row : row + 1])[0])
    assert torch.equal(varied[700:800], world.vary(nodes[700:800], keys(0, "test", torch.arange(700, 800))))
    assert world.render(varied[:0]).shape == (0, 3, 28, 28)
    assert not world.render(varied[:4].requires_grad_()).requires_grad


def test_values_vary_within_their_ranges_and_fill_them():
    world = ShapesWorld()
    nodes, varied = members(world, 500)
    off = varied - world.prototype(nodes)
    half = torch.tensor([0, 0.1, 0.1, 0.1, 0.04, 0, 0.2, 0.2])
    assert (off.abs() <= half + 1e-6).all()
    assert (off.abs().amax(0) >= 0.99 * half).all()
    assert (off.mean(0).abs() <= 0.05 * half).all()
    correlation = torch.corrcoef(off[:, [1, 2, 3, 4, 6, 7]].T) - torch.eye(6)
    assert correlation.abs().max() < 0.08  # 4000 images: five standard errors


@pytest.mark.parametrize(("name", "low", "high"), [("white", 0.8, 1.0), ("black", 0.0, 0.2), ("grey", 0.4, 0.6)])
def test_a_background_fills_its_range_of_grey(name, low, high):
    """White and black move inwards, so that no image leaves [-1, 1]."""
    world = ShapesWorld(backgrounds=(name,), background_jitter=0.1)
    nodes, varied = members(world, 250)
    images = world.render(varied)
    assert images.abs().max() <= 1 + 1e-6
    grey = (images[:, :, 0, 0] + 1) / 2  # [n, 3], a corner without ink
    assert torch.allclose(grey, varied[:, 5:6].expand(-1, 3), atol=1e-6)
    place, _ = ((varied[:, 5] - low) / (high - low)).sort()
    assert place[0] >= -1e-6
    assert place[-1] <= 1 + 1e-6
    # Kolmogorov and Smirnov: 2000 uniform numbers stray further with p = 0.001.
    assert (place - (torch.arange(2000) + 0.5) / 2000).abs().max() < 1.95 / math.sqrt(2000)
    off = (varied - world.prototype(nodes))[:, [5, 1, 2, 3, 4, 6, 7]]
    assert torch.corrcoef(off.T)[0, 1:].abs().max() < 5 / math.sqrt(2000)


def test_a_background_that_does_not_vary_is_as_it_was():
    still, moving = (ShapesWorld(backgrounds=("white", "black"), background_jitter=jitter) for jitter in (0.0, 0.1))
    assert still == ShapesWorld(backgrounds=("white", "black"))
    nodes, varied = members(still, 20)
    assert varied[:, 5].tolist() == [1.0 - digit for digit in nodes[:, 3].tolist()]
    assert still.blank()[:, 0, 0, 0].tolist() == [1.0, -1.0]
    others = [0, 1, 2, 3, 4, 6, 7]
    assert torch.equal(members(moving, 20)[1][:, others], varied[:, others])  # and moves nothing else


def test_backgrounds_that_vary_keep_their_names():
    world = ShapesWorld(backgrounds=("white", "black"), background_jitter=0.24)
    nodes, varied = members(world, 50)
    assert torch.equal(world.nearest(varied), nodes)
    assert torch.equal(world.condition(varied)[:, -1], varied[:, 5])
    nearly = ShapesWorld(backgrounds=("white", "grey"), background_jitter=0.165)  # just under where the ranges meet
    nodes, varied = members(nearly, 50)
    assert torch.equal(nearly.nearest(varied), nodes)
    named = world.replace(backgrounds=("white", "grey", "black"), background_jitter=0.1)
    assert named.background_values().tolist() == pytest.approx([0.9, 0.5, 0.1])
    assert named.blank()[:, 0, 0, 0].tolist() == pytest.approx([0.8, 0.0, -0.8])


def test_prototypes_and_conditions_of_the_paper():
    world = ShapesWorld()
    assert world.concepts == {"shape": ("circle", "triangle"), "color": ("red", "blue"), "size": ("large", "small")}
    assert world.describe("011") == "circle blue small"
    prototype = world.prototype(world.digits("111"))
    assert torch.allclose(prototype, torch.tensor([[1, 0.1, 0.1, 0.9, 0.24, 1, 0, 0]]))
    assert world.condition_widths == (2, 3, 1)
    assert torch.allclose(world.condition(prototype), torch.tensor([[0, 1, 0.1, 0.1, 0.9, 0.24 / 0.36]]))
    binary = world.replace(conditioning="binary")
    assert binary.condition_widths == (2, 2, 2)
    assert binary.condition(prototype).tolist() == [[0, 1, 0, 1, 0, 1]]


def test_a_binary_condition_names_the_node_of_every_member():
    world = ShapesWorld(
        shapes=("circle", "triangle", "square"),
        colors=("red", "orange", (0.5, -1, 0)),
        color_jitter=0.12,
        sizes=("large", "middle", "small"),
        backgrounds=("white", "black"),
        conditioning="binary",
        position_jitter=0.1,
    )
    nodes, varied = members(world, 20)
    assert len(world.nodes) == 54
    assert world.condition_widths == (3, 3, 3, 2)
    assert torch.equal(world.nearest(varied), nodes)
    assert torch.equal(world.condition(varied).sum(1), torch.full((len(nodes),), 4.0))


def test_a_concept_with_one_value_is_not_a_concept():
    world = ShapesWorld(shapes=("triangle",), sizes=("only",))
    assert world.nodes == ("0", "1")
    assert world.condition_widths == (3,)
    prototype = world.prototype(world.digits(world.nodes))
    assert prototype[:, 4].tolist() == pytest.approx([0.36, 0.36])
    assert world.condition(prototype).shape == (2, 3)
    assert world.render(prototype).shape == (2, 3, 28, 28)


def test_settings_survive_json():
    world = ShapesWorld(colors=("red", (0.5, -1, 0.25)))
    again = build(ShapesWorld, world.model_dump(mode="json"))
    assert again == world
    assert fingerprint(again) == fingerprint(world)
    assert world.concepts["color"] == ("red", "0.5,-1,0.25")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"color_jitter": 0.5, "color_separation": 0.4}, "red and blue overlap: lower color_jitter"),
        ({"color_separation": 1.2}, "lower color_separation or color_jitter"),
        ({"size_jitter": 0.5}, "large and small overlap: lower size_jitter"),
        ({"position_jitter": 0.5}, "triangle reaches 0.299 beyond the canvas: lower position_jitter to 0.2 "),
        ({"size_mean": 0.8}, "lower size_mean"),
        ({"size_mean": 0.18, "size_separation": 0.22}, "raise size_mean"),
        ({"colors": ["red", "bleu"]}, "no colour 'bleu'"),
        ({"colors": ["red", [2, 0, 0]]}, "leaves"),
        ({"colors": ["red", "white"], "color_separation": 0.8, "color_jitter": 0.125}, "holds the white background"),
        ({"background_jitter": -0.1}, "'background_jitter' = -0.1"),
        ({"background_jitter": 0.25}, "'background_jitter' = 0.25"),
        ({"background_jitter": "pale"}, "'background_jitter' = 'pale'"),
        ({"colors": ["red", "grey"], "color_separation": 0.8, "background_jitter": 0.2}, "holds the white background"),
        (
            {"backgrounds": ["white", "grey"], "background_jitter": 0.17},
            "the ranges of white and grey overlap: lower background_jitter",
        ),
        ({"backgrounds": ["white", "grey"], "background_jitter": 1 / 6}, "white and grey overlap"),  # the edges meet
        ({"backgrounds": ["black", "white", "grey"], "background_jitter": 0.2}, "black and grey overlap"),
        ({"colors": ["red", "red"]}, "each value once"),
        ({"colors": []}, "one to ten"),
        ({"shapes": ["circle"], "colors": ["red"], "sizes": ["one"]}, "at least one of them two"),
        ({"shapes": ["circle", "star"]}, "star"),
        ({"colours": ["red"]}, "did you mean 'colors'"),
    ],
)
def test_impossible_worlds_are_refused_in_one_line(changes, message):
    with pytest.raises(UserError) as caught:
        build(ShapesWorld, changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
