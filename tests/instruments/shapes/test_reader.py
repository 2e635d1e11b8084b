"""The reader is right on real images, also noisy and blurred ones, and refuses what is not one real object."""

import pytest
import torch
from scipy import ndimage

from recombine.instruments.shapes.reader import calibrate_reader, read
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import empty_images, real_images
from support.tables import short

WORLD = ShapesWorld()
WORLDS = {
    "28": (WORLD, 0.995),
    "32": (ShapesWorld(pixels=32), 0.995),
    "16": (ShapesWorld(pixels=16, position_jitter=0.05), 0.99),
    "backgrounds": (ShapesWorld(backgrounds=("white", "black")), 0.995),
    "off-white": (ShapesWorld(background_jitter=0.1), 0.995),
    "greys": (ShapesWorld(backgrounds=("white", "grey", "black"), background_jitter=0.1), 0.995),
    "three": (
        ShapesWorld(
            shapes=("circle", "triangle", "square"),
            colors=("red", "green", "blue"),
            sizes=("large", "middle", "small"),
            size_separation=0.3,
            size_jitter=0.1,
            position_jitter=0.15,
        ),
        0.995,
    ),
}


def right(reading, digits):
    return ((reading.digits == digits) & (reading.objects == 1)[:, None]).all(1)


def blurred(images, pixels):
    return torch.from_numpy(ndimage.gaussian_filter(images.numpy(), (0, 0, pixels, pixels), mode="nearest"))


def noisy(images, deviation):  # in [0, 1] units
    return images + 2 * deviation * torch.randn(images.shape, generator=torch.Generator().manual_seed(0))


def washed(images, contrast):
    """The same objects with a fraction of their contrast to white."""
    return 1 + contrast * (images - 1)


@pytest.mark.parametrize("name", WORLDS)
def test_real_images_of_every_node(name):
    world, least = WORLDS[name]
    per_node = 100 if name != "three" else 20
    images, digits = real_images(world, world.nodes, per_node, 7, "reader-test")
    reading = read(images, world)
    assert right(reading, digits).view(len(world.nodes), per_node).double().mean(1).min() >= least


@pytest.mark.parametrize("name", ["28", "16", "backgrounds", "off-white"])
def test_noise_blur_and_tint_do_not_disturb_it(name):
    world, _ = WORLDS[name]
    images, digits = real_images(world, world.nodes, 50, 8, "reader-test")
    changed = {
        "noise": noisy(images, 0.05),
        "blur": blurred(images, 0.5),
        "both": noisy(blurred(images, 0.5), 0.05),
        "tint": images * 0.9,
        "overshoot": images * 1.2,
    }
    for change, samples in changed.items():
        share = right(read(samples, world), digits).view(len(world.nodes), 50).double().mean(1).min()
        assert share >= 0.98, change


def test_measures_are_those_of_the_factors():
    factors = torch.tensor([[0, 0.85, 0.15, 0.05, 0.5, 1, 0.1, -0.15], [1, 0.1, 0.1, 0.9, 0.22, 1, -0.2, 0.2]])
    reading = read(WORLD.render(factors), WORLD)
    assert torch.allclose(reading.rgb, factors[:, 1:4], atol=0.02)
    assert torch.allclose(reading.radius, factors[:, 4], atol=0.006)
    assert torch.allclose(reading.centre, factors[:, 6:8], atol=0.01)
    assert reading.digits.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert reading.residuals.argmin(1).tolist() == [0, 1]
    assert reading.residuals.amin(1).max() < 0.01


@pytest.mark.parametrize("name", ["28", "16", "backgrounds", "off-white"])
def test_nothing_is_read_where_there_is_nothing(name):
    world, _ = WORLDS[name]
    for kind, images in empty_images(world, 50, 0).items():
        reading = read(images, world)
        readable = (reading.objects == 1) & (reading.digits >= 0).all(1)
        assert not readable.any(), kind
        if kind.startswith("blank"):
            assert (reading.objects == 0).all()
            assert (reading.digits == -1).all()
            assert reading.radius.isnan().all()
            assert (read(noisy(images, 0.05), world).objects == 0).all()


def test_two_objects_are_several():
    one = WORLD.render(torch.tensor([[0, 0.9, 0.1, 0.1, 0.22, 1, -0.5, 0]]))
    two = WORLD.render(torch.tensor([[0, 0.9, 0.1, 0.1, 0.22, 1, 0.5, 0]]))
    both = torch.minimum(one, two)
    assert read(torch.cat([one, two, both]), WORLD).objects.tolist() == [1, 1, 2]


def test_touching_objects_are_no_shape():
    one = WORLD.render(torch.tensor([[0, 0.9, 0.1, 0.1, 0.24, 1, -0.24, 0]]))
    two = WORLD.render(torch.tensor([[0, 0.9, 0.1, 0.1, 0.24, 1, 0.24, 0]]))
    reading = read(torch.minimum(one, two), WORLD)
    assert reading.objects.tolist() == [1]
    assert reading.digits[0, 0] == -1


def test_a_speck_is_not_an_object():
    image = WORLD.render(WORLD.prototype(WORLD.digits("010")))
    image[:, :, 2:4, 2] = -1
    reading = read(image, WORLD)
    assert reading.objects.tolist() == [1]
    assert reading.digits.tolist() == [[0, 1, 0]]
    blank = WORLD.blank()
    blank[:, :, 2:4, 2] = -1
    assert read(blank, WORLD).objects.tolist() == [0]


def test_objects_in_neighbouring_images_are_not_joined():
    images = WORLD.render(WORLD.prototype(WORLD.digits(("000", "000", "001"))))
    assert read(images, WORLD).objects.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["28", "16"])
def test_faint_objects_do_not_pass(name):
    world, _ = WORLDS[name]
    images, digits = real_images(world, world.nodes, 30, 9, "reader-test")
    for contrast in (0.1, 0.3, 0.5):
        reading = read(washed(images, contrast), world)
        assert not right(reading, digits).any(), contrast
    assert (read(washed(images, 0.3), world).objects == 0).all()
    assert right(read(washed(images, 0.9), world), digits).double().mean() > 0.95


def test_wrong_colours_are_no_colour():
    prototype = WORLD.prototype(WORLD.digits("000")).repeat(4, 1)
    prototype[:, 1:4] = torch.tensor([[0.1, 0.9, 0.1], [0.5, 0.1, 0.5], [0.1, 0.1, 0.1], [0.9, 0.9, 0.1]])
    reading = read(WORLD.render(prototype), WORLD)
    assert reading.digits[:, 1].tolist() == [-1, -1, -1, -1]
    assert reading.digits[:3, [0, 2]].tolist() == [[0, 0]] * 3


def test_wrong_sizes_are_no_size():
    prototype = WORLD.prototype(WORLD.digits("000")).repeat(4, 1)
    prototype[:, 4] = torch.tensor([0.1, 0.24, 0.36, 0.7])
    assert read(WORLD.render(prototype), WORLD).digits[:, 2].tolist() == [-1, 1, -1, -1]


def test_half_erased_objects_do_not_pass():
    images, digits = real_images(WORLD, WORLD.nodes, 30, 10, "reader-test")
    for cut in ("left", "right", "top", "bottom"):
        erased = images.clone()
        for image, centre in zip(erased, read(images, WORLD).centre.tolist(), strict=True):
            column, row = round((centre[0] + 1) * 14), round((1 - centre[1]) * 14)
            part = {"left": (..., slice(column)), "right": (..., slice(column, None))}
            part |= {"top": (..., slice(row), slice(None)), "bottom": (..., slice(row, None), slice(None))}
            image[part[cut]] = 1.0
        # What is left above the base of a triangle is a smaller triangle, as it should be.
        counted = (digits[:, 0] == 0) | (cut != "bottom")
        assert right(read(erased, WORLD), digits)[counted].double().mean() < 0.02, cut


def test_halfway_between_two_shapes_is_no_shape():
    circle, triangle = WORLD.render(WORLD.prototype(WORLD.digits(("000", "100"))))
    morphs = torch.stack([circle, 0.5 * (circle + triangle), triangle])
    assert read(morphs, WORLD).digits[:, 0].tolist() == [0, -1, 1]


@pytest.mark.parametrize("name", ["28", "off-white"])
def test_a_wrong_background_is_unreadable(name):
    world, _ = WORLDS[name]
    prototype = world.prototype(world.digits("010"))
    prototype[:, 5] = 0.5
    assert (read(world.render(prototype), world).digits == -1).all()


def test_a_grey_paper_belongs_to_a_world_that_has_it():
    """The darkest paper of a world whose white varies much; nothing to one whose white is white."""
    prototype = WORLD.prototype(WORLD.digits("010"))
    prototype[:, 5] = 0.53
    image = WORLD.render(prototype)
    assert (read(image, WORLD).digits == -1).all()
    assert read(image, WORLD.replace(background_jitter=0.24)).digits.tolist() == [[0, 1, 0]]


def test_broken_and_missing_images():
    images = WORLD.render(WORLD.prototype(WORLD.digits(("000", "000"))))
    images[0, 0, 0, 0] = torch.nan
    reading = read(images, WORLD)
    assert reading.objects.tolist() == [0, 1]
    assert reading.digits.tolist() == [[-1, -1, -1], [0, 0, 0]]
    empty = read(images[:0], WORLD)
    assert empty.digits.shape == (0, 3)
    assert empty.objects.dtype == torch.int8


def test_what_is_measured_does_not_depend_on_its_batch():
    images, _ = real_images(WORLD, WORLD.nodes, 70, 11, "reader-test")  # more than one chunk
    whole, part = read(images, WORLD), read(images[505:520], WORLD)
    assert torch.equal(whole.digits[505:520], part.digits)
    assert torch.allclose(whole.radius[505:520], part.radius)


def test_calibration_rows():
    rows = {(row.get("node") or row["canvas"], short(row)): row["value"] for row in calibrate_reader(WORLD, 20, 0)}
    assert rows["111", "calibration.reader.product"] == 1
    assert rows["111", "calibration.reader.color"] == 1
    assert rows["blank", "calibration.reader.none"] == 1
    assert sum(rows["noise", f"calibration.reader.{name}"] for name in ("none", "one", "several")) == 1
    assert len(rows) == 8 * 4 + 3 * 3
