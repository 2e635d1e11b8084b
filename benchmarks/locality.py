"""How much faster pixel locality is read in batches than by one backward pass for each pixel and colour.

A U-Net at 64 px in colour, 16 pixels x 8 noise levels x 16 images: 6,144 rows of Jacobians. The loop makes them one by
one, in three forms that people write: `backward` (a forward pass and `.backward()` a row, so that weights get gradients
too), `forward each` (a forward pass a row, gradients to the image alone) and `graph kept` (one forward pass for all
rows of an image and level). `python -m benchmarks.locality` prints the numbers.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from recombine import seeds
from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.errors import in_one_line
from recombine.instruments.locality.gradients import Views, heat_maps, pixel_locality
from recombine.lab.execute.provenance import device_name, now
from recombine.seeds import torch_seeded
from recombine.training.execution import resolve_device

NETWORK = UNetConfig(channels=32, attention=(2,), condition=ConditionConfig(entry="joint", mode="add", where="all"))
COLOURS, SIDE, CELLS = 3, 64, 256
PIXELS, LEVELS, IMAGES = 16, 8, 16
LOOPS = ("backward", "forward each", "graph kept")


def benchmark(
    device: str = "auto", images: int | None = None, sample: int = 4, network: UNetConfig = NETWORK
) -> dict[str, Any]:
    """Seconds for all rows each way, the best of three; the ways alternate, so that a busy moment affects all of them.

    Batches are measured on `images` of the images (one on a CPU, all on a GPU), the loops on `sample` pixels of one
    image at the first and last noise level; all are scaled up. The numbers are compared where the loops were measured.
    """
    device = resolve_device(device)
    on_gpu = device.startswith("cuda")
    model, views = _setting(network, images or (IMAGES if on_gpu else 1), device)
    ends, labels = slice(None, None, LEVELS - 1), views.condition
    part = Views(
        views.x[ends, :1], views.sigma[ends], labels if labels is None else labels[:1], views.pixels[:1, :sample]
    )
    ways: dict[str, Callable[[], object]] = {"batched": partial(pixel_locality, model.denoise_at, views)}
    ways |= {loop: partial(one_by_one, model, part, loop) for loop in LOOPS}
    tf32 = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False  # float32 means float32 where numbers are compared
    try:
        turns = [{name: _timed(way, on_gpu) for name, way in ways.items()} for _ in range(3)]
        differences = [heat_maps(model.denoise_at, part) - one_by_one(model, part, loop).cpu() for loop in LOOPS]
    finally:
        torch.backends.cudnn.allow_tf32 = tf32
    measured = {name: _rows(views if name == "batched" else part) for name in ways}
    whole = PIXELS * LEVELS * IMAGES * COLOURS
    seconds = {name: min(turn[name] for turn in turns) * whole / measured[name] for name in ways}
    return {
        "rows": whole,
        "rows_measured": measured,
        "seconds": seconds,
        "ratios": {loop: seconds[loop] / seconds["batched"] for loop in LOOPS},
        "largest_difference": max(float(difference.abs().max()) for difference in differences),
        "largest_value": float(one_by_one(model, part, "graph kept").max()),
        "device": device_name(device),
        "torch": torch.__version__,
        "date": now(),
    }


def one_by_one(model: NetworkDenoiser, views: Views, loop: str) -> Tensor:
    """G of the pixels of the first image, one row of the Jacobian after another.  # [p, S, H, W]"""
    maps = views.x.new_zeros(views.pixels.shape[1], *views.x[:, 0, 0].shape)
    for level in range(len(views.x)):
        x, sigma, label = views.at(torch.tensor([level]), torch.tensor([0]))
        x.requires_grad_()
        kept = model.denoise(x, sigma, label)
        for place, (row, column) in enumerate(views.pixels[0].tolist()):
            for colour in range(x.shape[1]):
                said = kept if loop == "graph kept" else model.denoise(x, sigma, label)
                if loop == "backward":
                    model.zero_grad()
                    x.grad = None
                    torch.autograd.backward(said[0, colour, row, column])
                    slope = x.grad
                else:
                    (slope,) = torch.autograd.grad(said[0, colour, row, column], x, retain_graph=said is kept)
                assert slope is not None
                maps[place, level] += slope[0].abs().sum(0)
    return maps


def _setting(network: UNetConfig, images: int, device: str) -> tuple[NetworkDenoiser, Views]:
    """An untrained network, noise for images, and pixels on a 4 x 4 grid: the arithmetic is that of real ones."""
    with torch_seeded(0):
        model = NetworkDenoiser(UNet(network, (COLOURS, SIDE, SIDE), (CELLS,)), "edm").to(device).eval()
    key = seeds.keys(0, "bench", torch.arange(images, device=device))
    sigma = torch.logspace(-1, 1, LEVELS, device=device)
    noise = torch.stack([seeds.normal(key, (COLOURS, SIDE, SIDE), lane=level) for level in range(LEVELS)])
    label = (seeds.uniform(key, (CELLS,), lane=LEVELS) < 3 / CELLS).float()
    side = torch.arange(SIDE // 8, SIDE, SIDE // 4, device=device)
    pixels = torch.cartesian_prod(side, side).expand(images, -1, -1)  # [n, 16, 2]
    return model, Views(noise * sigma[:, None, None, None, None], sigma, label, pixels)


def _rows(views: Views) -> int:
    """How many rows of Jacobians these views are."""
    return views.x.shape[0] * views.x.shape[1] * views.pixels.shape[1] * COLOURS


def _timed(way: Callable[[], object], on_gpu: bool) -> float:
    began = time.perf_counter()
    way()
    if on_gpu:
        torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    options = parser.parse_args()
    with in_one_line():
        print(json.dumps(benchmark(options.device), indent=2))
