"""Blender draws what the ray caster draws: silhouettes, places, light; where it is missing or fails, one line.

What Blender drew (bpy 4.5, four scenes) is kept in `blender_reference.npz`, so that the ray caster is held to it on
machines without Blender too; where there is one, it must draw the same again.
"""

import json
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from recombine import seeds
from recombine.errors import RunFailed, UserError
from recombine.worlds.scenes import blender, blender_worker, ray_caster
from recombine.worlds.scenes.geometry import CAMERA, Camera, solids_of
from recombine.worlds.scenes.ray_caster import LAMPS
from recombine.worlds.scenes.world import SceneWorld

SIDE = 128
WORLD = SceneWorld(pixels=SIDE)
ONE = {
    "objects": [
        {
            "shape": "cube",
            "size": "small",
            "color": "red",
            "material": "metal",
            "3d_coords": [1.0, -2.0, 0.35],
            "rotation": 0.5,
            "pixel_coords": [0, 0, 0],
        }
    ],
    "camera_jitter": [0.1, 0.2, 0.3],
    "light_jitter": [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -0.5]],
}


@pytest.fixture(scope="module")
def factors():
    counts = torch.tensor([1, 3, 5, 8])
    return WORLD.draw(counts, seeds.keys(11, "data", torch.arange(len(counts))))


@pytest.fixture(scope="module")
def reference():
    """Silhouettes of the scenes, and pictures of the second and third, as Blender drew them once."""
    with np.load(Path(__file__).with_name("blender_reference.npz")) as kept:
        return {name: torch.from_numpy(kept[name]) for name in ("owners", "pictures")}


@pytest.fixture(scope="module")
def owners(reference):
    return reference["owners"].long()


def drawn(draw):
    try:
        return draw()
    except RunFailed:
        raise
    except UserError as error:
        pytest.skip(str(error))


def cast_owners(factors):
    scene = WORLD.scene(factors)
    owner = ray_caster._first_hit(solids_of(scene), Camera.of(scene), SIDE, SIDE)[0]
    return owner.reshape(-1, SIDE, SIDE)


def middles(masks):
    """Mean place (x, y) of each mask [k, H, W], in pixels.  # [k, 2]"""
    ticks = torch.arange(SIDE) + 0.5
    area = masks.sum((1, 2)).float()
    return torch.stack([(masks.sum(1) * ticks).sum(1), (masks.sum(2) * ticks).sum(1)], 1) / area[:, None]


def test_silhouettes_are_those_of_the_ray_caster(factors, owners):
    cast = cast_owners(factors)
    assert (owners != cast).float().mean() < 0.003  # rounded edges, and pixels on an outline
    for row, present in enumerate(WORLD.scene(factors).present):
        numbers = torch.arange(1, 1 + int(present.sum()))[:, None, None]
        mine, reference = cast[row] == numbers, owners[row] == numbers  # [k, H, W]
        overlap = (mine & reference).sum((1, 2)) / (mine | reference).sum((1, 2))
        assert overlap.min() > 0.9
        assert (middles(mine) - middles(reference)).abs().max() < 0.5


def test_objects_are_where_the_labels_say(factors, owners):
    centres, present = WORLD.centres(factors)
    in_sight = 0
    for row, slot in torch.nonzero(present).tolist():
        alone = factors[row : row + 1].clone()
        alone[0, : 8 * WORLD.most : 8] = 0
        alone[0, 8 * slot] = 1
        mine = owners[row] == slot + 1
        if mine.sum() > 0.95 * (cast_owners(alone) > 0).sum():  # nothing in front of it
            in_sight += 1
            across, down = centres[row, slot].int().tolist()
            assert mine[down, across]
            assert (middles(mine[None])[0] - centres[row, slot]).abs().max() < 2
    assert in_sight >= 8


def test_light_is_that_of_the_ray_caster(factors, reference):
    drew, cast = reference["pictures"].float() / 127.5 - 1, SceneWorld(pixels=64).render(factors[1:3])
    assert drew.shape == cast.shape
    assert (drew.mean((2, 3)) - cast.mean((2, 3))).abs().max() < 0.06  # as bright, in each colour
    off = (drew - cast).square().mean((1, 2, 3))
    assert (off < 0.25 * (drew - cast.flip(3)).square().mean((1, 2, 3))).all()
    assert (off < 0.25 * (drew - cast.flip(0)).square().mean((1, 2, 3))).all()


def test_blender_draws_the_reference_again(factors, reference):
    owners = drawn(lambda: blender.owners(WORLD.describe(factors), SIDE, SIDE))
    assert (owners != reference["owners"]).float().mean() < 0.001
    pictures = blender.render(WORLD.describe(factors[1:3]), 64, 64, 8)
    assert pictures.min() >= -1
    assert pictures.max() <= 1
    assert (pictures - (reference["pictures"].float() / 127.5 - 1)).abs().mean() < 0.02


def test_a_picture_need_not_be_square():
    wide = drawn(lambda: blender.owners([ONE], 160, 120))
    square = blender.owners([ONE], 120, 120)
    narrow = blender.owners([ONE], 60, 120)
    for other in (wide, narrow):
        share = (other > 0).float().mean() / (square > 0).float().mean()
        assert share == pytest.approx(1, abs=0.05)
        across = [(picture > 0).any(1)[0].float().argmax() / picture.shape[2] for picture in (other, square)]
        assert float(across[0]) == pytest.approx(float(across[1]), abs=0.02)


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Let a script stand for the Python that has Blender."""

    def stand_in(lines):
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable}\n{lines}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(blender.PYTHON_VARIABLE, str(path))

    return stand_in


DRAWS_GREY = """
import json, pathlib, sys
from PIL import Image
job = json.load(sys.stdin)
pathlib.Path(__file__).with_name("job.json").write_text(json.dumps(job))
for index, scene in enumerate(job["scenes"]):
    picture = Image.new("RGB", (job["width"], job["height"]), (0, 51 * index, 255))
    picture.save(f"{job['folder']}/{index}.png")
"""


def test_the_worker_gets_every_place_and_gives_pictures_back(python, tmp_path):
    python(DRAWS_GREY)
    pictures = blender.render([ONE, {"objects": []}], 8, 6, 4)
    assert pictures.shape == (2, 3, 6, 8)
    assert pictures[:, :, 0, 0].tolist() == [[-1, -1, 1], [-1, pytest.approx(-0.6), 1]]
    job = json.loads((tmp_path / "job.json").read_text())
    first, empty = job["scenes"]
    assert first["camera"] == pytest.approx(
        [place + moved for place, moved in zip(CAMERA, (0.1, 0.2, 0.3), strict=True)]
    )
    assert empty["camera"] == pytest.approx(CAMERA)
    key, fill, back, sun = (lamp["place"] for lamp in first["lamps"])
    assert key == pytest.approx([LAMPS[0][0] + 0.5, *LAMPS[0][1:]])
    assert back == pytest.approx([*LAMPS[2][:2], LAMPS[2][2] - 0.5])
    assert (fill, sun) == (pytest.approx(LAMPS[1]), pytest.approx(LAMPS[3]))
    (cube,) = first["objects"]
    assert (cube["shape"], cube["material"], cube["rotation"]) == ("cube", "metal", 0.5)
    assert cube["place"] == pytest.approx([1.0, -2.0, 0.35])
    assert cube["colour"] == pytest.approx([173 / 255, 35 / 255, 35 / 255])
    assert not os.path.exists(job["folder"])  # nothing is left behind


def test_no_scenes_need_no_blender(python):
    python("raise SystemExit(1)")
    assert blender.render([], 8, 6, 4).shape == (0, 3, 6, 8)


def test_without_blender_one_line_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "bpy.py").write_text("raise ModuleNotFoundError(\"No module named 'bpy'\", name='bpy')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv(blender.PYTHON_VARIABLE, raising=False)
    with pytest.raises(UserError, match=r"No module named 'bpy'.*pip install bpy") as caught:
        blender.render([ONE], 8, 8, 1)
    assert not isinstance(caught.value, RunFailed)
    assert blender.PYTHON_VARIABLE in str(caught.value)
    assert "\n" not in str(caught.value)


FAILURES = {
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": r"^Blender stopped \(SIGSEGV\) and said: nothing$",
    "import sys; sys.exit('one\\ntwo')": r"^Blender stopped \(exit status 1\) and said: two$",
    "1 / 0": r"^Blender stopped \(exit status 1\) and said: ZeroDivisionError: division by zero$",
    "import sys; sys.stdin.read()": r"^Blender drew 0 of 1 scenes",
}


@pytest.mark.parametrize("lines", FAILURES)
def test_a_crash_is_one_line(python, lines):
    python(lines)
    with pytest.raises(RunFailed, match=FAILURES[lines]):
        blender.render([ONE], 8, 8, 1)


def test_a_python_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv(blender.PYTHON_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"cannot start .*nowhere, which RECOMBINE_BLENDER names"):
        blender.render([ONE], 8, 8, 1)


@pytest.mark.parametrize(
    ("scene", "size", "expected"),
    [
        ({"objects": [{**ONE["objects"][0], "shape": "cone"}]}, (8, 8, 1), "cone"),
        (ONE, (0, 8, 1), "each must be 1 or more"),
        (ONE, (8, 8, 0), "each must be 1 or more"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(python, scene, size, expected):
    python("raise SystemExit(1)")
    with pytest.raises(UserError, match=expected) as caught:
        blender.render([scene], *size)
    assert not isinstance(caught.value, RunFailed)
    assert "\n" not in str(caught.value)


def test_the_worker_needs_nothing_of_this_package():
    text = Path(blender_worker.__file__).read_text()
    assert "recombine" not in text
    assert "torch" not in text
