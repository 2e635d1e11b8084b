"""Discs are found exactly; objects of ray-cast scenes nearly all, by a network that is repeatable to the bit."""

import pytest
import torch
from torch import Tensor

from recombine import seeds
from recombine.errors import RunFailed, UserError
from recombine.instruments.scenes import object_finder as module
from recombine.instruments.scenes.counting import calibrate_counting, count, k_max, recall_curve
from recombine.instruments.scenes.object_finder import CHUNK, DiscFinder, FinderConfig, NetworkFinder, object_finder
from recombine.settings import build
from recombine.worlds.scenes.layout import EXTENT
from recombine.worlds.scenes.world import SceneWorld

DISCS = SceneWorld(style="discs", pixels=32)
SCENES = SceneWorld(pixels=32, grid=8, most=3)
CELL = SCENES.pixels / SCENES.grid
LEARNT = FinderConfig(scenes=200, steps=160, width=16)
QUICK = FinderConfig(scenes=8, steps=2, batch=4, width=8)


@pytest.fixture(scope="module")
def finder() -> NetworkFinder:
    return object_finder(SCENES, LEARNT)


def fresh(world: SceneWorld, count: int, objects: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    number = torch.arange(count)
    counts = 1 + number % world.most if objects is None else torch.full_like(number, objects)
    factors = world.draw(counts, seeds.keys(1, "fresh", number), loose=True)
    return world.render(factors), *world.centres(factors)


def discs_at(places: list[tuple[float, float]], colour: int = 1) -> Tensor:
    """One image of discs at places in pixels."""
    reach = 2 * (EXTENT + DISCS.disc_radius) / DISCS.pixels
    objects = [{"3d_coords": [x * reach - 3.5, y * reach - 3.5, 0.5], "rotation": 0.0, "shape": "sphere",
                "size": "large", "color": ("gray", "red", "yellow")[colour], "material": "rubber"}
               for x, y in places]  # fmt: skip
    return DISCS.render(DISCS.from_description([{"objects": objects}]))


@pytest.mark.parametrize("pixels", [32, 64])
def test_every_disc_is_found_where_it_is(pixels: int) -> None:
    world = DISCS.replace(pixels=pixels)
    images, places, present = fresh(world, 240)
    counted = count(DiscFinder(world).find(images), places, present, pixels / world.grid)
    assert counted.strict.all()
    assert counted.extras.tolist() == [0] * 240
    assert counted.off[present].max() < 0.4  # pixels
    assert counted.off[present].mean() < 0.1


@pytest.mark.parametrize("colour", [0, 1, 2])
@pytest.mark.parametrize("apart", [5.1, 6.0])  # a diameter is 4.6
def test_discs_around_a_hole_are_not_one_more(colour: int, apart: float) -> None:
    half, height = apart / 2, apart * 3**0.5 / 2
    triangle = [(16 - half, 16.0), (16 + half, 16.0), (16.0, 16 + height)]
    square = [(16 + sx * half, 16 + sy * half) for sx in (-1, 1) for sy in (-1, 1)]
    for places in (triangle, square):
        found = DiscFinder(DISCS).find(discs_at(places, colour))
        assert found.present.sum() == len(places)


def test_faint_discs_half_as_strong_are_found_and_fainter_ones_are_not() -> None:
    images = discs_at([(8.0, 9.0), (20.0, 25.0)])
    finder = DiscFinder(DISCS)
    assert finder.find(1 - 0.6 * (1 - images)).present.sum() == 2
    assert finder.find(1 - 0.3 * (1 - images)).present.sum() == 0
    noisy = images + 0.1 * seeds.normal(seeds.keys(0, "noise", torch.arange(1)), images.shape[1:])
    assert finder.find(noisy).present.sum() == 2


def test_never_more_than_asked_for_and_the_best_come_first() -> None:
    images = fresh(DISCS, 20, objects=12)[0]
    found = DiscFinder(DISCS, most=5).find(images)
    assert found.places.shape == (20, 5, 2)
    assert found.present.all()
    assert (found.score.diff(dim=1) <= 0).all()
    everything = DiscFinder(DISCS).find(images)
    assert torch.equal(everything.score[:, :5], found.score)
    assert everything.present.sum(1).tolist() == [12] * 20
    black = DiscFinder(DISCS).find(-torch.ones(1, 3, 32, 32))  # no more than there is room for
    assert black.present.sum() <= 24


def test_network_finds_objects_of_fresh_scenes(finder: NetworkFinder) -> None:
    images, places, present = fresh(SCENES, 120)
    counted = count(finder.find(images), places, present, CELL)
    assert counted.recall.mean() > 0.9
    assert counted.extras.double().mean() < 0.15
    assert counted.off.nanmean() < 0.3 * CELL
    shuffled = count(finder.find(images), places.roll(3, 0), present.roll(3, 0), CELL)
    assert shuffled.recall.mean() < 0.6


def test_network_reads_soft_and_noisy_images(finder: NetworkFinder) -> None:
    images, places, present = fresh(SCENES, 120)
    noise = seeds.normal(seeds.keys(0, "noise", torch.arange(120)), images.shape[1:])
    for changed in (module._blurred(images, 0.2 * CELL), images + 0.08 * noise):
        assert count(finder.find(changed), places, present, CELL).recall.mean() > 0.85


def test_network_finds_nothing_where_nothing_is(finder: NetworkFinder) -> None:
    empty = fresh(SCENES, 20, objects=0)[0]
    assert finder.find(empty).present.double().sum(1).mean() <= 0.1
    assert finder.find(torch.zeros(2, *SCENES.image_shape)).present.sum() <= 1


def test_calibration_has_rows_for_each_number_of_objects(finder: NetworkFinder) -> None:
    rows = calibrate_counting(finder, SCENES, 20, 3)
    assert {row["labels"] for row in rows} == {1, 2, 3}
    assert all(row["instrument"].startswith("calibration.count.") for row in rows)
    assert k_max(recall_curve(rows, "calibration.count.recall"), least=0.8).steady == 3


@pytest.mark.parametrize("style", ["discs", "clevr"])
def test_an_image_is_read_the_same_in_any_batch(style: str, finder: NetworkFinder) -> None:
    world, tool = (DISCS, DiscFinder(DISCS)) if style == "discs" else (SCENES, finder)
    images = fresh(world, 40)[0].repeat(8, 1, 1, 1)  # two chunks
    assert len(images) > CHUNK
    whole, part = tool.find(images), tool.find(images[300:307])
    assert torch.equal(whole.present[300:307], part.present)
    assert torch.allclose(whole.places[300:307][part.present], part.places[part.present], atol=1e-3)


@pytest.mark.parametrize("style", ["discs", "clevr"])
def test_broken_images_hold_nothing_and_none_are_none(style: str, finder: NetworkFinder) -> None:
    world, tool = (DISCS, DiscFinder(DISCS)) if style == "discs" else (SCENES, finder)
    images = fresh(world, 3, objects=2)[0]
    images[0, 0, 0, 0], images[1, 2, 5, 5] = torch.nan, torch.inf
    found = tool.find(images.requires_grad_())
    assert found.present.any(1).tolist() == [False, False, True]
    assert not found.places.requires_grad
    assert images[0, 0, 0, 0].isnan()  # the caller's images stay as they were
    nothing = tool.find(images[:0])
    assert nothing.places.shape == (0, 24, 2)


def weights(finder: NetworkFinder) -> Tensor:
    return torch.cat([parameter.flatten() for parameter in finder.network.parameters()])


def test_same_seed_same_bits_and_torch_is_left_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = module._trained.__wrapped__(SCENES, QUICK, "cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.backends.cudnn.deterministic
    torch.manual_seed(2)
    again, other = (module._trained.__wrapped__(SCENES, QUICK.replace(seed=seed), "cpu") for seed in (0, 1))
    assert torch.equal(weights(one), weights(again))
    assert not torch.equal(weights(one), weights(other))
    assert not any(parameter.requires_grad for parameter in one.network.parameters())


def test_a_finder_is_trained_once_and_discs_need_none() -> None:
    assert object_finder(SCENES, QUICK) is object_finder(SCENES.replace(), QUICK.replace())
    assert isinstance(object_finder(DISCS, QUICK.replace(most=3)), DiscFinder)
    assert object_finder(DISCS, QUICK.replace(most=3)).most == 3


@pytest.mark.parametrize(
    "change", [{"noise": 0.0}, {"blur": 0.0}, {"rate": 1e-3}, {"batch": 5}, {"steps": 3}, {"scenes": 9}]
)
def test_every_setting_counts(change: dict[str, float]) -> None:
    plain, changed = (object_finder(SCENES, config) for config in (QUICK, QUICK.replace(**change)))
    assert not torch.equal(weights(plain), weights(changed))


def test_mirrored_scenes_keep_their_centres_on_their_objects() -> None:
    """A dark pixel at the centre of each object is still there after the change."""
    images, places = torch.zeros(16, 3, 32, 32), torch.tensor([[[5.5, 9.5]]]).repeat(16, 1, 1)
    images[:, :, 9, 5] = 1.0
    key = seeds.keys(0, "mirror", torch.arange(16))
    changed, moved = module._vary(images, places, key, SCENES, QUICK.replace(noise=0.0, blur=0.0))
    x, y = moved[:, 0].long().unbind(1)
    assert (changed[torch.arange(16), 0, y, x] > 0.99).all()
    assert set(x.tolist()) == {5, 26}


def test_bad_images_and_worlds() -> None:
    with pytest.raises(UserError, match=r"images of shape \(2, 3, 16, 16\): this finder reads \[n, 3, 32, 32\]"):
        DiscFinder(DISCS).find(torch.zeros(2, 3, 16, 16))
    with pytest.raises(UserError, match="images of 48 px do not divide into 32 half cells: set pixels to a multiple"):
        object_finder(SceneWorld(pixels=48), QUICK)
    with pytest.raises(UserError, match="'width' = 12: input should be a multiple of 8"):
        build(FinderConfig, {"width": 12})


def test_a_lost_training_says_so() -> None:
    with pytest.raises(RunFailed, match="lower its rate"):
        object_finder(SCENES, QUICK.replace(rate=1e38, steps=6))
