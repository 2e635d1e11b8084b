"""Scenes conditioned on colours: no two objects of one colour, labels, the same images for all of them."""

import pytest
import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import build
from recombine.worlds.scenes.colours import CHROMATIC, ColouredScenes, one_of
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld

WORLD = ColouredScenes(scenes=SceneWorld(pixels=16, style="discs", grid=8, most=8))
SEVEN = ColouredScenes(scenes=SceneWorld(pixels=16, style="discs", grid=8, most=7, colours=CHROMATIC))
KEY = seeds.keys(0, "test", torch.arange(600))


@pytest.mark.parametrize("world", [WORLD, SEVEN])
def test_objects_of_a_scene_differ_in_colour_and_every_colour_is_as_likely(world: ColouredScenes) -> None:
    count = torch.arange(len(KEY)) % (world.scenes.most + 1)
    factors = world.draw(count, KEY)
    colours = world.colours(factors)
    assert torch.equal(world.scenes.scene(factors).present.sum(1), count)
    assert torch.equal(colours.sum(1).long(), count)  # as many colours as objects
    error = (0.25 / len(KEY)) ** 0.5
    assert (colours.mean(0) - 0.5).abs().max() < 4.5 * error


@pytest.mark.parametrize("world", [WORLD, SEVEN])
def test_a_scene_has_the_colours_that_are_wanted(world: ColouredScenes) -> None:
    wanted = (seeds.uniform(KEY, (len(world.names),)) < 0.4).float()
    assert torch.equal(world.colours(world.draw_set(wanted, KEY)), wanted)


def test_a_colour_is_drawn_as_itself() -> None:
    wanted = torch.eye(7)
    images = SEVEN.render(SEVEN.draw_set(wanted, KEY[:7]))
    for image, name in zip(images, SEVEN.names, strict=True):
        colour = 2 * torch.tensor(COLOURS[name]) / 255 - 1
        assert ((image - colour[:, None, None]).abs().amax(0) < 1e-5).any()
    empty = WORLD.render(WORLD.draw_set(torch.zeros(2, 8), KEY[:2]))
    assert (empty == 1).all()


def test_one_of_the_colours_is_labelled_and_the_images_are_the_same() -> None:
    split = SceneSplit(objects=(0, 1, 2, 3), images=300)
    every, one = (WORLD.pool(split, labelled, 3) for labelled in ("all", "one"))
    assert torch.equal(every.images, one.images)
    numbers = torch.bincount(every.conditions.sum(1).long())
    assert len(numbers) == 4
    assert numbers.min() > 45
    assert torch.equal(one.conditions.sum(1), every.conditions.sum(1).clamp(max=1))
    assert ((one.conditions <= every.conditions).all(1)).all()
    several = torch.ones(600, 8)
    assert (one_of(several, KEY).mean(0) - 1 / 8).abs().max() < 0.06  # by lot


def test_labels_by_name() -> None:
    assert SEVEN.label("yellow red").tolist() == [1, 0, 0, 0, 0, 0, 1]
    assert SEVEN.label("").sum() == 0
    with pytest.raises(UserError, match="no colour 'gray' in this world"):
        SEVEN.label("gray")


@pytest.mark.parametrize(
    "scenes", [{"most": 12}, {"most": 2, "colours": ("red", "red")}, {"most": 3, "colours": ("red",)}]
)
def test_more_objects_than_colours_are_refused(scenes: dict[str, object]) -> None:
    with pytest.raises(UserError, match="name more colours"):
        build(ColouredScenes, {"scenes": scenes})
