"""A small CLEVR in the real one's format: read right in both layouts, every damage one line, no stale cache."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from recombine import seeds
from recombine.errors import RunFailed, UserError
from recombine.worlds import clevr
from recombine.worlds.scene_labels import LabelConfig
from recombine.worlds.scene_layout import COLOURS
from recombine.worlds.scene_split import SceneSplit
from recombine.worlds.scenes import FRAME, SceneWorld

WORLD = SceneWorld(pixels=64)
COUNTS = (3, 1, 2, 3, 0)  # objects of each image
GROUND = (200, 200, 200)
MARK = 16  # half side of the square of its colour that an object is drawn as
LAYOUTS = {"official": (480, 320), "generated": FRAME}  # and the size of their images


def drawn():
    factors = WORLD.draw(torch.tensor(COUNTS), seeds.keys(3, "data", torch.arange(len(COUNTS))))
    return factors, WORLD.describe(factors)


def make_clevr(folder, layout="official"):
    """Write a CLEVR of five images into `folder`, and give its JSON and the folder of its images back."""
    width, height = LAYOUTS[layout]
    official = layout == "official"
    pictures = folder / "images" / ("train" if official else "")
    path = folder / "scenes" / "CLEVR_train_scenes.json" if official else folder / "CLEVR_scenes.json"
    pictures.mkdir(parents=True)
    path.parent.mkdir(exist_ok=True)
    scenes = []
    for index, described in enumerate(drawn()[1]):
        name = f"CLEVR_train_{index:06d}.png"
        image = np.full((height, width, 3), GROUND, dtype=np.uint8)
        for entry in described["objects"]:
            across, down, depth = entry["pixel_coords"]
            across, down = round(across * width / FRAME[0]), round(down * height / FRAME[1])
            entry["pixel_coords"] = [across, down, depth]
            image[down - MARK : down + MARK, across - MARK : across + MARK] = COLOURS[entry["color"]]
        Image.fromarray(image).convert("RGBA").save(pictures / name)
        scenes.append(
            {
                "split": "train",
                "image_index": index,
                "image_filename": name,
                "objects": described["objects"],
                "relationships": {side: [[] for _ in described["objects"]] for side in ("left", "right")},
                "directions": {"right": [0.656, 0.754, -0.0]},
            }
        )
    info = {
        "date": "2/14/2017",
        "version": "1.0",
        "split": "train",
        "license": "Creative Commons Attribution (CC-BY 4.0)",
    }
    path.write_text(json.dumps({"info": info, "scenes": scenes}))
    return path, pictures


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Each layout once; only to be copied."""
    base = tmp_path_factory.mktemp("clevr")
    return {layout: (base / layout, *make_clevr(base / layout, layout)) for layout in LAYOUTS}


@pytest.fixture
def copied(originals, tmp_path):
    """A layout of one's own, to be cached and damaged: the folder, its JSON, its images."""

    def copy(layout="official"):
        folder, path, pictures = originals[layout]
        mine = shutil.copytree(folder, tmp_path / layout)
        return mine, mine / path.relative_to(folder), mine / pictures.relative_to(folder)

    return copy


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


def test_centres_are_those_of_a_scene_whose_jitter_is_told(copied):
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


def edited(path, change):
    """Change the JSON's list of scenes."""
    content = json.loads(path.read_text())
    change(content["scenes"])
    path.write_text(json.dumps(content))


DAMAGES = {
    "missing file": (lambda _, pictures: (pictures / "CLEVR_train_000002.png").unlink(), "lacks 1 of the 5 images"),
    "other count": (
        lambda _, pictures: shutil.copy(pictures / "CLEVR_train_000002.png", pictures / "CLEVR_train_000009.png"),
        "has 5 scenes and .* 6 images, first without a scene CLEVR_train_000009.png",
    ),
    "scene left out": (
        lambda path, _: edited(path, lambda scenes: scenes.pop()),
        "has 4 scenes and .* 5 images, first without a scene CLEVR_train_000004.png",
    ),
    "wrong name": (
        lambda path, _: edited(path, lambda scenes: scenes[1].update(image_filename="CLEVR_train_000077.png")),
        "lacks 1 of the 5 images .* first CLEVR_train_000077.png",
    ),
    "name twice": (
        lambda path, _: edited(path, lambda scenes: scenes[1].update(image_filename="CLEVR_train_000000.png")),
        "scene 1 has the image_filename CLEVR_train_000000.png, which an earlier scene has",
    ),
    "name elsewhere": (
        lambda path, _: edited(path, lambda scenes: scenes[1].update(image_filename="../../secret.png")),
        "scene 1 has the image_filename '../../secret.png', which is no name of a PNG",
    ),
    "name of no text": (
        lambda path, _: edited(path, lambda scenes: scenes[1].update(image_filename=7)),
        "scene 1 has the image_filename 7, which is no name of a PNG",
    ),
    "no name": (lambda path, _: edited(path, lambda scenes: scenes[3].pop("image_filename")), "scene 3 lacks"),
    "no coordinates": (
        lambda path, _: edited(path, lambda scenes: scenes[2]["objects"][0].pop("pixel_coords")),
        "scene 2 lacks .* pixel_coords",
    ),
    "words for numbers": (
        lambda path, _: edited(path, lambda scenes: scenes[2]["objects"][0].update(rotation="north")),
        "scene 2 lacks .* rotation",
    ),
    "unknown shape": (
        lambda path, _: edited(path, lambda scenes: scenes[3]["objects"][1].update(shape="cone")),
        "scene 3: .* cone, none of sphere, cube, cylinder",
    ),
    "too many objects": (
        lambda path, _: edited(path, lambda scenes: scenes[2].update(objects=scenes[2]["objects"] * 7)),
        "scene 2 .*14 objects.* 12$",
    ),
    "half a jitter": (
        lambda path, _: edited(path, lambda scenes: scenes[0].update(camera_jitter=[0.1])),
        "scene 0 has a jitter that is not three numbers",
    ),
    "coordinates of another size": (
        lambda path, _: edited(path, lambda scenes: scenes[1]["objects"][0].update(pixel_coords=[500, 100, 9.0])),
        "pixel_coords of CLEVR_train_000001.png lie outside of its 480 x 320 pixels",
    ),
    "numbers as words": (
        lambda path, _: edited(path, lambda scenes: scenes[1]["objects"][0].update(pixel_coords=["12", "13", "3"])),
        "scene 1 lacks .* pixel_coords",
    ),
    "half of all places": (  # six places of one number are as many as three of two
        lambda path, _: edited(
            path, lambda scenes: scenes[0].update(objects=[{**scenes[0]["objects"][0], "pixel_coords": [9]}] * 6)
        ),
        "scene 0 lacks .* pixel_coords",
    ),
    "no number": (
        lambda path, _: edited(path, lambda scenes: scenes[0].update(camera_jitter=[0.1, float("nan"), 0.0])),
        "scene 0 has a jitter that is not three numbers",
    ),
    "two lamps": (
        lambda path, _: edited(path, lambda scenes: scenes[0].update(light_jitter=[[0.0] * 3, [0.0] * 6])),
        "scene 0 has a jitter that is not three numbers",
    ),
    "beyond float32": (
        lambda path, _: edited(path, lambda scenes: scenes[0]["objects"][0].update(rotation=1e39)),
        "scene 0 lacks .* rotation",
    ),
    "objects in a heap": (
        lambda path, _: edited(path, lambda scenes: scenes[4].update(objects={})),
        "scene 4 lacks",
    ),
    "no comma": (
        lambda path, _: path.write_text(path.read_text().replace('}}, {"split"', '}} {"split"', 1)),
        "no scene and no comma where scene 1 should begin",
    ),
    "two commas": (
        lambda path, _: path.write_text(path.read_text().replace('}}, {"split"', '}},, {"split"', 1)),
        "no scene and no comma where scene 1 should begin",
    ),
    "a comma at the end": (
        lambda path, _: path.write_text(path.read_text().removesuffix("]}") + ",]}"),
        "no scene and no comma where scene 5 should begin",
    ),
    "more after the end": (
        lambda path, _: path.write_text(path.read_text() + "}"),
        "cut short after 5 scenes, or goes on after its end",
    ),
    "lists in lists": (
        lambda path, _: path.write_text('{"scenes": [' + "[" * 200_000),
        "it is cut short after 0 scenes",
    ),
    "a link to nothing": (
        lambda _, pictures: (pictures / "CLEVR_train_000009.png").symlink_to("gone.png"),
        "cannot read .*CLEVR_train_000009.png: No such file",
    ),
    "no list": (lambda path, _: path.write_text('{"info": {}}'), "it has no list of scenes"),
    "empty": (lambda path, _: path.write_text(""), "it has no list of scenes"),
    "no scenes": (lambda path, _: path.write_text('{"scenes": []}'), "has 0 scenes and .* 5 images"),
    "no object": (lambda path, _: path.write_text('{"scenes": [1, 2]}'), "scene 0 lacks an image_filename"),
    "no image": (
        lambda _, pictures: (pictures / "CLEVR_train_000003.png").write_bytes(b"GIF89a"),
        "CLEVR_train_000003.png is damaged or no PNG: get it again",
    ),
    "half an image": (
        lambda _, pictures: (pictures / "CLEVR_train_000003.png").write_bytes(
            (pictures / "CLEVR_train_000003.png").read_bytes()[:300]
        ),
        "CLEVR_train_000003.png is damaged or no PNG: get it again",
    ),
    "another size": (
        lambda _, pictures: Image.new("RGB", (32, 24)).save(pictures / "CLEVR_train_000003.png"),
        "CLEVR_train_000003.png is 32 x 24 pixels, and others are not",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_belong_together_is_one_line(copied, damage):
    folder, path, pictures = copied()
    change, expected = DAMAGES[damage]
    change(path, pictures)
    with pytest.raises(UserError, match=expected) as caught:
        clevr.read(folder, WORLD)
    assert "\n" not in str(caught.value)
    assert not list(folder.glob("recombine-cache/*.npy"))
    assert not list(folder.glob("recombine-cache/*.part"))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8, 0.999])
def test_a_json_cut_short_says_how_many_scenes_it_has(copied, share):
    folder, path, _ = copied()
    text = path.read_text()
    begin = text.index('"scenes": [') + 11
    cut = begin + int(share * (len(text) - 2 - begin))
    path.write_text(text[:cut])
    whole = text[:cut].count('"directions": {"right": [0.656, 0.754, -0.0]}}')
    with pytest.raises(UserError, match=rf"it is cut short after {whole} scenes; put the original file there$"):
        clevr.read(folder, WORLD)


def test_a_json_without_its_end_is_cut_short(copied):
    folder, path, _ = copied()
    path.write_text(path.read_text().removesuffix("}"))
    with pytest.raises(UserError, match="cut short after 5 scenes"):
        clevr.read(folder, WORLD)


def test_rubbish_within_a_long_json_is_no_json(copied, monkeypatch):
    folder, path, _ = copied()
    monkeypatch.setattr(clevr, "BLOCK", 100)
    monkeypatch.setattr(clevr, "LONGEST", 2000)
    path.write_text(path.read_text().replace('"image_index": 1', '"image_index": what'))
    with pytest.raises(UserError, match="scene 1 is no JSON"):
        clevr.read(folder, WORLD)


def test_an_empty_folder_is_told_what_belongs_there(tmp_path):
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
