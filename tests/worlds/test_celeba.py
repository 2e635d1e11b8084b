"""A small CelebA is read right in each layout it comes in; every damage is one line."""

import os
import shutil
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from PIL import Image

from recombine.errors import UserError
from recombine.worlds.celeba import data_folder, read_attributes, read_partitions, resized_images
from support.small_celeba import (
    ATTRIBUTES,
    COUNT,
    HAIR,
    LAYOUTS,
    attributes_of,
    make_celeba,
    name_of,
    names_up_to,
    number_of,
    save_image,
)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Each layout once; only to be copied."""
    base = tmp_path_factory.mktemp("celeba")
    return {layout: make_celeba(base / layout, layout) for layout in LAYOUTS}


@pytest.fixture
def copied(originals, tmp_path):
    """A layout of one's own, to be cached and damaged."""

    def copy(layout="folder"):
        return shutil.copytree(originals[layout], tmp_path / layout)

    return copy


def complaint(call, *arguments):
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert type(caught.value) is UserError
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_folder_is_in_the_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECOMBINE_CELEBA", raising=False)
    assert data_folder() == tmp_path / "data" / "celeba"
    monkeypatch.setenv("RECOMBINE_CELEBA", "")
    assert data_folder() == tmp_path / "data" / "celeba"
    monkeypatch.setenv("RECOMBINE_CELEBA", str(tmp_path / "elsewhere"))
    assert data_folder() == tmp_path / "elsewhere"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_lists_and_images(copied, layout):
    folder = copied(layout)
    attributes = read_attributes(folder, ("Young", *HAIR))
    assert attributes.names == tuple(names_up_to(COUNT))
    assert attributes.values.shape == (COUNT, 3)
    for number in range(1, COUNT + 1):
        told = dict(zip(ATTRIBUTES, attributes_of(number), strict=True))
        assert attributes.values[number - 1].tolist() == [told[a] == 1 for a in ("Young", *HAIR)]
    assert read_partitions(folder, ["000060.jpg", "000001.jpg", "000037.jpg"]).tolist() == [2, 0, 1]
    chosen = [name_of(number) for number in (7, 3, 60, 25)]
    images = resized_images(folder, chosen, attributes.digest, 9)
    assert images.shape == (4, 9, 9, 3)
    assert [number_of(image) for image in images] == [7, 3, 60, 25]


def test_the_centre_square_is_averaged_down_as_an_independent_library_does(tmp_path):
    """Against torch's antialiased bicubic filter, on an image with a gradient, stripes one pixel wide and an edge."""
    pictures = tmp_path / "img_align_celeba"
    pictures.mkdir()
    down, across = np.mgrid[0:218, 0:178]
    pixels = np.stack([down, across, np.where(across > 100, 220, 30)], 2).astype(np.uint8)
    pixels[60:120, :80] = np.where(across % 2, 255, 0)[60:120, :80, None]
    save_image(pictures / "000001.jpg", pixels)
    got = resized_images(tmp_path, ["000001.jpg"], "", 28)[0]
    decoded = np.asarray(Image.open(pictures / "000001.jpg"))[20:198]
    square = torch.from_numpy(decoded.copy()).permute(2, 0, 1)[None].float()
    expected = torch.nn.functional.interpolate(square, (28, 28), mode="bicubic", antialias=True)[0].permute(1, 2, 0)
    assert np.abs(got - expected.clamp(0, 255).numpy()).max() <= 1.5
    assert np.abs(got[8:14, 2:11].astype(int) - 127).max() < 12  # stripes become grey


def test_a_grey_image_gets_three_channels(tmp_path):
    (tmp_path / "img_align_celeba").mkdir()
    save_image(tmp_path / "img_align_celeba" / "000001.jpg", np.full((218, 178), 90, dtype=np.uint8))
    assert (resized_images(tmp_path, ["000001.jpg"], "", 4) == 90).all()


def test_a_missing_celeba_says_what_to_put_where(tmp_path):
    for message in (complaint(read_attributes, tmp_path, HAIR), complaint(read_partitions, tmp_path, [])):
        assert str(tmp_path) in message
        assert "img_align_celeba.zip (or the folder img_align_celeba/ unpacked from it)" in message
        assert "list_attr_celeba.txt, list_eval_partition.txt" in message
        assert "CelebA page" in message
        assert "Align&Cropped Images" in message
        assert "RECOMBINE_CELEBA" in message


def test_only_what_is_missing_is_asked_for(copied):
    folder = copied("zip")
    (folder / "list_eval_partition.txt").unlink()
    message = complaint(read_partitions, folder, [])
    assert "put list_eval_partition.txt there" in message
    assert "list_attr" not in message
    (folder / "img_align_celeba.zip").unlink()
    message = complaint(resized_images, folder, names_up_to(3), "", 8)
    assert "put img_align_celeba.zip (or" in message


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("layout", "old", "new", "why"),
    [
        ("folder", "60\n", "61\n", "it lists 60 images, and its first line says 61"),
        ("folder", "60\n", "", "line 1 should be the number of images"),
        ("folder", "60\n", "many\n", "line 1 should be the number of images"),
        ("folder", " Young ", "", "its header names 39 attributes, not 40"),
        ("folder", "Black_Hair", "Dark_Hair", "its header has no Black_Hair"),
        ("folder", "000002.jpg -1", "000002.jpg", "line 4 has 39 values, not 40"),
        ("folder", "000002.jpg -1", "000002.jpg  0", "line 4 has a value that is neither 1 nor -1"),
        ("folder", "000002.jpg", "000001.jpg", "line 4 should begin with a new image name"),
        ("folder", "000002.jpg", "../0002.jpg", "line 4 should begin with a new image name"),
        ("csv", "image_id,", "", "its header names 39 attributes, not 40"),
        ("csv", "000002.jpg,-1", "000002.jpg,", "line 3 has 39 values, not 40"),
    ],
)
def test_an_attribute_file_that_is_not_celebas(copied, layout, old, new, why):
    folder = copied(layout)
    path = folder / ("list_attr_celeba.csv" if layout == "csv" else "list_attr_celeba.txt")
    replaced(path, old, new)
    message = complaint(read_attributes, folder, HAIR)
    assert f"{path} is not as CelebA distributes it: {why}" in message


@pytest.mark.parametrize("content", [b"", b"0\n", b"\xff\xfe\x00\x01", b"\x00" * 100])
def test_an_attribute_file_of_something_else(copied, content):
    folder = copied()
    (folder / "list_attr_celeba.txt").write_bytes(content)
    assert "not as CelebA distributes it" in complaint(read_attributes, folder, HAIR)


def test_an_attribute_file_without_images(copied):
    folder = copied()
    (folder / "list_attr_celeba.txt").write_text("0\n" + " ".join(ATTRIBUTES) + "\n")
    assert "it lists no image" in complaint(read_attributes, folder, HAIR)


def test_line_ends_of_windows_and_a_byte_order_mark_do_no_harm(copied):
    folder = copied("csv")
    path = folder / "list_attr_celeba.csv"
    plain = read_attributes(folder, HAIR)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    marked = read_attributes(folder, HAIR)
    assert marked.names == plain.names
    assert np.array_equal(marked.values, plain.values)
    assert marked.digest != plain.digest


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("000002.jpg 0", "000002.jpg 3", "line 2 should be an image name and 0, 1 or 2"),
        ("000002.jpg 0", "000002.jpg", "line 2 should be"),
        ("000002.jpg 0\n", "", "it lacks 000002.jpg, which list_attr_celeba has"),
    ],
)
def test_a_partition_file_that_is_not_celebas(copied, old, new, why):
    folder = copied()
    replaced(folder / "list_eval_partition.txt", old, new)
    assert why in complaint(read_partitions, folder, names_up_to(5))


def test_a_partial_folder(copied):
    folder = copied()
    for number in (4, 7, 50):
        (folder / "img_align_celeba" / name_of(number)).unlink()
    message = complaint(resized_images, folder, names_up_to(20), "", 8)
    assert f"{folder / 'img_align_celeba'} lacks 2 of the 20 images that are needed, first 000004.jpg" in message


def test_a_partial_zip(copied):
    folder = copied("zip")
    message = complaint(resized_images, folder, names_up_to(COUNT + 2), "", 8)
    assert f"img_align_celeba.zip lacks 2 of the {COUNT + 2} images that are needed, first 000061.jpg" in message


def shorten(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "damage",
    [
        shorten,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"<html>quota exceeded</html>"),
        lambda path: Image.new("RGB", (178, 178)).save(path),
        lambda path: Image.new("RGB", (178, 218)).save(path, format="PNG"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["cut short", "empty", "a web page", "another size", "another format", "a folder"],
)
def test_a_damaged_image(copied, damage):
    folder = copied()
    damage(folder / "img_align_celeba" / "000005.jpg")
    message = complaint(resized_images, folder, names_up_to(8), "", 8)
    assert message.startswith(f"000005.jpg in {folder / 'img_align_celeba'} is damaged or no aligned JPEG of 178 x 218")
    assert not list((folder / "recombine-cache").glob("faces*"))
    assert len(resized_images(folder, names_up_to(4), "", 8)) == 4  # images that are not needed are not looked at


def test_a_damaged_member_of_the_zip(copied):
    folder = copied("zip")
    path = folder / "img_align_celeba.zip"
    with ZipFile(path) as archive:
        member = archive.getinfo("img_align_celeba/000005.jpg")
    data = bytearray(path.read_bytes())
    middle = member.header_offset + 60 + member.compress_size // 2
    data[middle] ^= 0xFF
    path.write_bytes(data)
    assert "000005.jpg in" in complaint(resized_images, folder, names_up_to(8), "", 8)


@pytest.mark.parametrize("content", [b"", b"no zip at all", None])
def test_a_damaged_zip(copied, content):
    folder = copied("zip")
    path = folder / "img_align_celeba.zip"
    path.write_bytes(path.read_bytes()[:-200] if content is None else content)
    message = complaint(resized_images, folder, names_up_to(8), "", 8)
    assert message == f"{path} is damaged or cut short: get it again"


@pytest.mark.parametrize(
    "member", ["../x.jpg", "img_align_celeba/../../x.jpg", "/etc/x.jpg", "C:/x.jpg", "..\\x.jpg", "a\\..\\..\\x.jpg"]
)
def test_a_zip_with_a_member_outside_its_root(copied, member):
    folder = copied("zip")
    with ZipFile(folder / "img_align_celeba.zip", "a") as archive:
        archive.writestr(member, b"x")
    message = complaint(resized_images, folder, names_up_to(3), "", 8)
    assert "has a member outside its root" in message
    assert repr(member) in message
