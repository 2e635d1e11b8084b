import math

import pytest
import torch

from recombine.worlds.scenes.geometry import ASPECT, FOCAL, Camera
from recombine.worlds.scenes.ray_caster import LAMPS, cast, scenes_at_once, visible
from recombine.worlds.scenes.world import SceneWorld

WORLD = SceneWorld(most=3)


def thing(x: float, y: float, **changes: object) -> dict[str, object]:
    """A large grey rubber sphere, or what the changes make of it."""
    plain = {"shape": "sphere", "size": "large", "color": "gray", "material": "rubber", "rotation": 0.0}
    radius = 0.35 if changes.get("size") == "small" else 0.7
    return {**plain, "3d_coords": [x, y, radius], **changes}


def factors(*scenes: list[dict[str, object]]) -> torch.Tensor:
    return WORLD.from_description([{"objects": objects} for objects in scenes])


def picture(*objects: dict[str, object], side: int = 64, antialias: int = 2) -> torch.Tensor:
    return cast(WORLD.scene(factors(list(objects))), side, side, antialias)[0]


@pytest.mark.parametrize(("x", "y", "size"), [(0.0, 0.0, "large"), (2.5, 1.0, "large"), (-2.0, 2.5, "small")])
def test_a_lone_sphere_has_its_silhouette(x: float, y: float, size: str) -> None:
    """The cone around a sphere meets the picture in an ellipse whose area and centre are known."""
    scene = WORLD.scene(factors([thing(x, y, size=size)]))
    share = visible(scene, 512)[0, 0].item()
    camera = Camera.of(scene)
    radius = scene.radius[0, 0].item()
    away = torch.tensor([x, y, radius]) - camera.place[0]
    right, up, depth = (float(away @ axis[0]) for axis in (camera.right, camera.up, camera.forward))
    sine2, cosine2 = radius**2 / float(away @ away), depth**2 / float(away @ away)  # of the cone, and to the axis
    area = math.pi * sine2 * math.sqrt(1 - sine2) / (cosine2 - sine2) ** 1.5  # at distance 1
    assert share == pytest.approx(area * FOCAL**2 * ASPECT, rel=0.01)
    red, _, blue = picture(thing(x, y, size=size, color="yellow"), side=256)
    rows, columns = (torch.nonzero(red - blue > 0.2).double().mean(0) + 0.5).tolist()  # the ground is grey
    stretch = cosine2 / (cosine2 - sine2)
    assert columns == pytest.approx(256 * (0.5 + FOCAL * stretch * right / depth), abs=1.0)
    assert rows == pytest.approx(256 * (0.5 - FOCAL * ASPECT * stretch * up / depth), abs=1.0)


def test_a_cube_and_a_cylinder_cover_more_than_a_sphere() -> None:
    scene = WORLD.scene(factors(*([thing(0, 0, shape=shape)] for shape in ("sphere", "cylinder", "cube"))))
    sphere, cylinder, cube = visible(scene, 256)[:, 0].tolist()
    assert sphere < cylinder < cube
    pixels = (cylinder - sphere) * 320 * 240
    assert 300 < pixels < 2500


def test_what_is_behind_is_hidden() -> None:
    near, far = thing(1.0, -1.0), thing(-0.6, 0.4, size="small")  # on one line from the camera
    both = visible(WORLD.scene(factors([near, far], [far, near], [far])), 256)
    assert both[0, 1] < 0.3 * both[2, 0]
    assert both[0].flip(0)[1:].tolist() == both[1, :2].tolist()  # the order of slots does not matter


def test_turning_matters_for_cubes_alone() -> None:
    for shape, same in (("cube", False), ("cylinder", True), ("sphere", True)):
        turned = [picture(thing(0, 0, shape=shape, rotation=angle), side=32) for angle in (0.0, 0.6, math.pi / 2)]
        assert torch.allclose(turned[0], turned[2], atol=0.02)
        assert torch.allclose(turned[0], turned[1], atol=0.02) == same


@pytest.mark.parametrize("shape", ["sphere", "cube", "cylinder"])
def test_lamps_throw_shadows_to_the_other_side(shape: str) -> None:
    difference = picture(thing(0, 0, shape=shape), side=128)[0] - picture(side=128)[0]
    camera = Camera.of(WORLD.scene(factors([])))

    def at(x: float, y: float) -> float:
        column, row = (camera.project(torch.tensor([[[x, y, 0.0]]]))[0, 0, :2] * 128).long().tolist()
        return difference[row, column].item()

    for (x, y, z), height, darker in ((LAMPS[1], 0.7, 0.03), (LAMPS[2], 1.0, 0.15)):  # the key lamp's is out of sight
        reach = height / (z - height)  # of the shadow of a place on the object's axis, so high
        assert at(-x * reach, -y * reach) < -darker
    assert at(-2.5, -1.5) == pytest.approx(0, abs=0.01)  # no lamp's shadow lies here
    assert at(2.5, -2.5) == pytest.approx(0, abs=0.01)


def test_far_from_objects_the_ground_is_as_if_there_were_none() -> None:
    empty, full = picture(side=64), picture(thing(0, 0, size="small"), side=64)
    assert torch.allclose(empty[:, 50:], full[:, 50:], atol=0.02)
    assert (empty[0] - empty[2]).abs().max() < 0.05  # grey
    assert 0 < (empty.mean() + 1) / 2 - 0.4 < 0.2
    assert empty[:, 40].mean() > empty[:, 0].mean() + 0.2  # and darker far away


def test_colours_differ_and_metal_shines() -> None:
    for name, channel in (("red", 0), ("green", 1), ("blue", 2)):
        middle = picture(thing(0, 0, color=name), side=33)[:, 14, 16]
        assert int(middle.argmax()) == channel
    rubber, metal = (picture(thing(0, 0, color="blue", material=m), side=128) for m in ("rubber", "metal"))
    assert metal.amin(0).max() > 0.8  # a highlight is nearly white
    assert rubber.amin(0).max() < 0.5


def test_more_rays_change_the_edges_alone() -> None:
    objects = [thing(0, 0, color="red"), thing(1.5, 1.5, shape="cube", rotation=0.5, color="cyan")]
    coarse, fine = picture(*objects, antialias=2), picture(*objects, antialias=6)
    assert (coarse - fine).abs().mean() < 0.01
    assert (picture(*objects, antialias=1) - fine).abs().mean() > (coarse - fine).abs().mean()
    large = picture(*objects, side=128, antialias=3).reshape(3, 64, 2, 64, 2).mean((2, 4))
    assert (large - fine).abs().mean() < 0.02


def test_an_image_does_not_depend_on_its_batch() -> None:
    world = SceneWorld()
    drawn = world.draw(torch.tensor([1, 5, 0, 9]), torch.arange(4))
    together = cast(world.scene(drawn), 32, 32, 2)
    for index in range(4):
        assert torch.allclose(cast(world.scene(drawn[index : index + 1]), 32, 32, 2)[0], together[index], atol=1e-4)
    assert torch.equal(cast(world.scene(drawn), 32, 32, 2), together)
    assert together.shape == (4, 3, 32, 32)
    assert together.isfinite().all()
    assert together.abs().max() <= 1


def test_frames_need_not_be_square_and_batches_may_be_empty() -> None:
    assert cast(WORLD.scene(factors([thing(0, 0)])), 24, 32, 2).shape == (1, 3, 24, 32)
    assert cast(WORLD.scene(torch.zeros(0, 36)), 8, 8, 2).shape == (0, 3, 8, 8)
    assert scenes_at_once(10**9, torch.device("cpu")) == 1
