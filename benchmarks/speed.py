"""Speed as ratios, measured in one go on one machine: the fast way against the plain way of doing the same thing.

`train` compares the house's step with the loop most papers ship (float32, eager, a DataLoader, `.item()` a step) on the
same network and batch; `fleet` compares replicas side by side with the same replicas one after another.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.losses import denoising_loss
from recombine.diffusion.schedules import LinearSchedule
from recombine.lab.execute.provenance import describe_machine, now
from recombine.seeds import torch_seeded
from recombine.training.execution import Execution, keep_freed_memory
from recombine.training.replica import Replica, TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Pool, design, make_pool

FLEET = 8


def run_bench(device: str = "auto", seconds: float = 5.0) -> dict[str, Any]:
    """Named ratios, and the raw numbers behind them."""
    fast = Execution.fastest(device, threads=os.cpu_count() or 1)
    on_gpu = fast.device.startswith("cuda")
    torch.set_num_threads(fast.threads)
    if not on_gpu:
        keep_freed_memory()  # before anything is allocated, as a run does
    if on_gpu:
        world = ShapesWorld(pixels=28)
        network = UNetConfig(channels=64, attention=(1, 2), norm="batch", activation="gelu")
        small = network.replace(channels=16)
        training = TrainingConfig(batch=128)
    else:
        world = ShapesWorld(pixels=16, position_jitter=0.05)
        network, small = UNetConfig(channels=24, norm="batch", activation="gelu"), None
        training = TrainingConfig(batch=64)
    pool = make_pool(world, design("H32-train1"), 0, fast.device)
    replica = _replica(world, network, training, pool, fast)
    replica.prepare()
    if on_gpu:
        ways = (plain_step(world, network, training, pool, fast.device), replica.step)
        plain, quick = sustained_rates(ways, training.batch, seconds, on_gpu)
    else:
        with _in_another_process(world, network, training, fast.threads) as plain_elsewhere:
            plain, quick = sustained_rates((plain_elsewhere, replica.step), training.batch, seconds, on_gpu)
    flop = training_flop(world, network)
    matmul = matmul_rate(fast, seconds)
    drawn = render_rate(seconds)
    ratios = {
        "train_fast_over_plain": quick / plain,
        "train_share_of_matmul_rate": quick * flop / matmul,
        "render_over_20k_images_per_second": drawn / 20_000,
    }
    raw = {
        "plain_images_per_second": plain,
        "fast_images_per_second": quick,
        "training_flop_per_image": flop,
        "matmul_flop_per_second": matmul,
        "render_images_per_second": drawn,
    }
    if small is not None:
        fleet = [_replica(world, small, training, pool, fast, seed) for seed in range(FLEET)]
        apart, together = replica_rates(fleet, seconds)
        ratios["fleet_side_by_side_over_one_by_one"] = together / apart
        raw |= {"fleet_one_by_one_images_per_second": apart, "fleet_images_per_second": together}
    return {"ratios": ratios, "raw": raw, "date": now(), "seconds_each": seconds, "machine": describe_machine(fast)}


def plain_step(
    world: ShapesWorld, network: UNetConfig, training: TrainingConfig, pool: Pool, device: str
) -> Callable[[], None]:
    """A step of the loop that papers ship: DataLoader, float32, eager, one `.item()` a step."""
    from torch.utils.data import DataLoader, TensorDataset

    model = _model(world, network, 0).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.rate, weight_decay=0.0)
    table = LinearSchedule().table().float().to(device)
    data = TensorDataset(pool.images.cpu(), pool.conditions.cpu())
    on_gpu = device.startswith("cuda")
    loader = DataLoader(data, training.batch, shuffle=True, drop_last=True, num_workers=4 if on_gpu else 0,
                        pin_memory=on_gpu, persistent_workers=on_gpu)  # fmt: skip

    def step(batch: list[Tensor]) -> None:
        images, condition = (part.to(device, non_blocking=True) for part in batch)
        sigma = table[torch.randint(len(table), (len(images),), device=device)]
        loss = denoising_loss(model, images, torch.randn_like(images), sigma, condition)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip or 1.0)
        optimizer.step()
        loss.item()

    batches = (batch for _ in iter(int, 1) for batch in loader)
    return lambda: step(next(batches))


@contextmanager
def _in_another_process(
    world: ShapesWorld, network: UNetConfig, training: TrainingConfig, threads: int
) -> Iterator[Callable[[], None]]:
    """The plain step in a process that keeps no freed memory: a process cannot have it both ways."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_serve_plain, args=(there, world, network, training, threads), daemon=True)
    child.start()

    def step() -> None:
        here.send(True)
        here.recv()

    try:
        yield step
    finally:
        here.send(False)
        child.join()


def _serve_plain(
    news: Connection, world: ShapesWorld, network: UNetConfig, training: TrainingConfig, threads: int
) -> None:
    torch.set_num_threads(threads)
    step = plain_step(world, network, training, make_pool(world, design("H32-train1"), 0, "cpu"), "cpu")
    while news.recv():
        step()
        news.send(None)


def replica_rates(fleet: list[Replica], seconds: float) -> list[float]:
    """Images a second of these replicas together: one after another, then (on a GPU) side by side."""
    on_gpu, stretch = fleet[0].seen.is_cuda, 20 if len(fleet) > 1 else 1  # steps of a replica before its turn ends
    images = stretch * sum(replica.config.batch for replica in fleet)
    for replica in fleet:
        replica.prepare()

    def one_after_another() -> None:
        for replica in fleet:
            for _ in range(stretch):
                replica.step()
            if on_gpu and len(fleet) > 1:
                torch.cuda.synchronize()

    def side_by_side() -> None:
        for _ in range(stretch):
            for replica in fleet:
                replica.step()

    ways = (one_after_another, side_by_side) if on_gpu and len(fleet) > 1 else (one_after_another,)
    return sustained_rates(ways, images, seconds, on_gpu)


def render_rate(seconds: float) -> float:
    """Images a second that the shapes world draws at 28 px on the CPU."""
    from recombine import seeds

    world, count = ShapesWorld(pixels=28), 4096
    digits = world.digits(world.nodes).repeat(count // len(world.nodes), 1)
    factors = world.vary(digits, seeds.keys(0, "bench", torch.arange(len(digits))))
    return sustained_rate(lambda: world.render(factors), len(digits), min(seconds, 3.0), on_gpu=False)


def matmul_rate(execution: Execution, seconds: float) -> float:
    """Floating-point operations a second of a large matrix product on random numbers, in the precision of training."""
    on_gpu = execution.device.startswith("cuda")
    size = 8192 if on_gpu else 2048
    kind = torch.bfloat16 if execution.precision == "bfloat16" else torch.float32
    a, b = (torch.randn(size, size, device=execution.device).to(kind) for _ in range(2))
    return sustained_rate(lambda: torch.mm(a, b), 2 * size**3, min(seconds, 3.0), on_gpu)


def training_flop(world: ShapesWorld, network: UNetConfig) -> float:
    """Floating-point operations of one training image, forward and backward, counted by torch."""
    from torch.utils.flop_counter import FlopCounterMode

    model, pool = _model(world, network, 0), make_pool(world, design("H32-train1").replace(count=2), 0, "cpu")
    with FlopCounterMode(display=False) as counter:
        images, condition = pool.images[:2], pool.conditions[:2]
        torch.autograd.backward(denoising_loss(model, images, torch.zeros_like(images), torch.ones(2), condition))
    return float(counter.get_total_flops()) / 2


def _model(world: ShapesWorld, network: UNetConfig, seed: int) -> NetworkDenoiser:
    with torch_seeded(seed):
        return NetworkDenoiser(UNet(network, world.image_shape, world.condition_widths), "noise")


def _replica(
    world: ShapesWorld, network: UNetConfig, training: TrainingConfig, pool: Pool, execution: Execution, seed: int = 0
) -> Replica:
    return Replica(_model(world, network, seed), pool, LinearSchedule(), training, seed, execution)


def sustained_rate(work: Callable[[], object], amount: float, seconds: float, on_gpu: bool) -> float:
    """Amount a second, the median of five timings that fill `seconds` after a warm-up."""
    return sustained_rates([work], amount, seconds, on_gpu)[0]


def sustained_rates(ways: Sequence[Callable[[], object]], amount: float, seconds: float, on_gpu: bool) -> list[float]:
    """The same for several ways to do the same amount; timings alternate, so that a busy moment meets all of them."""

    def timed(work: Callable[[], object], repeats: int) -> float:
        began = time.perf_counter()
        for _ in range(repeats):
            work()
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    for work in ways:
        timed(work, 3)
    repeats = [max(1, round(seconds / 5 / (timed(work, 3) / 3))) for work in ways]
    rounds = [[timed(work, count) / count for work, count in zip(ways, repeats, strict=True)] for _ in range(5)]
    return [amount / statistics.median(times) for times in zip(*rounds, strict=True)]
