"""The local engine: runs the independent, resumable runs of a plan on this machine.

On a GPU they share the device as fleets of replicas, and computations run beside it on the CPU. Fleets take turns in a
few processes: while one compiles a network, draws its images or reads its samples, the others have the device. On a CPU
a fleet is processes of one thread each, which two measured cores do 1.3 times faster than one process of two threads; a
single run takes all the cores.
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
from recombine.lab.execute.conduct import Report
from recombine.lab.execute.workers import Pack, do, run_packs
from recombine.lab.store import Store
from recombine.runs.base import Run
from recombine.runs.work import Work
from recombine.training.execution import Execution, resolve_device

FLEET = 16  # replicas that share a GPU; the gain is there from 8 on (benchmarks/README.md)
SHARING = 4  # processes that share a GPU, at most: one at the device, others at what a processor does
MEMORY = 24 << 30  # bytes of the device for each of them
COMPILED_FROM = 1_600_000  # images of all runs with one kind of network: from about here on compiling pays


def run_local(
    configs: Iterable[Work],
    store: Store,
    device: str,
    report: Report,
    plain: bool = False,
    workers: int | None = None,
) -> list[str]:
    """Run what is not done yet, and before it the runs it starts from; the lines of those that failed."""
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
            failures += _run_generation(pending, store, device, report, plain, workers)
    return list(dict.fromkeys(failures))  # what many runs lack is said once


def _run_generation(
    pending: list[Work], store: Store, device: str, report: Report, plain: bool, workers: int | None
) -> list[str]:
    choose = Execution.plain if plain else Execution.fastest
    cores = os.cpu_count() or 1
    if device.startswith("cuda"):
        computations = [work for work in pending if not isinstance(work, Run)]
        packs = list(_fleets([work for work in pending if isinstance(work, Run)], choose(device)))
        workers = min(workers or _sharing(device, cores), len(packs))
        packs = [replace(pack, execution=replace(pack.execution, sharing=workers)) for pack in packs]
        with _beside(computations, store, report, max(1, cores // 2)) as failures:
            trained = _run(packs, store, report, workers)
        return failures + trained
    workers = min(workers or cores, len(pending))
    execution = choose(device, threads=cores) if workers == 1 else choose(device)
    return _run([Pack([work], execution) for work in pending], store, report, workers)


def _run(packs: Sequence[Pack], store: Store, report: Report, workers: int) -> list[str]:
    """In this process, if one is enough."""
    if workers > 1:
        return run_packs(packs, store, report, workers)
    return [line for pack in packs for line in do(pack, store, report)]


def _sharing(device: str, cores: int) -> int:
    """How many processes the memory of the device and the cores of this machine allow."""
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(1, min(SHARING, cores // SHARING, memory // MEMORY))


def _fleets(runs: Sequence[Run], execution: Execution) -> Iterator[Pack]:
    """Runs that train side by side, in the order of the plan: on the same images, those of one kind together.

    Networks that train too short to earn it back are not compiled.
    """
    total = Counter[str]()
    for run in runs:
        total[run.architecture] += run.training.total
    groups: dict[tuple[str, bool], dict[str, list[Run]]] = {}
    for run in runs:
        alike = groups.setdefault((run.images, total[run.architecture] >= COMPILED_FROM), {})
        alike.setdefault(run.architecture, []).append(run)
    for (_, pays), kinds in groups.items():
        for fleet in _filled(kinds.values()):
            yield Pack(fleet, execution if pays else execution.uncompiled)


def _filled(kinds: Iterable[list[Run]]) -> Iterator[list[Run]]:
    """Fleets of as many whole kinds as fit; one that is larger than a fleet fills several."""
    fleet: list[Run] = []
    for alike in kinds:
        if fleet and len(fleet) + len(alike) > FLEET:
            yield fleet
            fleet = []
        fleet = fleet + alike
        while len(fleet) > FLEET:
            yield fleet[:FLEET]
            fleet = fleet[FLEET:]
    yield fleet


@contextmanager
def _beside(computations: Sequence[Work], store: Store, report: Report, workers: int) -> Iterator[list[str]]:
    """Computations in processes of their own while the device trains; filled at the end, the lines of those that
    failed. If training is stopped, so are they.
    """
    failures, stop = list[str](), threading.Event()
    packs = [Pack([work], Execution.plain("cpu")) for work in computations]

    def compute_all() -> None:
        with suppress(KeyboardInterrupt):
            failures.extend(run_packs(packs, store, report, workers, stop))

    thread = threading.Thread(target=compute_all)
    thread.start()
    try:
        yield failures
    except BaseException:
        stop.set()
        raise
    finally:
        thread.join()
