import math

import pytest
import torch

from recombine.worlds.scenes.geometry import Camera, solids_of, span
from recombine.worlds.scenes.layout import SHAPES, Scene, width
from recombine.worlds.scenes.world import SceneWorld

INSIDE = {
    "sphere": lambda p: p.square().sum(-1) <= 1,
    "cube": lambda p: p.abs().amax(-1) <= 1,
    "cylinder": lambda p: (p[..., :2].square().sum(-1) <= 1) & (p[..., 2].abs() <= 1),
}


def still(n: int = 1) -> Scene:
    """Empty scenes without jitter."""
    return Scene.of(torch.zeros(n, width(1)), 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_line_is_in_the_solid_between_the_ends_of_its_span(shape: str) -> None:
    generator = torch.Generator().manual_seed(0)
    start = 3 * torch.randn(3, 400, generator=generator, dtype=torch.float64)
    path = torch.randn(3, 400, generator=generator, dtype=torch.float64) - start  # most lines pass nearby
    near, far, side = span(shape, tuple(start), tuple(path))
    steps = torch.linspace(-4, 4, 8001, dtype=torch.float64)
    inside = INSIDE[shape]((start[..., None] + path[..., None] * steps).permute(1, 2, 0))  # [400, steps]
    hit = far > near
    assert 150 < int(hit.sum()) < 400
    assert inside[~hit].sum() == 0
    between = (steps >= near[:, None]) & (steps <= far[:, None]) & hit[:, None]
    assert torch.equal(between & (steps.abs() < 4), inside & (steps.abs() < 4))
    assert (side is None) == (shape == "cube")


def test_the_clearance_of_round_solids_is_a_distance() -> None:
    start = tuple(torch.tensor([value], dtype=torch.float64) for value in (-5.0, 0.6, 0.3))
    path = tuple(torch.tensor([value], dtype=torch.float64) for value in (2.0, 0.0, 0.0))
    assert span("sphere", start, path)[2].item() == pytest.approx(1 - 0.6**2 - 0.3**2)
    assert span("cylinder", start, path)[2].item() == pytest.approx(1 - 0.6**2)


def test_the_camera_is_the_published_pinhole() -> None:
    point = Camera.of(still()).project(torch.tensor([[[1.627, 2.285, 0.7], [0.0, 0.0, 0.0]]]))[0]
    across, down, depth = (point[0] * torch.tensor([320, 240, 1])).tolist()
    assert (across, down, depth) == pytest.approx((247.5, 96.7, 11.17), abs=0.06)
    assert point[1, :2].tolist() == pytest.approx([0.5, 0.5], abs=1e-6)  # it looks at the origin


def test_rays_lead_to_what_is_projected() -> None:
    camera = Camera.of(SceneWorld(most=1).scene(torch.linspace(-0.5, 0.5, 40).reshape(2, 20)))
    rays = torch.stack(camera.rays(6, 8), 2)  # [2, 48, 3]
    places = camera.project(camera.place[:, None] + 7 * rays)
    assert torch.allclose(places[..., 2], torch.tensor(7.0), atol=1e-4)
    assert torch.allclose(places[0, :8, 0], (torch.arange(8) + 0.5) / 8, atol=1e-5)
    assert torch.allclose(places[1, ::8, 1], (torch.arange(6) + 0.5) / 6, atol=1e-5)


def test_own_coordinates_turn_and_scale() -> None:
    world = SceneWorld(most=2)
    cube = {"shape": "cube", "size": "small", "color": "red", "material": "metal"}
    factors = world.from_description([{"objects": [{**cube, "3d_coords": [1, 2, 0.35], "rotation": math.pi / 6}]}])
    (group,) = solids_of(world.scene(factors))
    edge = torch.tensor([[1 + 0.35 * math.cos(math.pi / 6), 2 + 0.35 * math.sin(math.pi / 6), 0.7]])  # of its top
    own = group.place(*edge[:, :, None].unbind(1))
    assert torch.cat(own).flatten().tolist() == pytest.approx([1, 0, 1], abs=1e-5)


def test_solids_are_those_that_are_there() -> None:
    world = SceneWorld()
    factors = world.draw(torch.tensor([0, 4, 7]), torch.arange(3))
    scene = world.scene(factors)
    found = []
    for group in solids_of(scene):
        rows, slots = group.rows.tolist(), group.slots.flatten().tolist()
        assert len(set(rows)) == len(rows)  # at most one of a scene
        found += [(row, slot - 1, group.shape) for row, slot in zip(rows, slots, strict=True)]
    wanted = [(int(r), int(s), SHAPES[int(scene.shape[r, s])]) for r, s in torch.nonzero(scene.present)]
    assert sorted(found) == wanted
    assert solids_of(world.scene(factors[:1])) == []
