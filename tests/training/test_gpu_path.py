"""On a GPU the fast path (bf16, channels-last, compiled, captured) must train like the plain path."""

import gc

import pytest
import torch

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.schedules import LinearSchedule
from recombine.seeds import torch_seeded
from recombine.training.capture import capture, new_stream, repeat
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser
from recombine.training.replica import Replica, TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import design, make_pool

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]

WORLD = ShapesWorld(pixels=28)
STEPS = 200


def _train(execution: Execution, config: TrainingConfig) -> tuple[Replica, list[float]]:
    with torch_seeded(0):
        network = UNet(UNetConfig(channels=16, attention=(1, 2)), WORLD.image_shape, WORLD.condition_widths)
    pool = make_pool(WORLD, design("H32-train1").replace(count=100), 0, execution.device)
    replica = Replica(NetworkDenoiser(network, "noise"), pool, LinearSchedule(), config, 0, execution)
    replica.prepare()
    losses = []
    for _ in range(STEPS // 20):
        for _ in range(20):
            replica.step()
        losses.append(replica.take_loss())
    return replica, losses


def test_fast_path_follows_plain_path() -> None:
    config = TrainingConfig(images=STEPS * 64, batch=64, rate=3e-4, ema_images=2000)
    plain, plain_losses = _train(Execution.plain("cuda"), config)
    fast, fast_losses = _train(Execution.fastest("cuda"), config)
    assert fast.seen.item() == plain.seen.item() == STEPS * 64
    for a, b in zip(fast_losses, plain_losses, strict=True):
        assert abs(a - b) < 0.05 * b  # the stated tolerance: same draws, bf16 arithmetic
    x = torch.randn(8, 3, 28, 28, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    sigma, condition = torch.full((8,), 0.5, device="cuda"), plain.pool.conditions[:8]
    with torch_seeded(0):
        network = UNet(UNetConfig(channels=16, attention=(1, 2)), WORLD.image_shape, WORLD.condition_widths)
    graphed = FastDenoiser(NetworkDenoiser(network, "noise"), Execution.fastest("cuda"))
    graphed.load(plain.weights())
    eager = FastDenoiser(NetworkDenoiser(network, "noise"), Execution.plain("cuda"))
    one, other = graphed.denoise(x, sigma, condition), eager.denoise(x, sigma, condition)
    assert (one - other).norm() < 0.01 * other.norm()
    graphed.load(fast.weights())
    assert not torch.equal(graphed.denoise(x, sigma, condition), one)  # new weights answer through the same graph


def test_capture_leaves_no_trace() -> None:
    config = TrainingConfig(images=640, batch=64, ema_images=2000)
    with torch_seeded(0):
        network = UNet(UNetConfig(channels=16, attention=(1, 2)), WORLD.image_shape, WORLD.condition_widths)
    pool = make_pool(WORLD, design("H32-train1").replace(count=100), 0, "cuda")
    replica = Replica(NetworkDenoiser(network, "noise"), pool, LinearSchedule(), config, 0, Execution.fastest("cuda"))
    before = {name: tensor.clone() for name, tensor in replica.tensors().items()}
    replica.prepare()
    for name, tensor in replica.tensors().items():
        assert torch.equal(tensor, before[name]), name


def test_side_by_side_differs_from_alone_no_more_than_alone_from_alone() -> None:
    """Atomic additions make a GPU's sums depend on their order; replicas that share it must add nothing to that."""
    network = UNetConfig(channels=64, attention=(1, 2), norm="batch", activation="gelu")
    config = TrainingConfig(batch=128, rate=1e-3)
    pool = make_pool(WORLD, design("H32-train1").replace(count=500), 0, "cuda")

    def fleet() -> list[Replica]:
        made = []
        for seed in range(4):
            with torch_seeded(seed):
                model = NetworkDenoiser(UNet(network, WORLD.image_shape, WORLD.condition_widths), "noise")
            made.append(Replica(model, pool, LinearSchedule(), config, seed, Execution.fastest("cuda")))
            made[-1].prepare()
        return made

    together, alone, again = fleet(), fleet(), fleet()
    for _ in range(100):
        for replica in together:
            replica.step()
    torch.cuda.synchronize()
    for replica in alone + again:
        for _ in range(100):
            replica.step()
        torch.cuda.synchronize()
    shared = sum(_distance(a, b) for a, b in zip(together, alone, strict=True))
    control = sum(_distance(a, b) for a, b in zip(again, alone, strict=True))
    assert shared <= 2 * control + 1e-6
    for one, other in zip(together, alone, strict=True):
        assert one.take_loss() == pytest.approx(other.take_loss(), rel=1e-2)


def test_attention_over_64_tokens_has_a_finite_gradient_where_cudnn_gives_nan() -> None:
    """Every logit near -120 and 8 x 8 pixels: what lost one run in ten before cuDNN's attention was kept out."""
    _train(Execution.fastest("cuda"), TrainingConfig(images=64, batch=64))  # a replica sets the kernels up
    query = torch.full((2, 4, 64, 32), 0.1, device="cuda", dtype=torch.bfloat16)
    key = torch.randn_like(query) * 0.1
    query[..., 0], key[..., 0] = 1.0, -120 * 32**0.5
    inputs = [t.requires_grad_() for t in (query, key, torch.randn_like(query))]
    out = torch.nn.functional.scaled_dot_product_attention(*inputs)
    out.backward(torch.randn_like(out))
    assert all(t.grad is not None and bool(torch.isfinite(t.grad).all()) for t in inputs)


def test_graphs_own_their_workspaces() -> None:
    """A graph answers the same after others, captured on the same streams, are gone and their memory is reused."""
    weight = torch.randn(512, 4096, device="cuda", dtype=torch.bfloat16)
    rows = torch.randn(64, 4096, device="cuda", dtype=torch.bfloat16)
    graphs = [capture(lambda: rows @ weight.T, new_stream()) for _ in range(64)]  # torch has 32 streams in turn
    replay, out = graphs[40]
    replay()
    torch.cuda.synchronize()
    expected = out.clone()
    del graphs
    gc.collect()
    torch.cuda.empty_cache()
    rubbish = [torch.full((8 << 20,), float("nan"), device="cuda") for _ in range(16)]
    replay()
    torch.cuda.synchronize()
    assert torch.equal(out, expected)
    assert all(bool(torch.isnan(r).all()) for r in rubbish)


def _distance(one: Replica, other: Replica) -> float:
    """Relative distance of the parameters of two replicas."""
    pairs = list(zip(one.parameters, other.parameters, strict=True))
    apart = sum(float((a.detach() - b.detach()).double().square().sum()) for a, b in pairs)
    size = sum(float(b.detach().double().square().sum()) for _, b in pairs)
    return (apart / size) ** 0.5


def test_work_that_needs_no_host_is_recorded_and_done_as_often_as_asked() -> None:
    for times in (2, 3, 50):
        number, total = torch.zeros((), dtype=torch.int64, device="cuda"), torch.zeros((), device="cuda")

        def work(number: torch.Tensor = number, total: torch.Tensor = total) -> None:
            number.add_(1)
            total.add_(number)

        repeat(work, times, torch.device("cuda"))
        assert (number.item(), total.item()) == (times, times * (times + 1) / 2)
