"""How much faster a thousand small nets learn in batched products than one by one in an ordinary torch loop.

The setting is Fig 13 of Yang et al. 2025 (its released run 26): three linear layers with biases, three dimensions,
rate 0.01, batches of 128 out of 15,000 points that every net has for itself. `python -m benchmarks.batched_networks`
prints the numbers.
"""

import argparse
import json
import time
from typing import Any

import torch
from torch import Tensor, nn

from recombine import seeds
from recombine.training.batched import DescentConfig, train
from recombine.training.batched_networks import NetConfig, start

NET = NetConfig(layers=3, width=3)
DESCENT = DescentConfig(rate=0.01, batch=128)
MEANS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0))
VARIANCE = (0.05, 0.05, 0.0)


def benchmark(nets: int = 1000, steps: int = 300, sample: int = 5, each: int = 5000) -> dict[str, Any]:
    """Seconds for `nets` nets both ways, the best of three; one by one is measured on `sample` of them.

    Making the points is not timed. The two ways alternate, so that a busy moment slows both.
    """
    mine = list(range(nets))
    points = torch.stack([_points(seed, each) for seed in mine])  # [n, 3 each, 3]
    probe = torch.tensor([[1.0, 2.0, 0.0]])
    descent = DESCENT.replace(steps=steps)
    batched, alone = [], []
    for _ in range(3):
        began = time.perf_counter()
        trace = train(NET, descent, points, probe, mine, max(1, steps))
        between = time.perf_counter()
        outputs = torch.stack([_one_by_one(seed, points[seed], probe, steps) for seed in mine[:sample]])
        batched.append(between - began)
        alone.append((time.perf_counter() - between) * nets / len(outputs))
    return {
        "nets": nets,
        "steps": steps,
        "threads": torch.get_num_threads(),
        "batched_seconds": min(batched),
        "one_by_one_seconds": min(alone),
        "one_by_one_measured_on": len(outputs),
        "ratio": min(alone) / min(batched),
        "largest_difference": float((trace.outputs[-1, : len(outputs)] - outputs).abs().max()),
    }


def _one_by_one(seed: int, points: Tensor, probe: Tensor, steps: int) -> Tensor:
    """The loop that people write for one net, from the same start; batches are slices, which is the cheapest way."""
    layers = [nn.Linear(3, 3) for _ in range(NET.layers)]
    with torch.no_grad():
        for layer, weight in zip(layers, start(NET, 3, [seed]), strict=True):
            layer.weight.copy_(weight[0, :3, :3])
            layer.bias.copy_(weight[0, :3, 3])
    net = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=DESCENT.rate)
    batches = torch.split(points, DESCENT.size(len(points)))
    for step in range(steps):
        batch = batches[step % len(batches)]
        loss = nn.functional.mse_loss(net(batch), batch)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    with torch.no_grad():
        answer: Tensor = net(probe)
    return answer


def _points(seed: int, each: int) -> Tensor:
    """The clusters of one net, one after the other in turn.  # [3 each, 3]"""
    noise = seeds.normal(seeds.keys(seed, "bench", torch.arange(3 * each)), (3,))
    return noise * torch.tensor(VARIANCE).sqrt() + torch.tensor(MEANS).repeat(each, 1)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(json.dumps(benchmark(), indent=2))
