import pytest
import torch
from torch import Tensor

from recombine.instruments.bumps.centres import find_centres, right
from recombine.settings import build
from recombine.worlds.bumps import BumpsWorld

PLAIN, STRIPES = BumpsWorld(), BumpsWorld(pattern="stripes")


def at(world: BumpsWorld, *places: tuple[float, float]) -> Tensor:
    return world.render(torch.tensor(places, dtype=torch.float64))


def together(*images: Tensor) -> Tensor:
    """Several objects on one white paper."""
    return 1 - torch.stack([1 - image for image in images]).sum(0).clamp(max=2)


@pytest.mark.parametrize("pattern", ["bump", "stripes"])
@pytest.mark.parametrize("periodic", [False, True])
def test_exact_images_are_right_and_shifted_ones_are_wrong(pattern: str, periodic: bool) -> None:
    world = build(BumpsWorld, {"pattern": pattern, "periodic": periodic})
    labels = world.centres()
    images = world.render(labels)
    found, shifted = find_centres(images, world), find_centres(images.roll(1, 3), world)
    assert torch.equal(found.objects, torch.ones(1024, dtype=torch.int64))
    assert not found.blank.any()
    for how in ("darkest", "paper", "fine"):
        assert right(getattr(found, how), labels, world).all()
        assert not right(getattr(shifted, how), labels, world).all(1).any()
    assert right(shifted.darkest, labels, world)[:, 1].all()  # y did not move


def test_the_fine_estimate_reads_tenths_of_a_pixel() -> None:
    places = torch.tensor([[7.3, 20.6], [30.1, 2.2]], dtype=torch.float64)
    for world in (PLAIN, STRIPES):
        found = find_centres(world.render(places), world)
        assert torch.allclose(found.fine, places, atol=0.051)


def test_noise_moves_the_fine_estimate_little() -> None:
    labels = PLAIN.centres()[::7]
    noise = torch.randn(len(labels), 1, 32, 32, generator=torch.Generator().manual_seed(0))
    found = find_centres(PLAIN.render(labels) + 0.2 * noise, PLAIN)
    assert right(found.fine, labels, PLAIN).double().mean() > 0.99


def test_a_blank_image_is_in_the_middle_for_the_paper_only() -> None:
    blank = torch.ones(1, 1, 32, 32)
    for world in (PLAIN, STRIPES):
        found = find_centres(blank, world)
        assert found.blank.tolist() == [True]
        assert found.objects.tolist() == [0]
        assert found.paper[0].tolist() == pytest.approx([16.5, 16.5])


def test_two_bumps_are_two_and_the_paper_takes_their_centroid() -> None:
    found = find_centres(together(at(PLAIN, (8, 8)), at(PLAIN, (24, 8))), PLAIN)
    assert found.objects.tolist() == [2]
    assert found.paper[0].tolist() == pytest.approx([16, 8], abs=0.1)
    assert found.darkest[0].tolist() == [8, 8]


def test_a_bump_on_the_joined_edge_is_one() -> None:
    world = BumpsWorld(periodic=True)
    assert find_centres(at(world, (32, 16.5), (0.5, 0.5), (32, 32)), world).objects.tolist() == [1, 1, 1]


def test_stripes_are_counted_by_their_crossings() -> None:
    lone = 1 - (1 - at(BumpsWorld(pattern="stripes", margin=6), (22, 0.5)))
    cross = at(STRIPES, (8, 8))
    two = together(cross, lone)
    assert find_centres(torch.cat([lone, cross, two]), STRIPES).objects.tolist() == [0, 1, 2]


def test_crossing_stripes_are_in_the_right_place_and_no_bump() -> None:
    world = BumpsWorld(pixels=16, pattern="bump+stripes", margin=6)
    labels = world.centres()
    places = labels - world.margin
    bumps = find_centres(world.render(labels), world)
    crossings = find_centres(BumpsWorld(pixels=16, pattern="stripes").render(places), world)
    for found in (bumps, crossings):
        assert right(found.fine, places, world).all()
    assert bumps.bump is not None
    assert bumps.bump.all()
    assert crossings.bump is not None
    assert not crossings.bump.any()
    lone = torch.cartesian_prod(torch.arange(7.0, 23.0).double(), torch.tensor([1.0, 28.0]).double())
    for stripes in (lone, lone.flip(1)):
        read = find_centres(world.render(stripes), world).bump
        assert read is not None
        assert not read.any()


def test_noise_does_not_make_stripes_a_bump() -> None:
    world = BumpsWorld(pixels=16, pattern="bump+stripes", margin=6)
    noise = 0.2 * torch.randn(256, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    bumps = find_centres(world.render(world.centres()) + noise, world).bump
    crossings = find_centres(BumpsWorld(pixels=16, pattern="stripes").render(world.centres() - 6) + noise, world).bump
    assert bumps is not None
    assert bumps.double().mean() > 0.98
    assert crossings is not None
    assert crossings.double().mean() < 0.02


def test_a_world_of_one_pattern_has_no_question_of_shape() -> None:
    for world in (PLAIN, STRIPES):
        assert find_centres(world.render(world.centres()[:2]), world).bump is None


def test_right_means_less_than_a_pixel_and_around_the_edge_where_joined() -> None:
    truth = torch.tensor([[1.0, 10.0]])
    found = torch.tensor([[32.0, 10.9]])
    assert right(found, truth, PLAIN).tolist() == [[False, True]]
    assert right(found - 0.5, truth, BumpsWorld(periodic=True)).tolist() == [[False, True]]
    assert right(found + 0.5, truth, BumpsWorld(periodic=True)).tolist() == [[True, False]]
    assert right(truth + 1, truth, PLAIN).tolist() == [[False, False]]
