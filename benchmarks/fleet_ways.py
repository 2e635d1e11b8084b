"""Ways to train several small networks on one device at once, measured against one after another.

    python benchmarks/fleet_ways.py [--device cuda|cpu] [--replicas 8] [--seconds 4] [--out FILE]

Ways: replicas one after another; side by side on streams of captured graphs (GPU); all weights stacked and the step
batched over them by vmap; one process a replica. A way that fails is reported with its error.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed import replica_rates, sustained_rate
from torch import Tensor

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.schedules import LinearSchedule
from recombine.lab.execute.provenance import describe_machine, now
from recombine.seeds import torch_seeded
from recombine.training.execution import Execution, keep_freed_memory, resolve_device
from recombine.training.replica import Replica, TrainingConfig, batch_loss, draw_batch
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import Pool, design, make_pool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device = resolve_device(options.device)
    on_gpu = device == "cuda"
    answer: dict[str, Any] = {"date": now(), "replicas": options.replicas, "images_per_second": {}, "failed": {}}
    answer["machine"] = describe_machine(Execution.fastest(device))
    answer["network"] = network(on_gpu).model_dump(mode="json")

    def attempt(name: str, way: Callable[[], float]) -> None:
        try:
            answer["images_per_second"][name] = round(way(), 1)
        except Exception as error:  # a way that cannot work is a finding
            answer["failed"][name] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        print(name, answer["images_per_second"].get(name, answer["failed"].get(name)), flush=True)

    if not on_gpu:
        keep_freed_memory()
    if on_gpu:
        rates = replica_rates([make_replica(device, seed) for seed in range(options.replicas)], options.seconds)
        attempt("one after another", lambda: rates[0])
        attempt("streams of captured graphs", lambda: rates[1])
    else:
        threads = multiprocessing.cpu_count()
        torch.set_num_threads(threads)
        fleet = [make_replica(device, seed) for seed in range(options.replicas)]
        attempt(f"one after another, {threads} threads", lambda: replica_rates(fleet, options.seconds)[0])
    attempt("stacked weights, vmap", lambda: stacked_rate(device, options.replicas, options.seconds))
    for count in (2, options.replicas) if on_gpu else (multiprocessing.cpu_count(),):
        attempt(f"{count} processes", lambda count=count: process_rate(device, count, options.seconds))
    text = json.dumps(answer, indent=2)
    if options.out:
        options.out.write_text(text + "\n")
    print(text)


def network(on_gpu: bool) -> UNetConfig:
    """Without attention: vmap fails in scaled-dot-product attention on a GPU."""
    return UNetConfig(channels=16) if on_gpu else UNetConfig(channels=8)


def world(on_gpu: bool) -> ShapesWorld:
    return ShapesWorld(pixels=28) if on_gpu else ShapesWorld(pixels=16, position_jitter=0.05)


def make_pieces(device: str, seed: int) -> tuple[NetworkDenoiser, Pool, TrainingConfig]:
    here = world(device == "cuda")
    with torch_seeded(seed):
        model = NetworkDenoiser(UNet(network(device == "cuda"), here.image_shape, here.condition_widths), "noise")
    pool = make_pool(here, design("H32-train1"), 0, device)
    return model, pool, TrainingConfig(batch=128 if device == "cuda" else 64, clip=None)


def make_replica(device: str, seed: int) -> Replica:
    model, pool, training = make_pieces(device, seed)
    return Replica(model, pool, LinearSchedule(), training, seed, Execution.fastest(device))


def stacked_rate(device: str, replicas: int, seconds: float) -> float:
    """Weights of all replicas stacked; gradients by vmap over the stack; Adam on the stack."""
    pieces = [make_pieces(device, seed) for seed in range(replicas)]
    models, pool, training = [p[0].to(device) for p in pieces], pieces[0][1], pieces[0][2]
    parameters, buffers = torch.func.stack_module_state(models)  # type: ignore[arg-type]
    skeleton, draw_sigma = models[0], LinearSchedule().drawer(device)
    optimizer = torch.optim.AdamW(list(parameters.values()), lr=3e-4, weight_decay=0.0, fused=True)
    keys = torch.arange(training.batch, device=device)

    def loss(weights: dict[str, Tensor], fixed: dict[str, Tensor], key: Tensor) -> Tensor:
        def answer(*inputs: Any) -> Tensor:
            return torch.func.functional_call(skeleton.network, _inner(weights) | _inner(fixed), inputs)

        stand_in = NetworkDenoiser(_Called(answer), "noise")
        return batch_loss(stand_in, *draw_batch(pool, key, 0.0), key, draw_sigma, "simple")

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(0, 0, None))

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found = gradients(parameters, buffers, keys)
        for name, parameter in parameters.items():
            parameter.grad = found[name]
        optimizer.step()
        keys.add_(training.batch)

    return sustained_rate(step, replicas * training.batch, seconds, device == "cuda")


def _inner(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix("network."): value for name, value in state.items()}


class _Called(torch.nn.Module):
    """A function in the place of a network."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Tensor:
        return self.function(*inputs)


def process_rate(device: str, count: int, seconds: float) -> float:
    """Total rate of `count` processes, each with one replica and one thread, over the same stretch of time."""
    context = multiprocessing.get_context("spawn")
    ready, answers = context.Barrier(count), context.Queue()
    workers = [context.Process(target=_worker, args=(device, seed, seconds, ready, answers)) for seed in range(count)]
    for worker in workers:
        worker.start()
    total = sum(answers.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join()
    return total


def _worker(device: str, seed: int, seconds: float, ready: Any, answers: Any) -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    replica = make_replica(device, seed)
    replica.prepare()
    for _ in range(5):
        replica.step()
    ready.wait(timeout=240)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(10):
            replica.step()
        if device == "cuda":
            torch.cuda.synchronize()
        steps += 10
    answers.put(steps * replica.config.batch / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
