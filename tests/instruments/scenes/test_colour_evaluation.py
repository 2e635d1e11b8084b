"""What is measured of models conditioned on colours, on denoisers whose answer is known."""

import math

import pytest
import torch
from torch import Tensor

from recombine import seeds
from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule
from recombine.instruments.observation import Denoise
from recombine.instruments.scenes.colour_evaluation import (
    LINEAR,
    PAIR,
    ColourEvaluation,
    ColourSampling,
    data_cosines,
    linear,
    measure_colours,
    model_cosines,
    pair_rows,
    pairs_of,
    prompts,
)
from recombine.instruments.scenes.colour_reader import ColourReaderConfig
from recombine.worlds.scenes.colours import ColouredScenes
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.world import SceneWorld

WORLD = ColouredScenes(scenes=SceneWorld(pixels=16, style="discs", grid=8, most=8))
HOW = ColourEvaluation(
    counts=(1, 3, 6), images=6, pair_images=2, sampler=SamplerConfig(steps=3), draws=8,
    reader=ColourReaderConfig(singles=16, crowds=8),
)  # fmt: skip
READER = HOW.tools(WORLD, 0, "cpu")
PALETTE = 2 * torch.tensor([COLOURS[name] for name in WORLD.names]) / 255 - 1  # [8, 3]


def sampling(denoise: Denoise) -> ColourSampling:
    return ColourSampling(denoise, HOW.sampler, EDMSchedule(), WORLD, 0, HOW.together, torch.device("cpu"))


def stripes(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    """A column of two pixels for each colour of the label, on white."""
    assert condition is not None
    ink = condition[:, :, None] * (PALETTE - 1)  # [n, colours, 3]
    return (1 + ink.repeat_interleave(2, 1)).transpose(1, 2)[:, :, None].expand(-1, -1, 16, -1).contiguous()


def first_only(x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
    assert condition is not None
    first = torch.nn.functional.one_hot(condition.argmax(1), condition.shape[1]) * condition
    return stripes(x, sigma, first)


def test_prompts_ask_for_so_many_colours_all_as_often() -> None:
    asked, key = prompts(WORLD, 3, 400, 0)
    assert (asked.sum(1) == 3).all()
    assert (asked.mean(0) - 3 / 8).abs().max() < 0.12
    more, _ = prompts(WORLD, 3, 500, 0)
    assert torch.equal(more[:400], asked)
    assert len(key.unique()) == 400


def test_a_model_that_follows_its_label_and_one_that_draws_the_first_colour_only() -> None:
    for denoise, expected in ((stripes, (1, 1, 1)), (first_only, (1, 1 / 3, 1 / 6))):
        rows, images = measure_colours(sampling(denoise), HOW, READER)
        recall = [row["value"] for row in rows if row["instrument"] == "colour.recall"]
        assert recall == pytest.approx(list(expected))
        assert all(row["value"] == 0 for row in rows if row["instrument"] == "colour.extras")
        assert images.shape == (3, 6, 3, 16, 16)


def test_adding_scores_is_exact_where_each_colour_has_its_own_pixels() -> None:
    """first_only receives one colour at a time there, so what it does with two does not matter."""
    rows = pair_rows(sampling(first_only), HOW.pair_images, READER)
    by = {name: [row["value"] for row in rows if row["instrument"] == name] for name in (PAIR, LINEAR)}
    assert by[PAIR] == [0.5] * 28
    assert by[LINEAR] == [1.0] * 28
    assert [(row["colour"], row["other"]) for row in rows[:28]] == list(pairs_of(WORLD))
    label = torch.eye(8)[:2] + torch.eye(8)[2:4]
    x = torch.zeros(2, 3, 16, 16)
    torch.testing.assert_close(linear(first_only)(x, torch.ones(2), label), stripes(x, torch.ones(2), label))


def test_cosines_of_rendered_scenes_are_those_of_inks() -> None:
    """Colours occur at the same places, so only their difference from the ground distinguishes directions."""
    rows = {(row["colour"], row["other"]): row["value"] for row in data_cosines(WORLD, 800, 0, "cpu")}
    ink = PALETTE - 1
    for name in (("blue", "yellow"), ("red", "yellow"), ("gray", "red")):
        i, j = pairs_of(WORLD)[name]
        expected = torch.nn.functional.cosine_similarity(ink[i], ink[j], dim=0).item()
        assert rows[name] == pytest.approx(expected, abs=0.12)
    assert rows["blue", "yellow"] < 0.4 < 0.6 < rows["red", "yellow"]


def test_cosines_of_a_network_are_of_its_answer_and_of_every_stage() -> None:
    with seeds.torch_seeded(0):
        model = NetworkDenoiser(UNet(UNetConfig(channels=8, multipliers=(1, 2)), WORLD.image_shape, (8,)), "edm").eval()
    rows = model_cosines(model, sampling(model.denoise), 3)
    names = list(dict.fromkeys(row["representation"] for row in rows))
    assert names[0] == "pixels"
    assert {"bottom", "middle", "up.0", "down.0"} <= set(names)
    assert len(rows) == 28 * len(names)
    assert all(row["value"] is None or math.isfinite(row["value"]) for row in rows)
    before = [row for row in rows if row["representation"] == "down.0"]
    assert all(row["value"] is None for row in before)  # the label enters this network after the way down
