import json
import math

import pytest
import torch

from recombine.errors import UserError
from recombine.seeds import keys
from recombine.settings import build
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.ray_caster import visible
from recombine.worlds.scenes.world import SceneWorld

CLEVR = SceneWorld(pixels=32)
DISCS = SceneWorld(pixels=32, style="discs")


def draw(world: SceneWorld, count: list[int], loose: bool = False, seed: int = 0) -> torch.Tensor:
    return world.draw(torch.tensor(count), keys(seed, "data", torch.arange(len(count))), loose)


def sphere(x: float, y: float, **changes: object) -> dict[str, object]:
    plain = {"shape": "sphere", "size": "large", "color": "red", "material": "rubber", "rotation": 0.0}
    return {**plain, "3d_coords": [x, y, 0.7], **changes}


def test_a_published_label_is_near_the_projected_centre() -> None:
    """CLEVR labels this object (251, 95) at depth 10.76; its camera's jitter, up to 0.5 an axis, is not published."""
    world = SceneWorld(pixels=320, grid=20)
    factors = world.from_description([{"objects": [sphere(1.627, 2.285)]}])
    centres, present = world.centres(factors)
    assert centres[0, 0].tolist() == pytest.approx([247.5, 96.7 * 320 / 240], abs=0.1)
    assert present[0].tolist() == [True] + [False] * 11
    jitter = (torch.rand(4000, 3, generator=torch.Generator().manual_seed(0)) - 0.5).double()
    moved = factors.repeat(4000, 1)
    moved[:, -12:-9] = jitter
    x, y = world.centres(moved)[0][:, 0].unbind(1)
    assert x.min() < 251 < x.max()
    assert y.min() < 95 * 320 / 240 < y.max()


def test_every_drawn_object_is_seen() -> None:
    for count, loose, least in ((3, False, 200), (7, False, 200), (12, True, 100)):
        factors = draw(CLEVR, [count] * 16, loose)
        scene = CLEVR.scene(factors)
        assert scene.present.sum(1).tolist() == [count] * 16
        share = visible(scene, 240)[scene.present] * 320 * 240
        assert share.min() > 0.8 * least  # counted on finer rays than when it was drawn
    hiding = SceneWorld(least_visible=0)
    factors = draw(hiding, [9] * 40)
    share = visible(hiding.scene(factors), 96)[:, :9]
    assert (share < 200 / (320 * 240)).any()  # without the rule some are hidden


def test_image_i_is_the_same_in_any_batch_and_at_any_resolution() -> None:
    key, count = keys(5, "data", torch.arange(24)), torch.arange(24) % 8
    together = CLEVR.draw(count, key)
    assert torch.equal(CLEVR.draw(count[20:23], key[20:23]), together[20:23])
    assert torch.equal(CLEVR.replace(pixels=128).draw(count, key), together)
    assert torch.equal(CLEVR.draw(count, key), together)
    assert not torch.equal(CLEVR.draw(count, key + 1), together)
    images = CLEVR.render(together)
    assert torch.allclose(CLEVR.render(together[20:23]), images[20:23], atol=1e-4)


def test_nothing_has_a_gradient() -> None:
    factors = draw(CLEVR, [2]).requires_grad_()
    assert not CLEVR.render(factors).requires_grad
    assert not DISCS.render(factors).requires_grad


def test_centres_are_where_the_objects_are() -> None:
    world = SceneWorld(pixels=64, light_jitter=0)
    factors = draw(world, [1] * 12)
    bare = factors.clone()
    bare[:, 0] = 0  # the same cameras without the object
    centres, _ = world.centres(factors)
    changed = (world.render(factors) - world.render(bare)).abs().amax(1)  # [12, H, W]
    for scene in range(12):
        column, row = centres[scene, 0].long().tolist()
        assert changed[scene, row, column] > 0.03
    assert centres[:, 0].min() > 5
    assert centres[:, 0].max() < 59


def test_descriptions_go_round() -> None:
    for world in (CLEVR, DISCS):
        factors = draw(world, [4, 0, 7])
        said = json.loads(json.dumps(world.describe(factors)))
        assert [len(scene["objects"]) for scene in said] == [4, 0, 7]
        assert torch.equal(world.from_description(said), factors)
        (x, y), (across, down, _) = world.centres(factors)[0][0, 0].tolist(), said[0]["objects"][0]["pixel_coords"]
        assert (across, down) == pytest.approx((x * 10, y * 7.5), abs=0.5)
    factors = CLEVR.from_description([{"objects": [sphere(1, 2, size="small", color="cyan")]}])
    (entry,) = CLEVR.describe(factors)[0]["objects"]
    assert entry["3d_coords"] == pytest.approx([1, 2, 0.35])
    assert (entry["shape"], entry["size"], entry["color"], entry["material"]) == ("sphere", "small", "cyan", "rubber")


def test_discs_are_exact() -> None:
    world = SceneWorld(pixels=64, style="discs")
    factors = world.from_description([{"objects": [sphere(1.05, -2.1, color="blue"), sphere(-3, 3, color="red")]}])
    image = world.render(factors)[0]
    radius = 0.5 * 64 / 7
    centres, _ = world.centres(factors)
    assert centres[0, 0].tolist() == pytest.approx([32 + 1.05 * 64 / 7, 32 - 2.1 * 64 / 7], abs=1e-4)
    assert centres[0, 1].tolist() == pytest.approx([radius, 64 - radius], abs=1e-4)  # in the corner, and whole
    ink = (1 - image[0]) / 2 / (1 - COLOURS["blue"][0] / 255)  # how much of each pixel is blue
    ink[:, :20] = 0
    assert ink.sum().item() == pytest.approx(math.pi * (radius**2 + 1 / 12), rel=0.01)  # its edge is a pixel wide
    places = torch.arange(64) + 0.5
    middle = (ink.sum(0) @ places / ink.sum(), ink.sum(1) @ places / ink.sum())
    assert middle == pytest.approx(centres[0, 0].tolist(), abs=0.01)
    x, y = centres[0, 0].long().tolist()
    assert ((image[:, y, x] + 1) * 127.5).tolist() == pytest.approx(COLOURS["blue"], abs=0.01)
    assert image[:, 32, 32].tolist() == [1, 1, 1]


def test_discs_do_not_touch() -> None:
    scene = DISCS.scene(draw(DISCS, [12] * 50))
    place = torch.stack([scene.x, scene.y], 2)
    distance = torch.cdist(place, place) + 10 * torch.eye(12)
    assert distance.min() >= 2 * DISCS.disc_radius + DISCS.gap - 1e-4
    assert place.abs().max() <= 3


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: draw(CLEVR, [13]), "a scene of 13 objects was asked for: this world's have 0 to 12"),
        (lambda: draw(CLEVR.replace(gap=9), [1, 2]), "no room for 2 objects .*: 1 did fit"),
        (lambda: draw(CLEVR.replace(least_visible=0.5), [1]), "no layout of 1 objects shows them all: 0 were seen"),
        (lambda: CLEVR.render(torch.zeros(1, 7)), "a scene of up to 12 objects has 108 numbers"),
        (lambda: CLEVR.from_description([{"objects": [sphere(0, 0)] * 13}]), "scene 0 has 13 objects"),
        (lambda: CLEVR.from_description([{"objects": [sphere(0, 0, color="pink")]}]), "is pink, none of gray, red"),
        (lambda: CLEVR.from_description([{"objects": [{**sphere(0, 0), "3d_coords": [0, 0]}]}]), "needs 3d_coords"),
        (lambda: CLEVR.from_description([{"objects": [{**sphere(0, 0), "rotation": "1.5"}]}]), "and a rotation"),
        (lambda: CLEVR.from_description([{"objects": None}]), "its objects are no list"),
        (lambda: CLEVR.from_description([{"objects": ["cube"]}]), "an object is 'cube', which describes none"),
        (lambda: CLEVR.from_description([{"objects": [], "camera_jitter": [1]}]), "has a jitter that is not three"),
        (lambda: CLEVR.from_description([{"objects": [], "light_jitter": [[0, 0, 0]]}]), "has a jitter that is not"),
        (lambda: build(SceneWorld, {"pixels": 60}), "60 px do not divide into 16 cells"),
        (lambda: build(SceneWorld, {"style": "disks"}), "style"),
    ],
)
def test_bad_input_gets_one_line(ask, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=says) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_objects_have_this_world_s_colours() -> None:
    few, all_eight = CLEVR.replace(colours=("cyan", "red")), CLEVR
    drawn = [world.scene(draw(world, [3] * 20)) for world in (few, all_eight)]
    assert {list(COLOURS)[c] for c in drawn[0].colour[drawn[0].present].tolist()} == {"cyan", "red"}
    assert len(drawn[1].colour[drawn[1].present].unique()) == 8
    with pytest.raises(UserError, match="no colour 'pink'"):
        build(SceneWorld, {"colours": ["pink"]})
