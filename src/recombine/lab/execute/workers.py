"""Processes that take work from a list: each does one pack after another, and keeps what it made for the next.

A process that has drawn images, trained an instrument or compiled a network need not do so again. So a free one takes a
pack that shares images with what it has done; if there is none, one of whose images no other process has any.
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
from recombine.lab.execute.conduct import Report, compute, conduct
from recombine.lab.store import Store
from recombine.runs.base import Run
from recombine.runs.work import Computation, Work
from recombine.training.execution import Execution


@dataclass(frozen=True)
class Pack:
    """Work that one process does together: a fleet of runs, or a computation."""

    work: Sequence[Work]
    execution: Execution

    @cached_property
    def images(self) -> frozenset[str]:
        """The sets of images that its runs are trained on."""
        return frozenset(work.images for work in self.work if isinstance(work, Run))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of networks that it has to make ready."""
        return frozenset(work.architecture for work in self.work if isinstance(work, Run))

    @property
    def name(self) -> str:
        return f"run {self.work[0].address}" if len(self.work) == 1 else f"{len(self.work)} runs"


def do(pack: Pack, store: Store, report: Report) -> list[str]:
    """Its runs as one fleet, its computations one after another; the lines of what failed."""
    failures = []
    for work in pack.work:
        if isinstance(work, Computation):
            try:
                compute(work, store, report)
            except UserError as failure:
                failures.append(str(failure))
    runs = [work for work in pack.work if isinstance(work, Run)]
    if runs:
        try:
            conduct(runs, store, pack.execution, report)
        except UserError as failure:
            failures.append(str(failure))
    return failures


def run_packs(
    packs: Iterable[Pack], store: Store, report: Report, workers: int, stop: threading.Event | None = None
) -> list[str]:
    """Do all packs in as many processes, each with a pipe for its news; the lines of what failed. Where a pipe ends,
    its process ended. `stop` does from another thread what Ctrl-C does.
    """
    waiting, running, failures = list(packs), dict[Connection, Worker](), list[str]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                worker = Worker.started(store)
                worker.take(waiting, running.values())
                running[worker.pipe] = worker
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            for pipe in _ready(running, None if stop is None else 0.5):
                try:
                    news = pipe.recv()
                except (EOFError, OSError):
                    failures += running.pop(pipe).ended()
                    continue
                if news is None:
                    running[pipe].take(waiting, running.values())
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


@dataclass
class Worker:
    """A process, the pack that it is at, and what it has made so far."""

    process: SpawnProcess
    pipe: Connection
    pack: Pack | None = None
    images: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def started(cls, store: Store) -> "Worker":
        """A new process that waits for its first pack."""
        context = multiprocessing.get_context("spawn")
        ours, its = context.Pipe()
        process = context.Process(target=_work, args=(its, str(store.root), os.getpid()))
        with _one_thread():
            process.start()
        its.close()
        return cls(process, ours)

    def take(self, waiting: list[Pack], all_workers: Iterable["Worker"]) -> None:
        """Hand it the pack that suits it best, or let it go if nothing is left."""
        self.pack = None
        if waiting:
            others = set[str]().union(*(worker.images for worker in all_workers if worker is not self))
            self.pack = best_pack(waiting, self.images, others, self.kinds)
            waiting.remove(self.pack)
            self.images |= self.pack.images
            self.kinds |= self.pack.kinds
        with suppress(OSError):  # it has just ended: its pipe will say so
            self.pipe.send(self.pack)

    def ended(self) -> list[str]:
        """What is to be said about the way it ended, if it did not say so itself."""
        self.process.join()
        if self.pack is None:
            return []
        how = "was killed" if (self.process.exitcode or 0) < 0 else "stopped at an error that nobody foresaw, see above"
        return [f"the process of {self.pack.name} {how}: give the same command again, it resumes"]


def best_pack(waiting: Sequence[Pack], images: set[str], others: set[str], kinds: set[str]) -> Pack:
    """For a process that has made these images and kinds, others those images; of packs that suit alike the first."""
    return max(
        waiting, key=lambda pack: (bool(pack.images & images), not pack.images & others, bool(pack.kinds & kinds))
    )


def _ready(running: dict[Connection, Worker], seconds: float | None) -> list[Connection]:
    """Those with news, or ended; waits until there is one, or so long."""
    ready = wait(list(running), seconds)
    return [pipe for pipe in running if pipe in ready]


def _work(pipe: Connection, root: str, parent: int) -> None:
    """The life of a process: packs come, news goes, None asks for the next pack and is the last."""
    signal.signal(signal.SIGINT, _stop_once)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    receive: Callable[[], Pack | None] = pipe.recv
    try:
        for pack in iter(receive, None):
            for line in do(pack, Store(Path(root)), pipe.send):
                pipe.send(line)
            pipe.send(None)
    except KeyboardInterrupt:
        sys.exit(130)


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
