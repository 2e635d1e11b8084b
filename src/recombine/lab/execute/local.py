"""The local engine: runs the independent, resumable runs of a plan on this machine.

On a GPU runs train side by side in packs, and computations run on the CPU at the same time. Packs take turns in a few
processes: while one compiles a network, renders images or evaluates samples, the others have the device (four processes
keep it busy 94% of the time, benchmarks/README.md). On a CPU runs are processes of one thread each, on two cores 1.3
times faster than one process of two threads; a single run takes all the cores.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import torch

from recombine.errors import UserError
from recombine.lab.execute.jobs import OnProgress
from recombine.lab.execute.workers import Pack, run_pack, run_packs
from recombine.lab.store import Store
from recombine.runs.base import Run
from recombine.runs.work import Work
from recombine.training.execution import Execution, resolve_device

PACK_SIZE = 16  # runs that train side by side on a GPU; the gain is there from 8 on (benchmarks/README.md)
SHARING = 4  # processes that share a GPU, at most: one uses the device while others use the processor
MEMORY = 24 << 30  # bytes of the device for each of them
COMPILED_FROM = 1_600_000  # images of all runs of one architecture: from about here on compiling is worth its time


def run_local(
    configs: Iterable[Work],
    store: Store,
    device: str,
    on_progress: OnProgress,
    plain: bool = False,
    workers: int | None = None,
) -> list[str]:
    """Run what is not done yet, and before it the runs that it starts from; one line for each failure."""
    device = resolve_device(device)
    if workers is not None and workers < 1:
        raise UserError(f"{workers} workers: at least one process is needed")
    store.prepare()
    generations: dict[int, dict[str, Work]] = {}
    for config in configs:
        if not store.run(config.address).done:
            for age, run in enumerate(config.ancestry()):
                generations.setdefault(age, {})[run.address] = run
    failures = []
    for _, generation in sorted(generations.items()):
        pending = [config for config in generation.values() if not store.run(config.address).done]
        if pending:
            failures += _run_generation(pending, store, device, on_progress, plain, workers)
    return list(dict.fromkeys(failures))  # what many runs lack is reported once


def _run_generation(
    pending: list[Work], store: Store, device: str, on_progress: OnProgress, plain: bool, workers: int | None
) -> list[str]:
    choose = Execution.plain if plain else Execution.fastest
    cores = os.cpu_count() or 1
    if device.startswith("cuda"):
        computations = [work for work in pending if not isinstance(work, Run)]
        packs = list(_packs([work for work in pending if isinstance(work, Run)], choose(device)))
        workers = min(workers or _sharing(device, cores), len(packs))
        packs = [replace(pack, execution=replace(pack.execution, sharing=workers)) for pack in packs]
        with _on_the_side(computations, store, on_progress, max(1, cores // 2)) as failures:
            trained = _run(packs, store, on_progress, workers)
        return failures + trained
    workers = min(workers or cores, len(pending))
    execution = choose(device, threads=cores) if workers == 1 else choose(device)
    return _run([Pack([work], execution) for work in pending], store, on_progress, workers)


def _run(packs: Sequence[Pack], store: Store, on_progress: OnProgress, workers: int) -> list[str]:
    """In this process, if one is enough."""
    if workers > 1:
        return run_packs(packs, store, on_progress, workers)
    return [line for pack in packs for line in run_pack(pack, store, on_progress)]


def _sharing(device: str, cores: int) -> int:
    """How many processes the memory of the device and the cores of this machine allow."""
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(1, min(SHARING, cores // SHARING, memory // MEMORY))


def _packs(runs: Sequence[Run], execution: Execution) -> Iterator[Pack]:
    """Runs that train side by side, in the order of the plan: on the same images, those of one architecture together.

    Networks that train too short to be worth it are not compiled.
    """
    total = Counter[str]()
    for run in runs:
        total[run.architecture] += run.training.total
    groups: dict[tuple[str, bool], dict[str, list[Run]]] = {}
    for run in runs:
        same = groups.setdefault((run.images, total[run.architecture] >= COMPILED_FROM), {})
        same.setdefault(run.architecture, []).append(run)
    for (_, compiled), architectures in groups.items():
        for together in _filled(architectures.values()):
            yield Pack(together, execution if compiled else execution.uncompiled)


def _filled(architectures: Iterable[list[Run]]) -> Iterator[list[Run]]:
    """Packs of as many whole architectures as fit; one with more runs than a pack holds fills several."""
    pack: list[Run] = []
    for runs in architectures:
        if pack and len(pack) + len(runs) > PACK_SIZE:
            yield pack
            pack = []
        pack = pack + runs
        while len(pack) > PACK_SIZE:
            yield pack[:PACK_SIZE]
            pack = pack[PACK_SIZE:]
    yield pack


@contextmanager
def _on_the_side(
    computations: Sequence[Work], store: Store, on_progress: OnProgress, workers: int
) -> Iterator[list[str]]:
    """Computations in separate processes while the device trains; the list is filled at the end with a line for each
    failure. If training is stopped, so are they.
    """
    failures, stop = list[str](), threading.Event()
    packs = [Pack([work], Execution.plain("cpu")) for work in computations]

    def compute_all() -> None:
        with suppress(KeyboardInterrupt):
            failures.extend(run_packs(packs, store, on_progress, workers, stop))

    thread = threading.Thread(target=compute_all)
    thread.start()
    try:
        yield failures
    except BaseException:
        stop.set()
        raise
    finally:
        thread.join()
