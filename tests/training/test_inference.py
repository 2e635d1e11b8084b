"""The denoiser made ready to sample answers as its model does, with the weights that were loaded last."""

from dataclasses import replace

import pytest
import torch

from recombine import seeds
from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.training import inference
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser
from recombine.worlds.shapes import ShapesWorld

WORLD = ShapesWorld(pixels=8, position_jitter=0.0)
PLAIN = Execution()
CONFIG = UNetConfig(channels=8, multipliers=(1, 2))


def make_model(seed, config=CONFIG, prediction="noise"):
    with seeds.torch_seeded(seed):
        model = NetworkDenoiser(UNet(config, WORLD.image_shape, WORLD.condition_widths), prediction)
        for parameter in model.parameters():  # no part may be silent
            torch.nn.init.normal_(parameter, std=0.1)
    return model


def make_inputs(n=6):
    key = seeds.keys(0, "inference-test", torch.arange(n))
    condition = WORLD.condition(WORLD.prototype(WORLD.digits(WORLD.nodes)))[:n]
    return seeds.normal(key, WORLD.image_shape), 0.1 + seeds.uniform(key, lane=1) * 5, condition


@pytest.mark.parametrize("prediction", ["noise", "x0", "v", "edm"])
def test_eager_equals_the_model(prediction):
    x, sigma, condition = make_inputs()
    fast = FastDenoiser(make_model(0, prediction=prediction), PLAIN)
    answer = fast.denoise(x, sigma, condition)
    assert torch.equal(answer, make_model(0, prediction=prediction).eval().denoise(x, sigma, condition))
    assert not answer.requires_grad
    assert not fast.denoise(x.requires_grad_(), sigma, condition).requires_grad


def test_channels_last_equals_the_model():
    x, sigma, condition = make_inputs()
    fast = FastDenoiser(make_model(0), replace(PLAIN, channels_last=True))
    torch.testing.assert_close(
        fast.denoise(x, sigma, condition), make_model(0).denoise(x, sigma, condition).detach(), rtol=0, atol=1e-5
    )


def test_bfloat16_is_near_and_answers_in_float32():
    x, sigma, condition = make_inputs()
    exact = make_model(0).denoise(x, sigma, condition).detach()
    answer = FastDenoiser(make_model(0), replace(PLAIN, precision="bfloat16")).denoise(x, sigma, condition)
    assert answer.dtype == torch.float32
    assert not torch.equal(answer, exact)  # it did run in bfloat16
    assert (answer - exact).norm() < 0.01 * exact.norm()


def test_load_swaps_the_weights():
    x, sigma, condition = make_inputs()
    fast = FastDenoiser(make_model(0), PLAIN)
    first = fast.denoise(x, sigma, condition)
    addresses = [p.data_ptr() for p in fast.model.parameters()]
    fast.load(make_model(1).state_dict())
    second = fast.denoise(x, sigma, condition)
    assert torch.equal(second, make_model(1).denoise(x, sigma, condition))
    assert not torch.equal(first, second)
    fast.load(make_model(0).state_dict())
    assert torch.equal(fast.denoise(x, sigma, condition), first)
    assert [p.data_ptr() for p in fast.model.parameters()] == addresses  # in place: a captured graph stays valid


def test_loaded_weights_are_copied():
    x, sigma, condition = make_inputs()
    source = make_model(1)
    fast = FastDenoiser(make_model(0), PLAIN)
    fast.load(source.state_dict())
    before = fast.denoise(x, sigma, condition)
    with torch.no_grad():
        next(source.parameters()).add_(1.0)  # training goes on
    assert torch.equal(fast.denoise(x, sigma, condition), before)


def test_weights_of_another_network_are_refused():
    fast = FastDenoiser(make_model(0), PLAIN)
    with pytest.raises(RuntimeError):
        fast.load(make_model(0, UNetConfig(channels=16, multipliers=(1, 2))).state_dict())


def test_sampling_uses_neither_dropout_nor_batch_statistics():
    x, sigma, condition = make_inputs()
    model = make_model(0, CONFIG.replace(norm="batch", dropout=0.5))
    fast = FastDenoiser(model, PLAIN)
    whole = fast.denoise(x, sigma, condition)
    assert torch.equal(fast.denoise(x, sigma, condition), whole)
    alone = fast.denoise(x[:1], sigma[:1], condition[:1])
    torch.testing.assert_close(alone, whole[:1], rtol=0, atol=1e-5)


def test_compiled_equals_eager(monkeypatch):
    compiled = torch.compile(inference._denoise, dynamic=False, fullgraph=True, backend="aot_eager")
    monkeypatch.setattr(inference, "_compiled_denoise", lambda: compiled)
    x, sigma, condition = make_inputs()
    fast = FastDenoiser(make_model(0), replace(PLAIN, compile=True))
    one = fast.denoise(x, sigma, condition)
    torch.testing.assert_close(one, make_model(0).denoise(x, sigma, condition).detach(), rtol=0, atol=1e-5)
    fast.load(make_model(1).state_dict())
    other = fast.denoise(x, sigma, condition)
    torch.testing.assert_close(other, make_model(1).denoise(x, sigma, condition).detach(), rtol=0, atol=1e-5)


def test_a_network_that_cannot_be_compiled_answers_without(monkeypatch):
    """Recording stands for a GPU's: it asks once, and keeps the answer."""

    def refuse(*_):
        raise AssertionError("expected size 44==44")

    x, sigma, condition = make_inputs()
    monkeypatch.setattr(inference, "new_stream", lambda: None)
    monkeypatch.setattr(inference, "capture", lambda work, stream: (lambda: None, work()))
    monkeypatch.setattr(inference, "_compiled_denoise", lambda: refuse)
    fast = FastDenoiser(make_model(0), Execution(compile=True, graphs=True))
    with pytest.warns(UserWarning, match="goes on without: expected size"):
        answer = fast.denoise(x, sigma, condition)
    assert torch.equal(answer, make_model(0).eval().denoise(x, sigma, condition))
    monkeypatch.setattr(inference, "_denoise", refuse)
    with pytest.raises(AssertionError, match="44==44"):  # it is not the compiling
        FastDenoiser(make_model(0), Execution(graphs=True)).denoise(x, sigma, condition)


def test_it_is_on_the_device_that_was_named():
    assert FastDenoiser(make_model(0), PLAIN).device == torch.device("cpu")
