"""Worker processes: each does one pack of work after another, and keeps what it has made for the next pack.

A process that has rendered images, trained an object finder (17 s, benchmarks/README.md) or compiled a network (22 to
50 s) need not do so again. So a free one is given a pack that shares images with what it has done; if there is none, a
pack whose images no other process has; and of those, one whose networks it has compiled.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NoReturn

from recombine.errors import UserError
from recombine.lab.execute.jobs import OnProgress, compute, train_runs
from recombine.lab.store import Store
from recombine.runs.base import Run
from recombine.runs.work import Computation, Work
from recombine.training.execution import Execution


@dataclass(frozen=True)
class Pack:
    """Work that one process does together: runs that train side by side, or a computation."""

    work: Sequence[Work]
    execution: Execution

    @cached_property
    def images(self) -> frozenset[str]:
        """The sets of images that its runs are trained on."""
        return frozenset(work.images for work in self.work if isinstance(work, Run))

    @cached_property
    def architectures(self) -> frozenset[str]:
        """The architecture keys of its runs: what is compiled once for all of a kind."""
        return frozenset(work.architecture for work in self.work if isinstance(work, Run))

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"run {self.work[0].address}" if len(self.work) == 1 else f"{len(self.work)} runs"


def run_pack(pack: Pack, store: Store, on_progress: OnProgress) -> list[str]:
    """Its computations one after another, then its runs side by side; one line for each failure."""
    failures = []
    for work in pack.work:
        if isinstance(work, Computation):
            try:
                compute(work, store, on_progress)
            except UserError as failure:
                failures.append(str(failure))
    runs = [work for work in pack.work if isinstance(work, Run)]
    if runs:
        try:
            train_runs(runs, store, pack.execution, on_progress)
        except UserError as failure:
            failures.append(str(failure))
    return failures


def run_packs(
    packs: Iterable[Pack], store: Store, on_progress: OnProgress, workers: int, stop: threading.Event | None = None
) -> list[str]:
    """Run all packs in this many processes, each with a pipe for its progress; one line for each failure.

    A pipe that ends means that its process ended. `stop`, set by another thread, acts like Ctrl-C.
    """
    waiting, running, failures = list(packs), dict[Connection, Worker](), list[str]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                worker = Worker.started(store)
                worker.assign(waiting, running.values())
                running[worker.pipe] = worker
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            for pipe in _ready(running, None if stop is None else 0.5):
                try:
                    received = pipe.recv()
                except (EOFError, OSError):
                    failures += running.pop(pipe).ended()
                    continue
                if received is None:
                    running[pipe].assign(waiting, running.values())
                elif isinstance(received, str):
                    failures.append(received)
                else:
                    on_progress(received)
    except BaseException:
        for worker in running.values():
            if worker.process.pid is not None:
                os.kill(worker.process.pid, signal.SIGINT)  # a scheduler signals this process only
        raise
    finally:
        for worker in running.values():
            worker.process.join()
    return failures


@dataclass
class Worker:
    """A process, the pack that it works on, and what it has made so far."""

    process: SpawnProcess
    pipe: Connection
    pack: Pack | None = None
    images: set[str] = field(default_factory=set)
    architectures: set[str] = field(default_factory=set)

    @classmethod
    def started(cls, store: Store) -> "Worker":
        """A new process that waits for its first pack."""
        context = multiprocessing.get_context("spawn")
        ours, its = context.Pipe()
        process = context.Process(target=_serve, args=(its, str(store.root), os.getpid()))
        with _one_thread():
            process.start()
        its.close()
        return cls(process, ours)

    def assign(self, waiting: list[Pack], all_workers: Iterable["Worker"]) -> None:
        """Give it the pack that suits it best, or let it end if nothing is left."""
        self.pack = None
        if waiting:
            others = set[str]().union(*(worker.images for worker in all_workers if worker is not self))
            self.pack = best_pack(waiting, self.images, others, self.architectures)
            waiting.remove(self.pack)
            self.images |= self.pack.images
            self.architectures |= self.pack.architectures
        with suppress(OSError):  # it has just ended: its pipe will end, too
            self.pipe.send(self.pack)

    def ended(self) -> list[str]:
        """A line on the way it ended, if it was at work."""
        self.process.join()
        if self.pack is None:
            return []
        how = "was killed" if (self.process.exitcode or 0) < 0 else "stopped at an unexpected error, see above"
        return [f"the process of {self.pack.name} {how}: give the same command again, it resumes"]


def best_pack(waiting: Sequence[Pack], images: set[str], others: set[str], architectures: set[str]) -> Pack:
    """For a process that has these images and architectures, while others have those images; among equals the first."""

    def fit(pack: Pack) -> tuple[bool, bool, bool]:
        return bool(pack.images & images), not pack.images & others, bool(pack.architectures & architectures)

    return max(waiting, key=fit)


def _ready(running: dict[Connection, Worker], seconds: float | None) -> list[Connection]:
    """Pipes that have something or ended; waits until there is one, at most so long."""
    ready = wait(list(running), seconds)
    return [pipe for pipe in running if pipe in ready]


def _serve(pipe: Connection, root: str, parent: int) -> None:
    """The life of a process: it receives packs and sends progress and failures; None asks for the next pack and, when
    it is received, is the end.
    """
    signal.signal(signal.SIGINT, _stop_once)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    receive: Callable[[], Pack | None] = pipe.recv
    try:
        for pack in iter(receive, None):
            for line in run_pack(pack, Store(Path(root)), pipe.send):
                pipe.send(line)
            pipe.send(None)
    except KeyboardInterrupt:
        sys.exit(130)


def _stop_once(number: int, frame: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not interrupt the saving
    raise KeyboardInterrupt


def _end_with(parent: int) -> None:
    """End with the parent: a worker that trained on unseen would make the next command wait."""
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
