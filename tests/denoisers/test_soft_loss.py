"""The penalised loss: known answers for a local network and for one that leaks; it trains, and it is one graph."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from recombine import seeds
from recombine.denoisers.configs import LocalityPenalty, UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.soft import SoftNetwork, far_pixels
from recombine.denoisers.unet import UNet
from recombine.diffusion.losses import denoising_loss
from recombine.diffusion.schedules import EDMSchedule
from recombine.training.execution import Execution
from recombine.training.replica import Replica, TrainingConfig, batch_loss
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.split import SceneSplit
from recombine.worlds.scenes.world import SceneWorld

GRID, PIXELS, BATCH = 8, 16, 16
LABELS = LabelConfig(grid=GRID, labelled="one")
WORLD = SceneWorld(pixels=PIXELS, style="discs", grid=GRID)
POOL = SceneSplit(images=64).pool(WORLD, LABELS, 0)
DRAW_SIGMA = EDMSchedule().drawer(torch.device("cpu"))


class AtPlace(nn.Module):
    """Answers 1 in the cells that its label names, and `leak` times the number of labels everywhere."""

    def __init__(self, leak):
        super().__init__()
        self.leak = leak

    def forward(self, x, noise_level, condition=None):
        maps = condition.reshape(-1, 1, GRID, GRID)
        near = maps.repeat_interleave(PIXELS // GRID, 2).repeat_interleave(PIXELS // GRID, 3)
        return (near + self.leak * condition.sum(1)[:, None, None, None]).expand_as(x)


def batch():
    key = seeds.keys(0, "order", torch.arange(BATCH))
    images, condition = POOL.images[:BATCH], POOL.conditions[:BATCH]
    sigma, noise = DRAW_SIGMA(seeds.uniform(key, lane=2)), seeds.normal(key, images.shape[1:], lane=3)
    return key, images, condition, sigma, noise


def model_of(network, weight, reach=1):
    return NetworkDenoiser(SoftNetwork(network, LocalityPenalty(weight=weight, reach=reach), PIXELS, LABELS), "edm")


@pytest.mark.parametrize(("leak", "weight"), [(0.0, 3.0), (0.5, 1.0), (0.5, 10.0)])
def test_a_local_network_pays_nothing_and_a_leak_its_square(leak, weight):
    key, images, condition, sigma, noise = batch()
    model = model_of(AtPlace(leak), weight)
    plain = denoising_loss(model, images, noise, sigma, condition)
    found = model.network.training_loss(model, images, noise, sigma, condition, key)
    assert found.item() == pytest.approx(plain.item() + weight * leak**2, abs=1e-4)


def test_only_far_pixels_count_and_noise_levels_weigh_as_in_the_loss():
    key, images, condition, sigma, noise = batch()
    with seeds.torch_seeded(1):
        network = UNet(UNetConfig(channels=8, multipliers=(1, 2)), WORLD.image_shape, (LABELS.width,))
    strong = 1e6  # labels change little in a fresh network
    model = model_of(network, strong, reach=2)
    found = model.network.training_loss(model, images, noise, sigma, condition, key, "min-snr")
    more, _ = model.network.second_place(condition, key)
    cell = (more - condition).argmax(1)
    x = images + sigma[:, None, None, None] * noise
    change = (model.predict(x, sigma, more) - model.predict(x, sigma, condition)).square()
    far = far_pixels(GRID, PIXELS, 2)[cell].bool()
    by_image = torch.stack([each[:, where].mean() for each, where in zip(change, far, strict=True)])
    _, _, c_out = model.scales(sigma)
    weights = sigma.pow(-2).clamp(max=5) * c_out.square()
    penalty = strong * (weights * by_image).mean()
    expected = denoising_loss(model, images, noise, sigma, condition, "min-snr") + penalty
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert penalty.item() > 0.01 * found.item()


def replica(weight, execution=None, images=BATCH * 40):
    with seeds.torch_seeded(0):
        network = UNet(UNetConfig(channels=8, multipliers=(1, 2)), WORLD.image_shape, (LABELS.width,))
    config = TrainingConfig(images=images, batch=BATCH, rate=2e-3)
    model = NetworkDenoiser(network, "edm") if weight == 0 else model_of(network, weight)
    return Replica(model, POOL, EDMSchedule(), config, 0, execution or Execution())


def far_change(model):
    key, images, condition, sigma, noise = batch()
    probe = SoftNetwork(nn.Identity(), LocalityPenalty(reach=1), PIXELS, LABELS)
    more, far = probe.second_place(condition, key)
    x = images + sigma[:, None, None, None] * noise
    with torch.no_grad():
        change = (model.predict(x, sigma, more) - model.predict(x, sigma, condition)).square()
    return ((change * far).sum() / far.expand_as(change).sum()).item()


def test_training_with_a_penalty_makes_what_is_far_from_a_label_change_less():
    changes = {}
    for weight in (0, 1.0, 100.0):
        trained = replica(weight)
        for _ in range(40):
            trained.step()
        changes[weight] = far_change(trained.model)
    assert changes[100.0] < changes[1.0] < changes[0]


def test_a_penalised_step_is_one_graph_that_serves_every_weight():
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(batch_loss, backend=counter, dynamic=False, fullgraph=True)
    key, images, condition, _, _ = batch()
    with seeds.torch_seeded(0):
        network = UNet(UNetConfig(channels=8, multipliers=(1,)), WORLD.image_shape, (LABELS.width,))
    for weight, reach in ((1.0, 1), (10.0, 2)):
        model = model_of(network, weight, reach)
        parts = (model, images, condition, key, DRAW_SIGMA, "simple")
        torch.testing.assert_close(compiled(*parts), batch_loss(*parts))
    assert counter.frame_count == 1
    torch._dynamo.reset()


def test_the_same_run_gives_the_same_bits_and_bfloat16_the_same_loss():
    one, other = replica(1.0), replica(1.0)
    fast = replica(1.0, replace(Execution(), precision="bfloat16"))
    for each in (one, other, fast):
        each.step()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))
    assert fast.take_loss() == pytest.approx(one.take_loss(), rel=0.05)
