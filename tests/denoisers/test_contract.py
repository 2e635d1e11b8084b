"""The Denoiser contract: predictions round-trip, foreign networks enter at the border."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from recombine.denoisers.contract import score
from recombine.denoisers.network import DiscreteStepDenoiser, NetworkDenoiser
from recombine.diffusion.schedules import LinearSchedule
from recombine.errors import UserError

PREDICTIONS = ["noise", "x0", "v", "edm"]


class Says(nn.Module):
    """A network that answers with a stored tensor and remembers what it was asked."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, x, level, condition):
        self.asked = x, level, condition
        return self.answer


@pytest.mark.parametrize("prediction", PREDICTIONS)
@settings(max_examples=25, deadline=None)
@given(logs=st.lists(st.floats(math.log(1e-3), math.log(200)), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_network_that_hits_its_target_denoises_exactly(prediction, logs, seed):
    generator = torch.Generator().manual_seed(seed)
    x0, noise = torch.randn(2, len(logs), 3, 4, 4, generator=generator, dtype=torch.float64)
    sigma = torch.tensor(logs, dtype=torch.float64).exp()
    model = NetworkDenoiser(Says(torch.zeros(())), prediction, sigma_data=0.7)
    model.network.answer = model.target(x0, noise, sigma)
    x = x0 + sigma[:, None, None, None] * noise
    torch.testing.assert_close(model.denoise(x, sigma, None), x0, rtol=1e-9, atol=1e-9)
    direction = score(model, x, sigma, None) * sigma[:, None, None, None]  # minus the noise
    torch.testing.assert_close(direction, -noise, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_float32_targets_keep_their_digits_at_both_ends(prediction):
    generator = torch.Generator().manual_seed(0)
    x0, noise = torch.randn(2, 5, 3, 4, 4, generator=generator)
    sigma = torch.tensor([1e-4, 0.002, 1.0, 80.0, 2e4])
    model = NetworkDenoiser(nn.Identity(), prediction)
    exact = model.target(x0.double(), noise.double(), sigma.double())
    torch.testing.assert_close(model.target(x0, noise, sigma).double(), exact, rtol=1e-5, atol=1e-6)


def test_edm_target_and_scales_are_the_published_ones():
    generator = torch.Generator().manual_seed(0)
    x0, noise = torch.randn(2, 3, 1, 2, 2, generator=generator, dtype=torch.float64)
    sigma = torch.tensor([0.1, 0.5, 10.0], dtype=torch.float64)
    level = sigma[:, None, None, None]
    c_skip, c_out = 0.25 / (level**2 + 0.25), level * 0.5 / (0.25 + level**2).sqrt()
    x = x0 + level * noise
    model = NetworkDenoiser(Says(torch.zeros_like(x)), "edm")
    torch.testing.assert_close(model.target(x0, noise, sigma), (x0 - c_skip * x) / c_out)
    torch.testing.assert_close(model.denoise(x, sigma, None), c_skip * x)
    x_in, noise_level, _ = model.network.asked
    torch.testing.assert_close(x_in, x / (0.25 + level**2).sqrt())
    torch.testing.assert_close(noise_level, sigma.log() / 4)


def test_v_is_alpha_noise_less_s_x0():
    sigma = torch.tensor([0.5])
    x0, noise = torch.full((1, 1, 1, 1), 2.0), torch.full((1, 1, 1, 1), -1.0)
    alpha = 1 / math.sqrt(1.25)
    expected = alpha * -1.0 - 0.5 * alpha * 2.0
    assert float(NetworkDenoiser(nn.Identity(), "v").target(x0, noise, sigma)) == pytest.approx(expected)


@pytest.mark.parametrize("prediction", ["noise", "x0", "v"])
def test_network_sees_the_vp_state_and_the_condition(prediction):
    x, sigma, condition = torch.full((2, 1, 2, 2), 3.0), torch.tensor([1.0, 2.0]), torch.eye(2)
    network = Says(torch.zeros(2, 1, 2, 2))
    NetworkDenoiser(network, prediction).predict(x, sigma, condition)
    x_in, noise_level, received = network.asked
    torch.testing.assert_close(x_in[:, 0, 0, 0], 3 / torch.tensor([2.0, 5.0]).sqrt())
    torch.testing.assert_close(noise_level, sigma.log() / 4)
    assert received is condition


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_denoise_is_float32_under_autocast(prediction):
    convolution = nn.Conv2d(1, 1, 1)

    class Network(nn.Module):
        def forward(self, x, level, condition):
            self.kind = convolution(x).dtype
            return convolution(x)

    model = NetworkDenoiser(Network(), prediction)
    x, sigma = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.full((4,), 0.01)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        guess = model.denoise(x, sigma, None)
    assert model.network.kind == torch.bfloat16
    assert guess.dtype == torch.float32
    if prediction != "x0":  # at small sigma nearly all of x passes by the network, so it must not be rounded
        plain = model.denoise(x, sigma, None).detach()
        assert float((guess - plain).abs().max()) < 1e-3 * 0.5


def test_foreign_steps_are_found_by_sigma():
    table, asked = LinearSchedule(steps=100).table(), []

    def eps(x_vp, step, condition):
        asked.append((x_vp, step))
        return torch.ones_like(x_vp)

    denoiser = DiscreteStepDenoiser(eps, table)
    x = torch.zeros(100, 1, 2, 2, dtype=torch.float64)
    guess = denoiser.denoise(x + 1, table, None)
    x_vp, step = asked[-1]
    assert torch.equal(step, torch.arange(100))
    torch.testing.assert_close(x_vp[:, 0, 0, 0], (1 + table**2).rsqrt())
    torch.testing.assert_close(guess[:, 0, 0, 0], 1 - table)
    # between two steps the nearer one in log sigma answers, and outside the table its ends do
    between = (table[:-1].log() * 0.4 + table[1:].log() * 0.6).exp()
    denoiser.denoise(x[1:], between, None)
    assert torch.equal(asked[-1][1], torch.arange(1, 100))
    DiscreteStepDenoiser(eps, table, first_step=1).denoise(x[:2], torch.tensor([1e-9, 1e9]), None)
    assert torch.equal(asked[-1][1], torch.tensor([1, 100]))


def test_wrong_use_is_refused():
    with pytest.raises(UserError, match="noise, x0, v, edm"):
        NetworkDenoiser(nn.Identity(), "eps")
    with pytest.raises(UserError, match="sigma_data"):
        NetworkDenoiser(nn.Identity(), "edm", sigma_data=0.0)
    with pytest.raises(UserError, match="ascending"):
        DiscreteStepDenoiser(lambda x, step, condition: x, LinearSchedule().table().flip(0))
    with pytest.raises(ValueError, match="one for each image"):
        NetworkDenoiser(nn.Identity(), "x0").denoise(torch.zeros(3, 1, 2, 2), torch.tensor(1.0), None)
