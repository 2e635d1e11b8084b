"""The denoising loss on networks whose error is known."""

import pytest
import torch
from torch import nn

from recombine.denoisers.network import NetworkDenoiser
from recombine.diffusion.losses import denoising_loss, weight
from recombine.errors import UserError

PREDICTIONS = ["noise", "x0", "v", "edm"]


class Says(nn.Module):
    """A network that answers with a stored tensor."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, x, level, condition):
        return self.answer


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    x0, noise = torch.randn(2, 6, 3, 4, 4, generator=generator)
    sigma = torch.tensor([0.002, 0.1, 0.4, 1.0, 5.0, 80.0])
    return x0, noise, sigma


@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("weighting", ["simple", "min-snr"])
def test_perfect_network_has_no_loss(batch, prediction, weighting):
    target = NetworkDenoiser(nn.Identity(), prediction).target(*batch)
    model = NetworkDenoiser(Says(target), prediction)
    assert float(denoising_loss(model, *batch, None, weighting)) == 0


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_simple_loss_is_the_mean_squared_error(batch, prediction):
    target = NetworkDenoiser(nn.Identity(), prediction).target(*batch)
    model = NetworkDenoiser(Says(target + 3.0), prediction)
    assert float(denoising_loss(model, *batch, None, "simple")) == pytest.approx(9.0, rel=1e-5)


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_min_snr_weighs_the_error_of_x0_alike_for_every_prediction(batch, prediction):
    x0, noise, sigma = batch
    model = NetworkDenoiser(Says(torch.zeros_like(x0)), prediction)
    guess = model.denoise(x0 + sigma[:, None, None, None] * noise, sigma)
    expected = (sigma**-2).clamp(max=5) * (guess - x0).square().mean((1, 2, 3))
    loss = denoising_loss(model, x0, noise, sigma, None, "min-snr")
    assert float(loss) == pytest.approx(float(expected.mean()), rel=1e-3)


def test_min_snr_equals_the_published_weights():
    sigma = torch.logspace(-3, 2, 50)
    snr = sigma**-2
    expected = {
        "x0": snr.clamp(max=5),
        "noise": snr.clamp(max=5) / snr,
        "v": snr.clamp(max=5) / (snr + 1),
    }
    for prediction, published in expected.items():
        ours = weight(NetworkDenoiser(nn.Identity(), prediction), sigma, "min-snr")
        torch.testing.assert_close(ours, published, rtol=1e-5, atol=0)


def test_loss_is_float32_under_autocast_and_reaches_the_network(batch):
    class Network(nn.Conv2d):
        def forward(self, x, level, condition):
            return super().forward(x)

    model = NetworkDenoiser(Network(3, 3, 1), "v")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = denoising_loss(model, *batch, None, "min-snr")
    assert loss.dtype == torch.float32
    loss.backward()
    assert model.network.weight.grad.abs().sum() > 0


def test_wrong_weighting_is_refused(batch):
    model = NetworkDenoiser(Says(batch[0]), "x0")
    with pytest.raises(UserError, match="min-snr"):
        denoising_loss(model, *batch, None, "snr")
