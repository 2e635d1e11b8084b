"""Splits refuse what cannot work; images depend on nothing but their node and number; draws follow the frequencies."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from recombine.errors import UserError
from recombine.seeds import keys
from recombine.settings import build, fingerprint
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import DESIGNS, Split, design, draw, empty_images, make_pool, real_images

WORLD = ShapesWorld(pixels=16, position_jitter=0.05)
WORLDS = {
    "H32": WORLD,
    "H42": ShapesWorld(backgrounds=("white", "black")),
    "H22": ShapesWorld(shapes=("circle",)),
    "H23": ShapesWorld(shapes=("circle",), colors=("red", "green", "blue"), sizes=("large", "middle", "small")),
}


def test_distances_of_the_paper():
    split = design("H32-train1")
    assert split.by_distance(WORLD) == {0: ("000", "001", "010", "100"), 1: ("011", "101", "110"), 2: ("111",)}
    assert split.held_out(WORLD) == ("011", "101", "110", "111")
    assert design("H32-fail1").by_distance(WORLD)[1] == ("001", "011", "101", "110")
    four = design("H42-train1").by_distance(WORLDS["H42"])
    assert [len(four[d]) for d in range(4)] == [5, 6, 4, 1]
    assert four[3] == ("1111",)
    assert design("H22-train1").held_out(WORLDS["H22"]) == ("11",)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_fits_its_world(name):
    world = WORLDS[name[:3]]
    design(name).check(world)
    assert set(design(name).trained) | set(design(name).held_out(world)) == set(world.nodes)


@settings(max_examples=30, deadline=None)
@given(st.sets(st.sampled_from(WORLD.nodes), min_size=1))
def test_distance_is_zero_exactly_on_trained_nodes(trained):
    split = Split(train=tuple(trained))
    ranks = split.by_distance(WORLD)
    assert set(ranks[0]) == trained
    assert sum(map(len, ranks.values())) == 8
    for rank, nodes in ranks.items():
        for node in nodes:
            assert rank == min(sum(a != b for a, b in zip(node, other, strict=True)) for other in trained)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"train": ()}, "trains on nothing"),
        ({"train": ("000", "020")}, "no node '020'"),
        ({"train": ("00",)}, "no node '00'"),
        ({"train": ("000", "000")}, "twice"),
        ({"train": ("000",), "test": ("000", "111")}, "'000' is trained and tested"),
        ({"train": ("000",), "test": ("211",)}, "no node '211'"),
        ({"train": ("000", "001"), "frequencies": {"000": 0, "001": 0}}, "add up to zero"),
        ({"train": ("000", "001"), "frequencies": {"000": -1}}, "'000' is -1"),
        ({"train": ("000",), "frequencies": {"111": 1}}, "frequencies names '111'"),
        ({"train": ("000",), "count": {"111": 5}}, "count names '111'"),
        ({"train": ("000", "001"), "count": {"001": 0}}, "'001' has no images"),
        ({"train": ("000",), "count": 0}, "'000' has no images"),
        ({"train": ("000",), "count": 2**25}, "give 0 to"),
    ],
)
def test_impossible_splits_are_refused_in_one_line(fields, message):
    with pytest.raises(UserError) as caught:
        Split(**fields).check(WORLD)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError):
        make_pool(WORLD, Split(**fields), 0)


def test_an_unknown_design_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'H32-train1'"):
        design("h32-train1")
    with pytest.raises(UserError, match="known: H32-train1"):
        design("zzz")


def test_a_node_of_frequency_zero_is_not_trained():
    split = Split(train=("000", "010"), frequencies={"010": 0}, count={"010": 0})
    split.check(WORLD)
    assert split.trained == ("000",)
    assert split.distance("010") == 1
    assert "010" in split.held_out(WORLD)
    pool = make_pool(WORLD, split, 0)
    assert len(pool.images) == 1500
    images, _ = draw(pool, keys(0, "order", torch.arange(2000)))
    assert len(images) == 2000
    assert (images[:, 2, 8, 8] < 0).all()  # all red


def test_split_survives_json():
    split = Split(train=("000", "010"), count={"010": 10})
    assert build(Split, split.model_dump(mode="json")) == split
    assert fingerprint(split) != fingerprint(split.replace(count=10))


def test_images_do_not_depend_on_the_rest_of_the_split():
    alone = make_pool(WORLD, Split(train=("010",), count=20), 3)
    mixed = make_pool(WORLD, Split(train=("000", "010", "111"), count={"000": 7, "010": 50, "111": 3}), 3)
    assert mixed.starts.tolist() == [0, 7, 57]
    assert mixed.counts.tolist() == [7, 50, 3]
    assert torch.equal(mixed.images[7:27], alone.images)
    assert torch.equal(mixed.conditions[7:27], alone.conditions)
    other = make_pool(WORLD, Split(train=("010",), count=20), 4)
    assert not torch.equal(other.images, alone.images)


def test_pool_images_are_unique_and_carry_their_own_condition():
    pool = make_pool(WORLD, Split(train=("000", "111"), count=100), 0)
    assert pool.images.dtype == torch.float32
    assert len(pool.images.flatten(1).unique(dim=0)) == 200
    assert pool.conditions.shape == (200, 6)
    centre = (pool.images[:100, :, 8, 8] + 1) / 2  # inside a large circle: its own colour
    assert torch.allclose(centre, pool.conditions[:100, 2:5], atol=1e-5)


@pytest.mark.parametrize(
    ("world", "owner"),
    [
        (WORLD, [0, 0, 1, 1, 1, 2]),
        (WORLD.replace(conditioning="binary"), [0, 0, 1, 1, 2, 2]),
        (WORLDS["H42"], [0, 0, 1, 1, 1, 2, 3]),
        (WORLDS["H22"], [0, 0, 0, 1]),
        (WORLDS["H23"].replace(conditioning="binary"), [0, 0, 0, 1, 1, 1]),
    ],
)
def test_every_number_of_a_condition_belongs_to_a_concept(world, owner):
    pool = make_pool(world, Split(train=world.nodes[:1], count=2), 0)
    assert pool.owner.dtype == torch.int64
    assert pool.owner.tolist() == owner
    digits = world.digits(world.nodes[:1])
    origin = world.condition(world.prototype(digits))[0]
    for concept in range(len(world.concepts)):  # another value of a concept changes none but its own numbers
        other = digits.clone()
        other[:, concept] = 1
        changed = (world.condition(world.prototype(other))[0] != origin).nonzero().flatten()
        assert set(pool.owner[changed].tolist()) == {concept}


def test_draws_follow_the_frequencies_and_fill_the_pool():
    split = Split(train=("000", "001", "010", "100"), frequencies={"001": 3, "010": 0, "100": 0.5}, count=5)
    pool = make_pool(WORLD, split, 0)
    n = 20_000
    _, conditions = draw(pool, keys(1, "order", torch.arange(n)))
    rows = (conditions[:, None] == pool.conditions).all(2).double().sum(0)  # how often each image came; count 0 for 010
    assert rows.sum() == n
    expected = torch.tensor([1, 3, 0.5], dtype=torch.float64).repeat_interleave(5) / 4.5 / 5 * n
    assert ((rows - expected) ** 2 / expected).sum() < 36  # chi-square with 14 degrees of freedom, p = 0.001
    assert pool.cumulative.tolist() == pytest.approx([1 / 4.5, 4 / 4.5, 4 / 4.5, 1])
    assert pool.cumulative[-1] == 1


def test_a_draw_is_the_same_in_any_batch_and_in_a_traced_graph():
    pool = make_pool(WORLD, design("H32-train1").replace(count=30), 0)
    key = keys(1, "order", torch.arange(500))
    images, conditions = draw(pool, key)
    again, received = draw(pool, key[123:130])
    assert torch.equal(again, images[123:130])
    assert torch.equal(received, conditions[123:130])
    graph = make_fx(lambda k: draw(pool, k))(key)  # no data-dependent control flow
    assert torch.equal(graph(key)[0], images)


def test_extreme_words_stay_inside_the_pool(monkeypatch):
    pool = make_pool(WORLD, Split(train=("000", "111"), frequencies={"111": 0}, count=3), 0)
    for word in (0, 2**32 - 1):
        monkeypatch.setattr(
            "recombine.seeds.bits", lambda key, count, lane=0, word=word: torch.full((len(key), count), word)
        )
        images, _ = draw(pool, torch.zeros(1, dtype=torch.int64))
        assert torch.equal(images[0], pool.images[0 if word == 0 else 2])


def test_real_images_are_never_training_images():
    images, digits = real_images(WORLD, ("010", "111"), 20, 0, "calibration")
    assert images.shape == (40, 3, 16, 16)
    assert digits[:20].tolist() == [[0, 1, 0]] * 20
    pool = make_pool(WORLD, Split(train=("010", "111"), count=20), 0)
    assert len(torch.cat([images, pool.images]).flatten(1).unique(dim=0)) == 80
    with pytest.raises(ValueError, match="data"):
        real_images(WORLD, ("010",), 5, 0, "data")


def test_empty_images():
    images = empty_images(WORLDS["H42"], 5, 0)
    assert set(images) == {"blank", "blank-black", "noise", "mean"}
    assert (images["blank"] == 1).all()
    assert (images["blank-black"] == -1).all()
    assert images["noise"].shape == (5, 3, 28, 28)
    assert images["noise"].abs().max() <= 1
    assert images["noise"].mean().abs() < 0.05
    assert images["mean"].shape == (1, 3, 28, 28)


def test_everything_stays_on_the_device_it_was_given():
    """The meta device holds no numbers and refuses to meet another device."""
    world = WORLDS["H42"]
    pool = make_pool(world, design("H42-train1"), 0, "meta")
    images, conditions = draw(pool, torch.zeros(5, dtype=torch.int64, device="meta"))
    assert images.shape == (5, 3, 28, 28)
    assert images.device == conditions.device == pool.owner.device == torch.device("meta")
    received = world.replace(conditioning="binary").condition(world.prototype(world.digits("0000").to("meta")))
    assert received.device == torch.device("meta")
