import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recombine.errors import UserError
from recombine.lab.samples import read_samples
from recombine.lab.sheet import ZOOM, draw_from_run
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig, read_node
from recombine.worlds.shapes import ShapesWorld

WORLD = ShapesWorld()


@pytest.fixture
def run(smoke_store: Path) -> RunFolder:
    return next(iter(Store(smoke_store).runs()))


def pixels(path: Path) -> np.ndarray:
    """The sheet without its zoom, which must be whole squares of one colour.  # [h, w, 3]"""
    sheet = np.asarray(Image.open(io.BytesIO(path.read_bytes())))
    small = sheet[::ZOOM, ::ZOOM]
    assert (np.kron(small, np.ones((ZOOM, ZOOM, 1), dtype=np.uint8)) == sheet).all()
    return small


def test_the_sheet_shows_what_the_evaluation_drew(run: RunFolder, tmp_path: Path) -> None:
    """Every node, as many images as the evaluation drew: the same keys give the images it kept at the end."""
    count, side = 4, 8
    sheet = pixels(draw_from_run(run, None, count, tmp_path / "a.png"))
    assert sheet.shape == (8 * side, count * side, 3)
    images = sheet.reshape(8, side, count, side, 3).swapaxes(1, 2)  # [nodes, k, H, W, 3]
    kept = read_samples(run)[1024]
    difference = np.abs(images.astype(int) - kept[:, :count].astype(int))
    assert (difference <= 2).mean() > 0.98  # another order of sums; bfloat16 where the processor has it
    assert difference.max() <= 16


def test_a_node_by_digits_and_by_words_is_the_same_and_comes_out_the_same_again(run: RunFolder, tmp_path: Path) -> None:
    digits = draw_from_run(run, ["111"], 3, tmp_path / "digits.png").read_bytes()
    words = draw_from_run(run, ["size=small,shape=triangle,color=blue"], 3, tmp_path / "words.png").read_bytes()
    again = draw_from_run(run, ["111"], 3, tmp_path / "again.png").read_bytes()
    assert digits == words == again
    assert draw_from_run(run, ["000"], 3, tmp_path / "other.png").read_bytes() != digits


def test_the_first_images_do_not_depend_on_how_many_follow(run: RunFolder, tmp_path: Path) -> None:
    few, many = (pixels(draw_from_run(run, ["010"], n, tmp_path / f"{n}.png")) for n in (1, 5))
    assert np.abs(few.astype(int) - many[:, :8].astype(int)).max() <= 1


@pytest.mark.parametrize(
    ("text", "node"),
    [("010", "010"), ("shape=circle,color=blue,size=large", "010"), ("size=small,color=red,shape=triangle", "101")],
)
def test_reading_a_node(text: str, node: str) -> None:
    assert read_node(WORLD, text) == node


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("222", "no node '222'"),
        ("0", "no node '0'"),
        ("", "no node ''"),
        ("shape=circle", "shape, color, size"),
        ("shape=circle,color=red,size=large,weight=1", "shape, color, size"),
        ("shape=square,color=red,size=large", "shape is one of circle, triangle"),
        ("shape=circle,color=red,size=large,blue", "blue"),
        ("shape=circle,shape=triangle,color=red,size=large", "shape"),
    ],
)
def test_a_node_that_cannot_be_read_is_one_line(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as refusal:
        read_node(WORLD, text)
    assert "\n" not in str(refusal.value)


def test_an_unfinished_run_and_no_images_draw_nothing(
    run: RunFolder, tiny: RunConfig, tmp_path: Path, finish: Callable[..., RunFolder]
) -> None:
    with pytest.raises(UserError, match="at least one"):
        draw_from_run(run, None, 0, tmp_path / "a.png")
    begun = Store(tmp_path).run(tiny.address)
    begun.write_config(tiny)
    with pytest.raises(UserError, match="not finished"):
        draw_from_run(begun, None, 1, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
