"""The reader of colours: right on rendered scenes, finds nothing where there is no colour, and counts right."""

import pytest
import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.instruments.scenes.colour_reader import (
    ColourReaderConfig,
    _best_threshold,
    calibrate_colours,
    colour_reader,
    colour_rows,
    count_colours,
)
from recombine.worlds.scenes.colours import ColouredScenes
from recombine.worlds.scenes.world import SceneWorld

WORLD = ColouredScenes(scenes=SceneWorld(pixels=32, style="discs", grid=8, most=8))
READER = colour_reader(WORLD, ColourReaderConfig(singles=24, crowds=16), 0, "cpu")
KEY = seeds.keys(5, "test", torch.arange(64))


def test_rendered_scenes_are_read_right() -> None:
    wanted = (seeds.uniform(KEY, (8,)) < 0.4).float()
    images = WORLD.render(WORLD.draw_set(wanted, KEY))
    assert torch.equal(READER.find(images), wanted > 0)
    noisy = (images + 0.05 * seeds.normal(KEY, images.shape[1:])).clamp(-1, 1)
    assert (READER.find(noisy) == (wanted > 0)).double().mean() > 0.97


def test_what_holds_no_object_holds_no_colour() -> None:
    for level in (1.0, 0.9, -1.0):
        assert not READER.find(torch.full((1, 3, 32, 32), level)).any()
    assert READER.find(torch.zeros(0, 3, 32, 32)).shape == (0, 8)


def test_a_few_stray_pixels_are_no_object_and_half_of_one_is() -> None:
    disc = WORLD.render(WORLD.draw_set(WORLD.label("purple")[None], KEY[:1]))
    inside = (disc[0] - 1).abs().amax(0) > 0.2
    rows, columns = torch.nonzero(inside, as_tuple=True)
    for kept, seen in ((2, False), (round(0.75 * len(rows)), True)):
        part = torch.ones_like(disc)
        part[0, :, rows[:kept], columns[:kept]] = disc[0, :, rows[:kept], columns[:kept]].amin(1, keepdim=True)
        assert bool(READER.find(part)[0, WORLD.names.index("purple")]) == seen


def test_shares_are_of_the_image() -> None:
    image = torch.ones(1, 3, 32, 32)
    red = 2 * torch.tensor([173, 35, 35]) / 255 - 1
    image[0, :, :8, :] = red[:, None, None]
    shares = READER.shares(image)
    assert shares[0, WORLD.names.index("red")] == 0.25
    assert shares.sum() == 0.25


def test_drawn_extras_and_chance() -> None:
    asked = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]).float()
    found = torch.tensor([[1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 1, 0]]).bool()
    counted = count_colours(found, asked)
    assert counted.recall.tolist() == [0.5, 1.0, 0.0]
    assert counted.extras.tolist() == [1, 0, 2]
    rows = {
        (row.get("labels", row.get("colour")), row["instrument"]): row["value"] for row in colour_rows(found, asked)
    }
    assert rows[2, "colour.recall"] == 0.75
    assert rows[2, "colour.strict"] == 0.5
    assert rows[2, "colour.extras"] == 0.5
    assert rows[2, "colour.chance"] == 0.25  # the first image holds one of the second's colours
    assert rows[1, "colour.found"] == 2
    assert (1, "colour.chance") not in rows  # there is no other image


def test_calibration_names_numbers_and_colours() -> None:
    rows = {
        (row.get("labels", row.get("colour")), row["instrument"]): row["value"]
        for row in calibrate_colours(READER, WORLD, 8, 0, "cpu")
    }
    assert rows[6, "calibration.colour.recall"] == 1
    assert rows[1, "calibration.colour.extras"] == 0
    assert all(rows[name, "calibration.colour.false"] == 0 for name in WORLD.names)


@pytest.mark.parametrize(
    ("shares", "there", "lowest", "highest"),
    [
        ([0.0, 0.0, 0.2, 0.3], [0, 0, 1, 1], 0.05, 0.15),  # separable: in the middle
        ([0.0, 0.1, 0.1, 0.3], [0, 0, 1, 1], 0.0, 0.2),
        ([0.1, 0.1, 0.1, 0.1], [0, 0, 1, 1], 0.0, 1.0),  # not separable
    ],
)
def test_the_threshold_that_separates_best(
    shares: list[float], there: list[int], lowest: float, highest: float
) -> None:
    threshold = _best_threshold(torch.tensor(shares), torch.tensor(there).bool())
    assert lowest <= threshold <= highest


def test_a_label_without_colours_cannot_be_judged() -> None:
    with pytest.raises(UserError, match="each label needs one colour or more"):
        count_colours(torch.zeros(2, 8).bool(), torch.zeros(2, 8))


def test_shaded_scenes_with_shadows_and_highlights_are_read_well() -> None:
    world = ColouredScenes()  # CLEVR's, at 64 px
    reader = colour_reader(world, ColourReaderConfig(singles=16, crowds=4), 0, "cpu")
    rows = {
        (row.get("labels", row.get("colour")), row["instrument"]): row["value"]
        for row in calibrate_colours(reader, world, 4, 0, "cpu")
    }
    assert min(rows[k, "calibration.colour.recall"] for k in range(1, 7)) > 0.9
    assert max(rows[k, "calibration.colour.extras"] for k in range(1, 7)) < 0.6
