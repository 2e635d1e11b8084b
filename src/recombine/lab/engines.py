"""The local engine: runs the independent, resumable runs of a plan on this machine.

On a GPU they share the device as fleets of replicas, and computations run beside it on the CPU. On a CPU a fleet is
processes of one thread each, which two measured cores do 1.3 times faster than one process of two threads; a single run
takes all the cores.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NoReturn

from recombine.errors import UserError
from recombine.lab.conduct import Report, compute, conduct
from recombine.lab.run import Run
from recombine.lab.store import Store
from recombine.lab.work import Computation, Work
from recombine.training.execution import Execution, resolve_device

TOLD = 3  # exit status of a worker that has told its failure; 1 would be that of any error in Python
PACKS = 4  # of computations for each worker: few enough to start them, many enough to share the work evenly
FLEET = 16  # replicas that share a GPU; the gain is there from 8 on (benchmarks/README.md)
COMPILED_FROM = (
    1_600_000  # images of all runs with one kind of network: from about here on compiling pays (an estimate)
)


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
        runs = [work for work in pending if isinstance(work, Run)]
        with _beside(computations, store, report, workers or max(1, cores // 2)) as failures:
            trained = [
                line
                for fleet, pays in _fleets(runs)
                for line in _attempt(fleet, store, choose(device) if pays else choose(device).uncompiled, report)
            ]
        return failures + trained
    workers = min(workers or cores, len(pending))
    if workers == 1:
        return [line for c in pending for line in _attempt([c], store, choose(device, threads=cores), report)]
    return _run_processes(pending, store, choose(device), report, workers)


def _fleets(runs: Sequence[Run]) -> Iterator[tuple[Sequence[Run], bool]]:
    """Runs that train side by side, in the order of the plan, and whether compiling their networks pays."""
    images = Counter[str]()
    for run in runs:
        images[run.likeness] += run.training.total
    for pays in (True, False):
        alike = [run for run in runs if (images[run.likeness] >= COMPILED_FROM) is pays]
        for start in range(0, len(alike), FLEET):
            yield alike[start : start + FLEET], pays


@contextmanager
def _beside(computations: Sequence[Work], store: Store, report: Report, workers: int) -> Iterator[list[str]]:
    """Computations in processes of their own while the device trains; filled at the end, the lines of those that
    failed. If training is stopped, so are they.
    """
    failures, stop = list[str](), threading.Event()

    def compute_all() -> None:
        with suppress(KeyboardInterrupt):
            failures.extend(_run_processes(computations, store, Execution.plain("cpu"), report, workers, stop))

    thread = threading.Thread(target=compute_all)
    thread.start()
    try:
        yield failures
    except BaseException:
        stop.set()
        raise
    finally:
        thread.join()


def _attempt(pending: Sequence[Work], store: Store, execution: Execution, report: Report) -> list[str]:
    """A fleet of runs, or computations one after another; the lines of those that failed."""
    failures = []
    for work in pending:
        if isinstance(work, Computation):
            try:
                compute(work, store, report)
            except UserError as failure:
                failures.append(str(failure))
    runs = [work for work in pending if isinstance(work, Run)]
    if runs:
        try:
            conduct(runs, store, execution, report)
        except UserError as failure:
            failures.append(str(failure))
    return failures


def _run_processes(
    pending: Sequence[Work], store: Store, execution: Execution, report: Report, workers: int,
    stop: threading.Event | None = None,
) -> list[str]:  # fmt: skip
    """One process a run or a pack of computations, `workers` at a time, each with a pipe for its news; where the pipe
    ends, its work ended. `stop` does from another thread what Ctrl-C does.
    """
    context = multiprocessing.get_context("spawn")
    waiting, running, failures = _packs(pending, workers), dict[Connection, Worker](), list[str]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                pack = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                arguments = (sender, pack, str(store.root), execution, os.getpid())
                process = context.Process(target=_work, args=arguments)
                with _one_thread():
                    process.start()
                sender.close()
                name = f"run {pack[0].address}" if len(pack) == 1 else f"{len(pack)} computations"
                running[receiver] = Worker(process, name)
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            for receiver in _ready(running, None if stop is None else 0.5):
                try:
                    news = receiver.recv()
                except (EOFError, OSError):
                    failures += running.pop(receiver).ended()
                else:
                    failures.append(news) if isinstance(news, str) else report(news)
    except BaseException:
        for worker in running.values():
            if worker.process.pid is not None:
                os.kill(worker.process.pid, signal.SIGINT)  # a scheduler tells only this process
        raise
    finally:
        for worker in running.values():
            worker.process.join()
    return failures


@dataclass(frozen=True)
class Worker:
    """A process and the work it does."""

    process: SpawnProcess
    name: str

    def ended(self) -> list[str]:
        """What is to be said about the way it ended, if it did not say so itself."""
        self.process.join()
        if self.process.exitcode in (0, TOLD):
            return []
        how = "was killed" if (self.process.exitcode or 0) < 0 else "stopped at an error that nobody foresaw, see above"
        return [f"the process of {self.name} {how}: give the same command again, it resumes"]


def _packs(pending: Sequence[Work], workers: int) -> list[Sequence[Work]]:
    """Runs one by one; computations, many of which take less time than a process needs to start, a few at a time."""
    runs = [work for work in pending if isinstance(work, Run)]
    computations = [work for work in pending if not isinstance(work, Run)]
    count = min(len(computations), PACKS * workers)
    return [[run] for run in runs] + [computations[i::count] for i in range(count)]


def _ready(running: dict[Connection, Worker], seconds: float | None) -> list[Connection]:
    """Those with news, or ended; waits until there is one, or so long."""
    ready = wait(list(running), seconds)
    return [receiver for receiver in running if receiver in ready]


def _work(news: Connection, pack: Sequence[Work], root: str, execution: Execution, parent: int) -> None:
    signal.signal(signal.SIGINT, _stop_once)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        failures = _attempt(pack, Store(Path(root)), execution, news.send)
    except KeyboardInterrupt:
        sys.exit(130)
    for line in failures:
        news.send(line)
    sys.exit(TOLD if failures else 0)


def _stop_once(number: int, frame: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not interrupt the saving
    raise KeyboardInterrupt


def _end_with(parent: int) -> None:
    """A worker whose parent was killed must not train on unseen: the next command would wait for it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Children started inside begin with one thread in every library that reads these variables on import."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
