import pytest
import torch

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.samplers import SamplerConfig, sample
from recombine.diffusion.schedules import LinearSchedule
from recombine.errors import UserError
from recombine.instruments.representations.activations import activations, last_step, stages
from recombine.seeds import keys, torch_seeded

SHAPE = (1, 8, 8)


def model() -> NetworkDenoiser:
    with torch_seeded(0):
        return NetworkDenoiser(UNet(UNetConfig(channels=8, multipliers=(1, 2)), SHAPE, (1, 1)), "noise").eval()


def test_stages_are_named_in_the_order_of_the_walk() -> None:
    assert list(stages(model())) == ["down.0", "bottom", "middle", "up.0"]


def test_every_stage_is_recorded_once_and_no_hook_is_left() -> None:
    net = model()
    x, sigma = torch.randn(300, *SHAPE, generator=torch.Generator().manual_seed(0)), torch.full((300,), 0.5)
    condition = torch.arange(600.0).reshape(300, 2)
    found = activations(net, x, sigma, condition, ["down.0", "up.0"])
    assert {name: tuple(values.shape) for name, values in found.items()} == {
        "down.0": (300, 8 * 64), "up.0": (300, 8 * 64),
    }  # fmt: skip
    alone = activations(net, x[256:], sigma[256:], condition[256:], ["up.0"])["up.0"]
    assert torch.allclose(found["up.0"][256:], alone, atol=1e-5)
    assert not any(module._forward_hooks for module in net.modules())


def test_the_condition_changes_the_activations() -> None:
    net = model()
    x, sigma = torch.zeros(2, *SHAPE), torch.full((2,), 0.5)
    values = activations(net, x, sigma, torch.tensor([[1.0, 2], [5, 2]]), ["up.0"])["up.0"]
    assert not torch.allclose(values[0], values[1])  # the condition alone differs


def test_the_last_step_is_the_one_before_the_image() -> None:
    schedule, how = LinearSchedule(), SamplerConfig(steps=6)
    condition, key = torch.ones(4, 2), keys(0, "sample", torch.arange(4))
    net = model()
    x, sigma = last_step(net.denoise, how, schedule, SHAPE, condition, key)
    assert sigma.tolist() == pytest.approx([float(schedule.sigmas(6, "rho")[-2])] * 4)
    with torch.no_grad():
        image = net.denoise(x, sigma, condition).clamp(-1, 1)
    assert torch.allclose(image, sample(net.denoise, how, schedule, SHAPE, condition, key), atol=1e-5)


def test_an_unknown_stage_gets_one_line() -> None:
    with pytest.raises(UserError, match=r"no stage 'up.7' in this network; it has down.0, bottom, middle, up.0"):
        activations(model(), torch.zeros(1, *SHAPE), torch.ones(1), torch.ones(1, 2), ["up.7"])
