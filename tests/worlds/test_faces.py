"""Faces are looked up by class and number: the right image for the right row, each once, in any batch."""

import hashlib
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.seeds import keys
from recombine.settings import build, fingerprint
from recombine.worlds import faces
from recombine.worlds.faces import FacesWorld
from recombine.worlds.splits import NODE_STRIDE, Split, make_pool, real_images
from support.small_celeba import ATTRIBUTES, COUNT, LAYOUTS, attributes_of, make_celeba, number_of, partition_of

CLASSED = [number for number in range(1, COUNT + 1) if (number - 1) % 12 < 8]  # image numbers, row by row
BLOCK = {"train": range(1, 37), "valid": range(37, 49), "test": range(49, 61), "all": range(1, 61)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_celeba(tmp_path_factory.mktemp("faces") / "celeba")


@pytest.fixture(autouse=True)
def in_the_environment(folder, monkeypatch):
    monkeypatch.setenv("RECOMBINE_CELEBA", str(folder))


def class_of(number):
    return f"{(number - 1) % 12:03b}"


def numbers_of(images):
    """Which image of the small CelebA each rendered one is.  # images [n, 3, H, W] in [-1, 1]"""
    pixels = ((images + 1) * 127.5).permute(0, 2, 3, 1).numpy()
    return [number_of(image) for image in pixels]


def dealt(world, node, count, stream="data", seed=0):
    """Factors of the first `count` images of a node."""
    numbers = world.nodes.index(node) * NODE_STRIDE + torch.arange(count)
    return world.vary(world.digits(node).expand(count, -1), keys(seed, stream, numbers))


def test_concepts_are_those_of_the_paper():
    world = FacesWorld()
    assert world.image_shape == (3, 28, 28)
    assert world.condition_widths == (2, 2, 2)
    assert list(world.concepts) == ["gender", "smiling", "hair"]
    assert world.describe("000") == "female smiling black"
    assert world.describe("111") == "male not-smiling blond"


def test_the_identity_of_a_world_holds_no_path_and_no_data(monkeypatch):
    used = FacesWorld()
    used.render(dealt(used, "000", 1))
    monkeypatch.setenv("RECOMBINE_CELEBA", "nowhere")
    fresh = FacesWorld()
    assert used == fresh
    assert fingerprint(used) == fingerprint(fresh)
    assert used.model_dump() == {"kind": "faces", "pixels": 28, "partition": "train"}
    assert len(pickle.dumps(used)) < 2000
    assert build(FacesWorld, used.model_dump(mode="json")) == used


@pytest.mark.parametrize("fields", [{"pixels": 3}, {"pixels": 179}, {"partition": "training"}, {"folder": "data"}])
def test_settings_that_cannot_work(fields):
    with pytest.raises(UserError) as caught:
        build(FacesWorld, fields)
    assert next(iter(fields)) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_row_is_the_image_of_its_digits(layout, tmp_path, monkeypatch):
    monkeypatch.setenv("RECOMBINE_CELEBA", str(make_celeba(tmp_path / layout, layout)))
    world = FacesWorld(partition="all", pixels=8)
    for node in world.nodes:
        factors = dealt(world, node, 5)
        numbers = numbers_of(world.render(factors))
        assert factors[:, 0].tolist() == [CLASSED.index(number) for number in numbers]
        assert sorted(numbers) == [number for number in CLASSED if class_of(number) == node]
        assert factors[:, 1:].tolist() == [list(map(int, node))] * 5


def test_faces_without_a_class_are_not_kept(folder):
    world = FacesWorld(partition="all", pixels=5)
    assert world.class_sizes() == dict.fromkeys(world.nodes, 5)
    array = np.load(folder / "recombine-cache" / "faces-5.npy", mmap_mode="r")
    assert [number_of(image) for image in array] == CLASSED


@pytest.mark.parametrize("partition", BLOCK)
def test_a_partition_holds_its_own_images_only(partition):
    world = FacesWorld(partition=partition, pixels=8)
    for node, size in world.class_sizes().items():
        own = [number for number in BLOCK[partition] if number in CLASSED and class_of(number) == node]
        assert size == len(own) == {"train": 3, "valid": 1, "test": 1, "all": 5}[partition]
        assert sorted(numbers_of(world.render(dealt(world, node, size)))) == own
        assert partition == "all" or {partition_of(number) for number in own} == {list(BLOCK).index(partition)}


def test_a_partition_keeps_the_order_of_all():
    every, train = FacesWorld(partition="all"), FacesWorld()
    mixed = [number for number in numbers_of(every.render(dealt(every, "110", 5))) if number <= 36]
    assert numbers_of(train.render(dealt(train, "110", 3))) == mixed


def test_images_of_training_and_of_instruments_have_nobody_in_common():
    pool = make_pool(FacesWorld(), Split(train=("000", "001", "010", "100"), count=3), 0)
    trained = numbers_of(pool.images)
    assert len(set(trained)) == 12
    assert [class_of(number) for number in trained] == [n for n in ("000", "001", "010", "100") for _ in range(3)]
    held = FacesWorld(partition="test")
    images, digits = real_images(held, held.nodes, 1, 0, "probe-calibration")
    seen = numbers_of(images)
    assert [class_of(number) for number in seen] == list(held.nodes)
    assert digits.tolist() == held.digits(held.nodes).tolist()
    assert not set(seen) & set(trained)


def test_a_smaller_pool_is_the_beginning_of_a_larger_one():
    world = FacesWorld()
    large = make_pool(world, Split(train=("010", "111"), count=3), 5)
    small = make_pool(world, Split(train=("111",), count=2), 5)
    assert torch.equal(small.images, large.images[3:5])
    assert torch.equal(small.conditions, large.conditions[3:5])
    assert small.conditions.tolist() == [[0, 1, 0, 1, 0, 1]] * 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 2)), max_size=20), st.randoms())
def test_the_same_key_is_the_same_image_in_any_batch(asked, random):
    """Nodes, numbers and streams in any mixture and order."""
    world = FacesWorld(partition="all")

    def rows(items):
        nodes = world.digits([world.nodes[node] for node, _, _ in items])
        key = torch.stack([keys(s, "x", torch.tensor(n * NODE_STRIDE + k)) for n, k, s in items])
        return world.vary(nodes, key)

    alone = {item: rows([item]).tolist()[0] for item in asked}
    random.shuffle(asked)
    if asked:
        assert rows(asked).tolist() == [alone[item] for item in asked]
    assert len({(s, *row) for (_, _, s), row in alone.items()}) == len(alone)  # each once in a stream


def test_an_empty_batch():
    world = FacesWorld()
    factors = world.vary(world.digits(()), torch.zeros(0, dtype=torch.int64))
    assert factors.shape == (0, 4)
    assert world.render(factors).shape == (0, 3, 28, 28)
    assert world.condition(factors).shape == (0, 6)


def test_streams_and_seeds_give_other_orders_evenly():
    """Over 400 streams each of five images is first about 80 times: chi-square with 4 degrees of freedom, p = 0.001."""
    world = FacesWorld(partition="all")
    orders = [tuple(dealt(world, "001", 5, seed=seed)[:, 0].tolist()) for seed in range(400)]
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert len(set(orders)) > 100  # of 120
    first = np.unique([order[0] for order in orders], return_counts=True)[1]
    assert ((first - 80) ** 2 / 80).sum() < 18.5
    assert len({tuple(dealt(world, "001", 5, stream=name)[:, 0].tolist()) for name in "abcdefgh"}) > 4


def test_the_order_does_not_depend_on_the_resolution():
    small, large = FacesWorld(pixels=6), FacesWorld(pixels=20)
    assert torch.equal(dealt(small, "101", 3), dealt(large, "101", 3))
    assert numbers_of(small.render(dealt(small, "101", 3))) == numbers_of(large.render(dealt(large, "101", 3)))


@pytest.mark.parametrize(
    ("partition", "present", "where"), [("test", 1, "CelebA's test partition"), ("all", 5, "CelebA")]
)
def test_more_images_than_a_class_has(partition, present, where):
    world = FacesWorld(partition=partition)
    with pytest.raises(UserError) as caught:
        make_pool(world, Split(train=("000", "101"), count={"000": 1, "101": 7}), 0)
    message = str(caught.value)
    assert message.startswith(
        f"class 101 (male smiling blond) has {present} images in {where}, not 7: lower split.count"
    )
    assert "\n" not in message


def test_instruments_are_checked_on_people_apart():
    for partition in ("train", "valid", "all", "test"):
        world = FacesWorld(partition=partition, pixels=9)
        assert world.held_back() == FacesWorld(partition="test", pixels=9)
    apart = FacesWorld().held_back()
    for node in apart.nodes:
        numbers = numbers_of(apart.render(dealt(apart, node, apart.available(node))))
        assert numbers
        assert all(number in BLOCK["test"] and class_of(number) == node for number in numbers)


@pytest.mark.parametrize("partition", BLOCK)
def test_what_is_available_is_what_can_be_drawn(partition):
    world = FacesWorld(partition=partition, pixels=8)
    assert {node: world.available(node) for node in world.nodes} == world.class_sizes()
    for node in world.nodes:
        count = world.available(node)
        assert len(set(numbers_of(world.render(dealt(world, node, count))))) == count
        with pytest.raises(UserError, match=f"has {count} images"):
            dealt(world, node, count + 1)
    with pytest.raises(UserError, match="no node '002'"):
        world.available("002")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_origin_is_the_digest_of_the_attribute_file(layout, tmp_path, monkeypatch):
    folder = make_celeba(tmp_path / layout, layout, count=12)
    monkeypatch.setenv("RECOMBINE_CELEBA", str(folder))
    [path] = folder.glob("list_attr_celeba.*")
    origin = FacesWorld(pixels=8).origin()
    assert origin == {"celeba_attributes_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert FacesWorld(pixels=5, partition="test").origin() == origin
    (folder / "list_eval_partition.txt").unlink(missing_ok=True)
    (folder / "list_eval_partition.csv").unlink(missing_ok=True)
    with pytest.raises(UserError, match=r"put list_eval_partition\.txt there"):
        FacesWorld(pixels=6).origin()


def test_a_prototype_has_a_condition_but_no_image():
    world = FacesWorld()
    factors = world.prototype(world.digits(("000", "011")))
    assert factors.tolist() == [[-1, 0, 0, 0], [-1, 0, 1, 1]]
    assert world.condition(factors).tolist() == [[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1]]
    assert world.condition(factors).dtype == torch.float32
    with pytest.raises(ValueError, match="no image"):
        world.render(factors)
    beyond = torch.tensor([[len(CLASSED), 0, 0, 0]])
    with pytest.raises(ValueError, match="no image"):
        world.render(beyond)


def test_conditions_need_no_data(monkeypatch):
    monkeypatch.setenv("RECOMBINE_CELEBA", "nowhere")
    world = FacesWorld()
    assert world.condition(world.prototype(world.digits("100"))).tolist() == [[0, 1, 1, 0, 1, 0]]


def test_absence_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("RECOMBINE_CELEBA", str(tmp_path))
    world = FacesWorld()
    with pytest.raises(UserError, match="Align&Cropped Images") as caught:
        dealt(world, "000", 1)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    make_celeba(tmp_path / "later", count=8)
    monkeypatch.setenv("RECOMBINE_CELEBA", str(tmp_path / "later"))
    assert FacesWorld().class_sizes() == dict.fromkeys(world.nodes, 1)  # it was not remembered as absent


def test_no_face_with_one_colour_of_hair(monkeypatch, tmp_path):
    bald = " ".join(map(str, attributes_of(9)))
    (tmp_path / "list_attr_celeba.txt").write_text(f"1\n{' '.join(ATTRIBUTES)}\n000009.jpg {bald}\n")
    monkeypatch.setenv("RECOMBINE_CELEBA", str(tmp_path))
    with pytest.raises(UserError, match="exactly one of black and blond hair"):
        FacesWorld().class_sizes()


def test_images_are_mapped_from_disk(folder):
    world = FacesWorld(pixels=7)
    images = world.render(dealt(world, "000", 3))
    assert images.dtype == torch.float32
    assert images.shape == (3, 3, 7, 7)
    assert images.is_contiguous()
    opened = faces._open(folder, 7)
    assert isinstance(opened.images, np.memmap)
    assert world.replace(partition="test")._faces() is opened  # once a process, not once a world


def test_pixels_are_scaled_exactly_and_channels_come_first(monkeypatch):
    levels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1) + np.array([0, 1, 2], dtype=np.uint8)
    opened = faces._Faces(torch.zeros(1, 3), torch.zeros(1), levels, "digest")
    monkeypatch.setattr(faces, "_open", lambda folder, pixels: opened)
    image = FacesWorld(pixels=16).render(torch.tensor([[0, 0, 0, 0]]))[0]
    assert image[0].min() == image[0, 0, 0] == -1
    assert image[0].max() == image[0, 15, 15] == image[1, 15, 14] == image[2, 15, 13] == 1
    assert torch.allclose(image[0].flatten().diff().double(), torch.tensor(2 / 255, dtype=torch.float64), atol=1e-6)
