"""What does not belong to CLEVR, or is damaged, is one line, and leaves no cache behind."""

import json
import shutil

import pytest
from PIL import Image

from recombine.errors import UserError
from recombine.worlds.scenes import clevr
from support.small_clevr import WORLD


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
        "commas before scene 1 are missing or too many",
    ),
    "two commas": (
        lambda path, _: path.write_text(path.read_text().replace('}}, {"split"', '}},, {"split"', 1)),
        "commas before scene 1 are missing or too many",
    ),
    "a comma at the end": (
        lambda path, _: path.write_text(path.read_text().removesuffix("]}") + ",]}"),
        "there is a comma after its 5 scenes",
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
        "CLEVR_train_000003.png is damaged or no PNG: get it once more",
    ),
    "half an image": (
        lambda _, pictures: (pictures / "CLEVR_train_000003.png").write_bytes(
            (pictures / "CLEVR_train_000003.png").read_bytes()[:300]
        ),
        "CLEVR_train_000003.png is damaged or no PNG: get it once more",
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
