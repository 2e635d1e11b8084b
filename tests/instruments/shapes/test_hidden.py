"""Asking for a class in other ways: the prompts, the steering, and what is left behind."""

import pytest
import torch

from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import LinearSchedule
from recombine.errors import UserError
from recombine.instruments.observation import sample_keys
from recombine.instruments.shapes.accuracy import reader_correct
from recombine.instruments.shapes.evaluation import Sampling
from recombine.instruments.shapes.hidden import HEAD, HiddenEvaluation, _steer, _unit_signals
from recombine.instruments.shapes.reader import read
from recombine.seeds import torch_seeded
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser
from recombine.worlds.shapes import ShapesWorld

WORLD = ShapesWorld(pixels=16, shapes=("circle",), color_separation=0.4, size_mean=0.45, size_separation=0.4)
EVALUATION = HiddenEvaluation(sampler=SamplerConfig(steps=3), tries=4, strengths=(0.2, 0.9), gains=(0.5, 2.0))
SCHEDULE = LinearSchedule()


def make_sampler(entry="add", where="all"):
    network = UNetConfig(channels=4, multipliers=(1, 2), condition=ConditionConfig(entry=entry, where=where))
    with torch_seeded(0):
        model = NetworkDenoiser(UNet(network, WORLD.image_shape, WORLD.condition_widths), "noise")
    return FastDenoiser(model, Execution())


def weights_of(sampler):
    return {name: tensor.clone() for name, tensor in sampler.model.state_dict().items()}


def prompts():
    return {(way, strength): prompt for way, strength, prompt in EVALUATION._prompts(WORLD)}


def further(evaluation, sampler, weights, world=WORLD, seed=3):
    sampling = Sampling(sampler.denoise, evaluation.sampler, SCHEDULE, world, seed, torch.device("cpu"))
    return evaluation.further(sampling, sampler, weights)


def test_prompts_are_the_papers_colours_at_the_size_of_the_class():
    asked = prompts()
    rgb, size = (lambda name: asked[name][0, :3]), asked[("plain", None)][0, 3]
    torch.testing.assert_close(rgb(("plain", None)), torch.tensor([0.3, 0.3, 0.7]))
    torch.testing.assert_close(rgb(("over", 0.2)), torch.tensor([0.4, 0.4, 0.6]))
    torch.testing.assert_close(rgb(("over", 0.9)), torch.tensor([0.05, 0.05, 0.95]))
    torch.testing.assert_close(rgb(("over-shuffled", 0.9)), torch.tensor([0.05, 0.95, 0.05]))
    assert all(prompt[0, 3] == size for prompt in asked.values())
    assert size == pytest.approx(0.25 / 0.45)


def test_random_colours_are_as_far_off_as_the_strong_ones():
    asked = prompts()
    plain = asked[("plain", None)]
    near = (asked[("over-random", 0.2)] - plain).norm(), (asked[("over", 0.2)] - plain).norm()
    assert near[0] == pytest.approx(near[1].item(), abs=1e-6)  # too near for the edge of the cube of colours to matter


@pytest.mark.parametrize("entry", ["add", "multiply", "joint"])
def test_steering_lengthens_and_shortens_the_signal_in_every_block(entry):
    sampler = make_sampler(entry, "up")
    conditioner, weights = sampler.model.network.condition, weights_of(sampler)
    toward = _unit_signals(conditioner, torch.tensor([[0.05, 0.05, 0.95, 0.0]]))
    away = _unit_signals(conditioner, torch.tensor([[0.0, 0.0, 0.0, 1.4]]))
    condition = torch.tensor([[0.3, 0.3, 0.7, 0.6], [0.1, 0.9, 0.2, 0.8]])
    before = [signal.clone() for signal in conditioner(condition)]
    sampler.load({**weights, **_steer(weights, toward, away, gain=2.0, loss=0.1)})
    for plain, steered, t, a in zip(before, conditioner(condition), toward, away, strict=True):
        expected = plain + 2.0 * (plain @ t)[:, None] * t - 0.1 * (plain @ a)[:, None] * a
        torch.testing.assert_close(steered, expected, rtol=1e-4, atol=1e-5)


def test_no_gain_and_no_loss_change_nothing():
    sampler = make_sampler()
    weights = weights_of(sampler)
    direction = _unit_signals(sampler.model.network.condition, torch.ones(1, 4))
    for name, tensor in _steer(weights, direction, direction, 0.0, 0.0).items():
        assert torch.equal(tensor, weights[name])
        assert name.startswith(HEAD)


def test_every_way_is_read_on_two_halves_and_the_model_is_left_as_it_was():
    sampler = make_sampler()
    weights = weights_of(sampler)
    rows = further(EVALUATION, sampler, weights)
    tried = [("plain", None), *((way, at) for at in (0.2, 0.9) for way in ("over", "over-random", "over-shuffled"))]
    tried += [(way, at) for at in (0.5, 2.0) for way in ("steer", "steer-random")]
    found = [(row["way"], row["strength"], row["half"]) for row in rows]
    assert sorted(found, key=str) == sorted(((*way, half) for way in tried for half in "ab"), key=str)
    assert {row["instrument"] for row in rows} == {"prompted.product"}
    assert {row["node"] for row in rows} == {"11"}
    for name, tensor in sampler.model.state_dict().items():
        assert torch.equal(tensor, weights[name])
    assert rows == further(EVALUATION, sampler, weights)


def test_plain_scores_are_those_of_the_ordinary_evaluation():
    sampler = make_sampler()
    many = EVALUATION.replace(tries=8)
    rows = {r["half"]: r["value"] for r in further(many, sampler, weights_of(sampler)) if r["way"] == "plain"}
    condition = WORLD.condition(WORLD.prototype(WORLD.digits("11"))).expand(8, -1)
    images = sample(sampler.denoise, many.sampler, SCHEDULE, WORLD.image_shape, condition, sample_keys(3, [3], 8))
    right = reader_correct(read(images, WORLD), WORLD.digits("11")[0]).all(1).double()
    assert [rows["a"], rows["b"]] == [right[:4].mean().item(), right[4:].mean().item()]


def test_a_world_without_colours_and_a_deaf_network_are_refused_in_one_line():
    plain = ShapesWorld(pixels=16, shapes=("circle", "square"), colors=("red",))
    with pytest.raises(UserError, match="needs a world of shapes with colours and sizes"):
        further(EVALUATION, make_sampler(), {}, plain)
