"""A small CLEVR in the real one's format: read right in both layouts, no stale cache, and trained on."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from recombine.errors import RunFailed, UserError
from recombine.worlds.scenes import clevr
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import FRAME, SceneWorld
from support.small_clevr import COUNTS, GROUND, LAYOUTS, WORLD, drawn


@pytest.fixture
def resizings(monkeypatch):
    """The images resized so far, one entry each."""
    calls, real = [], clevr._square

    def counted(path, pixels):
        calls.append(path.name)
        return real(path, pixels)

    monkeypatch.setattr(clevr, "_square", counted)
    return calls


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scenes_and_images_are_as_they_were_written(copied, layout):
    folder, path, _ = copied(layout)
    read = clevr.read(folder, WORLD)
    factors, _ = drawn()
    objects = WORLD.most * 8
    assert torch.allclose(read.factors[:, :objects], factors[:, :objects])
    assert not read.factors[:, objects:].any()  # CLEVR does not tell the jitter
    assert read.present.sum(1).tolist() == list(COUNTS)
    width, height = LAYOUTS[layout]
    for row, scene in enumerate(json.loads(path.read_text())["scenes"]):
        for slot, entry in enumerate(scene["objects"]):
            across, down, _ = entry["pixel_coords"]
            assert read.centres[row, slot].tolist() == pytest.approx([across * 64 / width, down * 64 / height])


def test_centres_are_those_of_a_scene_whose_jitter_is_stated(copied):
    folder, path, _ = copied("generated")
    content = json.loads(path.read_text())
    for scene, described in zip(content["scenes"], drawn()[1], strict=True):
        scene.update(camera_jitter=described["camera_jitter"], light_jitter=described["light_jitter"])
    path.write_text(json.dumps(content))
    read = clevr.read(folder, WORLD)
    assert torch.allclose(read.factors, drawn()[0])
    centres, present = WORLD.centres(read.factors)
    rounding = 0.5 * torch.tensor([64 / FRAME[0], 64 / FRAME[1]]) + 1e-3  # pixel_coords are whole
    assert ((centres - read.centres)[present].abs() <= rounding).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_images_show_each_object_at_its_centre(copied, layout):
    folder, _, _ = copied(layout)
    read = clevr.read(folder, WORLD, objects=(1,))
    (image,), (centre,) = read.images(torch.tensor([0])), read.centres[0, :1]
    assert image.shape == (3, 64, 64)
    colour = torch.tensor(list(COLOURS.values()))[int(WORLD.scene(read.factors).colour[0, 0])] / 127.5 - 1
    across, down = centre.int().tolist()
    assert torch.allclose(image[:, down, across], colour, atol=0.02)
    assert torch.allclose(image[:, 0, 0], torch.tensor(GROUND) / 127.5 - 1, atol=0.02)


def test_objects_chooses_scenes_by_their_number(copied, resizings):
    folder, _, _ = copied()
    read = clevr.read(folder, WORLD, objects=(2, 3))
    assert read.present.sum(1).tolist() == [3, 2, 3]
    assert len(read.pixels) == 3
    assert set(resizings) == {f"CLEVR_train_{index:06d}.png" for index in (0, 2, 3)}
    with pytest.raises(UserError, match=r"has no scene of \[7, 9\] objects: ask for other numbers$"):
        clevr.read(folder, WORLD, objects=(7, 9))


def test_files_may_lie_in_the_folder_of_the_zip(copied, tmp_path):
    folder, _, _ = copied()
    outer = tmp_path / "outer"
    outer.mkdir()
    folder.rename(outer / "CLEVR_v1.0")
    assert len(clevr.read(outer, WORLD).pixels) == len(COUNTS)


def test_a_json_longer_than_a_block_is_the_same(copied, monkeypatch):
    folder, _, _ = copied()
    whole = clevr.read(folder, WORLD)
    monkeypatch.setattr(clevr, "BLOCK", 50)
    piecewise = clevr.read(folder, WORLD)
    assert torch.equal(whole.factors, piecewise.factors)
    assert whole.digest == piecewise.digest


def test_images_are_resized_once(copied, resizings):
    folder, _, _ = copied()
    first = clevr.read(folder, WORLD)
    resizings.clear()
    again = clevr.read(folder, WORLD)
    assert len(resizings) == 1  # the one that the size of images is read from
    assert np.array_equal(first.pixels, again.pixels)
    assert clevr.read(folder, WORLD.replace(pixels=32)).pixels.shape == (5, 32, 32, 3)


def test_resized_images_are_made_again_when_they_are_damaged(copied):
    folder, _, _ = copied()
    before = np.array(clevr.read(folder, WORLD).pixels)
    array = folder / "recombine-cache" / "clevr-train-64.npy"
    content = bytearray(array.read_bytes())
    content[-5] ^= 255
    array.write_bytes(content)
    assert np.array_equal(clevr.read(folder, WORLD).pixels, before)
    array.write_bytes(content[:1000])
    assert np.array_equal(clevr.read(folder, WORLD).pixels, before)


def test_resized_images_are_made_again_for_other_images(copied):
    folder, _, pictures = copied()
    clevr.read(folder, WORLD)
    Image.new("RGB", LAYOUTS["official"], (255, 0, 0)).save(pictures / "CLEVR_train_000001.png")
    assert clevr.read(folder, WORLD).pixels[1].reshape(-1, 3).mean(0).tolist() == [255, 0, 0]


def test_an_empty_folder_says_what_belongs_there(tmp_path):
    with pytest.raises(UserError, match=r"put scenes/CLEVR_val_scenes.json and images/val there") as caught:
        clevr.read(tmp_path, WORLD, split="val")
    assert clevr.FOLDER_VARIABLE in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_split_is_not_taken_for_the_one_asked_for(copied):
    folder, _, _ = copied()
    with pytest.raises(UserError, match=r"CLEVR_val_scenes.json"):
        clevr.read(folder, WORLD, split="val")


def test_a_folder_that_cannot_be_written_is_one_line(copied):
    folder, _, _ = copied()
    (folder / "recombine-cache").write_text("in the way")
    with pytest.raises(RunFailed, match="make the folder writable"):
        clevr.read(folder, WORLD)


def test_the_folder_is_that_of_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(clevr.FOLDER_VARIABLE, str(tmp_path))
    assert clevr.data_folder() == tmp_path
    monkeypatch.delenv(clevr.FOLDER_VARIABLE)
    assert clevr.data_folder().parts[-2:] == ("data", "clevr")


def test_runs_train_on_it_with_its_own_labels(copied, monkeypatch):
    """The images and cells of CLEVR's scenes of one and three objects, in an order that the seed decides."""
    folder, _, _ = copied()
    monkeypatch.setenv(clevr.FOLDER_VARIABLE, str(folder))
    split = SceneSplit(objects=(1, 3), images=3, source="clevr")
    labels = LabelConfig()
    known = clevr.read(folder, WORLD, "train", (1, 3))
    pool = split.pool(WORLD, labels, seed=0)
    own = labels.encode(known.centres, known.present, WORLD.pixels, torch.arange(3))
    for image, condition in zip(pool.images, pool.conditions, strict=True):
        (row,) = [i for i, other in enumerate(known.images(torch.arange(3))) if torch.equal(image, other)]
        assert torch.equal(condition, own[row])
    with pytest.raises(UserError, match=r"CLEVR has 3 scenes of .* ask for fewer"):
        split.replace(images=4).pool(WORLD, labels, seed=0)
    with pytest.raises(UserError, match=r"world\.style = clevr"):
        split.check(SceneWorld(pixels=32, style="discs", grid=8))
