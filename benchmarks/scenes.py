"""How many scenes a second the ray caster draws, and, where Blender is at hand, how many times as long Blender takes.

64 px, scenes of 3, 6 and 12 objects (twelve by the loose rule, under which they fit), layouts and pictures timed apart.
`python -m benchmarks.scenes` prints the numbers; `--blender 16` adds Cycles with so many samples, one thread
against one thread, its start left out.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from recombine import seeds
from recombine.errors import UserError, in_one_line
from recombine.lab.execute.provenance import device_name, now
from recombine.training.execution import resolve_device
from recombine.worlds.scenes import blender
from recombine.worlds.scenes.world import SceneWorld

NUMBERS = (3, 6, 12)
LOOSE = 10  # objects: more do not fit CLEVR's own rule
TURNS = 3


def benchmark(device: str = "auto", scenes: int | None = None, samples: int | None = None) -> dict[str, Any]:
    """Scenes and layouts a second by the number of objects, the best of three turns."""
    for number, what in ((scenes, "scenes"), (samples, "samples")):
        if number is not None and number < 1:
            raise UserError(f"{number} {what} cannot be timed: ask for one at least")
    device = resolve_device(device)
    on_gpu = device.startswith("cuda")
    world, count = SceneWorld(), scenes or (4096 if on_gpu else 64)
    key = seeds.keys(0, "bench", torch.arange(count)).to(device)
    timed: dict[str, Any] = {"layouts": {}, "scenes": {}}
    for number in NUMBERS:
        draw = partial(world.draw, torch.full((count,), number, device=device), key, number > LOOSE)
        factors = draw()
        world.render(factors[:8])
        timed["layouts"][str(number)] = round(count / best(draw, on_gpu))
        timed["scenes"][str(number)] = round(count / best(partial(world.render, factors), on_gpu))
    if samples is not None:
        timed["blender"] = _beside_blender(world, samples)
    return timed | {"pixels": world.pixels, "of": count, "device": device_name(device), "date": now()[:10],
                   "threads": torch.get_num_threads(), "torch": torch.__version__}  # fmt: skip


def best(work: Callable[[], object], on_gpu: bool = False) -> float:
    """Seconds of the quickest of three turns."""
    turns = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        if on_gpu:
            torch.cuda.synchronize()
        turns.append(time.perf_counter() - start)
    return min(turns)


def _beside_blender(world: SceneWorld, samples: int, scenes: int = 12) -> dict[str, float]:
    """Seconds a scene of 1 to 3 objects of both, one thread each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        factors = world.draw(torch.arange(scenes) % 3 + 1, seeds.keys(0, "bench", torch.arange(scenes)))
        own = best(partial(world.render, factors)) / scenes
    finally:
        torch.set_num_threads(threads)
    described = world.describe(factors)
    size = (world.pixels, world.pixels, samples)
    few, all_of_them = (best(partial(blender.render, described[:n], *size)) for n in (2, scenes))
    theirs = (all_of_them - few) / (scenes - 2)  # its start is in both
    return {"samples": samples, "seconds": theirs, "ray caster": own, "ratio": theirs / own}


def main(words: list[str] | None = None) -> None:
    """Print the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--scenes", type=int, metavar="N", help="of each number (default: 64 on a CPU, 4096 on a GPU)")
    parser.add_argument("--blender", type=int, metavar="SAMPLES", help="measure Blender as well")
    options = parser.parse_args(words)
    with in_one_line():
        print(json.dumps(benchmark(options.device, options.scenes, options.blender), indent=1))


if __name__ == "__main__":
    main()
